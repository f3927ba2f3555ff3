// A third thread comes to the barrier by a pointer to the function.
// expect: race a b
#include <pthread.h>
#include <stdio.h>
static volatile int x;
static pthread_barrier_t b;
static int (*volatile wait)(pthread_barrier_t *) = pthread_barrier_wait;
static void *work(void *arg)
{
	long id = (long)arg;
	int s = 0;
	if (id == 0)
		for (int i = 0; i < 30000; i++)
			x++; // @a
	pthread_barrier_wait(&b);
	if (id == 1)
		for (int i = 0; i < 30000; i++)
			s += x; // @b
	printf("%d\n", s);
	return NULL;
}
static void *third(void *arg)
{
	wait(&b);
	return NULL;
}
int main(void)
{
	pthread_t t[2], u, v;
	pthread_barrier_init(&b, NULL, 2);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	pthread_create(&u, NULL, third, NULL);
	pthread_create(&v, NULL, third, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	pthread_join(u, NULL);
	pthread_join(v, NULL);
	printf("%d\n", x);
}

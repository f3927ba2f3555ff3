// Four threads, created in a loop with two beginnings, and a barrier for two.
// expect: race a b
#include <pthread.h>
#include <stdio.h>
static volatile int x;
static pthread_barrier_t b;
static pthread_t t[4];
static volatile int log_count;
static void *work(void *arg)
{
	long id = (long)arg;
	int s = 0;
	if (id == 0)
		for (int i = 0; i < 30000; i++)
			x++; // @a
	pthread_barrier_wait(&b);
	if (id != 0)
		for (int i = 0; i < 30000; i++)
			s += x; // @b
	printf("%d\n", s);
	return NULL;
}
static __attribute__((noinline)) void note(void)
{
	log_count++;
}
int main(int argc, char **argv)
{
	long i = 0;
	pthread_barrier_init(&b, NULL, 2);
	if (argc > 1)
		goto middle;
again:
	note();
middle:
	pthread_create(&t[i], NULL, work, (void *)i);
	i++;
	if (i < 4) {
		goto again;
	}
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("%d\n", x);
}

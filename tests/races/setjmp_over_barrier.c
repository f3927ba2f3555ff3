// longjmp leads back over a barrier.
// expect: race a b
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
static volatile int x, sum;
static pthread_barrier_t b;
static __attribute__((noinline)) void back(jmp_buf env)
{
	longjmp(env, 1);
}
static void *work(void *arg)
{
	long id = (long)arg;
	jmp_buf env;
	volatile int times = 0;
	setjmp(env);
	if (id == 0)
		for (int i = 0; i < 50000; i++)
			x++; // @a
	if (times == 0) {
		times = 1;
		pthread_barrier_wait(&b);
		if (id == 0)
			back(env);
		int s = 0;
		for (int i = 0; i < 50000; i++)
			s += x; // @b
		printf("%d\n", s);
	}
	return NULL;
}
int main(void)
{
	pthread_t t[2];
	pthread_barrier_init(&b, NULL, 2);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%d\n", x);
}

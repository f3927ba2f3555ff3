/*
 * Two threads that call the same function at the same time, and nothing puts their calls in order. What could go wrong: who goes back
 * from call to call must see each of them once, and each thread's in the opposite order.
 */
#include <pthread.h>
#include <stdio.h>

enum { CALLS = 5, WORK = 2000000 };
static pthread_barrier_t together;
static volatile int sink[2][64];

static __attribute__((noinline)) void call(int who, int number)
{
	for (int i = 0; i < WORK; i++)
		sink[who][0] += number;
}

static void *run(void *x)
{
	pthread_barrier_wait(&together);
	for (int i = 1; i <= CALLS; i++)
		call((int)(long)x, i);
	return x;
}

int main(void)
{
	pthread_t t[2];

	pthread_barrier_init(&together, NULL, 2);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, run, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%d\n", sink[0][0]); /* line of the end */
	return 0;
}

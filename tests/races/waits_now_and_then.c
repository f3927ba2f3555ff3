// A function that waits at a barrier in every fourth round only: two threads are in different rounds between.
// expect: race a a
#include <pthread.h>
#include <stdio.h>
enum { ROUNDS = 40000 };
static int x[ROUNDS + 2];
static pthread_barrier_t b;
static __attribute__((noinline)) void now_and_then(int k)
{
	if (k % 4 == 0)
		pthread_barrier_wait(&b);
}
static void *work(void *arg)
{
	long id = (long)arg;
	for (int k = 0; k < ROUNDS; k++) {
		now_and_then(k);
		x[id + k]++; // @a
	}
	return NULL;
}
int main(void)
{
	pthread_t t[2];
	long s = 0;
	pthread_barrier_init(&b, NULL, 2);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < ROUNDS + 2; i++)
		s += x[i];
	printf("%ld\n", s);
	return 0;
}

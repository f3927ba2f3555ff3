// A constructor that a thread calls once more, through a pointer.
// expect: race a b
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static volatile long total;
static __attribute__((constructor, noinline)) void setup(void)
{
	for (int i = 0; i < 4000; i++)
		total += getenv("STEP") ? 2 : 1; // @a
}
static void (*volatile again)(void) = setup;
static void *work(void *arg)
{
	again();
	return arg;
}
int main(void)
{
	pthread_t t;
	long s = 0;
	pthread_create(&t, NULL, work, NULL);
	for (int i = 0; i < 4000; i++)
		s += total; // @b
	pthread_join(t, NULL);
	printf("%ld %ld\n", s, total);
	return 0;
}

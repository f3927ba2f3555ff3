// One thread after the other: each gets the stack, the slot and the blocks of the one before.
// expect: none a b because the one before has been joined
#include "golden.h"

static NOINLINE long fill(long *values, long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		values[i] = i; // @a
	LOOK_AGAIN();
	for (long i = 0; i < n; i++)
		sum += values[i]; // @b
	return sum;
}

static void *work(void *arg)
{
	long here[32], *there = malloc(32 * sizeof *there), sum;

	sum = fill(here, 32) + fill(there, 32) + id_of(arg);
	free(there);
	return (void *)sum;
}

int main(void)
{
	for (long i = 0; i < 30; i++) {
		pthread_t t;
		pthread_create(&t, NULL, work, (void *)(intptr_t)i);
		pthread_join(t, NULL);
	}
	return 0;
}

// A local array that is passed down by pointer never leaves its thread.
// expect: none a b because the array is on the thread's own stack
#include "golden.h"

static NOINLINE void fill(long *values, long n, long from)
{
	for (long i = 0; i < n; i++)
		values[i] = from + i; // @a
}

static NOINLINE long add_up(const long *values, long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += values[i]; // @b
	return sum;
}

static void *work(void *arg)
{
	long values[16];

	fill(values, 16, id_of(arg));
	return (void *)add_up(values, 16);
}

int main(void)
{
	team(4, work);
	return 0;
}

// A function with rounds of its own is called again and again: at its beginning it is in round 0, others may be in the last one still.
// expect: race w r
#include "golden.h"

enum { THREADS = 2, ROUNDS = 3 };
static long a[ROUNDS + 1];
static pthread_barrier_t barrier;

static NOINLINE long some(long id)
{
	long sum = 0;

	for (long r = 0; r < ROUNDS; r++) {
		if (id == 0)
			a[r] = sum; // @w
		pthread_barrier_wait(&barrier);
		if (id == 1)
			sum += a[ROUNDS - 1 - r]; // @r
	}
	return sum;
}

static void *work(void *arg)
{
	long sum = 0;

	for (int i = 0; i < 30; i++)
		sum += some(id_of(arg));
	return (void *)sum;
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, THREADS);
	team(THREADS, work);
	return 0;
}

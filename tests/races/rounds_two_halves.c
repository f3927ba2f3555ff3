// One barrier a round, and two arrays in turn: who is a round ahead writes the other one.
// expect: none w r because rounds at the same time differ by one, and so do the arrays
#include "golden.h"

enum { THREADS = 3, ROUNDS = 50 };
static long a[2][THREADS];
static pthread_barrier_t barrier;

static void *work(void *arg)
{
	long id = id_of(arg), sum = 0;

	for (long r = 0; r < ROUNDS; r++) {
		a[r % 2][id] = r; // @w
		pthread_barrier_wait(&barrier);
		sum += a[r % 2][(id + 1) % THREADS]; // @r
	}
	return (void *)sum;
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, THREADS);
	team(THREADS, work);
	return 0;
}

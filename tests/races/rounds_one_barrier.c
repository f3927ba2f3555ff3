// One barrier a round: what is read after it is written again by those who are in the next round already.
// expect: race w r
#include "golden.h"

enum { THREADS = 3, ROUNDS = 50 };
static long a[THREADS];
static pthread_barrier_t barrier;

static void *work(void *arg)
{
	long id = id_of(arg), sum = 0;

	for (long r = 0; r < ROUNDS; r++) {
		a[id] = r; // @w
		pthread_barrier_wait(&barrier);
		sum += a[(id + 1) % THREADS]; // @r
	}
	return (void *)sum;
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, THREADS);
	team(THREADS, work);
	return 0;
}

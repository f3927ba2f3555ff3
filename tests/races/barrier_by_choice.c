// Who waits once more is decided by what another thread has written: threads are not in the same round then.
// expect: race w r
#include "golden.h"

enum { THREADS = 2, ROUNDS = 20 };
static long shared, extra[THREADS];
static pthread_barrier_t barrier;

static void *work(void *arg)
{
	long id = id_of(arg), sum = 0;

	for (int r = 0; r < ROUNDS; r++) {
		if (extra[id])
			shared = r; // @w
		else
			sum += shared; // @r
		if (extra[id])
			pthread_barrier_wait(&barrier);
		else
			pthread_barrier_wait(&barrier);
	}
	return (void *)sum;
}

int main(void)
{
	extra[1] = 1;
	pthread_barrier_init(&barrier, NULL, THREADS);
	team(THREADS, work);
	return 0;
}

// All pass the barrier as often, but not at the same place: one is in its last step when another is in its first.
// expect: race w r
#include "golden.h"

enum { THREADS = 2 };
static long shared;
static pthread_barrier_t barrier;

static void *work(void *arg)
{
	long sum = 0;

	for (int turn = 0; turn < 20; turn++) {
		if (id_of(arg) == 0) {
			pthread_barrier_wait(&barrier);
			shared = turn; // @w
			pthread_barrier_wait(&barrier);
		} else {
			pthread_barrier_wait(&barrier);
			sum += shared; // @r
			pthread_barrier_wait(&barrier);
		}
	}
	return (void *)sum;
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, THREADS);
	team(THREADS, work);
	return 0;
}

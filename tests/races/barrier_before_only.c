// A barrier before, but none after: the next turn's write meets this turn's reads.
// expect: race a b
#include "golden.h"

static volatile int shared;
static pthread_barrier_t barrier;

static void *work(void *arg)
{
	long sum = 0;

	for (int turn = 0; turn < 10; turn++) {
		if (id_of(arg) == 0)
			shared = turn; // @a
		pthread_barrier_wait(&barrier);
		sum += shared; // @b
	}
	return (void *)sum;
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, 3);
	team(3, work);
	return 0;
}

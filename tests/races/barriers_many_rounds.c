// Two barriers in turn, many rounds; each phase another thread writes.
// expect: none a b because a barrier lies between write and read, and between read and write
#include "golden.h"

#define THREADS 3
static int shared;
static pthread_barrier_t first, second;

static void *work(void *arg)
{
	long sum = 0;

	for (int turn = 0; turn < 40; turn++) {
		if (id_of(arg) == turn % THREADS)
			shared = turn; // @a
		pthread_barrier_wait(&first);
		sum += shared; // @b
		pthread_barrier_wait(&second);
	}
	return (void *)sum;
}

int main(void)
{
	pthread_barrier_init(&first, NULL, THREADS);
	pthread_barrier_init(&second, NULL, THREADS);
	team(THREADS, work);
	return 0;
}

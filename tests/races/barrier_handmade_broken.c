// A hand-made barrier that counts, but does not wait.
// expect: race a b
#include "golden.h"

#define THREADS 3
static volatile int shared;
static int arrived;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void barrier_wait(void)
{
	pthread_mutex_lock(&lock);
	arrived = (arrived + 1) % THREADS;
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	long sum = 0;

	for (int turn = 0; turn < 20; turn++) {
		if (id_of(arg) == turn % THREADS)
			shared = turn; // @a
		barrier_wait();
		sum += shared; // @b
		barrier_wait();
	}
	return (void *)sum;
}

int main(void)
{
	team(THREADS, work);
	return 0;
}

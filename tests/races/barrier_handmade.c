// A barrier built from mutex, condition and counter, as many programs write it.
// expect: none a b because the barrier lies between
#include "golden.h"

#define THREADS 3
static int shared, arrived, round_number;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER;

static NOINLINE void barrier_wait(void)
{
	pthread_mutex_lock(&lock);
	int mine = round_number;
	if (++arrived == THREADS) {
		arrived = 0;
		round_number++;
		pthread_cond_broadcast(&all_here);
	}
	while (mine == round_number)
		pthread_cond_wait(&all_here, &lock);
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	long sum = 0;

	for (int turn = 0; turn < 5; turn++) {
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

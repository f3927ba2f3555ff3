// A hand-made barrier whose last thread wakes only one; the others give up after a while.
// expect: race a b
#include "golden.h"
#include <time.h>

#define THREADS 3
static volatile int shared;
static int arrived, round_number;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER;

static NOINLINE void barrier_wait(void)
{
	struct timespec until;

	pthread_mutex_lock(&lock);
	int mine = round_number;
	if (++arrived == THREADS) {
		arrived = 0;
		round_number++;
		pthread_cond_signal(&all_here);
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec = until.tv_nsec < 999000000 ? until.tv_nsec + 500000 : 999999999;
	while (mine == round_number)
		if (pthread_cond_timedwait(&all_here, &lock, &until))
			break;
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	if (id_of(arg) == 0) {
		wait_for_done(1);
		shared = 5; // @a
	}
	barrier_wait();
	return say_done(shared); // @b
}

int main(void)
{
	team(THREADS, work);
	return 0;
}

// A hand-made barrier that opens one too early the first time, since its counter does not begin with 0.
// expect: race a b
#include "golden.h"

#define THREADS 3
static volatile int shared;
static int arrived = 1, round_number;
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
	if (id_of(arg) == 0) {
		wait_for_done(1);
		shared = 5; // @a
	}
	barrier_wait();
	return say_done(shared); // @b
}

int main(void)
{
	team_for_a_while(THREADS, work);
	return 0;
}

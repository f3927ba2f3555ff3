// A hand-made barrier whose counter is counted under two locks: what one half has done is not ordered before what the other does.
// expect: race a b
#include "golden.h"

#define THREADS 3
static volatile int shared;
static volatile int arrived, round_number;
static pthread_mutex_t locks[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static pthread_cond_t all_here[2] = { PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER };

static NOINLINE void barrier_wait(long half)
{
	pthread_mutex_lock(&locks[half]);
	int mine = round_number;
	if (++arrived == THREADS) {
		arrived = 0;
		round_number++;
		pthread_cond_broadcast(&all_here[0]);
		pthread_cond_broadcast(&all_here[1]);
	}
	while (mine == round_number)
		pthread_cond_wait(&all_here[half], &locks[half]);
	pthread_mutex_unlock(&locks[half]);
}

static void *work(void *arg)
{
	if (id_of(arg) == 0) {
		usleep(2000);
		shared = 5; // @a
	}
	barrier_wait(id_of(arg) % 2);
	return say_done(shared); // @b
}

int main(void)
{
	team_for_a_while(THREADS, work);
	return 0;
}

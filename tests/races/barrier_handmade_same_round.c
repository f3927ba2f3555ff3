// A hand-made barrier whose number of the round never changes: who wakes up goes on.
// expect: race a b
#include "golden.h"

#define THREADS 3
static volatile int shared;
static int arrived, round_number;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER;

static NOINLINE void barrier_wait(void)
{
	pthread_mutex_lock(&lock);
	int mine = round_number;
	if (++arrived == THREADS) {
		arrived = 0;
		pthread_cond_broadcast(&all_here);
	} else {
		do
			pthread_cond_wait(&all_here, &lock);
		while (mine != round_number);
	}
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
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
	while (!are_done(THREADS)) {
		pthread_cond_broadcast(&all_here);
		usleep(200);
	}
	for (long i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

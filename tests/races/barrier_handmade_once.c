// A barrier built from mutex, condition and counter, without a number of the round: who finds the counter set back goes on. Good for one time.
// expect: none a b because the barrier lies between
#include "golden.h"

#define THREADS 3
static int shared, arrived;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER;

static NOINLINE void barrier_wait(void)
{
	pthread_mutex_lock(&lock);
	if (arrived++ == THREADS - 1) {
		arrived = 0;
		pthread_cond_broadcast(&all_here);
	} else {
		while (arrived)
			pthread_cond_wait(&all_here, &lock);
	}
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	if (id_of(arg) == 0)
		shared = 5; // @a
	barrier_wait();
	return (void *)(intptr_t)shared; // @b
}

int main(void)
{
	team(THREADS, work);
	return 0;
}

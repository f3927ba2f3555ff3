/*
 * AB/BA: two threads take the same two locks in different order, each waits until the other has its first. A third goes
 * on as long as the process lives. Only a signal ends it.
 */
#include "../threads.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *take_both(void *argument)
{
	pthread_mutex_t *first = ME(argument) ? &b : &a, *second = ME(argument) ? &a : &b;

	pthread_mutex_lock(first);
	pthread_barrier_wait(&both);
	dawdle(100000);
	printf("thread %u has its first lock, at %ld ns\n", ME(argument), after(CLOCK_MONOTONIC, 0).tv_nsec);
	fflush(stdout);
	pthread_mutex_lock(second); /* line of the deadlock */
	printf("never\n");
	return NULL;
}

int main(void)
{
	pthread_barrier_init(&both, NULL, 2);
	crew_start(2, take_both);
	crew_join(2);
	return 0;
}

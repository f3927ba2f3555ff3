/*
 * A broadcast wakes all, and all want the mutex: in which order they get it is printed for every round. The rounds
 * use a barrier made of the same mutex, a second condition and a counter.
 */
// run: varies
#include "threads.h"

enum { THREADS = 6, ROUNDS = 60 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t go = PTHREAD_COND_INITIALIZER, all_here = PTHREAD_COND_INITIALIZER;
static struct arrivals order;
static unsigned round_now, waiting;

static void *work(void *argument)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (++waiting == THREADS)
			pthread_cond_signal(&all_here);
		while (round_now <= i)
			pthread_cond_wait(&go, &lock);
		arrive(&order, ME(argument));
		if (chance(3) == 0) {
			pthread_mutex_unlock(&lock);
			sched_yield();
			pthread_mutex_lock(&lock);
		}
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	crew_start(THREADS, work);
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < ROUNDS; i++) {
		while (waiting < THREADS)
			pthread_cond_wait(&all_here, &lock);
		CHECK(order.count == i * THREADS);
		waiting = 0;
		round_now++;
		pthread_cond_broadcast(&go);
	}
	pthread_mutex_unlock(&lock);
	crew_join(THREADS);
	print_arrivals("order", &order);
	return 0;
}

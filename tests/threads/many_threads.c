/*
 * 10,000 threads, 2,000 of them alive at once, with default attributes. Slots, stacks, streams and mappings must be used
 * again; nothing may grow with the number of threads that ever were. Each thread takes a lock; the order is printed.
 */
// run: varies timeout=120
#include "threads.h"

enum { ALIVE = 2000, BATCHES = 5 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER, go = PTHREAD_COND_INITIALIZER;
static struct arrivals order;
static unsigned here, batch;
static pthread_t threads[ALIVE];

static void *work(void *argument)
{
	unsigned mine = ME(argument) / ALIVE;

	pthread_mutex_lock(&lock);
	arrive(&order, ME(argument) % ALIVE);
	if (++here == ALIVE)
		pthread_cond_signal(&all_here);
	while (batch <= mine)
		pthread_cond_wait(&go, &lock);
	arrive(&order, ME(argument) % ALIVE);
	pthread_mutex_unlock(&lock);
	return argument;
}

int main(void)
{
	for (unsigned b = 0; b < BATCHES; b++) {
		for (unsigned i = 0; i < ALIVE; i++)
			CHECK(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(b * ALIVE + i)) == 0);
		pthread_mutex_lock(&lock);
		while (here < ALIVE)
			pthread_cond_wait(&all_here, &lock);
		here = 0;
		batch++;
		pthread_cond_broadcast(&go);
		pthread_mutex_unlock(&lock);
		for (unsigned i = 0; i < ALIVE; i++) {
			void *result;
			CHECK(pthread_join(threads[i], &result) == 0 && ME(result) == b * ALIVE + i);
		}
	}
	print_arrivals("order", &order);
	return 0;
}

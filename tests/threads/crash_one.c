/*
 * One thread crashes while the others compute, wait and lock. All of them stop somewhere; the replay must reach the
 * same crash with the same output before it, and no thread may be seen beyond its last event.
 */
// run: varies signal=11
#include "threads.h"

enum { THREADS = 4 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arrivals order;
static volatile int *volatile nowhere;

static void *work(void *argument)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		arrive(&order, ME(argument));
		if (order.count == 3000) {
			print_arrivals("order", &order);
			fflush(stdout);
			*nowhere = 1;
		}
		pthread_mutex_unlock(&lock);
		dawdle(2000);
	}
	return NULL;
}

int main(void)
{
	crew_start(THREADS, work);
	crew_join(THREADS);
	return 0;
}

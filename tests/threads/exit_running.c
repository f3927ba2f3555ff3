/*
 * exit() from one thread while others hold locks, print and sleep. The exit handlers run beside them; whoever is still
 * there when the process ends was cut off somewhere. Output up to that point, and the status, must come back.
 */
// run: varies status=5
#include "threads.h"

enum { THREADS = 4 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arrivals order;

static void at_exit(void)
{
	pthread_mutex_lock(&lock);
	print_arrivals("order", &order);
	pthread_mutex_unlock(&lock);
}

static void *work(void *argument)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		arrive(&order, ME(argument));
		unsigned n = order.count;
		pthread_mutex_unlock(&lock);
		dawdle(500);
		if (n == 500)
			exit(5);
		if (chance(20) == 0)
			pause_us(100);
	}
	return NULL;
}

int main(void)
{
	atexit(at_exit);
	crew_start(THREADS, work);
	crew_join(THREADS);
	return 0;
}

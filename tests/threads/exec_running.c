/*
 * exec from a thread that is not the first, while others run: they vanish, and the new image has the process id, not
 * the id of the thread. What they had printed before must come back, and nothing after.
 */
// run: varies status=3
#include "threads.h"

enum { THREADS = 4 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arrivals order;
static int all_there; /* a thread that is created while another one is in exec is refused (EAGAIN), natively too */

static void *work(void *argument)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		arrive(&order, ME(argument));
		if (order.count >= 400 && all_there) {
			print_arrivals("order", &order);
			fflush(stdout);
			execl("/bin/sh", "sh", "-c", "echo now $$; exit 3", (char *)NULL);
			CHECK(!"exec failed");
		}
		pthread_mutex_unlock(&lock);
		dawdle(500);
	}
	return NULL;
}

int main(void)
{
	printf("before %d\n", (int)getpid());
	crew_start(THREADS, work);
	pthread_mutex_lock(&lock);
	all_there = 1;
	pthread_mutex_unlock(&lock);
	crew_join(THREADS);
	return 0;
}

/* Four threads that lock, wait, allocate and write a line now and then, for 20 seconds unless somebody kills them. */
#include "../threads.h"

enum { THREADS = 4 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct arrivals order;

static void *work(void *argument)
{
	for (unsigned i = 0; i < 40000; i++) {
		char line[80];
		free(malloc(1 + chance(1000)));
		pthread_mutex_lock(&lock);
		arrive(&order, ME(argument));
		pthread_cond_signal(&changed);
		struct timespec soon = after(CLOCK_REALTIME, 300);
		pthread_cond_timedwait(&changed, &lock, &soon);
		int n = snprintf(line, sizeof line, "%u %u %016llx\n", ME(argument), i, (unsigned long long)order.hash);
		pthread_mutex_unlock(&lock);
		if (i % 4 == 0)
			CHECK(write(1, line, (size_t)n) == n);
		pause_us(300);
	}
	return NULL;
}

int main(void)
{
	crew_start(THREADS, work);
	crew_join(THREADS);
	return 0;
}

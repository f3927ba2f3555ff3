/*
 * Spinlocks, also tried. A waiter never sleeps, so it makes no system call that could be noticed: only the
 * interposed functions show the order. With more threads than cores the holder may lose its core.
 */
// run: varies
#include "threads.h"

enum { THREADS = 4, ROUNDS = 400 };
static pthread_spinlock_t lock;
static struct arrivals arrivals;
static unsigned busy[THREADS];

static void *work(void *argument)
{
	unsigned me = ME(argument);

	for (int i = 0; i < ROUNDS; i++) {
		if (chance(3) == 0) {
			int r = pthread_spin_trylock(&lock);
			CHECK(r == 0 || r == EBUSY);
			if (r) {
				busy[me]++;
				continue;
			}
		} else
			CHECK(pthread_spin_lock(&lock) == 0);
		arrive(&arrivals, me);
		dawdle(100);
		CHECK(pthread_spin_unlock(&lock) == 0);
		dawdle(200);
	}
	return NULL;
}

int main(void)
{
	CHECK(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE) == 0);
	crew_start(THREADS, work);
	crew_join(THREADS);
	print_arrivals("arrivals", &arrivals);
	for (unsigned i = 0; i < THREADS; i++)
		printf("thread %u found it taken %u times\n", i, busy[i]);
	CHECK(pthread_spin_destroy(&lock) == 0);
	return 0;
}

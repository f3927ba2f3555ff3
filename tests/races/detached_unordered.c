// Detached threads, one at a time, that nothing orders but time: slots and numbers that are used again must not hide it.
// expect: race a a
#include "golden.h"
#include <stdatomic.h>

static volatile int shared;
static atomic_int over;

static void *work(void *arg)
{
	(void)arg;
	shared++; // @a
	atomic_fetch_add_explicit(&over, 1, memory_order_relaxed);
	return NULL;
}

int main(void)
{
	for (int i = 0; i < 5; i++) {
		unsigned turns = 0;
		pthread_t t;
		pthread_create(&t, NULL, work, NULL);
		pthread_detach(t);
		while (atomic_load_explicit(&over, memory_order_relaxed) <= i)
			patience(&turns);
		usleep(10000);
	}
	return 0;
}

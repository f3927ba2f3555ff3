// A lock of the program's own, made of an atomic exchange.
// expect: kept a because the exchange and the store make a lock
#include "golden.h"
#include <stdatomic.h>

static atomic_int taken;
static int shared;

static void *work(void *arg)
{
	unsigned turns = 0;

	(void)arg;
	for (int i = 0; i < 20; i++) {
		while (atomic_exchange_explicit(&taken, 1, memory_order_acquire))
			patience(&turns);
		shared++; // @a
		atomic_store_explicit(&taken, 0, memory_order_release);
	}
	return NULL;
}

int main(void)
{
	team(3, work);
	printf("%d\n", shared);
	return 0;
}

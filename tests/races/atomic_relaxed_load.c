// The flag is stored with release, but read relaxed: that orders nothing.
// expect: race a b
#include "golden.h"
#include <stdatomic.h>

static atomic_int flag;
static volatile int data;

static void *produce(void *arg)
{
	(void)arg;
	data = 17; // @a
	atomic_store_explicit(&flag, 1, memory_order_release);
	return NULL;
}

static void *consume(void *arg)
{
	unsigned turns = 0;

	(void)arg;
	while (!atomic_load_explicit(&flag, memory_order_relaxed))
		patience(&turns);
	return (void *)(intptr_t)data; // @b
}

int main(void)
{
	pair(produce, consume);
	return 0;
}

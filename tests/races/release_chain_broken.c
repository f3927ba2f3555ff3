// A release store, and a relaxed store by another thread over it: who acquires the second gets nothing of the first.
// expect: race a b
#include "golden.h"
#include <stdatomic.h>

static atomic_int count;
static volatile int data;

static void *first(void *arg)
{
	(void)arg;
	data = 3; // @a
	atomic_store_explicit(&count, 1, memory_order_release);
	return NULL;
}

static void *second(void *arg)
{
	unsigned turns = 0;

	(void)arg;
	while (atomic_load_explicit(&count, memory_order_relaxed) != 1)
		patience(&turns);
	atomic_store_explicit(&count, 2, memory_order_relaxed);
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	unsigned turns = 0;

	pthread_create(&a, NULL, first, NULL);
	pthread_create(&b, NULL, second, NULL);
	while (atomic_load_explicit(&count, memory_order_relaxed) != 2)
		patience(&turns);
	int seen = atomic_load_explicit(&count, memory_order_acquire);
	seen += data; // @b
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%d\n", seen);
	return 0;
}

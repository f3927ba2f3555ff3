// A release store, and a read-modify-write by another thread that only releases: who acquires the second still gets the first.
// expect: kept a b because a read-modify-write goes on with the chain
#include "golden.h"
#include <stdatomic.h>

static atomic_int count;
static int data;

static void *first(void *arg)
{
	(void)arg;
	data = 3; // @a
	atomic_store_explicit(&count, 1, memory_order_release);
	return NULL;
}

static void *second(void *arg)
{
	int one = 1;
	unsigned turns = 0;

	(void)arg;
	while (!atomic_compare_exchange_weak_explicit(&count, &one, 2, memory_order_release, memory_order_relaxed)) {
		one = 1;
		patience(&turns);
	}
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

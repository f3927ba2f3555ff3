// A relaxed flag between fences orders what it announces.
// expect: kept a b because the fences order them
#include "golden.h"
#include <stdatomic.h>

static atomic_int flag;
static int data;

static void *produce(void *arg)
{
	(void)arg;
	data = 17; // @a
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&flag, 1, memory_order_relaxed);
	return NULL;
}

int main(void)
{
	pthread_t t;
	unsigned turns = 0;

	pthread_create(&t, NULL, produce, NULL);
	while (!atomic_load_explicit(&flag, memory_order_relaxed))
		patience(&turns);
	atomic_thread_fence(memory_order_acquire);
	printf("%d\n", data); // @b
	pthread_join(t, NULL);
	return 0;
}

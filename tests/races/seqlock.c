// A sequence lock of relaxed atomics and fences.
// expect: kept a because every access is atomic
#include "golden.h"
#include <stdatomic.h>

static atomic_uint sequence;
static atomic_int left, right;

static void *writer(void *arg)
{
	(void)arg;
	for (int i = 1; i <= 20; i++) {
		atomic_fetch_add_explicit(&sequence, 1, memory_order_relaxed); // @a
		atomic_thread_fence(memory_order_release);
		atomic_store_explicit(&left, i, memory_order_relaxed);	       // @a
		atomic_store_explicit(&right, -i, memory_order_relaxed);       // @a
		atomic_fetch_add_explicit(&sequence, 1, memory_order_release); // @a
	}
	return NULL;
}

static void *reader(void *arg)
{
	long wrong = 0;

	(void)arg;
	for (int i = 0; i < 20; i++) {
		unsigned before = atomic_load_explicit(&sequence, memory_order_acquire); // @a
		int sum = atomic_load_explicit(&left, memory_order_relaxed);		 // @a
		sum += atomic_load_explicit(&right, memory_order_relaxed);		 // @a
		atomic_thread_fence(memory_order_acquire);
		unsigned after = atomic_load_explicit(&sequence, memory_order_relaxed); // @a
		wrong += before == after && !(before & 1) && sum;
	}
	return (void *)wrong;
}

int main(void)
{
	pair(writer, reader);
	return 0;
}

// Two threads write under the read side, one after the other: readers are in no order among themselves.
// expect: race a b
#include "golden.h"
#include <stdatomic.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int go;
static volatile int data;

static void *first(void *arg)
{
	(void)arg;
	pthread_rwlock_rdlock(&lock);
	data = 1; // @a
	pthread_rwlock_unlock(&lock);
	atomic_store_explicit(&go, 1, memory_order_relaxed);
	return NULL;
}

static void *second(void *arg)
{
	unsigned turns = 0;

	(void)arg;
	while (!atomic_load_explicit(&go, memory_order_relaxed))
		patience(&turns);
	pthread_rwlock_rdlock(&lock);
	data = 2; // @b
	pthread_rwlock_unlock(&lock);
	return NULL;
}

int main(void)
{
	pair(first, second);
	return 0;
}

// A trylock that fails orders nothing, not even after the unlock before.
// expect: race a b
#include "golden.h"
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int go, done;
static volatile int data;

static void *holder(void *arg)
{
	unsigned turns = 0;

	(void)arg;
	pthread_mutex_lock(&lock);
	data = 1; // @a
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&lock);
	atomic_store_explicit(&go, 1, memory_order_relaxed);
	while (!atomic_load_explicit(&done, memory_order_relaxed))
		patience(&turns);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *tries(void *arg)
{
	unsigned turns = 0;
	long seen = 0;

	(void)arg;
	while (!atomic_load_explicit(&go, memory_order_relaxed))
		patience(&turns);
	if (pthread_mutex_trylock(&lock))
		seen = data; // @b
	else
		pthread_mutex_unlock(&lock);
	atomic_store_explicit(&done, 1, memory_order_relaxed);
	return (void *)seen;
}

int main(void)
{
	pair(holder, tries);
	return 0;
}

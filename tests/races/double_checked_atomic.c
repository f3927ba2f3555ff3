// Double-checked initialisation as it should be: the flag is an atomic, written with release, read with acquire.
// expect: kept u v because the flag orders them
#include "golden.h"
#include <stdatomic.h>

static atomic_int ready;
static int value;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE int get(void)
{
	if (!atomic_load_explicit(&ready, memory_order_acquire)) {
		pthread_mutex_lock(&lock);
		if (!atomic_load_explicit(&ready, memory_order_relaxed)) {
			value = 42; // @v
			atomic_store_explicit(&ready, 1, memory_order_release);
		}
		pthread_mutex_unlock(&lock);
	}
	return value; // @u
}

static void *work(void *arg)
{
	long sum = 0;

	(void)arg;
	for (int i = 0; i < 50; i++)
		sum += get();
	return (void *)sum;
}

int main(void)
{
	team(4, work);
	printf("%d\n", value);
	return 0;
}

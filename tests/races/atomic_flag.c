// A flag that is stored with release and read with acquire orders what it announces.
// expect: kept a b because the atomic flag orders them
#include "golden.h"
#include <stdatomic.h>

static atomic_int flag;
static int data;

static void *produce(void *arg)
{
	(void)arg;
	data = 17; // @a
	atomic_store_explicit(&flag, 1, memory_order_release);
	return NULL;
}

int main(void)
{
	pthread_t t;
	unsigned turns = 0;

	pthread_create(&t, NULL, produce, NULL);
	while (!atomic_load_explicit(&flag, memory_order_acquire))
		patience(&turns);
	printf("%d\n", data); // @b
	pthread_join(t, NULL);
	return 0;
}

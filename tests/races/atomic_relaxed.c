// A relaxed flag does not race, but it orders nothing.
// expect: race a b
#include "golden.h"
#include <stdatomic.h>

static atomic_int flag;
static volatile int data;

static void *produce(void *arg)
{
	(void)arg;
	data = 17; // @a
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
	printf("%d\n", data); // @b
	pthread_join(t, NULL);
	return 0;
}

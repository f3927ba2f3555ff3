// An address becomes a number with a point, and an address again.
// expect: race a b
#include "golden.h"

struct node {
	volatile long value;
};
static volatile double slot;

static void *work(void *arg)
{
	struct node *n = (struct node *)(uintptr_t)slot;

	for (int i = 0; i < 10000; i++)
		n->value++; // @a
	return arg;
}

int main(void)
{
	pthread_t thread;
	struct node *n = malloc(sizeof *n);

	n->value = 0;
	slot = (double)(uintptr_t)n;
	pthread_create(&thread, NULL, work, NULL);
	for (int i = 0; i < 10000; i++)
		n->value++; // @b
	pthread_join(thread, NULL);
	printf("%ld\n", n->value);
	return 0;
}

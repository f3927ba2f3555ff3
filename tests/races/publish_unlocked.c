// A block is made and its address stored in a global without any order.
// expect: race p q
// expect: race a b
#include "golden.h"

static struct node {
	volatile int value;
} *volatile slot;

static void *maker(void *arg)
{
	struct node *n = malloc(sizeof *n);

	(void)arg;
	n->value = 5; // @a
	slot = n;     // @p
	return NULL;
}

static void *taker(void *arg)
{
	struct node *n;
	unsigned turns = 0;

	(void)arg;
	while (!(n = slot)) // @q
		patience(&turns);
	return (void *)(intptr_t)n->value; // @b
}

int main(void)
{
	pair(maker, taker);
	free(slot);
	return 0;
}

// A pointer is passed on in two halves of 32 bits.
// expect: race a b
#include "golden.h"

static struct node {
	volatile int value;
} * mine;
static volatile uint32_t low, high;

static void *other(void *arg)
{
	struct node *n = (struct node *)((uint64_t)high << 32 | low);

	(void)arg;
	for (int i = 0; i < 1000; i++)
		n->value++; // @a
	return NULL;
}

static void *owner(void *arg)
{
	(void)arg;
	for (int i = 0; i < 1000; i++)
		mine->value++; // @b
	return NULL;
}

int main(void)
{
	struct node *n = calloc(1, sizeof *n);

	mine = n;
	low = (uint32_t)(uintptr_t)n;
	high = (uint32_t)((uintptr_t)n >> 32);
	pair(owner, other);
	return 0;
}

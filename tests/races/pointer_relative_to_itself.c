// A list whose links are ways from themselves: none leads from a block to another by an address.
// expect: race a b
#include "golden.h"

struct node {
	intptr_t way; /* from here to the next node */
	volatile long value;
};

static NOINLINE void link_to(struct node *from, struct node *to)
{
	from->way = (char *)to - (char *)&from->way;
}

static NOINLINE struct node *next_of(struct node *n)
{
	return (struct node *)((char *)&n->way + n->way);
}

static void *work(void *arg)
{
	struct node *n = next_of(arg);

	for (int i = 0; i < 10000; i++)
		n->value++; // @a
	return NULL;
}

int main(void)
{
	pthread_t thread;
	struct node *first = calloc(1, sizeof *first), *second = calloc(2, sizeof *second);

	link_to(first, second);
	pthread_create(&thread, NULL, work, first);
	for (int i = 0; i < 10000; i++)
		second->value++; // @b
	pthread_join(thread, NULL);
	printf("%ld\n", second->value);
	return 0;
}

// A pointer is kept as the way to it from a variable.
// expect: race a b
#include "golden.h"

struct node {
	volatile long value;
};
static struct {
	volatile intptr_t way;
} head;

static NOINLINE void put(struct node *n)
{
	head.way = (char *)n - (char *)&head;
}

static NOINLINE struct node *get(void)
{
	return (struct node *)((char *)&head + head.way);
}

static void *work(void *arg)
{
	struct node *n = get();

	for (int i = 0; i < 10000; i++)
		n->value++; // @a
	return arg;
}

int main(void)
{
	pthread_t thread;
	struct node *n = malloc(sizeof *n);

	n->value = 0;
	put(n);
	pthread_create(&thread, NULL, work, NULL);
	for (int i = 0; i < 10000; i++)
		n->value++; // @b
	pthread_join(thread, NULL);
	printf("%ld\n", n->value);
	return 0;
}

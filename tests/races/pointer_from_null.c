// A pointer is kept as the way to it from null.
// expect: race a b
#include "golden.h"

struct node {
	volatile long value;
};
static volatile intptr_t off;

static NOINLINE void put(char *n, char *base)
{
	off = n - base;
}

static NOINLINE struct node *get(char *base)
{
	return (struct node *)(base + off);
}

static void *work(void *arg)
{
	struct node *n = get(NULL);

	for (int i = 0; i < 10000; i++)
		n->value++; // @a
	return arg;
}

int main(void)
{
	pthread_t thread;
	struct node *n = malloc(sizeof *n);

	n->value = 0;
	put((char *)n, NULL);
	pthread_create(&thread, NULL, work, NULL);
	for (int i = 0; i < 10000; i++)
		n->value++; // @b
	pthread_join(thread, NULL);
	printf("%ld\n", n->value);
	return 0;
}

// One struct on the heap, reached by two pointers: the same field.
// expect: race a b
// expect: none c because only one thread has to do with this field
#include "golden.h"

struct item {
	long count, owner;
};

static void *first(void *arg)
{
	struct item *i = arg;

	i->count = 1; // @a
	i->owner = 1; // @c
	return NULL;
}

static void *second(void *arg)
{
	struct item *i = arg;

	i->count = 2; // @b
	return NULL;
}

int main(void)
{
	struct item *i = calloc(1, sizeof *i);
	pthread_t a, b;

	pthread_create(&a, NULL, first, i);
	pthread_create(&b, NULL, second, i);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%ld %ld\n", i->count, i->owner);
	free(i);
	return 0;
}

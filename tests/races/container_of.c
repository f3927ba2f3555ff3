// From a pointer to one field to the struct around it, and to another of its fields.
// expect: race a b
#include "golden.h"
#include <stddef.h>

struct link {
	struct link *next;
};
static struct item {
	long value;
	struct link link;
} item;

static void *by_link(void *arg)
{
	struct link *l = arg;
	struct item *i = (struct item *)((char *)l - offsetof(struct item, link));

	i->value = 1; // @a
	return NULL;
}

static void *by_item(void *arg)
{
	struct item *i = arg;

	i->value = 2; // @b
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, by_link, &item.link);
	pthread_create(&b, NULL, by_item, &item);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%ld\n", item.value);
	return 0;
}

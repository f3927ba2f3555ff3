// Elements that nothing is known of, but one thread only writes one member of them, and the other the others.
// expect: none a b because different members, whatever element it is
#include "golden.h"

static struct item {
	long first;
	int second, third;
} items[16];
static volatile unsigned where = 5;

static void *one(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++)
		items[where % 16].first += i; // @a
	return NULL;
}

static void *other(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++) {
		items[where % 16].second += i; // @b
		items[where % 16].third += i;  // @b
	}
	return NULL;
}

int main(void)
{
	pair(one, other);
	printf("%ld %d %d\n", items[5].first, items[5].second, items[5].third);
	return 0;
}

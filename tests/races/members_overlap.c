// Elements that nothing is known of: one thread writes a member, the other eight bytes from the middle of it on, which is all but in the next one.
// expect: race a b
#include "golden.h"

static struct item {
	int first, second, third, fourth;
} items[16];
static volatile unsigned where = 5;

static void *one(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2000; i++)
		items[where % 16].second += i; // @a
	return NULL;
}

static void *other(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2000; i++) {
		char *from = (char *)&items[where % 16].second + 3;
		uint64_t n = (uint64_t)i;
		memcpy(from, &n, sizeof n); // @b
		LOOK_AGAIN();
	}
	return NULL;
}

int main(void)
{
	pair(one, other);
	printf("%d\n", items[5].second);
	return 0;
}

// Words at places of a buffer that are no multiples of their size: parts that the type's alignment would keep apart.
// expect: race a b
// expect: race c c
// expect: race d d
#include "golden.h"

static unsigned char records[128], words[64], numbers[64];

static NOINLINE void put(void *at, uint64_t value)
{
	*(uint64_t *)at = value; // @c
}

static void *work(void *arg)
{
	unsigned char *record = records + 12 * id_of(arg);

	*(uint64_t *)record = 7;			  // @a
	*(uint64_t *)(record + 8) = (uint64_t)id_of(arg); // @b
	put(words + 6 * id_of(arg), 7);
	*(volatile int *)(numbers + 3 * id_of(arg)) = 3; // @d
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d %d %d\n", records[8], words[6], numbers[4]);
	return 0;
}

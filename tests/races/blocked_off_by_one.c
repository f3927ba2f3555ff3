// Blocks, but the loop goes one element too far.
// expect: race a a
#include "golden.h"

#define BLOCK 25
static int a[4 * BLOCK + 1];

static void *work(void *arg)
{
	long id = id_of(arg);

	for (long i = id * BLOCK; i <= (id + 1) * BLOCK; i++)
		a[i] += (int)i; // @a
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", a[99]);
	return 0;
}

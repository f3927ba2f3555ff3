// A table of pointers to blocks, one for each thread; two of them are the same block.
// expect: race a a
#include "golden.h"

static long *blocks[3];

static void *work(void *arg)
{
	blocks[id_of(arg)][1]++; // @a
	return NULL;
}

int main(void)
{
	blocks[0] = calloc(4, sizeof(long));
	blocks[1] = calloc(4, sizeof(long));
	blocks[2] = blocks[0];
	team(3, work);
	printf("%ld\n", blocks[0][1]);
	return 0;
}

// memset over blocks: each thread clears its own.
// expect: none a because blocks are disjoint
#include "golden.h"

#define BLOCK 64
static char buffer[4 * BLOCK];

static void *work(void *arg)
{
	memset(buffer + id_of(arg) * BLOCK, (int)id_of(arg), BLOCK); // @a
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", buffer[100]);
	return 0;
}

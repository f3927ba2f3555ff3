// memset over blocks, one byte too long.
// expect: race a a
#include "golden.h"

#define BLOCK 64
static char buffer[4 * BLOCK + 1];

static void *work(void *arg)
{
	memset(buffer + id_of(arg) * BLOCK, (int)id_of(arg), BLOCK + 1); // @a
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", buffer[100]);
	return 0;
}

// A stencil over one array: reads reach into the neighbour's block.
// expect: race r w
#include "golden.h"

#define BLOCK 16
static int a[4 * BLOCK + 2];

static void *work(void *arg)
{
	long id = id_of(arg);

	for (long i = 1 + id * BLOCK; i <= (id + 1) * BLOCK; i++) {
		int sum = a[i - 1] + a[i + 1]; // @r
		a[i] = sum + 1;		       // @w
	}
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", a[5]);
	return 0;
}

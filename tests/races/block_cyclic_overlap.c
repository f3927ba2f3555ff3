// Blocks of five, dealt out in turn, but six elements of each are written.
// expect: race a a
#include "golden.h"

#define THREADS 4
#define BLOCK	5
static int a[201];

static void *work(void *arg)
{
	for (long b = id_of(arg); b < 200 / BLOCK; b += THREADS)
		for (long i = 0; i <= BLOCK; i++)
			a[b * BLOCK + i] = (int)b; // @a
	return NULL;
}

int main(void)
{
	team(THREADS, work);
	printf("%d\n", a[199]);
	return 0;
}

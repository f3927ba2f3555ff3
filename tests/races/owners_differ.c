// Two functions say who owns a block, and they do not agree.
// expect: race w v
#include "golden.h"

enum { BLOCKS = 8, BLOCK = 4 };
static unsigned threads = 2;
static int matrix[BLOCKS * BLOCKS * BLOCK];

static void *work(void *arg)
{
	unsigned me = (unsigned)id_of(arg);

	for (unsigned i = 0; i < BLOCKS; i++)
		for (unsigned j = 0; j < BLOCKS; j++)
			for (unsigned e = 0; e < BLOCK; e++) {
				if ((3 * i + j) % threads == me)
					matrix[(i * BLOCKS + j) * BLOCK + e]++; // @w
				if ((i + 3 * j) % threads == me)
					matrix[(i * BLOCKS + j) * BLOCK + e] += 2; // @v
			}
	return NULL;
}

int main(int argc, char **argv)
{
	(void)argv;
	threads = (unsigned)argc + 2;
	team(threads, work);
	printf("%d\n", matrix[5]);
	return 0;
}

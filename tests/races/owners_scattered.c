// Blocks of a matrix belong to threads by (3 i + j) modulo their number, which is known only when the program runs.
// expect: none w because a block has one owner
#include "golden.h"

enum { BLOCKS = 8, BLOCK = 4 };
static unsigned threads = 2;
static int matrix[BLOCKS * BLOCKS * BLOCK];

static void *work(void *arg)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		for (unsigned j = 0; j < BLOCKS; j++)
			for (unsigned e = 0; e < BLOCK && (3 * i + j) % threads == (unsigned)id_of(arg); e++)
				matrix[(i * BLOCKS + j) * BLOCK + e]++; // @w
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

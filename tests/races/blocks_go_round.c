// Blocks that one thread frees and another allocates, small and large: nobody uses the same block at the same time.
// expect: none a because a block that was freed has no past
#include "golden.h"

static void *work(void *arg)
{
	char *blocks[64];

	for (int turn = 0; turn < 12; turn++) {
		for (int i = 0; i < 64; i++) {
			size_t n = i % 16 ? 40 + (size_t)(i % 4) * 3000 : 200000;
			blocks[i] = malloc(n);
			blocks[i][0] = blocks[i][n - 1] = (char)id_of(arg); // @a
		}
		for (int i = 0; i < 64; i++)
			free(blocks[i]);
	}
	return NULL;
}

int main(void)
{
	team(4, work);
	return 0;
}

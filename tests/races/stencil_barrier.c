// A stencil from one array to the other, with a barrier between turns.
// expect: none a b because a barrier lies between the turns
#include "golden.h"

#define BLOCK 8
static int grid[2][4 * BLOCK + 2];
static pthread_barrier_t barrier;

static NOINLINE void sweep(int *to, const int *from, long id)
{
	for (long i = 1 + id * BLOCK; i <= (id + 1) * BLOCK; i++)
		to[i] = from[i - 1] + from[i + 1] + 1; // @a @b
}

static void *work(void *arg)
{
	for (int turn = 0; turn < 4; turn++) {
		sweep(grid[(turn + 1) % 2], grid[turn % 2], id_of(arg));
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, 4);
	team(4, work);
	printf("%d\n", grid[0][5]);
	return 0;
}

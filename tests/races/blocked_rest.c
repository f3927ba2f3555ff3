// Blocks of a size that is known at run time; the last thread takes what is left over.
// expect: none a because blocks end where the next begins
#include "golden.h"

static int a[1000], size, threads;

static void *work(void *arg)
{
	int id = (int)id_of(arg), block = size / threads;
	int from = id * block, to = id == threads - 1 ? size : from + block;

	for (int i = from; i < to; i++)
		a[i] += i; // @a
	return NULL;
}

int main(int argc, char **argv)
{
	(void)argv;
	size = 99 + argc;
	threads = 3;
	team(threads, work);
	printf("%d\n", a[99]);
	return 0;
}

// RacX figure 4, from ocean: main fills the table, then creates the threads, which only read it.
// expect: none a b because written before the threads are created
#include "golden.h"

#define NUMLEV 3
static int jmx[NUMLEV];
static long sums[4];

static void *slave(void *arg)
{
	long sum = 0;

	for (int iindex = 0; iindex <= jmx[NUMLEV - 1] - 1; iindex++) // @b
		sum += iindex;
	sums[id_of(arg)] = sum;
	return NULL;
}

int main(int argc, char **argv)
{
	int jm = 20 + argc;

	(void)argv;
	jmx[NUMLEV - 1] = jm; // @a
	team(4, slave);
	printf("%ld\n", sums[0]);
	return 0;
}

// A table on the heap that is filled before the threads begin, and then only read, through pointers.
// expect: none a b because nobody writes it after start
#include "golden.h"

static int *table;

static NOINLINE void prepare(void)
{
	table = malloc(64 * sizeof *table);
	for (int i = 0; i < 64; i++)
		table[i] = i * 3; // @a
}

static void *work(void *arg)
{
	long sum = 0;

	for (long i = id_of(arg); i < 64; i++)
		sum += table[i]; // @b
	return (void *)sum;
}

int main(void)
{
	prepare();
	team(4, work);
	printf("%d\n", table[9]);
	free(table);
	return 0;
}

// A table that all read, and one thread changes a single time.
// expect: race a b
#include "golden.h"

static volatile int table[64];

static void *work(void *arg)
{
	long sum = 0;

	for (long i = 0; i < 64; i++)
		sum += table[i]; // @b
	if (id_of(arg) == 2)
		table[40] = 1; // @a
	return (void *)sum;
}

int main(void)
{
	for (int i = 0; i < 64; i++)
		table[i] = i;
	team(4, work);
	return 0;
}

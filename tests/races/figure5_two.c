// RacX figure 5 with the two threads 0 and 1: even blocks of ten, and odd ones.
// expect: none a because ids are 0 and 1, and blocks are 2*i + id
#include "golden.h"

static int a[400];

static NOINLINE void worker(long myid)
{
	long step = myid;

	for (int i = 0; i < 10; i++) {
		for (int j = 0; j < 10; ++j)
			a[j + 10 * (2 * i + step)] = 2; // @a
	}
}

static void *entry(void *arg)
{
	worker(id_of(arg));
	return NULL;
}

int main(void)
{
	team(2, entry);
	printf("%d\n", a[0]);
	return 0;
}

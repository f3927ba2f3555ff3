// RacX figure 5 as printed. The paper calls it disjoint, but thread 0 at i = 1 and thread 2 at i = 0 write the same.
// expect: race a a
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
	team(4, entry);
	printf("%d\n", a[0]);
	return 0;
}

// RacX figure 5 before induction variables are replaced: step grows with the outer loop. Two threads.
// expect: none a because step is 2*i + id, and ids are 0 and 1
#include "golden.h"

static int a[400];

static NOINLINE void worker(long myid)
{
	long step = myid * 10;

	for (int i = 0; i < 10; i++) {
		for (int j = 0; j < 10; ++j)
			a[j + step] = 2; // @a
		step += 20;
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

// Threads get their numbers from an atomic counter.
// expect: none a because each number is given once
#include "golden.h"

static int next_id, table[8];

static void *work(void *arg)
{
	(void)arg;
	int id = __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 10; i++) {
		table[id] += i; // @a
		LOOK_AGAIN();
	}
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", table[0]);
	return 0;
}

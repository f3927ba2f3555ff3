// Two arguments that change places with each call: each is handed on, but not as it was.
// expect: race a a
#include "golden.h"

static long visited[8];

static NOINLINE void walk(long me, long other, long depth)
{
	visited[me]++; // @a
	LOOK_AGAIN();
	if (depth < 4)
		walk(other, me, depth + 1);
	LOOK_AGAIN();
}

static void *work(void *arg)
{
	for (int i = 0; i < 50; i++) {
		walk(id_of(arg), 7, 0);
		sched_yield();
	}
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%ld\n", visited[7]);
	return 0;
}

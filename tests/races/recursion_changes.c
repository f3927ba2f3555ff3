// The same, but deeper calls count for the next one.
// expect: race a a
#include "golden.h"

static long visited[8];

static NOINLINE void walk(long me, long depth)
{
	visited[me]++; // @a
	LOOK_AGAIN();
	if (depth < 3)
		walk(me + 1, depth + 1);
	LOOK_AGAIN();
}

static void *work(void *arg)
{
	for (int i = 0; i < 50; i++) {
		walk(id_of(arg), 0);
		sched_yield();
	}
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%ld\n", visited[3]);
	return 0;
}

// A function that waits at a barrier and calls itself: each depth is a phase, but the part that a call writes depends on
// its depth, too.
// expect: race a b
#include "golden.h"

static long parts[2][4];
static long seen;
static pthread_barrier_t meet;

static NOINLINE void step(long me, long depth)
{
	parts[depth & 1][me]++; // @a
	LOOK_AGAIN();
	pthread_barrier_wait(&meet);
	if (me == 0)
		seen += parts[~depth & 1][1]; // @b
	LOOK_AGAIN();
	if (depth < 30)
		step(me, depth + 1);
	LOOK_AGAIN();
}

static void *work(void *arg)
{
	step(id_of(arg), 0);
	return NULL;
}

int main(void)
{
	pthread_barrier_init(&meet, NULL, 4);
	team(4, work);
	printf("%ld\n", seen);
	return 0;
}

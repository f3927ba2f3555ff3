// A walk down a tree that hands the thread's number on as it got it, and the struct that it fills.
// expect: none a b because each thread has its own counter and its own struct
#include "golden.h"

static long visited[4];
static struct sum {
	long here, room[7];
} sums[4];

static NOINLINE void walk(long me, struct sum *s, long node)
{
	visited[me]++;	 // @a
	s->here += node; // @b
	LOOK_AGAIN();
	if (node < 16)
		walk(me, s, 2 * node);
	if (node < 15)
		walk(me, s, 2 * node + 1);
	LOOK_AGAIN();
}

static void *work(void *arg)
{
	walk(id_of(arg), &sums[id_of(arg)], 1);
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%ld %ld\n", visited[3], sums[2].here);
	return 0;
}

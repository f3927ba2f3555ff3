// The function that a thread begins with calls itself, with another thread's part.
// expect: race a a
#include "golden.h"

static long visited[4];

static NOINLINE void *work(void *arg)
{
	long me = id_of(arg);

	for (int i = 0; i < 50; i++) {
		visited[me]++; // @a
		LOOK_AGAIN();
	}
	sched_yield();
	if (me < 3)
		work((void *)(intptr_t)(me + 1));
	LOOK_AGAIN();
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%ld\n", visited[3]);
	return 0;
}

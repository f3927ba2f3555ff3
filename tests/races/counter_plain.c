// Four threads count without a lock.
// expect: race a a
#include "golden.h"

static int counter;

static NOINLINE void count(void)
{
	counter++; // @a
}

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 100; i++)
		count();
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", counter);
	return 0;
}

// Four threads, but each goes on by three.
// expect: race a a
#include "golden.h"

static int a[100];

static void *work(void *arg)
{
	for (long i = id_of(arg); i < 100; i += 3)
		a[i] += 1; // @a
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", a[99]);
	return 0;
}

// Each thread has every fourth element.
// expect: none a because indices are id modulo 4
#include "golden.h"

#define THREADS 4
static int a[100];

static void *work(void *arg)
{
	for (long i = id_of(arg); i < 100; i += THREADS)
		a[i] += 1; // @a
	return NULL;
}

int main(void)
{
	team(THREADS, work);
	printf("%d\n", a[99]);
	return 0;
}

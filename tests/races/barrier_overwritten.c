// A barrier for four is overwritten by one for two, before there are threads.
// expect: race a b
#include "golden.h"

static pthread_barrier_t barrier, for_two;
static int shared, seen[4];

static void *work(void *arg)
{
	long me = id_of(arg);

	if (me == 0)
		shared++; // @a
	pthread_barrier_wait(&barrier);
	seen[me & 3] += shared; // @b
	return NULL;
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, 4);
	pthread_barrier_init(&for_two, NULL, 2);
	barrier = for_two;
	team(4, work);
	printf("%d\n", seen[0]);
	return 0;
}

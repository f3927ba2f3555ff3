// Two threads wait at the barrier, the third does not.
// expect: race a b
#include "golden.h"

static volatile int shared;
static pthread_barrier_t barrier;

static void *work(void *arg)
{
	if (id_of(arg) == 0)
		shared = 5; // @a
	if (id_of(arg) != 2)
		pthread_barrier_wait(&barrier);
	return (void *)(intptr_t)shared; // @b
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	team(3, work);
	return 0;
}

// One thread writes, all wait at the barrier, all read.
// expect: none a b because a barrier that all pass lies between
#include "golden.h"

static int shared;
static pthread_barrier_t barrier;

static void *work(void *arg)
{
	if (id_of(arg) == 0)
		shared = 5; // @a
	pthread_barrier_wait(&barrier);
	return (void *)(intptr_t)shared; // @b
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, 4);
	team(4, work);
	return 0;
}

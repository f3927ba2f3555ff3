// Four threads, but the barrier lets go of every two.
// expect: race a b
#include "golden.h"

static volatile int shared;
static pthread_barrier_t barrier;

static void *work(void *arg)
{
	if (id_of(arg) == 0) {
		usleep(2000);
		shared = 5; // @a
	}
	pthread_barrier_wait(&barrier);
	return (void *)(intptr_t)shared; // @b
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	team(4, work);
	return 0;
}

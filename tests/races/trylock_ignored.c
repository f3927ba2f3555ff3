// trylock failed, and the access is made all the same.
// expect: race a a
#include "golden.h"

static int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 200; i++) {
		int busy = pthread_mutex_trylock(&lock);
		shared++; // @a
		sched_yield();
		if (!busy)
			pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", shared);
	return 0;
}

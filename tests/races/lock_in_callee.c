// The lock is taken and given in functions of their own.
// expect: none a because take() has the lock
#include "golden.h"

static int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void take(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
}

static NOINLINE void give(pthread_mutex_t *m)
{
	pthread_mutex_unlock(m);
}

static void *work(void *arg)
{
	(void)arg;
	take(&lock);
	shared++; // @a
	give(&lock);
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", shared);
	return 0;
}

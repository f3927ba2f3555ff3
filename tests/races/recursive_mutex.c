// A recursive mutex, taken on every level: an inner unlock does not free it.
// expect: kept a b because the outer level still holds the lock
#include "golden.h"

static int before, after;
static pthread_mutex_t lock;

static NOINLINE void down(int depth)
{
	pthread_mutex_lock(&lock);
	before++; // @a
	if (depth)
		down(depth - 1);
	after++; // @b
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	(void)arg;
	down(5);
	return NULL;
}

int main(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&lock, &attr);
	team(4, work);
	printf("%d %d\n", before, after);
	return 0;
}

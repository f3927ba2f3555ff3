// A pointer to one of two locks: even and odd threads take different ones.
// expect: race a a
#include "golden.h"

static int shared;
static pthread_mutex_t locks[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };

static NOINLINE void add(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	shared++; // @a
	pthread_mutex_unlock(lock);
}

static void *work(void *arg)
{
	pthread_mutex_t *lock = id_of(arg) % 2 ? &locks[1] : &locks[0];

	add(lock);
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", shared);
	return 0;
}

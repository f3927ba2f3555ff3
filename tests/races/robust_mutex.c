// A thread dies with a robust mutex: who takes it next comes after all that the dead one did.
// expect: kept a b because the mutex orders them, EOWNERDEAD or not
#include "golden.h"
#include <errno.h>

static int shared;
static pthread_mutex_t lock;

static void *dies(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	shared = 1; // @a
	return NULL;
}

static void *goes_on(void *arg)
{
	unsigned turns = 0;

	(void)arg;
	for (;;) {
		int r = pthread_mutex_lock(&lock);
		if (r == EOWNERDEAD)
			pthread_mutex_consistent(&lock);
		int there = shared; // @b
		pthread_mutex_unlock(&lock);
		if (there)
			return NULL;
		patience(&turns);
	}
}

int main(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&lock, &attr);
	pair(goes_on, dies);
	return 0;
}

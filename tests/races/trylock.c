// What comes after a trylock that got the lock is locked.
// expect: none a because only when trylock returned 0
#include "golden.h"

static int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++)
		if (!pthread_mutex_trylock(&lock)) {
			shared++; // @a
			pthread_mutex_unlock(&lock);
		}
	return NULL;
}

int main(void)
{
	team(4, work);
	return shared < 1;
}

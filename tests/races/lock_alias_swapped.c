// The pointer to the lock is the same variable in both threads, but it is changed while they run.
// expect: race a a
// expect: race p q
#include "golden.h"

static int shared;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *volatile current = &one;

static void *work(void *arg)
{
	for (int i = 0; i < 50; i++) {
		pthread_mutex_t *lock = current; // @p
		pthread_mutex_lock(lock);
		shared++; // @a
		pthread_mutex_unlock(lock);
		if (id_of(arg) == 0)
			current = i % 2 ? &one : &two; // @q
	}
	return NULL;
}

int main(void)
{
	team(3, work);
	printf("%d\n", shared);
	return 0;
}

// A flag under a lock, waited for with a condition; the value behind it is read without the lock.
// expect: none f because always under lock
// expect: kept a b because the flag under the lock orders them
#include "golden.h"

static int ready, value;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *consume(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	while (!ready) // @f
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return (void *)(intptr_t)value; // @b
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, consume, NULL);
	value = 9; // @a
	pthread_mutex_lock(&lock);
	ready = 1; // @f
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(t, NULL);
	return 0;
}

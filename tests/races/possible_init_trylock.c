// One access without the lock; others enter by trylock and act on its failure. A lock on the one changes what they do.
// expect: hook a b because the lock is also taken by trylock
#include "golden.h"

static volatile int shared;
static int busy;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 50; i++)
		if (!pthread_mutex_trylock(&lock)) {
			shared++; // @b
			pthread_mutex_unlock(&lock);
		} else {
			__atomic_fetch_add(&busy, 1, __ATOMIC_RELAXED);
		}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	shared = 100; // @a
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", shared);
	return 0;
}

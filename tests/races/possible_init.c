// One access without the lock, many with it: RacX puts the lock on the one. Nothing here can deadlock.
// expect: lock a b
#include "golden.h"

static volatile int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10; i++) {
		pthread_mutex_lock(&lock);
		shared++; // @b
		pthread_mutex_unlock(&lock);
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

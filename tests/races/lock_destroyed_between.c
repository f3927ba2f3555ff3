// A lock is destroyed when all threads have ended, and made again before there are others.
// expect: none a because a lock is made for each team
#include "golden.h"

static pthread_mutex_t lock;
static volatile long total;

static void *work(void *arg)
{
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&lock);
		total++; // @a
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

int main(void)
{
	for (int round = 0; round < 3; round++) {
		pthread_t threads[2];

		pthread_mutex_init(&lock, NULL);
		for (int i = 0; i < 2; i++)
			pthread_create(&threads[i], NULL, work, NULL);
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		pthread_mutex_destroy(&lock);
	}
	return 0;
}

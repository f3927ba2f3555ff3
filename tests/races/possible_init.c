// One access without the lock, many with it: RacX puts the lock on the one. Nothing here can deadlock.
// expect: race a b
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
	pthread_t a, b;

	pthread_create(&a, NULL, work, NULL);
	pthread_create(&b, NULL, work, NULL);
	shared = 100; // @a
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%d\n", shared);
	return 0;
}

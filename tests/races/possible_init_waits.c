// One access without the lock, many with it; but who holds the lock waits for a thread that comes to that access first. A lock on it deadlocks.
// expect: hook a b because the holder of the lock waits for it
#include "golden.h"
#include <semaphore.h>

static volatile int shared;
static sem_t ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	pthread_mutex_lock(&lock);
	if (id_of(arg) == 0)
		sem_wait(&ready);
	shared++; // @b
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	sem_init(&ready, 0, 0);
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
	shared = 100; // @a
	sem_post(&ready);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", shared);
	return 0;
}

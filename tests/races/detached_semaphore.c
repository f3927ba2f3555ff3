// A detached thread posts a semaphore when its result is there.
// expect: kept a b because the semaphore orders them
#include "golden.h"
#include <semaphore.h>

static int result;
static sem_t done;

static void *work(void *arg)
{
	(void)arg;
	result = 3; // @a
	sem_post(&done);
	return NULL;
}

int main(void)
{
	pthread_t t;

	sem_init(&done, 0, 0);
	pthread_create(&t, NULL, work, NULL);
	pthread_detach(t);
	sem_wait(&done);
	printf("%d\n", result); // @b
	return 0;
}

// Detached threads, one at a time: a later one has the stack and the slot of an earlier one that nobody joined.
// expect: none a because it is each thread's own stack
// expect: kept b because the semaphore orders them
#include "golden.h"
#include <semaphore.h>

static sem_t done;
static int turns;

static NOINLINE void fill(volatile long *values)
{
	for (long i = 0; i < 64; i++)
		values[i] = i; // @a
}

static void *work(void *arg)
{
	volatile long values[64];

	(void)arg;
	fill(values);
	turns++; // @b
	sem_post(&done);
	fill(values);
	return NULL;
}

int main(void)
{
	sem_init(&done, 0, 0);
	for (int i = 0; i < 20; i++) {
		pthread_t t;
		pthread_create(&t, NULL, work, NULL);
		pthread_detach(t);
		sem_wait(&done);
		usleep(500);
	}
	printf("%d\n", turns);
	return 0;
}

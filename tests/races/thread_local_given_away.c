// The address of a thread-local variable is given to another thread.
// expect: race a b
#include "golden.h"
#include <semaphore.h>

static __thread volatile int mine;
static volatile int *place;
static sem_t given, done;

static void *owner(void *arg)
{
	(void)arg;
	place = &mine;
	sem_post(&given);
	mine = 1; // @a
	sem_wait(&done);
	return NULL;
}

static void *guest(void *arg)
{
	(void)arg;
	sem_wait(&given);
	*place = 2; // @b
	sem_post(&done);
	return NULL;
}

int main(void)
{
	sem_init(&given, 0, 0);
	sem_init(&done, 0, 0);
	pair(owner, guest);
	return 0;
}

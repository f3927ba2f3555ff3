// A semaphore that lets one thread in at a time is a lock.
// expect: kept a because one at a time
#include "golden.h"
#include <semaphore.h>

static int inside;
static sem_t room;

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++) {
		sem_wait(&room);
		inside++; // @a
		sem_post(&room);
	}
	return NULL;
}

int main(void)
{
	sem_init(&room, 0, 1);
	team(4, work);
	printf("%d\n", inside);
	return 0;
}

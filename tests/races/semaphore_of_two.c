// A semaphore that lets two threads in is no lock.
// expect: race a a
#include "golden.h"
#include <semaphore.h>

static volatile int inside;
static sem_t room;

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++) {
		sem_wait(&room);
		inside++; // @a
		sched_yield();
		sem_post(&room);
	}
	return NULL;
}

int main(void)
{
	sem_init(&room, 0, 2);
	team(4, work);
	printf("%d\n", inside);
	return 0;
}

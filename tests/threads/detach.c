/*
 * Detached threads: nobody waits for their end, so nothing but their slot and stack says that they were there. Both may
 * be used again by the next thread, as soon as the kernel has let go of them: addresses and ids printed must be the
 * recorded ones. Some detach themselves, some are made so, some are detached by others.
 */
// run: varies no-checksum='libc links the stacks of detached threads in the order in which they end'
#include "threads.h"
#include <semaphore.h>
#include <sys/syscall.h>

enum { THREADS = 60 };
static sem_t done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arrivals order;
static unsigned long places;
static unsigned ids;

static void *work(void *argument)
{
	int local;

	if (ME(argument) % 3 == 0)
		CHECK(pthread_detach(pthread_self()) == 0);
	dawdle(20000);
	pthread_mutex_lock(&lock);
	arrive(&order, ME(argument));
	places = places * 31 + (unsigned long)&local + (unsigned long)pthread_self();
	ids = ids * 31 + (unsigned)syscall(SYS_gettid);
	pthread_mutex_unlock(&lock);
	CHECK(sem_post(&done) == 0);
	return NULL;
}

int main(void)
{
	pthread_attr_t detached;
	pthread_t thread;

	CHECK(sem_init(&done, 0, 0) == 0);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	for (unsigned i = 0; i < THREADS; i++) {
		CHECK(pthread_create(&thread, i % 3 == 1 ? &detached : NULL, work, (void *)(uintptr_t)i) == 0);
		if (i % 3 == 2)
			CHECK(pthread_detach(thread) == 0);
		if (i >= 4)
			CHECK(sem_wait(&done) == 0); /* about four at a time */
	}
	for (int i = 0; i < 4; i++)
		CHECK(sem_wait(&done) == 0);
	pthread_mutex_lock(&lock);
	print_arrivals("order", &order);
	printf("places %016lx, ids %08x\n", places, ids);
	pthread_mutex_unlock(&lock);
	return 0;
}

/*
 * Memory that is gone as soon as nobody needs it: a thread unmaps what its own pthread_t is in, before its creator has returned; and a condition is
 * destroyed and unmapped when its waiter has been woken, but does not run yet. Nothing may look there any more.
 */
// run: no-checksum='libc links the stacks of detached threads in the order in which they end'
#include "threads.h"
#include <semaphore.h>
#include <sys/mman.h>

enum { ROUNDS = 150, SIZE = 65536 };
static sem_t done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t *cond;
static int waits, go;

static void *map(void)
{
	void *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void *unmap_handle(void *handle)
{
	CHECK(munmap(handle, SIZE) == 0 && sem_post(&done) == 0);
	return NULL;
}

static void *wait_for_it(void *unused)
{
	pthread_mutex_lock(&lock);
	waits = 1;
	while (!go)
		pthread_cond_wait(cond, &lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void wake_and_destroy(void)
{
	pthread_t thread;
	pthread_cond_t *old = cond = map();

	CHECK(pthread_cond_init(cond, NULL) == 0);
	waits = go = 0;
	CHECK(pthread_create(&thread, NULL, wait_for_it, NULL) == 0);
	for (int there = 0; !there; sched_yield()) {
		pthread_mutex_lock(&lock);
		there = waits;
		if (there) {
			go = 1;
			pthread_cond_broadcast(cond);
		}
		pthread_mutex_unlock(&lock);
	}
	CHECK(pthread_cond_destroy(old) == 0 && munmap(old, SIZE) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

int main(void)
{
	pthread_attr_t detached;

	CHECK(sem_init(&done, 0, 0) == 0);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t *handle = map();
		CHECK(pthread_create(handle, &detached, unmap_handle, handle) == 0);
		while (sem_wait(&done))
			;
		wake_and_destroy();
	}
	puts("done");
	return 0;
}

/*
 * What a thread leaves behind that others meet: a robust mutex that a thread of the parent's holds, while a thread of the child's ends in its slot;
 * and a rwlock that prefers writers, after a writer has given up: readers must come in again.
 */
#include "threads.h"
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>

static pthread_mutex_t *robust;
static pthread_rwlock_t rwlock;
static sem_t held, over;

static void *hold(void *unused)
{
	CHECK(pthread_mutex_lock(robust) == 0 && sem_post(&held) == 0);
	while (sem_wait(&over))
		;
	CHECK(pthread_mutex_unlock(robust) == 0);
	return unused;
}

static void *nothing(void *unused)
{
	return unused;
}

static void *write_late(void *unused)
{
	struct timespec soon = after(CLOCK_REALTIME, 20000);

	CHECK(pthread_rwlock_timedwrlock(&rwlock, &soon) == ETIMEDOUT);
	return unused;
}

static void *read_then(void *unused)
{
	CHECK(pthread_rwlock_rdlock(&rwlock) == 0 && pthread_rwlock_unlock(&rwlock) == 0);
	return unused;
}

static void run(void *(*work)(void *))
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static void robust_in_child(void)
{
	pthread_mutexattr_t attr;
	pthread_t thread;

	robust = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(robust != MAP_FAILED && sem_init(&held, 0, 0) == 0 && sem_init(&over, 0, 0) == 0);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	CHECK(pthread_mutex_init(robust, &attr) == 0 && pthread_create(&thread, NULL, hold, NULL) == 0);
	while (sem_wait(&held))
		;
	pid_t child = fork();
	if (!child) {
		run(nothing);
		_exit(pthread_mutex_trylock(robust) != EBUSY);
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	sem_post(&over);
	CHECK(pthread_join(thread, NULL) == 0);
}

int main(void)
{
	pthread_rwlockattr_t attr;

	robust_in_child();
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	CHECK(pthread_rwlock_init(&rwlock, &attr) == 0 && pthread_rwlock_rdlock(&rwlock) == 0);
	run(write_late);
	CHECK(pthread_rwlock_tryrdlock(&rwlock) == 0);
	run(read_then);
	puts("done");
	return 0;
}

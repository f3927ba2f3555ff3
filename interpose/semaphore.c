/*
 * Semaphores. Named ones are libc's mappings, used as any other; where a process that is not
 * recorded, or another of the recording, posts, its order with ours is not known: only what each
 * call returned is reproduced.
 */
#define _GNU_SOURCE
#undef __EXCEPTIONS /* as in pthread.c */
#include <pthread.h>
#include "interpose/interpose.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

static uint32_t named; /* libc's list of open ones */

static int fail(long error)
{
	if (!error)
		return 0;
	errno = (int)error;
	return -1;
}

static int take(sem_t *sem, clockid_t clock, const struct timespec *until)
{
	int type;
	before_wait();
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	long r = CALL_ON(sem_take, sem, 0, clock, until);
	pthread_setcanceltype(type, 0);
	return fail(r);
}

EXPORT int sem_wait(sem_t *sem)
{
	return take(sem, 0, 0);
}

EXPORT int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
	if ((clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) || until->tv_nsec < 0 || until->tv_nsec >= 1000000000)
		return fail(EINVAL);
	return take(sem, clock, until);
}

EXPORT int sem_timedwait(sem_t *sem, const struct timespec *until)
{
	if (until->tv_nsec < 0 || until->tv_nsec >= 1000000000)
		return fail(EINVAL);
	return take(sem, CLOCK_REALTIME, until);
}

EXPORT int sem_trywait(sem_t *sem)
{
	self_get();
	return fail(CALL_ON(sem_take, sem, 1));
}

EXPORT int sem_post(sem_t *sem)
{
	self_get();
	return fail(CALL_ON(sem_give, sem));
}

EXPORT int sem_getvalue(sem_t *sem, int *value)
{
	self_get();
	int now = (int)CALL_ON(sem_value, sem);
	give(value, &now, sizeof now);
	return 0;
}

EXPORT int sem_init(sem_t *sem, int shared, unsigned value)
{
	struct semaphore *s = (struct semaphore *)sem;
	if (value > SEM_VALUE_MAX)
		return fail(EINVAL);
	memset(sem, 0, sizeof *sem);
	s->value = value;
	s->shared = shared ? 128 : 0; /* as libc has it */
	return 0;
}

EXPORT int sem_destroy(sem_t *sem)
{
	(void)sem;
	return 0;
}

EXPORT sem_t *sem_open(const char *name, int flags, ...)
{
	unsigned mode = 0, value = 0;
	if (flags & O_CREAT) {
		va_list args;
		va_start(args, flags);
		mode = va_arg(args, unsigned);
		value = va_arg(args, unsigned);
		va_end(args);
	}
	self_get();
	SECTION_ENTER(&named);
	sem_t *sem = REAL(sem_open)(name, flags, mode, value);
	SECTION_LEAVE(&named);
	return sem;
}

EXPORT int sem_close(sem_t *sem)
{
	self_get();
	SECTION_ENTER(&named);
	int r = REAL(sem_close)(sem);
	SECTION_LEAVE(&named);
	return r;
}

EXPORT int sem_unlink(const char *name)
{
	self_get();
	SECTION_ENTER(&named);
	int r = REAL(sem_unlink)(name);
	SECTION_LEAVE(&named);
	return r;
}

__attribute__((constructor)) static void find_early(void)
{
	(void)REAL(sem_open), (void)REAL(sem_close), (void)REAL(sem_unlink);
}

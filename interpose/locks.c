/* Reader-writer locks, spinlocks and barriers of pthread. */
#define _GNU_SOURCE
#include <pthread.h>
#include "interpose/interpose.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>

/* ---- rwlock -------------------------------------------------------------------------------- */

static int rw_lock(pthread_rwlock_t *lock, int how, clockid_t clock, const struct timespec *until)
{
	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
		return EINVAL;
	if (until && (until->tv_nsec < 0 || until->tv_nsec >= 1000000000))
		return EINVAL;
	before_wait();
	return (int)CALL_ON(rwlock_lock, lock, how, clock, until);
}

#define RW_LOCKS(kind, how)                                                                               \
	EXPORT int pthread_rwlock_##kind##lock(pthread_rwlock_t *lock)                                    \
	{                                                                                                 \
		return rw_lock(lock, how, 0, 0);                                                          \
	}                                                                                                 \
	EXPORT int pthread_rwlock_try##kind##lock(pthread_rwlock_t *lock)                                 \
	{                                                                                                 \
		return rw_lock(lock, how | RW_TRY, 0, 0);                                                 \
	}                                                                                                 \
	EXPORT int pthread_rwlock_timed##kind##lock(pthread_rwlock_t *lock, const struct timespec *until) \
	{                                                                                                 \
		return rw_lock(lock, how, CLOCK_REALTIME, until);                                         \
	}                                                                                                 \
	EXPORT int pthread_rwlock_clock##kind##lock(pthread_rwlock_t *lock, clockid_t clock,              \
						    const struct timespec *until)                         \
	{                                                                                                 \
		return rw_lock(lock, how, clock, until);                                                  \
	}
RW_LOCKS(rd, RW_READ)
RW_LOCKS(wr, RW_WRITE)

EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	self_get();
	return (int)CALL_ON(rwlock_unlock, lock);
}

EXPORT int pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attr)
{
	struct rwlock *l = (struct rwlock *)lock;
	int shared = 0, prefer = 0;
	if (attr) {
		pthread_rwlockattr_getpshared(attr, &shared);
		pthread_rwlockattr_getkind_np(attr, &prefer);
	}
	memset(lock, 0, sizeof *lock);
	l->shared = (uint32_t)shared;
	l->prefer = (uint32_t)prefer;
	return 0;
}

EXPORT int pthread_rwlock_destroy(pthread_rwlock_t *lock)
{
	(void)lock;
	return 0;
}

ALSO(__pthread_rwlock_rdlock, pthread_rwlock_rdlock);
ALSO(__pthread_rwlock_tryrdlock, pthread_rwlock_tryrdlock);
ALSO(__pthread_rwlock_wrlock, pthread_rwlock_wrlock);
ALSO(__pthread_rwlock_trywrlock, pthread_rwlock_trywrlock);
ALSO(__pthread_rwlock_unlock, pthread_rwlock_unlock);
ALSO(__pthread_rwlock_init, pthread_rwlock_init);
ALSO(__pthread_rwlock_destroy, pthread_rwlock_destroy);

/* ---- spinlock: 0 is free, on all machines ----------------------------------------------------- */

EXPORT int pthread_spin_init(pthread_spinlock_t *lock, int shared)
{
	(void)shared;
	*lock = 0;
	return 0;
}
EXPORT int pthread_spin_destroy(pthread_spinlock_t *lock)
{
	(void)lock;
	return 0;
}
EXPORT int pthread_spin_lock(pthread_spinlock_t *lock)
{
	self_get();
	return (int)CALL_ON(spin_lock, lock, MUTEX_WAIT);
}
EXPORT int pthread_spin_trylock(pthread_spinlock_t *lock)
{
	self_get();
	return (int)CALL_ON(spin_lock, lock, MUTEX_TRY);
}
EXPORT int pthread_spin_unlock(pthread_spinlock_t *lock)
{
	self_get();
	return (int)CALL_ON(spin_unlock, lock);
}

/* ---- barrier ------------------------------------------------------------------------------------ */

EXPORT int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attr, unsigned count)
{
	struct barrier *b = (struct barrier *)barrier;
	int shared = 0;
	if (count == 0 || count >= UINT_MAX / 2)
		return EINVAL;
	if (attr)
		pthread_barrierattr_getpshared(attr, &shared);
	memset(barrier, 0, sizeof *barrier);
	b->count = count;
	b->shared = (uint32_t)shared;
	return 0;
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	before_wait();
	long place = CALL_ON(barrier_arrive, barrier);
	if (place == BARRIER_SERIAL)
		return PTHREAD_BARRIER_SERIAL_THREAD;
	CALL(barrier_leave, barrier, place);
	return 0;
}

EXPORT int pthread_barrier_destroy(pthread_barrier_t *barrier)
{
	(void)barrier; /* nobody who was woken looks at it again */
	return 0;
}

/* The threads of C11: libc builds them on its own pthread functions from the inside, we on ours. */
#define _GNU_SOURCE
#include <pthread.h>
#include "interpose/interpose.h"
#include <errno.h>
#include <stdlib.h>
#include <threads.h>

static int c11_error(int error)
{
	switch (error) {
	case 0: return thrd_success;
	case ENOMEM: return thrd_nomem;
	case ETIMEDOUT: return thrd_timedout;
	case EBUSY: return thrd_busy;
	default: return thrd_error;
	}
}

/* ---- threads ------------------------------------------------------------------------------ */

struct start {
	thrd_start_t routine;
	void *arg;
};

static void *start(void *p)
{
	struct start s = *(struct start *)p;
	free(p);
	return (void *)(intptr_t)s.routine(s.arg);
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t routine, void *arg)
{
	struct start *s = malloc(sizeof *s);
	if (!s)
		return thrd_nomem;
	*s = (struct start){ routine, arg };
	int r = pthread_create(thread, 0, start, s);
	if (r)
		free(s);
	return r == EAGAIN ? thrd_nomem : c11_error(r);
}

EXPORT int thrd_join(thrd_t thread, int *result)
{
	void *value = 0;
	int r = pthread_join(thread, &value);
	int status = (int)(intptr_t)value;
	if (!r && result)
		give(result, &status, sizeof status);
	return c11_error(r);
}

EXPORT int thrd_detach(thrd_t thread)
{
	return c11_error(pthread_detach(thread));
}

EXPORT void thrd_exit(int result)
{
	pthread_exit((void *)(intptr_t)result);
}

/* ---- mutexes and conditions: the same types with other names ---------------------------------- */

_Static_assert(sizeof(mtx_t) <= sizeof(pthread_mutex_t) && sizeof(mtx_t) >= sizeof(struct mutex), "as in libc");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "as in libc");

EXPORT int mtx_init(mtx_t *mutex, int type)
{
	struct mutex *m = (struct mutex *)mutex;
	if (type & ~(mtx_plain | mtx_timed | mtx_recursive))
		return thrd_error;
	__builtin_memset(mutex, 0, sizeof *mutex);
	m->kind = type & mtx_recursive ? MUTEX_RECURSIVE : 0;
	return thrd_success;
}

EXPORT void mtx_destroy(mtx_t *mutex)
{
	pthread_mutex_destroy((pthread_mutex_t *)mutex);
}

EXPORT int mtx_lock(mtx_t *mutex)
{
	return c11_error(pthread_mutex_lock((pthread_mutex_t *)mutex));
}

EXPORT int mtx_trylock(mtx_t *mutex)
{
	return c11_error(pthread_mutex_trylock((pthread_mutex_t *)mutex));
}

EXPORT int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict until)
{
	return c11_error(pthread_mutex_timedlock((pthread_mutex_t *)mutex, until));
}

EXPORT int mtx_unlock(mtx_t *mutex)
{
	return c11_error(pthread_mutex_unlock((pthread_mutex_t *)mutex));
}

EXPORT int cnd_init(cnd_t *cond)
{
	return c11_error(pthread_cond_init((pthread_cond_t *)cond, 0));
}

EXPORT void cnd_destroy(cnd_t *cond)
{
	pthread_cond_destroy((pthread_cond_t *)cond);
}

EXPORT int cnd_signal(cnd_t *cond)
{
	return c11_error(pthread_cond_signal((pthread_cond_t *)cond));
}

EXPORT int cnd_broadcast(cnd_t *cond)
{
	return c11_error(pthread_cond_broadcast((pthread_cond_t *)cond));
}

EXPORT int cnd_wait(cnd_t *cond, mtx_t *mutex)
{
	return c11_error(pthread_cond_wait((pthread_cond_t *)cond, (pthread_mutex_t *)mutex));
}

EXPORT int cnd_timedwait(cnd_t *restrict cond, mtx_t *restrict mutex, const struct timespec *restrict until)
{
	return c11_error(pthread_cond_timedwait((pthread_cond_t *)cond, (pthread_mutex_t *)mutex, until));
}

/* ---- keys ----------------------------------------------------------------------------------------- */

EXPORT int tss_create(tss_t *key, tss_dtor_t destructor)
{
	return c11_error(pthread_key_create(key, destructor));
}

EXPORT void tss_delete(tss_t key)
{
	pthread_key_delete(key);
}

/*
 * Locks and conditions of pthread.
 *
 * A mutex that is free, and was last used by this thread, is taken and given back here, with
 * the same stores as in sync_mutex_lock() and sync_mutex_unlock(): 1 atomic operation, 8 loads
 * and 4 stores each; no call, nothing on the stack. Everything else enters the runtime.
 *
 * Waits are cancellation points. As in libc, a thread has asynchronous cancellation only while it
 * is in the runtime's wait, where the cancelling signal is delivered at the end of the op.
 */
#define _GNU_SOURCE
/* A cancelled thread leaves the wait between two instructions, where the compiler's tables of cleanups, which know
   calls only, do not help; libc's older way, with a jump, does. */
#undef __EXCEPTIONS
#include <pthread.h>
#include <sched.h>
#include "interpose/interpose.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

static int is_clock(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

/* ---- the lock word --------------------------------------------------------------------------- */

/*
 * Written out, since the compiler's atomics for aarch64 call functions, and a call saves registers on the program's
 * stack. take: 0 becomes 1, acquire; returns what was there. give: becomes 0, release; returns what was there.
 */
#ifdef __aarch64__
static uint32_t has_lse;
__attribute__((constructor)) static void find_lse(void)
{
	has_lse = getauxval(AT_HWCAP) & HWCAP_ATOMICS ? 1 : 0;
}

static inline uint32_t take_word(uint32_t *word)
{
	uint32_t old = 0, failed;
	if (likely(has_lse))
		__asm__ volatile(".arch_extension lse\n\tcasa %w0, %w2, %1"
				 : "+r"(old), "+Q"(*word)
				 : "r"(1)
				 : "memory");
	else
		__asm__ volatile("1: ldaxr %w0, %2\n\tcbnz %w0, 2f\n\tstxr %w1, %w3, %2\n\tcbnz %w1, 1b\n2:"
				 : "=&r"(old), "=&r"(failed), "+Q"(*word)
				 : "r"(1)
				 : "memory");
	return old;
}

static inline uint32_t give_word(uint32_t *word)
{
	uint32_t old, failed;
	if (likely(has_lse))
		__asm__ volatile(".arch_extension lse\n\tswpl wzr, %w0, %1" : "=r"(old), "+Q"(*word) : : "memory");
	else
		__asm__ volatile("1: ldxr %w0, %2\n\tstlxr %w1, wzr, %2\n\tcbnz %w1, 1b"
				 : "=&r"(old), "=&r"(failed), "+Q"(*word)
				 :
				 : "memory");
	return old;
}
#else
static inline uint32_t take_word(uint32_t *word)
{
	uint32_t old = 0;
	__atomic_compare_exchange_n(word, &old, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
	return old;
}

static inline uint32_t give_word(uint32_t *word)
{
	return __atomic_exchange_n(word, 0, __ATOMIC_RELEASE);
}
#endif

/* ---- mutex ------------------------------------------------------------------------------- */

/* A jump into the runtime, which leaves nothing on this stack: at replay every op goes this way. */
typedef int jump_function(sync_function *f, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
#define JUMP(name, a, b) \
	((jump_function *)(void *)ENTRIES->call)(ENTRIES->functions[SYNC_##name], (uint64_t)(a), b, 0, 0)

static COLD int first_lock(struct mutex *m, enum mutex_how how)
{
	self_find();
	return JUMP(mutex_lock, m, how);
}

static COLD int first_unlock(struct mutex *m)
{
	self_find();
	return JUMP(mutex_unlock, m, 0);
}

/* Normal and adaptive mutexes; the bits above are about elision. volatile: as touch(), and asked before anything
   else. */
static inline int is_quick(const struct mutex *m)
{
	uint32_t kind = *(const volatile uint32_t *)&m->kind & MUTEX_SLOWLY;
	return kind == 0 || kind == MUTEX_ADAPTIVE;
}

/* `users` and what follows is the holder's; relaxed: others read it only in a failed trylock, or to compare with their
   own id */
static inline void quick_op(struct front *f, struct mutex *m, uint32_t owner, uint32_t users)
{
	uint64_t op = f->clock + 1;
	f->clock = op; /* before others can see the stamp: see op_given() */
	__atomic_store_n(&m->stamp, STAMP(f->slot, op), __ATOMIC_RELAXED);
	__atomic_store_n(&m->owner, owner, __ATOMIC_RELAXED);
	m->users += users;
}

/*
 * Replay: an op about which the log has nothing: nobody has to be waited for, and its outcome is 0. The same stores as
 * in the runtime; `done` comes after them, and after it, in one order with what a waiter does, the look whether there
 * is one.
 */
static inline int free_op(struct front *f, struct mutex *m, uint32_t lock, uint32_t owner, uint32_t users)
{
	quick_op(f, m, owner, users);
	__atomic_store_n(&m->lock, lock, __ATOMIC_RELAXED);
	__atomic_store_n(&f->done, f->clock, __ATOMIC_SEQ_CST);
	if (unlikely(__atomic_load_n(&f->waited, __ATOMIC_SEQ_CST) <= f->clock))
		return JUMP(op_wake, 0, 0);
	return 0;
}

static inline int is_free(const struct front *f, int quick)
{
	return f->clock + 1 < f->free && quick;
}

/* An op of a thread with hooked accesses begins; hands_on: others may go on by it. 0: the runtime must do that. */
static inline int quick_cut(struct front *f, int hands_on)
{
	struct order_cut *c = f->cut;
	if (likely(!c))
		return 1;
	if (unlikely(*c->events & 1 || *c->events >= c->until || (hands_on && c->giving->n > CUT_FEW)))
		return 0;
	cut_now(c);
	cut_note(c->noted, f->clock + 1, *c->events / 2);
	if (hands_on)
		cut_give(c);
	return 1;
}

static inline __attribute__((always_inline)) int quick_lock(struct mutex *m, enum mutex_how otherwise)
{
	int quick = is_quick(m);
	struct front *f = self;
	if (unlikely(!f))
		return first_lock(m, otherwise);
	if (unlikely(!f->quick || !quick))
		return is_free(f, quick) ? free_op(f, m, 1, f->tid, 1) : JUMP(mutex_lock, m, otherwise);
	/* acquire: pairs with the release in unlock; what the last holder did is seen, and its stamp */
	if (unlikely(take_word(&m->lock)))
		return JUMP(mutex_lock, m, otherwise);
	if (unlikely(!quick_known(f, m->stamp) || !quick_cut(f, 0)))
		return JUMP(mutex_lock, m, MUTEX_TAKEN);
	quick_op(f, m, f->tid, 1);
	return 0;
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	return quick_lock((struct mutex *)mutex, MUTEX_WAIT);
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	return quick_lock((struct mutex *)mutex, MUTEX_TRY);
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	struct mutex *m = (struct mutex *)mutex;
	int quick = is_quick(m);
	struct front *f = self;
	if (unlikely(!f))
		return first_unlock(m);
	if (unlikely(!f->quick || !quick || m->owner != f->tid || !quick_cut(f, 1)))
		return is_free(f, quick) ? free_op(f, m, 0, 0, -1u) : JUMP(mutex_unlock, m, 0);
	quick_op(f, m, 0, -1u);
	/* release: pairs with the acquire above. After it the mutex may be gone. */
	if (unlikely(give_word(&m->lock) == 2))
		return JUMP(mutex_unlock, m, MUTEX_WAKE);
	return 0;
}

static int lock_until(struct mutex *m, clockid_t clock, const struct timespec *until)
{
	self_get();
	return (int)CALL_ON(mutex_lock, m, MUTEX_WAIT, clock, until);
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	return lock_until((struct mutex *)mutex, CLOCK_REALTIME, until);
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
	if (!is_clock(clock))
		return EINVAL;
	return lock_until((struct mutex *)mutex, clock, until);
}

EXPORT int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
	struct mutex *m = (struct mutex *)mutex;
	int kind = 0, robust = 0, shared = 0, protocol = 0, ceiling = 0;
	if (attr) {
		pthread_mutexattr_gettype(attr, &kind);
		pthread_mutexattr_getrobust(attr, &robust);
		pthread_mutexattr_getpshared(attr, &shared);
		pthread_mutexattr_getprotocol(attr, &protocol);
	}
	if (protocol == PTHREAD_PRIO_PROTECT)
		pthread_mutexattr_getprioceiling(attr, &ceiling);
	memset(mutex, 0, sizeof *mutex);
	m->kind = (uint32_t)kind | (robust ? MUTEX_ROBUST : 0) | (shared ? MUTEX_SHARED : 0) |
		  (protocol == PTHREAD_PRIO_INHERIT ? MUTEX_INHERIT : 0) |
		  (protocol == PTHREAD_PRIO_PROTECT ? MUTEX_PROTECT : 0);
	m->ceiling = (uint32_t)ceiling;
	return 0;
}

/* libc keeps the ceiling in the word that is our lock. It changes with the mutex held. */
EXPORT int pthread_mutex_setprioceiling(pthread_mutex_t *mutex, int ceiling, int *old)
{
	struct mutex *m = (struct mutex *)mutex;
	if (!(m->kind & MUTEX_PROTECT) || ceiling < sched_get_priority_min(SCHED_FIFO) ||
	    ceiling > sched_get_priority_max(SCHED_FIFO))
		return EINVAL;
	int r = pthread_mutex_lock(mutex);
	if (r)
		return r;
	int *volatile to = old; /* the header says that it is not NULL; libc looks */
	if (to)
		*to = (int)m->ceiling;
	m->ceiling = (uint32_t)ceiling;
	return pthread_mutex_unlock(mutex);
}

EXPORT int pthread_mutex_getprioceiling(const pthread_mutex_t *mutex, int *ceiling)
{
	const struct mutex *m = (const struct mutex *)mutex;
	if (!(m->kind & MUTEX_PROTECT))
		return EINVAL;
	*ceiling = (int)m->ceiling;
	return 0;
}

EXPORT int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	struct mutex *m = (struct mutex *)mutex;
	if (!(m->kind & MUTEX_ROBUST) && m->users)
		return EBUSY;
	m->kind = MUTEX_DESTROYED;
	return 0;
}

EXPORT int pthread_mutex_consistent(pthread_mutex_t *mutex)
{
	struct mutex *m = (struct mutex *)mutex;
	if (!(m->kind & MUTEX_ROBUST) || m->owner != MUTEX_INCONSISTENT)
		return EINVAL;
	m->owner = self_get()->tid;
	return 0;
}

ALSO(__pthread_mutex_lock, pthread_mutex_lock);
ALSO(__pthread_mutex_trylock, pthread_mutex_trylock);
ALSO(__pthread_mutex_unlock, pthread_mutex_unlock);
ALSO(__pthread_mutex_init, pthread_mutex_init);
ALSO(__pthread_mutex_destroy, pthread_mutex_destroy);
/* (the header has it as a macro of sorts) */
__asm__(".globl pthread_mutex_consistent_np; .set pthread_mutex_consistent_np, pthread_mutex_consistent");

/* ---- condition ------------------------------------------------------------------------------ */

struct waiting {
	struct cond *cond;
	struct mutex *mutex;
	long place;
};

static void cancelled(void *p)
{
	struct waiting *w = p;
	CALL(cond_leave, w->cond, w->place);
	CALL(mutex_lock, w->mutex, MUTEX_AGAIN);
}

static int cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
	struct waiting w = { (struct cond *)cond, (struct mutex *)mutex, 0 };
	int type, r;
	before_wait();
	touch(mutex);
	w.place = CALL_ON(cond_enter, cond, mutex);
	if (w.place >= COND_FAILED)
		return (int)w.place - COND_FAILED;
	pthread_cleanup_push(cancelled, &w);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	r = (int)CALL(cond_wait, cond, w.place, clock, until);
	pthread_setcanceltype(type, 0);
	pthread_cleanup_pop(0);
	int again = (int)CALL(mutex_lock, mutex, MUTEX_AGAIN);
	return again ? again : r;
}

EXPORT int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	return cond_wait(cond, mutex, 0, 0);
}

static int valid(const struct timespec *until)
{
	return until->tv_nsec >= 0 && until->tv_nsec < 1000000000;
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
	clockid_t clock = ((struct cond *)cond)->flags & COND_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME;
	return valid(until) ? cond_wait(cond, mutex, clock, until) : EINVAL;
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
				  const struct timespec *until)
{
	return valid(until) && is_clock(clock) ? cond_wait(cond, mutex, clock, until) : EINVAL;
}

EXPORT int pthread_cond_signal(pthread_cond_t *cond)
{
	self_get();
	return (int)CALL_ON(cond_wake, cond, 1);
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *cond)
{
	self_get();
	return (int)CALL_ON(cond_wake, cond, 2);
}

EXPORT int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
	struct cond *c = (struct cond *)cond;
	int shared = 0;
	clockid_t clock = CLOCK_REALTIME;
	if (attr) {
		pthread_condattr_getpshared(attr, &shared);
		pthread_condattr_getclock(attr, &clock);
	}
	memset(cond, 0, sizeof *cond);
	c->flags = (shared ? COND_SHARED : 0) | (clock == CLOCK_MONOTONIC ? COND_MONOTONIC : 0);
	return 0;
}

/* Threads that were woken do not look at it again, so there is nobody to wait for. */
EXPORT int pthread_cond_destroy(pthread_cond_t *cond)
{
	(void)cond;
	return 0;
}

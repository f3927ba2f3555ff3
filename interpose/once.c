/*
 * pthread_once, call_once, and the guards of C++'s local statics.
 *
 * Each thread remembers the objects that it has found done: the address and the word that was
 * there. For these it needs no op any more, at record and at replay alike, since what a thread
 * has passed is the same in both. The word tells who did it, so an address that is used anew
 * is not mistaken for the old one.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "interpose/interpose.h"
#include <threads.h>

#define PASSED 32 /* a power of two */
static __thread struct {
	const void *object;
	uint64_t word;
} passed[PASSED];

static inline int has_passed(const void *object, uint64_t word)
{
	unsigned i = (unsigned)((uintptr_t)object >> 3) % PASSED;
	return passed[i].object == object && passed[i].word == word;
}

static void set_passed(const void *object, uint64_t word)
{
	unsigned i = (unsigned)((uintptr_t)object >> 3) % PASSED;
	passed[i].object = object;
	passed[i].word = word;
}

/* ---- pthread_once ----------------------------------------------------------------------------- */

struct running {
	pthread_once_t *control;
	int failed;
};

/* Also when the routine is left by an exception or by cancellation. */
static void finished(struct running *r)
{
	CALL(once_end, r->control, r->failed);
}

EXPORT int pthread_once(pthread_once_t *control, void (*routine)(void))
{
	/* acquire: pairs with the release of who finished it, for words that were passed before */
	uint32_t word = __atomic_load_n((uint32_t *)control, __ATOMIC_ACQUIRE);
	if (likely((word & ONCE_DONE) && has_passed(control, word)))
		return 0;
	before_wait();
	if (CALL(once_begin, control)) {
		struct running r __attribute__((cleanup(finished))) = { control, 1 };
		routine();
		r.failed = 0;
	}
	set_passed(control, __atomic_load_n((uint32_t *)control, __ATOMIC_RELAXED));
	return 0;
}
ALSO(__pthread_once, pthread_once);

EXPORT void call_once(once_flag *flag, void (*routine)(void))
{
	_Static_assert(sizeof *flag == sizeof(pthread_once_t), "as in libc");
	pthread_once((pthread_once_t *)flag, routine);
}

/* ---- C++: see GUARD_SET ------------------------------------------------------------------------- */

EXPORT int __cxa_guard_acquire(uint64_t *guard);
EXPORT void __cxa_guard_release(uint64_t *guard);
EXPORT void __cxa_guard_abort(uint64_t *guard);

EXPORT int __cxa_guard_acquire(uint64_t *guard)
{
	/* acquire: as above */
	uint64_t word = __atomic_load_n(guard, __ATOMIC_ACQUIRE);
	if (likely((word & GUARD_SET) || ((word & GUARD_DONE) && has_passed(guard, word))))
		return 0;
	self_get();
	if (CALL(guard_acquire, guard))
		return 1;
	set_passed(guard, __atomic_load_n(guard, __ATOMIC_RELAXED));
	return 0;
}

EXPORT void __cxa_guard_release(uint64_t *guard)
{
	CALL(guard_release, guard, 0);
	set_passed(guard, __atomic_load_n(guard, __ATOMIC_RELAXED));
}

EXPORT void __cxa_guard_abort(uint64_t *guard)
{
	CALL(guard_release, guard, 1);
}

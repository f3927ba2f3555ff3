/*
 * Things that are done once: pthread_once, and the guards of C++'s local statics.
 *
 * Whoever finds it done follows the op that finished it. libheddle.so remembers what its
 * thread has passed already, so this is asked once for each thread and object.
 *
 * The word is taken with acquire and finished with release: who finds it done sees what was
 * done. A routine that was left by an exception or cancellation frees the word again.
 *
 * Both have room for a part of a stamp, enough to tell one use of an address from the
 * next; the whole stamp is in the side table.
 */
#include "runtime/runtime.h"
#include "runtime/sync/objects.h"

static uint64_t side_stamp(const void *object, uint64_t replace)
{
	uint64_t *side = stamp_lock(object), last = *side;
	if (replace)
		*side = replace;
	stamp_unlock(side);
	return last;
}

/*
 * The op that begins either of them. `take`, record only: 1 the caller runs it, 0 it is done, or SYNC_INTERRUPTED;
 * `last` is the stamp of who finished, or failed. `running`: what the word is while somebody runs it.
 */
typedef long once_take_function(struct thread *t, void *word, uint64_t *last);

static long once_or_guard_begin(struct thread *t, void *word, once_take_function *take, const void *running,
				size_t size)
{
	uint64_t last = 0;
	long r = 0;
	op_begin(t);
	if (!replaying) {
		r = take(t, word, &last);
		if (r == SYNC_INTERRUPTED)
			return r;
		op_edge(t, last);
	}
	r = op_outcome(t, r);
	if (r && replaying)
		memcpy(word, running, size);
	op_end(t);
	return r;
}

/* ---- pthread_once ---------------------------------------------------------------------- */

/* A thread of the parent's that was in the routine at a fork is not in the child: it is run again, as by glibc. */
static uint32_t running_word(void)
{
	return ONCE_RUNS | (image_number & 0xfffffff) << 4;
}

static long once_take_word(struct thread *t, uint32_t *word)
{
	for (;;) {
		uint32_t old = __atomic_load_n(word, __ATOMIC_ACQUIRE);
		if (old & ONCE_DONE)
			return 0;
		if ((old & ~(uint32_t)ONCE_WAITED) != running_word()) {
			if (__atomic_compare_exchange_n(word, &old, running_word(), false, __ATOMIC_ACQUIRE,
							__ATOMIC_RELAXED))
				return 1;
			continue;
		}
		if (!(old & ONCE_WAITED) && !__atomic_compare_exchange_n(word, &old, old | ONCE_WAITED, false,
									 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		if (wait_until(t, word, old | ONCE_WAITED, 0, 0) == SYNC_INTERRUPTED)
			return SYNC_INTERRUPTED;
	}
}

static long once_take(struct thread *t, void *word, uint64_t *last)
{
	long r = once_take_word(t, word);
	*last = r == SYNC_INTERRUPTED ? 0 : side_stamp(word, 0);
	return r;
}

/* a: the once word. Returns 1: the caller must run the routine and call once_end; 0: it is done. */
long sync_once_begin(struct thread *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	(void)b, (void)c, (void)d;
	uint32_t running = running_word();
	return once_or_guard_begin(t, (void *)a, once_take, &running, sizeof running);
}

/* a: the once word; failed: the routine was left before its end */
long sync_once_end(struct thread *t, uint64_t a, uint64_t failed, uint64_t c, uint64_t d)
{
	(void)c, (void)d;
	uint32_t *word = (uint32_t *)a, slot = front_of(t)->slot;
	uint64_t op = op_begin(t);
	if (!replaying)
		side_stamp(word, STAMP(slot, op));
	op_given(t);
	if (__atomic_exchange_n(word, failed ? 0 : ONCE_WORD(slot, op), __ATOMIC_RELEASE) & ONCE_WAITED)
		sync_wake(word, WAKE_ALL);
	op_given_end(t);
	return 0;
}

/* ---- guards --------------------------------------------------------------------------------- */

static long guard_take(struct thread *t, void *guard, uint64_t *last)
{
	uint64_t *word = guard;
	for (;;) {
		uint64_t old = __atomic_load_n(word, __ATOMIC_ACQUIRE);
		*last = old & GUARD_SET || !old ? 0 :
						  side_stamp(word, 0); /* of who left this word, or the word changes */
		if (old & (GUARD_SET | GUARD_DONE))
			return 0;
		if (!(old & GUARD_RUNS)) {
			if (__atomic_compare_exchange_n(word, &old, GUARD_RUNS, false, __ATOMIC_ACQUIRE,
							__ATOMIC_RELAXED))
				return 1;
			continue;
		}
		if (!(old & GUARD_WAITED) && !__atomic_compare_exchange_n(word, &old, old | GUARD_WAITED, false,
									  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		if (wait_until(t, (uint32_t *)word, (uint32_t)(old | GUARD_WAITED), 0, 0) == SYNC_INTERRUPTED)
			return SYNC_INTERRUPTED;
	}
}

/* a: the guard. Returns 1: the caller must run the initialisation and call guard_release; 0: it is done. */
long sync_guard_acquire(struct thread *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	(void)b, (void)c, (void)d;
	uint64_t running = GUARD_RUNS;
	return once_or_guard_begin(t, (void *)a, guard_take, &running, sizeof running);
}

/* a: the guard; failed: the initialisation threw */
long sync_guard_release(struct thread *t, uint64_t a, uint64_t failed, uint64_t c, uint64_t d)
{
	(void)c, (void)d;
	uint64_t *word = (uint64_t *)a;
	uint64_t op = op_begin(t), left = GUARD_WORD(front_of(t)->slot, op);
	if (failed)
		left &= ~(uint64_t)GUARD_DONE;
	else if (one_thread)
		left = GUARD_SET; /* all later threads follow this one anyway */
	if (!replaying)
		side_stamp(word, STAMP(front_of(t)->slot, op));
	op_given(t);
	if (__atomic_exchange_n(word, left, __ATOMIC_RELEASE) & GUARD_WAITED)
		sync_wake((uint32_t *)word, WAKE_ALL);
	op_given_end(t);
	return 0;
}

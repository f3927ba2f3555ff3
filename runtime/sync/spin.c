/*
 * Spinlocks: a bare word, 0 or 1 as seen by the program, 2 while somebody sleeps.
 *
 * Waiting is that of a mutex, after a while of looking: with recording's extra work in
 * between, the holder is more often found asleep. There is no room for a stamp, so it is in
 * the side table; taking (acquire) and freeing (release) the word order the users of the data.
 */
#include "runtime/runtime.h"
#include "runtime/sync/objects.h"

/* a: the lock; how: MUTEX_WAIT or MUTEX_TRY */
long sync_spin_lock(struct thread *t, uint64_t a, uint64_t how, uint64_t c, uint64_t d)
{
	(void)c, (void)d;
	uint32_t *word = (uint32_t *)a;
	uint64_t op = op_begin(t);
	long r = 0;
	if (!replaying) {
		for (unsigned look = 0; how != MUTEX_TRY && look < 200 && __atomic_load_n(word, __ATOMIC_RELAXED);
		     look++)
			cpu_relax();
		r = word_lock(t, word, how == MUTEX_TRY, 0, 0);
		if (r == SYNC_INTERRUPTED)
			return r;
		side_follow(t, word, op, !r);
	}
	r = op_outcome(t, r);
	if (!r && replaying)
		*word = 1;
	op_end(t);
	return r;
}

/* a: the lock */
long sync_spin_unlock(struct thread *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	(void)b, (void)c, (void)d;
	uint32_t *word = (uint32_t *)a;
	uint64_t op = op_begin_giving(t);
	side_follow(t, word, op, true);
	op_given(t);
	if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) == 2)
		sync_wake(word, 1);
	op_given_end(t);
	return 0;
}

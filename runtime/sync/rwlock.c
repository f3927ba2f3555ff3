/*
 * Locks for reading and writing.
 *
 * The state is one word of 64 bits, so that the unlock which frees it learns in the same
 * instant who must be woken, and never looks at the lock again (it may be destroyed). Its
 * low half counts readers and says "held for writing" and "writers sleep on this half";
 * its high half says "readers sleep on this half".
 *
 * Order: a reader follows the last writer; a writer follows the last writer and all readers
 * since. `written` is stored by a writer while it holds the lock, and read by those who
 * hold it after: the acquire of taking the state, and the release of freeing it, order them.
 * Readers leave their stamps before they free their share: in one of three words by their
 * slot, so that a few reading threads log nothing among themselves; whoever finds another's
 * stamp in its word follows it (an atomic exchange: their order is that of the exchanges).
 * A writer takes over all three, and empties them.
 *
 * Locks shared between processes have their stamp in the side table, one for all ops.
 */
#include "runtime/runtime.h"
#include "runtime/sync/objects.h"

static uint64_t *readers_word(struct thread *t, struct rwlock *l)
{
	switch (front_of(t)->slot % 3) {
	case 0: return &l->readers;
	case 1: return &l->readers1;
	default: return &l->readers2;
	}
}

/* The op has got the lock, or not (then it follows whoever may hold it). */
static void follow(struct thread *t, struct rwlock *l, uint64_t op, bool write)
{
	if (l->shared) {
		side_follow(t, l, op, true);
		return;
	}
	op_edge(t, __atomic_load_n(&l->written, __ATOMIC_RELAXED));
	if (!write)
		return;
	op_edge(t, __atomic_load_n(&l->readers, __ATOMIC_RELAXED));
	op_edge(t, __atomic_load_n(&l->readers1, __ATOMIC_RELAXED));
	op_edge(t, __atomic_load_n(&l->readers2, __ATOMIC_RELAXED));
}

/* ---- record: the real lock ------------------------------------------------------------- */

static uint32_t *low_half(struct rwlock *l)
{
	return (uint32_t *)&l->state;
}
static uint32_t *high_half(struct rwlock *l)
{
	return (uint32_t *)&l->state + 1;
}

static long take(struct thread *t, struct rwlock *l, bool write, bool try, uint64_t clockid, uint64_t until)
{
	uint64_t busy = write ? RW_WRITER | RW_READERS : RW_WRITER;
	uint64_t waits = write ? RW_WRITER_WAITS : RW_READER_WAITS;
	uint64_t mark = 0; /* who has slept takes the lock with the mark, for those who sleep behind it */
	if (!write && l->prefer == RW_PREFER_WRITER)
		busy |= RW_WRITER_WAITS; /* readers let waiting writers go first */
	uint64_t old = __atomic_load_n(&l->state, __ATOMIC_RELAXED);
	for (;;) {
		/* the mark of writers may be stale once nobody holds the lock: it must not keep readers out for ever */
		bool free = !(old & busy) || (!write && !(old & (RW_WRITER | RW_READERS)));
		if (free) {
			uint64_t new = (write ? old | RW_WRITER : old + 1) | mark;
			/* acquire: pairs with the release of whoever freed it */
			if (__atomic_compare_exchange_n(&l->state, &old, new, false, __ATOMIC_ACQUIRE,
							__ATOMIC_RELAXED))
				return 0;
			continue;
		}
		if (try)
			return EBUSY;
		if (!(old & waits) && !__atomic_compare_exchange_n(&l->state, &old, old | waits, false,
								   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		old |= waits;
		long r = wait_until(t, write ? low_half(l) : high_half(l), (uint32_t)(write ? old : old >> 32), clockid,
				    until);
		if (r && write) { /* the mark would keep readers out: whoever still waits sets it again */
			__atomic_fetch_and(&l->state, ~RW_WRITER_WAITS, __ATOMIC_RELAXED);
			sync_wake(low_half(l), 1);
			sync_wake(high_half(l), WAKE_ALL);
		}
		if (r)
			return r; /* the mark of readers stays: costs a wake */
		if (write)
			mark = RW_WRITER_WAITS; /* one writer is woken at a time; all readers are */
		old = __atomic_load_n(&l->state, __ATOMIC_RELAXED);
	}
}

/* Gives back one share; `write`: the whole. */
static void give(struct rwlock *l, bool write)
{
	uint64_t old = __atomic_load_n(&l->state, __ATOMIC_RELAXED), new;
	do {
		new = write ? 0 : old - 1;
		if (!(new &RW_READERS))
			new = 0; /* free, and those who sleep are woken to set their marks again */
				 /* release: what we did, stamps included, is seen by whoever takes it next */
	} while (!__atomic_compare_exchange_n(&l->state, &old, new, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	if (new)
		return;
	if (old & RW_WRITER_WAITS)
		sync_wake(low_half(l), 1);
	if (old & RW_READER_WAITS)
		sync_wake(high_half(l), WAKE_ALL);
}

/* ---- the ops -------------------------------------------------------------------------------- */

/* a: the lock; how: RW_READ or RW_WRITE, + RW_TRY; until: the deadline or 0 */
long sync_rwlock_lock(struct thread *t, uint64_t a, uint64_t how, uint64_t clockid, uint64_t until)
{
	struct rwlock *l = (struct rwlock *)a;
	struct front *self = front_of(t);
	bool write = how & RW_WRITE;
	uint64_t op = op_begin(t);
	long r = 0;
	/* only this thread writes its own id there, and takes it away: the same at replay, nothing to log */
	if (!(how & RW_TRY) && __atomic_load_n(&l->writer, __ATOMIC_RELAXED) == self->tid) {
		op_end(t);
		return EDEADLK;
	}
	if (!replaying) {
		r = take(t, l, write, how & RW_TRY, clockid, until);
		if (r == SYNC_INTERRUPTED)
			return r;
		follow(t, l, op, write || r);
	}
	r = op_outcome(t, r);
	if (!r) {
		if (write) {
			__atomic_store_n(&l->writer, self->tid, __ATOMIC_RELAXED);
			if (!l->shared) {
				__atomic_store_n(&l->readers, 0, __ATOMIC_RELAXED);
				__atomic_store_n(&l->readers1, 0, __ATOMIC_RELAXED);
				__atomic_store_n(&l->readers2, 0, __ATOMIC_RELAXED);
			}
		}
		/* readers are in no order among themselves at replay */
		if (replaying)
			__atomic_fetch_add(&l->state, write ? RW_WRITER : 1, __ATOMIC_RELAXED);
	}
	op_end(t);
	return r;
}

/* follows: readers before us are ours to pass on (acquire and release); their edges are logged before others follow
   us. */
static void leave_stamp(struct thread *t, uint64_t *word, uint64_t mine, bool follows)
{
	uint64_t last = __atomic_load_n(word, __ATOMIC_RELAXED);
	do {
		if (follows)
			op_edge(t, last);
		op_shown(t);
	} while (!__atomic_compare_exchange_n(word, &last, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

/* a: the lock */
long sync_rwlock_unlock(struct thread *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	(void)b, (void)c, (void)d;
	struct rwlock *l = (struct rwlock *)a;
	uint64_t op = op_begin_giving(t), mine = STAMP(front_of(t)->slot, op);
	bool write = __atomic_load_n(&l->state, __ATOMIC_RELAXED) & RW_WRITER; /* the holder sees its own */
	if (write)
		__atomic_store_n(&l->writer, 0, __ATOMIC_RELAXED);
	if (l->shared)
		side_follow(t, l, op, true);
	else
		leave_stamp(t, write ? &l->written : readers_word(t, l), mine, !write);
	op_given(t);
	give(l, write);
	op_given_end(t);
	return 0;
}

/*
 * Barriers.
 *
 * A wait is two ops. Arriving gives: arrivals form a chain, and the one that completes the
 * round follows all others. Leaving gets: each thread that slept follows that last arrival.
 * (As one op it could not be: who waits for its end would wait for the next round, too.)
 * The last to arrive is the serial thread, which is an outcome.
 *
 * Arrivals of a barrier exclude each other by the lock of its stamp in the side table; that
 * also orders `arrived`, which is all that the barrier itself holds. Threads that were woken
 * do not look at the barrier again, so it may be destroyed.
 *
 * Barriers shared between processes count with atomics and sleep on `round`; only the order
 * among the threads of this process is recorded.
 */
#include "runtime/runtime.h"
#include "runtime/sync/objects.h"

/* Returns whether this was the last; then the others are on their way. */
static bool arrive(struct thread *t, struct barrier *b, uint64_t op, int place)
{
	uint64_t *side = stamp_lock(b), mine = STAMP(front_of(t)->slot, op);
	bool complete = b->arrived + 1 >= b->count;
	op_edge(t, *side);
	op_shown(t);
	*side = mine;
	if (complete) {
		b->arrived = 0;
		sleepers_wake((uint64_t)b, UINT32_MAX, mine);
	} else {
		b->arrived++;
		sleeper_of(t, (unsigned)place)->used = 1;
		sleeper_add(sleeper_of(t, (unsigned)place), (uint64_t)b);
	}
	stamp_unlock(side);
	return complete;
}

static bool arrive_shared(struct thread *t, struct barrier *b, uint64_t op, int place)
{
	struct sleeper *s = sleeper_of(t, (unsigned)place);
	side_follow(t, b, op, true);
	s->used = 1;
	s->object = 0;						 /* in no queue: that is how barrier_leave knows */
	s->woken = __atomic_load_n(&b->round, __ATOMIC_RELAXED); /* cannot move before we have arrived */
	/* acquire and release: the last follows all, and hands that on with `round` */
	bool complete = __atomic_add_fetch(&b->arrived, 1, __ATOMIC_ACQ_REL) == b->count;
	if (complete) {
		s->used = 0;
		__atomic_store_n(&b->arrived, 0, __ATOMIC_RELAXED);
		__atomic_fetch_add(&b->round, 1, __ATOMIC_RELEASE);
		sync_wake(&b->round, WAKE_ALL);
	}
	return complete;
}

/* a: the barrier. Returns BARRIER_SERIAL, or what barrier_leave must be given. */
long sync_barrier_arrive(struct thread *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	(void)b, (void)c, (void)d;
	struct barrier *barrier = (struct barrier *)a;
	uint64_t op = op_begin(t);
	long r = 0;
	if (!replaying) {
		int place = sleeper_choose(t);
		if (place < 0)
			cannot("a thread waits at too many barriers at once, from nested signal handlers");
		bool complete = barrier->shared ? arrive_shared(t, barrier, op, place) : arrive(t, barrier, op, place);
		r = complete ? BARRIER_SERIAL : place;
	}
	r = op_outcome(t, r);
	/* at replay arrivals come in the order of their chain */
	if (replaying)
		barrier->arrived = r == BARRIER_SERIAL ? 0 : barrier->arrived + 1;
	op_end(t);
	return r;
}

/* a: the barrier, b: what barrier_arrive returned */
long sync_barrier_leave(struct thread *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	(void)c, (void)d;
	struct barrier *barrier = (struct barrier *)a;
	op_begin(t);
	if (!replaying) {
		struct sleeper *s = sleeper_of(t, (unsigned)b);
		bool shared = !s->object;
		uint32_t *word = shared ? &barrier->round : &s->woken, still = shared ? s->woken : 0;
		/* acquire: pairs with the release of who completed the round */
		while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == still)
			if (wait_until(t, word, still, 0, 0) == SYNC_INTERRUPTED)
				return SYNC_INTERRUPTED;
		uint64_t stamp = s->stamp;
		if (shared) {
			uint64_t *side = stamp_lock(barrier);
			stamp = *side;
			stamp_unlock(side);
		}
		s->used = 0;
		op_edge(t, stamp);
	}
	op_end(t);
	return 0;
}

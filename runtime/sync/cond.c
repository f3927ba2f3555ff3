/*
 * Condition variables, and the queues of sleeping threads that barriers use too.
 *
 * A wait is three ops, so that signals can be delivered between and inside them:
 *   enter   joins the queue of the condition and unlocks the mutex
 *   wait    sleeps until somebody takes this thread out of the queue, or the time is over;
 *           can be interrupted and begun again, since its place in the queue stays
 *   (mutex_lock with MUTEX_AGAIN)
 * A thread that leaves between them (it is cancelled) calls leave, which hands a wakeup on.
 *
 * The queues are in memory of ours, found by the object's address; a private condition's own
 * bytes are never written. Who wakes a thread leaves its stamp with it: exactly the one edge
 * that matters. First come, first woken; no wakeup is spurious, and once woken a thread does
 * not look at the condition again, so it may be destroyed.
 *
 * Order: a signaller that must see a waiter has held the mutex after it (the waiter joined
 * before it unlocked), so the look at an empty queue needs no order of its own. Everything else
 * in a queue is read and written under the queue's lock.
 *
 * Conditions shared between processes cannot use such queues: their waiters sleep on a word
 * in the condition that every signal moves. They may wake spuriously.
 */
#include "runtime/runtime.h"
#include "runtime/sync/objects.h"

/* ---- sleepers ----------------------------------------------------------------------- */

#define QUEUES	 1024 /* a power of two */
#define PER_SLOT 4    /* waits of one thread: handlers that interrupt one may wait, too */

static struct queue {
	struct sleeper *first, *last;
	uint32_t lock; /* as a mutex: 0, 1, 2 */
	uint32_t pad;
} queues[QUEUES];
static struct sleeper sleepers[MAP_SLOTS][PER_SLOT];

static struct queue *queue_of(uint64_t object)
{
	uint64_t h = object >> 3;
	return &queues[(h ^ h >> 10 ^ h >> 20) % QUEUES];
}

static void take_out(struct queue *q, struct sleeper *s)
{
	if (s->before)
		s->before->next = s->next;
	else
		__atomic_store_n(&q->first, s->next, __ATOMIC_RELAXED);
	if (s->next)
		s->next->before = s->before;
	else
		q->last = s->before;
	s->next = s->before = 0;
}

void sleeper_add(struct sleeper *s, uint64_t object)
{
	struct queue *q = queue_of(object);
	s->object = object;
	s->stamp = 0;
	s->woken = 0;
	s->next = 0;
	sleep_lock(&q->lock);
	s->before = q->last;
	if (q->last)
		q->last->next = s;
	else
		__atomic_store_n(&q->first, s, __ATOMIC_RELAXED);
	q->last = s;
	sleep_unlock(&q->lock);
}

bool sleeper_remove(struct sleeper *s)
{
	struct queue *q = queue_of(s->object);
	sleep_lock(&q->lock);
	bool here = !s->woken;
	if (here)
		take_out(q, s);
	sleep_unlock(&q->lock);
	return here;
}

unsigned sleepers_wake(uint64_t object, unsigned n, uint64_t stamp)
{
	struct queue *q = queue_of(object);
	unsigned found = 0;
	uint32_t *one = 0; /* is woken outside of the lock, which it may want itself */
	if (!__atomic_load_n(&q->first, __ATOMIC_RELAXED))
		return 0;
	sleep_lock(&q->lock);
	for (struct sleeper *s = q->first, *next; s && found < n; s = next) {
		next = s->next;
		if (s->object != object)
			continue;
		take_out(q, s);
		s->stamp = stamp;
		/* release: with it the sleeper sees the stamp. Its memory is ours and lasts. */
		__atomic_store_n(&s->woken, 1, __ATOMIC_RELEASE);
		if (found++)
			sync_wake(&s->woken, 1);
		else
			one = &s->woken;
	}
	sleep_unlock(&q->lock);
	if (one)
		sync_wake(one, 1);
	return found;
}

struct sleeper *sleeper_of(struct thread *t, unsigned i)
{
	return &sleepers[front_of(t)->slot][i % PER_SLOT];
}

int sleeper_choose(struct thread *t)
{
	for (int i = 0; i < PER_SLOT; i++)
		if (!sleeper_of(t, (unsigned)i)->used)
			return i;
	return -1;
}

void sleepers_forked(struct thread *t)
{
	(void)t; /* it does not wait now */
	memset(queues, 0, sizeof queues);
	for (uint32_t slot = 0; slot < MAP_SLOTS; slot++)
		for (unsigned i = 0; i < PER_SLOT; i++)
			if (sleepers[slot][i].used) /* looks first: writing would copy every page */
				sleepers[slot][i].used = 0;
}

/* ---- conditions shared between processes ------------------------------------------------- */

static bool is_shared(const struct cond *c)
{
	return c->flags & COND_SHARED;
}

static long shared_wait(struct thread *t, struct cond *c, uint32_t seen, uint64_t clockid, uint64_t until)
{
	/* acquire: pairs with the release in shared_wake(); the stamp is in the side table */
	while (__atomic_load_n(&c->sequence, __ATOMIC_ACQUIRE) == seen) {
		long r = wait_until(t, &c->sequence, seen, clockid, until);
		if (r)
			return r;
	}
	return 0;
}

static void shared_wake(struct cond *c, unsigned n)
{
	__atomic_fetch_add(&c->sequence, 1, __ATOMIC_RELEASE);
	sync_wake(&c->sequence, n > 1 ? WAKE_ALL : 1);
}

/* ---- the ops ------------------------------------------------------------------------------- */

/* a: the condition, b: the mutex. Returns a number that names this wait to cond_wait and cond_leave (the same at
   replay), or COND_FAILED + error. */
long sync_cond_enter(struct thread *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	(void)c, (void)d;
	struct cond *cond = (struct cond *)a;
	uint64_t op = op_begin(t);
	int place = -1;
	if (!replaying) {
		place = sleeper_choose(t);
		if (place < 0)
			cannot("a thread waits for more than %d conditions at once, from nested signal handlers",
			       (long)PER_SLOT);
		struct sleeper *s = sleeper_of(t, (unsigned)place);
		s->used = 1;
		s->shared = is_shared(cond);
		if (s->shared)
			s->woken = __atomic_load_n(&cond->sequence, __ATOMIC_RELAXED); /* the mutex orders it */
		else
			sleeper_add(s, a);
	}
	bool frees;
	long r = mutex_let_go(t, (struct mutex *)b, op, false, &frees);
	place = (int)op_outcome(t, place);
	if (r && !replaying) {
		struct sleeper *s = sleeper_of(t, (unsigned)place);
		if (!s->shared)
			sleeper_remove(s);
		s->used = 0;
	}
	op_given(t);
	if (frees)
		mutex_free(t, (struct mutex *)b);
	op_given_end(t);
	return r ? COND_FAILED + r : place;
}

/* a: the condition, b: what cond_enter returned, until: the deadline or 0. Returns 0 or ETIMEDOUT. */
long sync_cond_wait(struct thread *t, uint64_t a, uint64_t b, uint64_t clockid, uint64_t until)
{
	struct cond *cond = (struct cond *)a;
	op_begin(t);
	long r = 0;
	if (!replaying) {
		struct sleeper *s = sleeper_of(t, (unsigned)b);
		uint64_t stamp = 0;
		if (s->shared) {
			r = shared_wait(t, cond, s->woken, clockid, until);
			if (r == SYNC_INTERRUPTED)
				return r;
			uint64_t *side = stamp_lock(cond);
			stamp = *side;
			stamp_unlock(side);
		} else {
			while (!r && !__atomic_load_n(&s->woken, __ATOMIC_ACQUIRE))
				r = wait_until(t, &s->woken, 0, clockid, until);
			if (r == SYNC_INTERRUPTED)
				return r;
			if (r && !sleeper_remove(s))
				r = 0; /* woken after all */
			if (!r)
				stamp = s->stamp;
		}
		s->used = 0;
		if (!r)
			op_edge(t, stamp);
	}
	r = op_outcome(t, r);
	op_end(t);
	return r;
}

/* a: the condition, n: how many to wake (more than one: all) */
long sync_cond_wake(struct thread *t, uint64_t a, uint64_t n, uint64_t c, uint64_t d)
{
	(void)c, (void)d;
	struct cond *cond = (struct cond *)a;
	uint64_t op = op_begin(t), mine = STAMP(front_of(t)->slot, op);
	if (replaying) {
		op_end(t);
		return 0;
	}
	if (is_shared(cond))
		side_follow(t, cond, op, true);
	op_given(t);
	if (is_shared(cond))
		shared_wake(cond, (unsigned)n);
	else
		sleepers_wake(a, n > 1 ? UINT32_MAX : 1, mine);
	return 0;
}

/* The thread is cancelled in its wait. a: the condition, b: what cond_enter returned. A wakeup that it already has
   goes to somebody else. */
long sync_cond_leave(struct thread *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	(void)c, (void)d;
	struct cond *cond = (struct cond *)a;
	uint64_t op = op_begin(t);
	if (replaying) {
		op_end(t);
		return 0;
	}
	struct sleeper *s = sleeper_of(t, (unsigned)b);
	bool shared = s->shared, hand_on = !shared && (!s->used || !sleeper_remove(s));
	if (hand_on)
		op_edge(t, s->stamp);
	s->used = 0;
	op_given(t);
	if (shared)
		shared_wake(cond, 1);
	else if (hand_on)
		sleepers_wake(a, 1, STAMP(front_of(t)->slot, op));
	return 0;
}

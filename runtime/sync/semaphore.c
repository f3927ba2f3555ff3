/*
 * Semaphores, in glibc's form: the low half of one word of 64 bits is the value, the high half
 * counts who waits. So a post learns in one instant whether to wake, and never looks again at
 * a semaphore that may be destroyed; and named semaphores can be shared with processes that
 * are not recorded.
 *
 * Order: posts form a chain, stamped before the value is raised (release). Who takes follows
 * the last stamp, read after the value was lowered (acquire): the post that raised it, or a
 * later one, which follows it. Taking leaves no stamp: it gives nothing. So at replay takers are
 * in no order with later posts, and the value is changed by atomic additions; it is never
 * negative, since each taker comes after as many posts as at record.
 *
 * Semaphores shared between processes have their stamp in the side table. Posts of other
 * processes are not seen: then only the outcomes are recorded.
 */
#include "runtime/runtime.h"
#include "runtime/sync/objects.h"

#define VALUE_MAX  0x7fffffffu
#define ONE_WAITER (1ull << 32)

static uint64_t *whole(struct semaphore *s)
{
	return (uint64_t *)s;
}

static uint64_t last_post(struct semaphore *s)
{
	if (!s->shared)
		return __atomic_load_n(&s->stamp, __ATOMIC_ACQUIRE);
	uint64_t *side = stamp_lock(s), stamp = *side;
	stamp_unlock(side);
	return stamp;
}

static long take_now(struct semaphore *s)
{
	uint64_t old = __atomic_load_n(whole(s), __ATOMIC_RELAXED);
	while ((uint32_t)old)
		/* acquire: pairs with the release of the post */
		if (__atomic_compare_exchange_n(whole(s), &old, old - 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return 0;
	return EAGAIN;
}

static long take(struct thread *t, struct semaphore *s, bool try, uint64_t clockid, uint64_t until)
{
	long r = take_now(s);
	if (!r || try)
		return r;
	/* in the same word as the value: a post either comes before, or sees that we wait */
	__atomic_fetch_add(whole(s), ONE_WAITER, __ATOMIC_RELAXED);
	while ((r = take_now(s)))
		if ((r = wait_until(t, &s->value, 0, clockid, until)))
			break;
	__atomic_fetch_sub(whole(s), ONE_WAITER, __ATOMIC_RELAXED);
	return r;
}

/* sem_wait, alone among the waits, tells the program that a handler interrupted it: unless that has SA_RESTART, and
   there is no deadline. */
bool handlers_restart(struct thread *t)
{
	for (uint32_t i = 0; i < t->held_count; i++) {
		int sig = t->held_signals[i].sig;
		if (!(t->mask & SIGNAL_BIT(sig)) && !(t->process->actions[sig].flags & 0x10000000 /* SA_RESTART */))
			return false;
	}
	return true;
}

/* a: the semaphore; how: 0, or 1 to try; until: the deadline or 0. Returns 0, EAGAIN, ETIMEDOUT or EINTR. */
long sync_sem_take(struct thread *t, uint64_t a, uint64_t how, uint64_t clockid, uint64_t until)
{
	struct semaphore *s = (struct semaphore *)a;
	if (!replaying && t->held)
		return SYNC_INTERRUPTED; /* now, since not when it has its token: sync_run() */
	op_begin(t);
	long r = 0;
	if (!replaying) {
		r = take(t, s, how, clockid, until);
		if (r == SYNC_INTERRUPTED) {
			if (!until && handlers_restart(t))
				return r;
			r = EINTR; /* the program is told, as by the kernel */
		}
		op_edge(t, last_post(s));
	}
	r = op_outcome(t, r);
	if (!r && replaying)
		__atomic_fetch_sub(&s->value, 1, __ATOMIC_RELAXED);
	op_end(t);
	return r;
}

/* a: the semaphore. Returns 0 or EOVERFLOW. */
long sync_sem_give(struct thread *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	(void)b, (void)c, (void)d;
	struct semaphore *s = (struct semaphore *)a;
	uint64_t op = op_begin(t), mine = STAMP(front_of(t)->slot, op), last = 0;
	if (s->shared) {
		side_follow(t, s, op, true);
	} else {
		/* acquire and release: whoever follows us follows all posts before, whose edges are logged by then */
		last = __atomic_load_n(&s->stamp, __ATOMIC_RELAXED);
		do {
			op_edge(t, last);
			op_shown(t);
		} while (!__atomic_compare_exchange_n(&s->stamp, &last, mine, false, __ATOMIC_ACQ_REL,
						      __ATOMIC_ACQUIRE));
	}
	if (replaying) {
		long r = op_outcome(t, 0);
		if (!r)
			__atomic_fetch_add(&s->value, 1, __ATOMIC_RELAXED);
		op_end(t);
		return r;
	}
	uint64_t old = __atomic_load_n(whole(s), __ATOMIC_RELAXED);
	if ((uint32_t)old >= VALUE_MAX) {
		op_outcome(t, EOVERFLOW);
		op_end(t);
		return EOVERFLOW;
	}
	op_end(t); /* before anybody can follow it: see op_given() */
	while (!__atomic_compare_exchange_n(whole(s), &old, old + 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	if (old >> 32)
		sync_wake(&s->value, 1);
	return 0;
}

/* a: the semaphore. Returns its value. */
long sync_sem_value(struct thread *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	(void)b, (void)c, (void)d;
	struct semaphore *s = (struct semaphore *)a;
	op_begin(t);
	long r = 0;
	if (!replaying) {
		r = __atomic_load_n(&s->value, __ATOMIC_ACQUIRE);
		op_edge(t, last_post(s));
	}
	r = op_outcome(t, r);
	op_end(t);
	return r;
}

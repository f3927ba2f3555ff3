/*
 * Locks and system calls as events of the scheme, for schemes that want them (acquire and release filled: global,
 * lamport). The common edges and tickets order them in any case.
 *
 * An op is two events: `release` when it begins, before anybody can be woken by it, and `acquire` when it is over,
 * after everything it can wait for. So is a system call. All of them are on one object: what follows in real time gets
 * a later time, and so no chain of waits at replay can be a circle through the common edges.
 *
 * Inside a group (hooks.c) of a libc function that allocates, an op is no event: the common edges must do.
 *
 * What a call writes is written between the two, after what the call waited for: another `acquire` comes before it. So
 * does one before a handler, which at replay waits for what had begun when it was called, and one when a thread begins.
 *
 * A signal that interrupts an op or a call in its middle leaves a release without an acquire; replay sees by the count
 * in the signal's entry that there was one, and begins the handler only then: it asks before and after.
 *
 * A scheme with regions ends them there (pause), in threads that make hooked accesses.
 */
#include "runtime/runtime.h"
#include "runtime/races/watch.h"

static const struct order_ops *ops;
static void (*pauses)(struct order_thread *, enum order_pause);

void order_sync_start(const struct order_ops *o)
{
	ops = o && o->acquire ? o : 0;
	pauses = o ? o->pause : 0;
	order_watches = ops || races_watch;
}

bool order_sees_ops_of(const struct thread *t)
{
	return ops || races_watch || (t->hooked && pauses);
}

void order_cut(struct thread *t)
{
	if (!pauses || !t->hooked)
		return;
	t->order.event = t->self->events / 2;
	pauses(&t->order, PAUSE_WAITS);
}

void order_before_op(struct thread *t, enum order_pause why)
{
	/*
	 * Once, also if an op that a signal interrupted for nothing is begun again. Not inside a group, for which the
	 * bracket is asked and not t->holds: at replay the program goes through a group without coming to us.
	 */
	if (pauses && t->hooked && !t->order_paused && !(t->self->events & 1)) {
		t->order.event = t->self->events / 2;
		pauses(&t->order, why);
		t->order_paused = true;
	}
	if (ops)
		order_released(t);
}

/* What others get from a call they get after it has read its inputs. A time or region from before would let replay wait
   in a circle: the call for others, they for these accesses. */
void order_before_wait_again(struct thread *t)
{
	t->order_paused = t->order_released = false;
	order_before_wait(t);
}

void order_after_wait(struct thread *t)
{
	t->order_paused = false;
	if (ops)
		order_acquired(t);
}

bool order_syncs(void)
{
	return ops;
}

static void event(struct thread *t, void (*what)(struct order_thread *, uint64_t))
{
	bracket_await(t);
	t->order.event = t->self->events / 2;
	what(&t->order, 0);
	__atomic_store_n(&t->self->events, t->self->events + 2, __ATOMIC_RELEASE);
}

void order_released(struct thread *t)
{
	/* an op that was interrupted by a signal which came to nothing is begun again */
	if (!t->order_released && !order_in_group(t))
		event(t, ops->release);
	t->order_released = true;
}

void order_acquired(struct thread *t)
{
	if (!order_in_group(t))
		event(t, ops->acquire);
	t->order_released = false;
}

void order_create(struct thread *t, struct thread *child)
{
	if (child)
		order_own(child);
	if (!ops->create)
		return;
	if (!child) { /* replay: the creation failed, but was begun */
		event(t, ops->acquire);
		return;
	}
	t->order.event = t->self->events / 2;
	ops->create(&t->order, &child->order);
	__atomic_store_n(&t->self->events, t->self->events + 2, __ATOMIC_RELEASE);
	/* The child exists only after its creator has waited for other calls. Who waits for it must know how far it is
	   by its log, before it has run. */
	if (replaying)
		order_thread_begins(child);
}

void order_created(struct thread *t)
{
	if (!replaying || !ops->create)
		order_thread_begins(t);
	order_acquired(t); /* it follows its creator's call */
}

/*
 * Locks and system calls as events of the scheme, for schemes that want them (acquire and release filled: global,
 * lamport). The common edges and tickets order them in any case.
 *
 * An op is two events: `release` when it begins, before anybody can be woken by it, and `acquire` when it is over, after
 * everything it can wait for. So is a system call. All of them are on one object: what follows in real time gets a later
 * time, and so no chain of waits at replay can be a circle through the common edges.
 *
 * Inside a group (hooks.c) of a libc function that allocates, an op is no event: the common edges must do.
 *
 * A signal that interrupts an op or a call in its middle leaves a release without an acquire; replay sees by the count in
 * the signal's entry that there was one: replay_deliver().
 */
#include "runtime/runtime.h"

static const struct order_ops *ops;

void order_sync_start(const struct order_ops *o)
{
	ops = o && o->acquire ? o : 0;
}

bool order_syncs(void)
{
	return ops;
}

static void event(struct thread *t, void (*what)(struct order_thread *, uint64_t))
{
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
	order_own(child);
	if (!ops->create)
		return;
	t->order.event = t->self->events / 2;
	ops->create(&t->order, &child->order);
	__atomic_store_n(&t->self->events, t->self->events + 2, __ATOMIC_RELEASE);
}

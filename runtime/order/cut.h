/*
 * Where a thread's region ends (region.c explains the words), as libheddle.so does it, too: an op on a mutex that needs
 * nobody else is done there, and must leave what order_op_begins() leaves.
 */
#ifndef ORDER_CUT_H
#define ORDER_CUT_H
#include <stdbool.h>
#include <stdint.h>

/* How many accesses were finished when an op began. For the last OP_EVENTS ops of a thread: who follows one of them
   knows that these are done. Many: a lock may have been left long ago. */
#define OP_EVENTS 1024
struct op_events {
	uint64_t op, events;
};

/* Only the thread itself, and who has stopped it, uses its cut. */
struct order_cut {
	uint64_t *events;	 /* hook_self's */
	uint64_t mask;		 /* the count moves on to the next multiple of mask + 1 */
	uint64_t until;		 /* from this count on, the scheme itself must be asked */
	bool leaves;		 /* it must be asked for an op that gives a lock back */
	uint64_t skipped;	 /* numbers that cuts left out so far */
	struct op_events *noted; /* of the thread's ops */
};

/* Release: replay takes it as the end of all accesses before; and so do others that see the new count, while
   recording. */
static inline void cut_now(struct order_cut *c)
{
	uint64_t events = (*c->events | c->mask) + 1;

	c->skipped += (events - *c->events) / 2;
	__atomic_store_n(c->events, events, __ATOMIC_RELEASE);
}

/* Before others can see the op's stamp. They look at its number, at `events`, and at the number again: so that is 0
   meanwhile. */
static inline void cut_note(struct op_events *noted, uint64_t op, uint64_t events)
{
	struct op_events *e = &noted[op % OP_EVENTS];

	__atomic_store_n(&e->op, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&e->events, events, __ATOMIC_RELAXED);
	__atomic_store_n(&e->op, op, __ATOMIC_RELEASE);
}
#endif

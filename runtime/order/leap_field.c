/*
 * leap:field: LEAP as its paper has it, with static elements for locations. The compiler gives each access the number
 * of an element (compiler/elements.c): a type's field in a class of objects, or whatever had to be merged. There are
 * few of them, so vectors are few and long: all objects of a type share one, and so does a whole array.
 *
 * Entry: accesses of the element so far, when another thread had it last. The rest is leap.c's, invariants 1 to 4, with
 * "element" for "granule", and:
 *
 * 1. Two accesses that overlap have the same element, as long as the program stays within its objects and does not use
 *    memory that was freed: then another object may be there, of another element, and the two are not ordered.
 * 2. A thread may be between before and after for several granules of one element: the lock is taken once and counted.
 *    `owner` is stored by its holder alone, so that a thread reads its own number there only if it holds the lock.
 * 3. Several elements at once are taken in any order. That is no circle: who takes several holds a lock that only one
 *    such thread has (accesses.c, enter), and all others wait with none.
 */
#include "compiler/hooks.h"
#include "order.h"

#define ELEMENTS 65536 /* more share: what is merged is ordered more strictly, never less */

struct element {
	uint32_t lock, depth;
	uint32_t owner; /* slot + 1 of who holds the lock */
	uint32_t last;	/* record: slot + 1 of the thread that accessed it last */
	uint64_t count; /* accesses so far */
};

static struct element *elements;

static void open(void)
{
	elements = order_memory(ELEMENTS * sizeof *elements);
}

static struct element *element_of(const struct access *a)
{
	return &elements[a->site ? a->site->element % ELEMENTS : 0];
}

/* ---- record --------------------------------------------------------------------------------------------- */

static void record_before(struct order_thread *t, struct access *a)
{
	struct element *e = element_of(a);

	/* relaxed: only this thread stores its own number here (invariant 2) */
	if (__atomic_load_n(&e->owner, __ATOMIC_RELAXED) != t->slot + 1) {
		order_lock(&e->lock);
		__atomic_store_n(&e->owner, t->slot + 1, __ATOMIC_RELAXED);
	}
	e->depth++;
	if (e->last && e->last != t->slot + 1)
		ORDER_LOG(t, e->count);
	e->last = t->slot + 1;
	e->count++;
	order_chaos(t);
}

/* An access that faulted counts, at replay too. */
static void record_after(struct order_thread *t, struct access *a, bool done)
{
	struct element *e = element_of(a);

	(void)t, (void)done;
	if (--e->depth)
		return;
	__atomic_store_n(&e->owner, 0, __ATOMIC_RELAXED); /* before the lock is free: its release comes after */
	order_unlock(&e->lock);
}

/* Who held a lock is gone, with the parent. */
static void forked(struct order_thread *t)
{
	(void)t;
	for (unsigned i = 0; i < ELEMENTS; i++)
		elements[i].lock = elements[i].owner = elements[i].depth = 0;
}

/* ---- replay --------------------------------------------------------------------------------------------- */

struct turn {
	const struct element *element;
	uint64_t count;
};

static bool has_come(const void *arg)
{
	const struct turn *turn = arg;

	return __atomic_load_n(&turn->element->count, __ATOMIC_ACQUIRE) == turn->count; /* leap.c, invariant 2 */
}

static void replay_before(struct order_thread *t, struct access *a)
{
	if (!order_due(t))
		return;
	struct turn turn = { element_of(a), order_number(t) };
	order_taken(t);
	order_wait(t, has_come, &turn, "its turn at an element");
}

static void replay_after(struct order_thread *t, struct access *a, bool done)
{
	struct element *e = element_of(a);

	(void)t, (void)done;
	__atomic_store_n(&e->count, e->count + 1, __ATOMIC_RELEASE);
}

#ifdef HEDDLE_TOOL
#include "print.h"
#endif

const struct order_scheme order_leap_field = {
	.name = "leap:field",
	.summary = "leap with static elements for locations: a type's field (LEAP as printed)",
	.guarantee = "elements: the same as long as the program stays within its objects; memory used after free is "
		     "not ordered",
	.version = 1,
	.record = { .open = open, .before = record_before, .after = record_after, .forked = forked },
	.replay = { .open = open, .before = replay_before, .after = replay_after, .forked = forked },
#ifdef HEDDLE_TOOL
	.print = leap_print,
	.describe = leap_describe,
#endif
};

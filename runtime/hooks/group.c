/*
 * Code that the compiler cannot see into, and calls that change the address space: ranges that a thread keeps for
 * itself.
 *
 * A group: enter, perhaps for several ranges, then the code, then leave. A scheme with claims holds the ranges, and the
 * group is one event. Otherwise each granule is an event; they all count as finished only at leave, since until then
 * nobody else may go on with them.
 *
 * The ranges of a group come in any order. So that two groups do not wait for each other, only one thread at a time is
 * in one while recording; a plain access holds one granule at most, and waits for nothing. Replay follows what was
 * possible.
 */
#include "runtime/runtime.h"

#define HELD_MAX 256 /* pieces that a thread keeps at once: more than one for each argument */

struct held_piece {
	uint64_t from, to; /* whole granules, no other piece has them */
	uint64_t event;	   /* of the first */
	const struct hook_site *site;
};

struct held_range {
	uint32_t count; /* in held */
	uint64_t parts; /* events of the group so far */
	struct held_piece held[HELD_MAX];
};
static uint32_t group_lock;

bool order_in_group(const struct thread *t)
{
	return t->holds || (t->entered && t->entered->parts);
}

static struct access granule_of(uint64_t at, const struct hook_site *site)
{
	/* all are kept for writing: one that was entered for reading may be entered again */
	return (struct access){ .addr = at,
				.size = GRANULE,
				.kind = ACCESS_READS | ACCESS_WRITES,
				.granules = 1,
				.op = OP_NONE,
				.site = site };
}

/* From `at` on: up to where is it kept already (free: 0), or is it not (free: 1)? At most `to`. Ranges may overlap. */
static uint64_t up_to(const struct held_range *h, uint64_t at, uint64_t to, bool *free)
{
	*free = true;
	for (uint32_t i = 0; i < h->count; i++) {
		if (h->held[i].from <= at && at < h->held[i].to) {
			*free = false;
			return MIN(to, h->held[i].to);
		}
		if (h->held[i].from > at)
			to = MIN(to, h->held[i].from);
	}
	return to;
}

static void keep(struct thread *t, const struct order_ops *ops, const struct hook_site *site, uint64_t from,
		 uint64_t to)
{
	struct held_range *h = t->entered;
	uint64_t event = t->self->events / 2 + h->parts;
	struct held_piece *last = h->count ? &h->held[h->count - 1] : 0;
	/* of a long string each piece follows the one before */
	if (last && last->to == from && last->site == site && last->event + (from - last->from) / GRANULE == event) {
		last->to = to;
	} else {
		if (h->count == HELD_MAX)
			cannot("a function of libc gets more than %d ranges of memory at once", (long)HELD_MAX);
		h->held[h->count++] = (struct held_piece){ from, to, event, site };
	}
	for (uint64_t at = from; at < to; at += GRANULE) {
		struct access a = granule_of(at, site);
		t->order.event = t->self->events / 2 + h->parts++;
		ops->before(&t->order, &a);
	}
}

bool group_enter(struct thread *t, const struct order_ops *ops, const struct hook_site *site, uint64_t addr, uint64_t n,
		 uint8_t kind)
{
	if (!n || (!ops->hold && !ops->before))
		return false;
	if (ops->hold) {
		t->order.event = t->self->events / 2;
		t->holds = true;
		ops->hold(&t->order, addr, n, kind);
		t->self->events |= 1;
		return true;
	}
	if (!t->entered)
		t->entered = order_memory(sizeof *t->entered);
	if (!t->entered->parts && !replaying)
		order_lock(&group_lock);
	uint64_t to = ALIGN_UP(addr + n, GRANULE);
	for (uint64_t at = ALIGN_DOWN(addr, GRANULE), end; at < to; at = end) {
		bool free;
		end = up_to(t->entered, at, to, &free);
		if (free)
			keep(t, ops, site, at, end);
	}
	return true;
}

void group_leave(struct thread *t, const struct order_ops *ops)
{
	struct held_range *h = t->entered;
	if (t->holds) {
		ops->drop(&t->order, true);
		t->holds = false;
	}
	if (!h || !h->parts)
		return;
	t->order.event = t->self->events / 2 + h->parts - 1;
	order_begun(&t->order); /* all of them: with the first `after` others may go on */
	for (uint32_t i = 0; i < h->count; i++) {
		t->order.event = h->held[i].event;
		for (uint64_t at = h->held[i].from; at < h->held[i].to; at += GRANULE, t->order.event++) {
			struct access a = granule_of(at, h->held[i].site);
			ops->after(&t->order, &a, true);
		}
	}
	h->count = 0;
	/* who closes the bracket counts the last of them */
	__atomic_store_n(&t->self->events, t->self->events + 2 * (h->parts - 1), __ATOMIC_RELEASE);
	h->parts = 0;
	if (!replaying)
		order_unlock(&group_lock);
}

/* ---- the address space ----------------------------------------------------------------------------------------- */

/*
 * munmap, mprotect and their kin are writes of their whole range: whether another's access faults, and what it reads,
 * depends on which came first. They are made inside a group of the calling thread, if it makes hooked accesses.
 *
 * 1. The call's entry is complete before the group is left: what others have seen is in the recording.
 * 2. The call's ticket is taken before the group is entered, and at replay it counts as begun there: a thread that
 *    waits for it may be one whose access the group waits for.
 * 3. At replay the call waits for other tickets when the group has been left (c->leave_later), for the same reason.
 * 4. The scheme is told once more that the thread may wait: what follows the call follows the group.
 * 5. A scheme with times of ops is told that the op before, on the address space, is over: at replay this thread waits
 *    for it, and its accesses must not wait for this thread's group, so that has a later time.
 *
 * Memory that is mapped where nothing was needs no order: nobody has an address there. Longer ranges than SPACE_MOST
 * are not ordered: doc/nondeterminism.md.
 */
#define SPACE_MOST_CLAIMS   (1ull << 30)
#define SPACE_MOST_GRANULES (1ull << 20)

static void enter_range(struct thread *t, const struct order_ops *ops, uint64_t addr, uint64_t n)
{
	addr = ALIGN_DOWN(addr, page_size);
	n = ALIGN_UP(n, page_size);
	if (addr + n <= MAP_PROGRAM_END && n <= (ops->hold ? SPACE_MOST_CLAIMS : SPACE_MOST_GRANULES))
		group_enter(t, ops, 0, addr, n, ACCESS_READS | ACCESS_WRITES);
}

bool order_space_enter(struct call *c, const struct space_range *ranges, unsigned count)
{
	struct thread *t = c->t;
	const struct order_ops *ops = scheme_ops;
	/* not inside a group, which an open bracket tells: see order_before_wait() */
	if (!ops || !t->hooked || !count || t->self->events & 1)
		return false;
	if (order_syncs())
		order_acquired(t); /* invariant 5 */
	bracket_await(t);
	call_ticket_early(c); /* invariant 2 */
	bracket_open(t);
	for (unsigned i = 0; i < count; i++)
		enter_range(t, ops, ranges[i].addr, ranges[i].n);
	c->leave_later = true;
	return true;
}

void order_space_leave(struct call *c)
{
	struct thread *t = c->t;
	group_leave(t, scheme_ops);
	bracket_close(t);
	order_before_wait_again(t);
	if (replaying && !one_thread)
		ticket_leave(t, c->now); /* invariant 3 */
}

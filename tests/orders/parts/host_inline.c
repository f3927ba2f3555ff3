/*
 * The host's side of the hooks (compiler/hooks.h) for a scheme with claims: what compiler/fast.c inlines into a program,
 * and what runtime/hooks/ does when that misses. See host.h.
 *
 * The bracket, the claims and `until` are those of the real thing, so that revocation meets hits in mid-access; under
 * --chaos a thread may be stopped at every point of its bracket.
 */
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "host.h"

struct hook_self *order_self(uint32_t slot)
{
	return &host_worker(slot)->self;
}

uint8_t *order_claims(uint32_t slot)
{
	return host_worker(slot)->claims;
}

void order_membarrier(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		order_cannot("membarrier is refused");
}

void order_relax(unsigned *looked)
{
	host_relax(looked);
}

/* ---- one child ------------------------------------------------------------------------------------------------------ */

static const uint8_t none[1];

void inline_set_up(struct worker *w, bool claims)
{
	w->self.claims = none;
	w->self.mask = 0;
	w->self.until = ~0ull;
	if (!claims)
		return;
	w->claims = order_memory(1ul << (ORDER_ADDRESS_BITS - HOOK_PAGE_SHIFT));
	if (!w->order.slot && syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0)) {
		perror("order-stress: membarrier");
		exit(2);
	}
}

/* Accesses so far: numbers that a scheme has left out do not count. */
uint64_t inline_finished(const struct worker *w)
{
	return __atomic_load_n(&w->self.events, __ATOMIC_ACQUIRE) / 2 - w->skipped;
}

/* Before and after an op of the scheme's, which may move the count on. */
static uint64_t enter(struct worker *w)
{
	if (host_mode == RECORD) /* the scheme may have sent it here by that */
		w->self.until = ~0ull;
	return w->order.event = w->self.events / 2;
}

static void leave(struct worker *w, uint64_t number)
{
	w->order.event = w->self.events / 2;
	w->skipped += w->order.event - number;
	if (host_mode == REPLAY)
		w->self.until = w->order.next_entry == ORDER_NEVER ? ~0ull : w->order.next_entry * 2 + 1;
}

void inline_begin(struct worker *w)
{
	uint64_t number = enter(w);

	if (w->ops->begin)
		w->ops->begin(&w->order);
	leave(w, number);
}

void inline_pause(struct worker *w, enum order_pause why)
{
	uint64_t number = enter(w);

	if (w->ops->pause)
		w->ops->pause(&w->order, why);
	leave(w, number);
}

/* ---- accesses -------------------------------------------------------------------------------------------------------- */

void inline_seen(struct worker *w, uint64_t value)
{
	host_remember(w, w->self.events / 2, value);
}

void inline_chaos(struct worker *w)
{
	if (host_mode == RECORD)
		order_chaos(&w->order);
}

/* As runtime/hooks/hooks.c has it for the short way. */
static bool is_simple(const struct access *a)
{
	return (a->op == HOST_LOAD || a->op == HOST_STORE) && a->granules == 1;
}

static bool is_in_time(const struct worker *w)
{
	return w->self.events < __atomic_load_n(&w->self.until, __ATOMIC_RELAXED);
}

/* As entry.S has it: the granule is the thread's own. */
static bool is_own(struct worker *w, const struct access *a)
{
	return host_mode == RECORD && is_simple(a) && w->self.mask &&
	       __atomic_load_n(&w->self.claims[a->addr >> HOOK_PAGE_SHIFT], __ATOMIC_RELAXED) & HOOK_WORDS &&
	       __atomic_load_n((uint64_t *)order_state(a->addr), __ATOMIC_RELAXED) == w->self.mine && is_in_time(w);
}

bool inline_access(struct worker *w, struct access *a)
{
	bool done = true;
	uint64_t events;

	if (host_opens(w, (void *)a->addr, a->kind, &events) || is_own(w, a)) {
		inline_chaos(w);
		access_perform(a);
		inline_chaos(w);
	} else {
		bool quick = w->ops->quick && is_simple(a) && is_in_time(w);
		uint64_t number = enter(w);
		done = (quick && w->ops->quick(&w->order, a)) || w->ops->access(&w->order, a);
		leave(w, number);
	}
	if (a->kind & ACCESS_READS && plan.verify)
		inline_seen(w, a->size == 16 ? mix(a->old[0], a->old[1]) : a->old[0]);
	host_closes(w, w->self.events);
	return done;
}

/* Ranges that code which the compiler cannot see into accesses: all held at once, one event. */
void inline_bracket(struct worker *w, struct access *a, unsigned n)
{
	uint64_t number, events, hash = 0;

	host_opens(w, 0, 0, &events);
	number = enter(w);
	for (unsigned i = 0; i < n; i++)
		w->ops->hold(&w->order, a[i].addr, a[i].size, a[i].kind);
	order_chaos(&w->order);
	for (unsigned i = 0; i < n; i++) {
		access_perform(&a[i]);
		if (a[i].kind & ACCESS_READS)
			hash = mix(hash, a[i].old[0]);
	}
	order_chaos(&w->order);
	w->ops->drop(&w->order, true);
	leave(w, number);
	inline_seen(w, hash);
	host_closes(w, w->self.events);
}

bool inline_span(struct worker *w, struct access_span *s)
{
	uint64_t number, events;
	bool done;

	host_opens(w, 0, 0, &events);
	number = enter(w);
	done = w->ops->span(&w->order, s);
	leave(w, number);
	return done;
}

/* A loop of which all is known before it begins (compiler/loops.c): in one bracket, if the claims can be had for that.
   Replay goes from access to access, and comes to the same count. False: nothing has happened. */
bool inline_loop(struct worker *w, uint64_t *p, unsigned n, bool writes)
{
	uint64_t addr = (uint64_t)p & ~(HOOK_PAGE - 1), end = (uint64_t)(p + n), events;
	uint8_t kind = writes ? ACCESS_WRITES : ACCESS_READS;

	if (host_mode != RECORD || !w->self.mask)
		return false;
	host_opens(w, p, kind, &events);
	if (events + 2 * n >= __atomic_load_n(&w->self.until, __ATOMIC_RELAXED) ||
	    !w->ops->ahead(&w->order, addr, (end - addr + HOOK_PAGE - 1) & ~(HOOK_PAGE - 1), kind)) {
		__atomic_store_n(&w->self.events, events - 1, __ATOMIC_RELAXED);
		return false;
	}
	for (unsigned i = 0; i < n; i++) {
		inline_chaos(w);
		if (writes) {
			__atomic_store_n(&p[i], w->hash + i, __ATOMIC_RELAXED);
			continue;
		}
		uint64_t value = __atomic_load_n(&p[i], __ATOMIC_RELAXED);
		if (plan.verify)
			host_remember(w, events / 2 + i, value);
	}
	inline_chaos(w);
	host_closes(w, events + 2 * (n - 1));
	return true;
}

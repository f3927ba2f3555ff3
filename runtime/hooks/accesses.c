/*
 * What the program does at a hook, as accesses of the scheme.
 *
 * It is cut into accesses that each lie in one granule; each is an event of its own, so that an edge can point between
 * any two. The last part is counted by the hook itself when it closes its bracket.
 *
 * --verify: every value read is hashed, and the hash goes to the stream every VERIFY_EVERY reads.
 */
#include "runtime/runtime.h"
#include "loader/arch/arch.h"
#include "runtime/hooks/accesses.h"

#define VERIFY_EVERY 256
#define SET_BYTES    512 /* moved at a time */

/* ---- one access --------------------------------------------------------------------------------------------- */

void hook_check_verify(struct thread *t)
{
	if (!replaying) {
		log_numbers(t, ENTRY_VERIFY, (int64_t)t->verify, 1, &t->self->events);
		return;
	}
	futex_pass(t);
	const struct entry *e = log_peek(t);
	if (!e)
		return; /* the recording ended before */
	uint64_t events = e->kind == ENTRY_VERIFY ? *(const uint64_t *)(e + 1) : 0;
	if (e->kind != ENTRY_VERIFY || (uint64_t)e->result != t->verify || events / 2 != t->self->events / 2) {
		TEXT(now, 160);
		text_add(&now, "the values read up to access %u have hash %x (recorded: up to access %u)",
			 t->self->events / 2, t->verify, events / 2);
		diverged(t, e, TEXT_OF(now));
	}
	log_take(t);
}

static void verify(struct thread *t, const struct access *a)
{
	t->verify = (t->verify ^ a->old[0]) * 0x9e3779b97f4a7c15ull;
	t->verify ^= t->verify >> 29;
	if (a->size == 16)
		t->verify = (t->verify ^ a->old[1]) * 0x9e3779b97f4a7c15ull;
	if (++t->verify_reads % VERIFY_EVERY == 0)
		hook_check_verify(t);
}

/* false: it would fault. */
static bool ordered(struct thread *t, struct access *a)
{
	struct order_thread *o = &t->order;
	bool done;
	o->event = t->self->events / 2;
	if (scheme_ops->access) {
		done = scheme_ops->access(o, a);
	} else {
		scheme_ops->before(o, a);
		order_begun(o);
		done = access_perform(a);
		scheme_ops->after(o, a, done);
	}
	t->self->events |=
		1; /* a scheme that moves the count on leaves the bracket closed; a fault must find it open */
	if (unlikely(control->verify) && done && a->kind & ACCESS_READS)
		verify(t, a);
	return done;
}

/* Another access of the same hook: the one before is finished, and counted. */
static void next_part(struct thread *t)
{
	__atomic_store_n(&t->self->events, t->self->events + 2, __ATOMIC_RELEASE);
	bracket_await(t);
}

static uint32_t part_size(uint64_t addr, uint64_t left)
{
	return (uint32_t)MIN(GRANULE - addr % GRANULE, left);
}

static bool wide(struct thread *t, uint64_t site, uint64_t addr, uint64_t size, uint8_t *data, bool writes);

/* Over several granules. With claims such an access is one event, as it is where the hook found the claim itself. */
static bool is_span(uint64_t addr, uint64_t size)
{
	return scheme_ops->span && addr / GRANULE != (addr + size - 1) / GRANULE;
}

/* A load or a store of any size; `data` is memory of ours, or of the thread alone. */
static bool plain(struct thread *t, uint64_t site, uint64_t addr, uint64_t size, uint8_t *data, bool writes)
{
	if (is_span(addr, size))
		return wide(t, site, addr, size, data, writes);
	for (uint64_t at = 0; at < size;) {
		struct access a = { .addr = addr + at,
				    .size = part_size(addr + at, size - at),
				    .kind = writes ? ACCESS_WRITES : ACCESS_READS,
				    .granules = 1,
				    .op = writes ? OP_STORE : OP_LOAD,
				    .site = (const struct hook_site *)site };
		if (at)
			next_part(t);
		if (writes)
			memcpy(a.value, data + at, a.size);
		if (!ordered(t, &a))
			return false;
		if (!writes)
			memcpy(data + at, a.old, a.size);
		at += a.size;
	}
	return true;
}

static bool span(struct thread *t, struct access_span *s)
{
	t->order.event = t->self->events / 2;
	bool done = scheme_ops->span(&t->order, s);
	t->self->events |= 1;
	return done;
}

/* ---- the hooks ------------------------------------------------------------------------------------------------ */

#define MAYBE __attribute__((unused))
#define HOOK(name)                                                                                              \
	static struct hook_result hook_##name(struct thread *t MAYBE, uint64_t site MAYBE, uint64_t addr MAYBE, \
					      uint64_t a MAYBE, uint64_t b MAYBE, uint64_t c MAYBE)
static const struct hook_result not_done = { 0, 0 };

HOOK(load)
{
	uint64_t value = 0;
	bool done = plain(t, site, addr, a, (uint8_t *)&value, false);
	return (struct hook_result){ value, done };
}

HOOK(store)
{
	return (struct hook_result){ 0, plain(t, site, addr, a, (uint8_t *)&b, true) };
}

/* Vectors and other wide values. A 16-byte atomic is one access: its site says so. */
static bool is_atomic_pair(uint64_t site, uint64_t addr, uint64_t size)
{
	return size == 16 && addr % 16 == 0 && site && ((const struct hook_site *)site)->flags & HOOK_SITE_ATOMIC;
}

struct wide {
	struct access_span s;
	uint8_t *data;
	bool writes;
};

static bool wide_perform(struct access_span *s, uint64_t from, uint64_t to)
{
	struct wide *w = (struct wide *)s;
	void *there = (void *)(s->addr + from), *here = w->data + from;
	return !user_copy(w->writes ? there : here, w->writes ? here : there, to - from);
}

static bool wide(struct thread *t, uint64_t site, uint64_t addr, uint64_t size, uint8_t *data, bool writes)
{
	if (is_atomic_pair(site, addr, size)) {
		struct access a = { .addr = addr,
				    .size = 16,
				    .kind = writes ? ACCESS_WRITES : ACCESS_READS,
				    .granules = 2,
				    .op = writes ? OP_STORE : OP_LOAD,
				    .site = (const struct hook_site *)site };
		memcpy(a.value, data, 16);
		bool done = ordered(t, &a);
		if (done && !writes)
			memcpy(data, a.old, 16);
		return done;
	}
	if (!is_span(addr, size))
		return plain(t, site, addr, size, data, writes);
	struct wide w = { .s = { .addr = addr,
				 .size = size,
				 .kind = writes ? ACCESS_WRITES : ACCESS_READS,
				 .perform = wide_perform,
				 .site = (const struct hook_site *)site },
			  .data = data,
			  .writes = writes };
	return span(t, &w.s);
}

bool order_access(struct thread *t, uint64_t addr, void *data, uint64_t n, bool writes)
{
	if (!n)
		return true; /* no event either: see order.h */
	bracket_await(t);
	bracket_open(t);
	bool done = wide(t, 0, addr, n, data, writes);
	bracket_close(t);
	return done;
}

HOOK(load_wide)
{
	return (struct hook_result){ 0, wide(t, site, addr, a, (uint8_t *)b, false) };
}

HOOK(store_wide)
{
	return (struct hook_result){ 0, wide(t, site, addr, a, (uint8_t *)b, true) };
}

HOOK(rmw)
{
	struct access x = { .addr = addr,
			    .size = a & 0xff,
			    .kind = ACCESS_READS | ACCESS_WRITES,
			    .granules = 1,
			    .op = (uint16_t)(OP_RMW + (a >> 8)),
			    .value = { b },
			    .site = (const struct hook_site *)site };
	bool done = ordered(t, &x);
	return (struct hook_result){ x.old[0], done };
}

HOOK(rmw_wide)
{
	struct access x = { .addr = addr,
			    .size = 16,
			    .kind = ACCESS_READS | ACCESS_WRITES,
			    .granules = 2,
			    .op = (uint16_t)(OP_RMW + (a >> 8)),
			    .site = (const struct hook_site *)site };
	memcpy(x.value, (void *)b, 16);
	bool done = ordered(t, &x);
	if (done)
		memcpy((void *)c, x.old, 16);
	return (struct hook_result){ 0, done };
}

HOOK(cas)
{
	struct access x = { .addr = addr,
			    .size = (uint32_t)a,
			    .kind = ACCESS_READS | ACCESS_WRITES,
			    .granules = 1,
			    .op = OP_CAS,
			    .value = { c },
			    .old = { b },
			    .site = (const struct hook_site *)site };
	bool done = ordered(t, &x);
	return (struct hook_result){ x.old[0], done };
}

HOOK(cas_wide)
{
	struct access x = { .addr = addr,
			    .size = 16,
			    .kind = ACCESS_READS | ACCESS_WRITES,
			    .granules = 2,
			    .op = OP_CAS,
			    .site = (const struct hook_site *)site };
	memcpy(x.old, (void *)b, 16);
	memcpy(x.value, (void *)c, 16);
	bool done = ordered(t, &x);
	if (done)
		memcpy((void *)a, x.old, 16);
	return (struct hook_result){ 0, done };
}

static bool set_perform(struct access_span *s, uint64_t from, uint64_t to)
{
	const struct wide *w = (const struct wide *)s;
	for (uint64_t at = from; at < to; at += SET_BYTES)
		if (user_copy((void *)(s->addr + at), w->data, MIN(to - at, SET_BYTES)))
			return false;
	return true;
}

HOOK(set)
{
	uint8_t bytes[SET_BYTES];
	memset(bytes, (int)a, MIN(b, sizeof bytes));
	struct wide w = { .s = { .addr = addr,
				 .size = b,
				 .kind = ACCESS_WRITES,
				 .perform = set_perform,
				 .site = (const struct hook_site *)site },
			  .data = bytes };
	if (b && is_span(addr, b))
		return (struct hook_result){ addr, span(t, &w.s) };
	for (uint64_t at = 0; at < b; at += sizeof bytes) {
		if (at)
			next_part(t);
		if (!wide(t, site, addr + at, MIN(b - at, sizeof bytes), bytes, true))
			return not_done;
	}
	return (struct hook_result){ addr, 1 };
}

/* One piece through a buffer of ours: read, then written. held: both ranges are, so it is no event of its own. */
static bool copy_piece(struct thread *t, uint64_t site, uint64_t to, uint64_t from, uint64_t n, bool held)
{
	uint8_t bytes[SET_BYTES];
	if (held)
		return !user_copy(bytes, (void *)from, n) && !user_copy((void *)to, bytes, n);
	if (!wide(t, site, from, n, bytes, false))
		return false;
	next_part(t);
	return wide(t, site, to, n, bytes, true);
}

static bool copy_all(struct thread *t, uint64_t site, uint64_t to, uint64_t from, uint64_t size, bool held)
{
	bool backwards = to > from && to < from + size; /* they overlap: from the end, as memmove does */
	for (uint64_t done = 0, n; done < size; done += n) {
		n = MIN(size - done, (uint64_t)SET_BYTES);
		uint64_t at = backwards ? size - done - n : done;
		if (done && !held)
			next_part(t);
		if (!copy_piece(t, site, to + at, from + at, n, held))
			return false;
	}
	return true;
}

/* With claims: one event, both ranges held. */
static bool copy_held(struct thread *t, uint64_t to, uint64_t from, uint64_t size)
{
	struct order_thread *o = &t->order;
	o->event = t->self->events / 2;
	scheme_ops->hold(o, from, size, ACCESS_READS);
	scheme_ops->hold(o, to, size, ACCESS_WRITES);
	bool done = copy_all(t, 0, to, from, size, true);
	scheme_ops->drop(o, done);
	t->self->events |= 1;
	return done;
}

HOOK(copy)
{
	bool done = scheme_ops->hold ? copy_held(t, addr, a, b) : copy_all(t, site, addr, a, b, false);
	return (struct hook_result){ addr, done };
}

/* ---- code that the compiler cannot see into ---------------------------------------------------------------------- */

/* a: bytes, b: kind, c: characters of a string */
HOOK(enter)
{
	bool done = a && b &&
		    group_add(t, scheme_ops, (const struct hook_site *)site, addr, a, (uint8_t)b, (uint32_t)c);
	return (struct hook_result){ c ? group_string_ends(addr, a, (uint32_t)c) : 0, done };
}

HOOK(leave)
{
	group_leave(t, scheme_ops);
	return (struct hook_result){ 0, 1 };
}

HOOK(poll)
{
	return (struct hook_result){ 0, 1 };
}

/* ---- for hooks.c ------------------------------------------------------------------------------------------------- */

#define HOOK_BODY(name) hook_##name,
hook_body *const hook_bodies[] = { HOOK_OPS(HOOK_BODY) };

/* A load or store within a granule, which nothing but the scheme has a say about: most of what comes here. */
struct hook_result hook_quick(struct thread *t, bool writes)
{
	struct access a = { .addr = SYNC_CALL_ARG(&t->regs, 2),
			    .size = (uint32_t)SYNC_CALL_ARG(&t->regs, 3),
			    .kind = writes ? ACCESS_WRITES : ACCESS_READS,
			    .granules = 1,
			    .op = writes ? OP_STORE : OP_LOAD,
			    .value = { SYNC_CALL_ARG(&t->regs, 4) },
			    .site = (const struct hook_site *)SYNC_CALL_ARG(&t->regs, 1) };
	uint64_t place = t->self->events;
	bool done = ordered(t, &a);
	if (unlikely(!done))
		signals_fault_at_hook(t, place);
	return (struct hook_result){ a.old[0], done };
}

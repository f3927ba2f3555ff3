/*
 * Any scheme at replay, with a look at every access: nothing is claimed, so each one comes by here, in its recorded
 * place.
 */
#include "loader/arch/arch.h"
#include "runtime/races/races.h"
#include "runtime/races/watch.h"
#include "runtime/memory/heap.h"

bool races_watch;
static struct order_scheme wrapped;
static const struct order_ops *inner;

static unsigned flags_of(unsigned kind, const struct hook_site *site)
{
	/* code in assembler that touches shared memory is taken for an atomic of the strongest kind */
	bool atomic = site && (site->flags & HOOK_SITE_ATOMIC || site->kind == HOOK_ASM);
	return (kind & ACCESS_READS ? RECORD_READS : 0) | (kind & ACCESS_WRITES ? RECORD_WRITES : 0) |
	       (atomic ? RECORD_ATOMIC : 0);
}

/* changed: a cas that has taken place, or anything else */
static unsigned parts_of(const struct access *a, bool changed)
{
	bool assembler = a->site->kind == HOOK_ASM;
	unsigned parts = 0;
	if (a->kind & ACCESS_READS && (a->site->flags & HOOK_SITE_ACQUIRE || assembler))
		parts |= ATOMIC_ACQUIRES;
	if (a->kind & ACCESS_WRITES && changed && (a->site->flags & HOOK_SITE_RELEASE || assembler))
		parts |= ATOMIC_RELEASES;
	if (a->kind == ACCESS_WRITES)
		parts |= ATOMIC_STORES;
	return parts;
}

static void seen(struct order_thread *o, const struct access *a, bool changed)
{
	struct thread *t = thread_of(o->slot);
	unsigned flags = flags_of(a->kind, a->site), parts = flags & RECORD_ATOMIC ? parts_of(a, changed) : 0;
	if (!changed)
		flags &= ~(unsigned)RECORD_WRITES;
	races_atomic(racer_of(t), a->addr, parts, false);
	uint64_t value = flags == RECORD_WRITES || flags == (RECORD_WRITES | RECORD_ATOMIC) ? a->value[0] : a->old[0];
	races_touch(t, &(struct touch){ .addr = a->addr,
					.size = a->size,
					.flags = flags,
					.known = a->size <= 8 && a->op != OP_NONE ? a->size : 0,
					.value = a->size < 8 ? value & ((1ull << a->size * 8) - 1) : value,
					.site = a->site });
	races_atomic(racer_of(t), a->addr, parts, true);
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

static const uint8_t nothing[1] = { 0 };

static void begin(struct order_thread *t)
{
	if (inner->begin)
		inner->begin(t);
	order_self(t->slot)->claims = nothing;
	order_self(t->slot)->mask = 0;
}

/* The value that a cas expects, which it overwrites. */
struct expects {
	uint64_t value[2];
};

static bool has_changed(const struct access *a, const struct expects *e)
{
	uint64_t mask = a->size < 8 ? (1ull << a->size * 8) - 1 : ~0ull;
	return a->op != OP_CAS || (!((a->old[0] ^ e->value[0]) & mask) && (a->size < 16 || a->old[1] == e->value[1]));
}

static bool access(struct order_thread *t, struct access *a)
{
	struct expects e = { { a->old[0], a->old[1] } };
	bool done = inner->access(t, a);
	if (done)
		seen(t, a, has_changed(a, &e));
	return done;
}

static struct expects expected[MAP_SLOTS]; /* between before and after */

/* Code that the compiler cannot see into: all of it is kept for writing; what it does is an argument of the hook. */
static struct access entered(struct order_thread *o, const struct access *a)
{
	struct access x = *a;
	x.kind = (uint8_t)SYNC_CALL_ARG(&thread_of(o->slot)->regs, 4) & (ACCESS_READS | ACCESS_WRITES);
	return x;
}

static void before(struct order_thread *t, struct access *a)
{
	expected[t->slot] = (struct expects){ { a->old[0], a->old[1] } };
	inner->before(t, a);
	if (a->op == OP_NONE && thread_of(t->slot)->in_hook) {
		struct access x = entered(t, a);
		seen(t, &x, true);
	}
}

static void after(struct order_thread *t, struct access *a, bool done)
{
	if (done && a->op != OP_NONE)
		seen(t, a, has_changed(a, &expected[t->slot]));
	inner->after(t, a, done);
}

static bool span(struct order_thread *t, struct access_span *s)
{
	bool done = inner->span(t, s);
	if (done)
		races_touch(thread_of(t->slot), &(struct touch){ .addr = s->addr,
								 .size = s->size,
								 .flags = flags_of(s->kind, s->site),
								 .site = s->site });
	return done;
}

/* A string whose length nobody knew is entered in pieces, the last of which reaches over its end. */
static uint64_t cut_string(uint64_t addr, uint64_t size, uint32_t string)
{
	uint64_t ends = HOOK_UNIT(string) ? group_string_ends(addr, size, string) : 0;
	return ends ? ends : size;
}

/* Of the hooks copy and enter: the site is an argument of theirs, and so is the unit of a string. A call that changes
   the address space holds it, too, and is no access. */
static void hold(struct order_thread *o, uint64_t addr, uint64_t size, uint8_t kind)
{
	struct thread *t = thread_of(o->slot);
	const struct hook_site *site = (const struct hook_site *)SYNC_CALL_ARG(&t->regs, 1);
	inner->hold(o, addr, size, kind);
	if (!t->in_hook)
		return;
	if (site && site->kind == HOOK_CALLED)
		size = cut_string(addr, size, (uint32_t)HOOK_CALL_ARG5(&t->regs));
	races_touch(t, &(struct touch){ .addr = addr, .size = size, .flags = flags_of(kind, site), .site = site });
}

void races_start(void)
{
	races_watch = true;
	races_records_start();
	if (control->races & WATCH_PLACES)
		places_start();
}

const struct order_scheme *races_wrap(const struct order_scheme *scheme)
{
	wrapped = *scheme;
	inner = &scheme->replay;
	struct order_ops *ops = &wrapped.replay;
	ops->begin = begin;
	ops->before = inner->before ? before : 0;
	ops->after = inner->after ? after : 0;
	ops->access = inner->access ? access : 0;
	ops->span = inner->span ? span : 0;
	ops->hold = inner->hold ? hold : 0;
	return &wrapped;
}

/* ---- the heap ---------------------------------------------------------------------------------------------------- */

static void forget_list(const struct heap_list *l, uint64_t size)
{
	for (const struct heap_block *b = l->head; b; b = heap_next(b))
		races_forget((uint64_t)b, size);
	races_forget((uint64_t)l->fresh, (uint64_t)(l->fresh_end - l->fresh));
}

void races_returned(struct thread *t, uint64_t function, const uint64_t args[4], long result)
{
	if (function == (uint64_t)sync_heap_refill && !result)
		forget_list(&((const struct heap *)t->front->heap)->lists[args[0]], heap_class_size((unsigned)args[0]));
	if (function == (uint64_t)sync_heap_large && result && !args[2])
		races_forget((uint64_t)result & ~(HEAP_SLICE - 1), args[0]);
}

/*
 * What threads do to memory in order-stress: shapes that are also measured, and awkward ones that are not.
 *
 * Each is written once, with `hooked` constant in the two functions made of it. All values follow from the thread's
 * random numbers and from what it has read, so a wrong order shows in what is read next.
 */
#include <string.h>
#include "host.h"

/* ---- those that are measured ------------------------------------------------------------------------------------ */

ALWAYS uint32_t below(uint64_t random, uint64_t n)
{
	return (uint32_t)((random >> 32) * n >> 32);
}

/* Everybody reads and writes any of `range` words. */
ALWAYS void updates(struct worker *w, uint64_t n, bool hooked)
{
	uint64_t r = w->random, h = w->hash;

	for (uint64_t k = 0; k < n / 2; k++) {
		r = xorshift(r);
		uint64_t *p = memory + below(r, plan.range), v = load(w, hooked, p);
		h = mix(h, v);
		store(w, hooked, p, v * 3 + k + w->order.slot);
	}
	w->random = r ^ (hooked ? 0 : h & 1);
}

/* Each has a part of the words; `share` of 1024 accesses go anywhere. */
ALWAYS void private(struct worker *w, uint64_t n, bool hooked)
{
	uint64_t r = w->random, h = w->hash, part = plan.range / plan.threads, base = part * w->order.slot;

	for (uint64_t k = 0; k < n; k++) {
		r = xorshift(r);
		uint64_t i = (r & 1023) < plan.share ? below(r, plan.range) : base + below(r, part);
		if (r >> 10 & 3)
			h = mix(h, load(w, hooked, memory + i));
		else
			store(w, hooked, memory + i, k);
	}
	w->random = r ^ (hooked ? 0 : h & 1);
}

/* Nearly all accesses read. */
ALWAYS void table(struct worker *w, uint64_t n, bool hooked)
{
	uint64_t r = w->random, h = w->hash;

	for (uint64_t k = 0; k < n; k++) {
		r = xorshift(r);
		uint64_t *p = memory + below(r, plan.range);
		if ((r & 1023) < 10)
			store(w, hooked, p, k);
		else
			h = mix(h, load(w, hooked, p));
	}
	w->random = r ^ (hooked ? 0 : h & 1);
}

/* Eight counters under one of four locks. */
ALWAYS void locks(struct worker *w, uint64_t n, bool hooked)
{
	uint64_t r = w->random, h = w->hash;

	for (uint64_t k = 0; k < n / 16; k++) {
		r = xorshift(r);
		unsigned m = r >> 40 & 3;
		lock(w, hooked, m);
		for (unsigned j = 0; j < 8; j++) {
			uint64_t *p = memory + m * 64 + j, v = load(w, hooked, p);
			h = mix(h, v);
			store(w, hooked, p, v + j + w->order.slot);
		}
		unlock(w, hooked, m);
	}
	w->random = r ^ (hooked ? 0 : h & 1);
}

/* Pairs hand eight words over and back, by flags without a lock: who reads a flag must not keep its writer out. */
ALWAYS uint64_t await(struct worker *w, bool hooked, uint64_t *flag, uint64_t wanted, uint64_t h)
{
	unsigned looked = 0;

	for (uint64_t v; (v = load_flag(w, hooked, flag)) != wanted; host_relax(&looked))
		h = mix(h, v);
	return h;
}

ALWAYS void pingpong(struct worker *w, uint64_t n, bool hooked)
{
	uint64_t *at = memory + w->order.slot / 2 * 256, h = w->hash, from = w->rounds + (1 << 20);

	for (uint64_t k = from + 1; k <= from + n / 10; k++) {
		if (w->order.slot % 2) {
			h = await(w, hooked, at + 64, k, h);
			for (unsigned j = 0; j < 8; j++)
				h = mix(h, load(w, hooked, at + j));
			store_flag(w, hooked, at + 128, k);
		} else {
			for (unsigned j = 0; j < 8; j++)
				store(w, hooked, at + j, k * j);
			store_flag(w, hooked, at + 64, k);
			h = await(w, hooked, at + 128, k, h);
		}
	}
	w->rounds += n / 10;
	w->random ^= hooked ? 0 : h & 1;
}

/* ---- only for stress ----------------------------------------------------------------------------------------------- */

static uint64_t number(struct worker *w)
{
	return w->random = xorshift(w->random);
}

static uint64_t *few(struct worker *w, uint64_t words)
{
	return memory + below(number(w), words < plan.range ? words : plan.range);
}

/* A counter, a lock-free maximum, flags taken away: all read-modify-writes, beside plain accesses of the same words. */
static void one_atomic(struct worker *w)
{
	uint64_t *p = few(w, 16);
	uint32_t size = 1u << below(number(w), 4);
	enum host_op op = HOST_LOAD + below(number(w), 6);
	struct access a = an_access(p, size, op);

	a.value[0] = number(w) >> 40;
	if (op == HOST_CAS)
		a.old[0] = w->random & 1 ? w->hash & 0xff :
					   load(w, true, p) & (size < 8 ? (1ull << size * 8) - 1 : ~0ull);
	host_access(w, &a);
}

/* 1 to 8 bytes at any place of a granule: two accesses conflict if any byte does. */
static void one_size(struct worker *w)
{
	uint64_t *p = few(w, 8);
	unsigned at = below(number(w), 8), size = 1 + below(number(w), 8 - at);
	struct access a = an_access((char *)p + at, size, HOST_LOAD + below(number(w), 4));

	a.value[0] = number(w);
	host_access(w, &a);
}

/* 16 bytes, over two granules, beside accesses of each half. */
static void one_wide(struct worker *w)
{
	uint64_t *p = memory + below(number(w), 8) * 2;
	static const enum host_op op_of[] = { HOST_LOAD, HOST_STORE, HOST_XCHG, HOST_CAS };

	if (number(w) & 1) {
		store(w, true, p + (w->random >> 5 & 1), w->random);
		return;
	}
	struct access a = an_access(p, 16, op_of[w->random >> 8 & 3]);
	a.value[0] = number(w);
	a.value[1] = w->hash;
	if (a.op == HOST_CAS) {
		struct access now = an_access(p, 16, HOST_LOAD);
		host_access(w, &now);
		memcpy(a.old, now.old, 16);
	}
	host_access(w, &a);
}

/* Several granules held at once, as for code that the compiler cannot see into. */
static void one_bracket(struct worker *w)
{
	struct access a[MAX_BRACKET];
	unsigned n = 1 + below(number(w), MAX_BRACKET), first = below(number(w), 16);

	for (unsigned i = 0; i < n; i++) {
		first += 1 + (number(w) >> 30 & 1);
		a[i] = an_access(memory + first, 8, w->random >> 40 & 1 ? HOST_LOAD : HOST_STORE);
		a[i].value[0] = number(w);
	}
	host_bracket(w, a, n);
}

static void one_copy(struct worker *w)
{
	char own[100];
	unsigned from = below(number(w), 100), size = 1 + below(number(w), 100);

	memset(own, (int)w->hash, sizeof own);
	host_copy(w, (uint64_t)memory + from, own, size, number(w) >> 40 & 1);
}

static void one_plain(struct worker *w)
{
	if (number(w) & 1)
		store(w, true, few(w, 16), w->hash);
	else
		load(w, true, few(w, 16));
}

static void one_locked(struct worker *w)
{
	unsigned m = below(number(w), 4);

	host_lock(w, m);
	one_plain(w);
	if (number(w) & 1)
		one_atomic(w);
	host_unlock(w, m);
}

#define PAGE_WORDS (HOOK_PAGE / sizeof(uint64_t))

/* Page after page, one or two words of each: a thread that takes them from others takes the next ones along. */
static void one_sweep(struct worker *w)
{
	unsigned from = below(number(w), 8), pages = 4 + below(number(w), 12);
	bool writes = number(w) & 1;

	for (unsigned i = 0; i < pages; i++) {
		uint64_t *p = memory + (from + i) * PAGE_WORDS + below(number(w), 2);
		if (writes)
			store(w, true, p, w->hash + i);
		else
			load(w, true, p);
	}
}

/* Pages that change hands with a lock, mostly: a thread lets go of them where it synchronises. Each lock has a block of pages; some
   accesses are of another lock's. */
static void one_handed_over(struct worker *w)
{
	unsigned m = below(number(w), 4);
	bool locked = number(w) & 15;

	if (locked)
		host_lock(w, m);
	for (unsigned i = 0, n = 1 + below(number(w), 4); i < n; i++) {
		unsigned block = number(w) & 15 ? m : below(number(w), 4);
		uint64_t *p = memory + block * 512 + below(number(w), 8) * PAGE_WORDS + below(number(w), 3);
		if (number(w) & 1)
			store(w, true, p, w->hash + i);
		else
			load(w, true, p);
	}
	if (locked)
		host_unlock(w, m);
}

static void handed_over(struct worker *w, uint64_t n)
{
	for (uint64_t k = 0; k < n; k += 3)
		one_handed_over(w);
}

/* The same by loops, over what may be several pages. */
static void one_loop(struct worker *w)
{
	unsigned m = below(number(w), 4), n = 2 + below(number(w), 2 * PAGE_WORDS),
		 from = below(number(w), 6 * PAGE_WORDS);
	bool locked = number(w) & 15, writes = number(w) & 1;
	uint64_t *p = memory + (number(w) & 15 ? m : below(number(w), 4)) * 8 * PAGE_WORDS + from;

	if (locked)
		host_lock(w, m);
	for (unsigned i = inline_loop(w, p, n, writes) ? n : 0; i < n; i++)
		if (writes)
			store(w, true, p + i, w->hash + i);
		else
			load(w, true, p + i);
	if (locked)
		host_unlock(w, m);
}

static void loops(struct worker *w, uint64_t n)
{
	for (uint64_t k = 0; k < n; k += PAGE_WORDS)
		one_loop(w);
}

/* Pages that are written from several sides, and then read whole: what came before is mostly past, by a lock. */
static void one_at_rest(struct worker *w)
{
	unsigned m = below(number(w), 2), from = below(number(w), PAGE_WORDS);
	bool locked = number(w) & 3, writes = number(w) & 1;
	uint64_t *page = memory + m * PAGE_WORDS;

	if (locked)
		host_lock(w, m);
	for (unsigned i = 0, n = locked ? PAGE_WORDS / 4 : 4; i < n; i++)
		if (writes)
			store(w, true, page + (from + i) % PAGE_WORDS, w->hash + i);
		else
			load(w, true, page + (from + i) % PAGE_WORDS);
	if (locked)
		host_unlock(w, m);
}

static void at_rest(struct worker *w, uint64_t n)
{
	for (uint64_t k = 0; k < n; k += 12)
		one_at_rest(w);
}

/* A word of its own beside those of others, and now and then one of theirs: what is used again and again becomes a thread's own. */
static void one_own(struct worker *w)
{
	uint64_t *p = memory + w->order.slot % 16;
	static void (*const others[])(struct worker *) = { one_plain,	one_plain, one_plain,
							   one_bracket, one_wide,  one_copy };

	for (unsigned i = 0, n = below(number(w), 48); i < n; i++)
		store(w, true, p, load(w, true, p) + i);
	others[below(number(w), 6)](w);
}

static void own_words(struct worker *w, uint64_t n)
{
	for (uint64_t k = 0; k < n; k += 49)
		one_own(w);
}

static void sweeps(struct worker *w, uint64_t n)
{
	for (uint64_t k = 0; k < n; k += 10)
		one_sweep(w);
}

static void some(struct worker *w, uint64_t n, void (*const one[])(struct worker *), unsigned kinds)
{
	for (uint64_t k = 0; k < n; k++)
		one[below(number(w), kinds)](w);
}
#define SOME(name, ...)                                                        \
	static void name(struct worker *w, uint64_t n)                         \
	{                                                                      \
		static void (*const one[])(struct worker *) = { __VA_ARGS__ }; \
		some(w, n, one, sizeof one / sizeof *one);                     \
	}
SOME(atomics, one_atomic, one_plain)
SOME(sizes, one_size, one_plain)
SOME(wide, one_wide, one_plain)
SOME(brackets, one_bracket, one_plain)
SOME(copies, one_copy, one_plain)
SOME(mixed, one_atomic, one_size, one_wide, one_bracket, one_copy, one_plain, one_locked)

#define BOTH(name)                                              \
	static void native_##name(struct worker *w, uint64_t n) \
	{                                                       \
		name(w, n, false);                              \
	}                                                       \
	static void hooked_##name(struct worker *w, uint64_t n) \
	{                                                       \
		name(w, n, true);                               \
	}
BOTH(updates)
BOTH(private)
BOTH(table)
BOTH(locks)
BOTH(pingpong)

#define MEASURED(name) #name, native_##name, hooked_##name
const struct workload workloads[] = {
	{ MEASURED(updates), 1, "random shared updates" },
	{ MEASURED(private), 1, "mostly private arrays" },
	{ "visited", native_private, hooked_private, 1, "the same, with more visits" },
	{ MEASURED(table), 1, "read-mostly table" },
	{ MEASURED(locks), 1, "lock-protected counters" },
	{ MEASURED(pingpong), 2, "ping-pong of pairs" },
	{ "atomics", 0, atomics, 1, "read-modify-writes" },
	{ "sizes", 0, sizes, 1, "1 to 8 bytes within granules" },
	{ "wide", 0, wide, 1, "16 bytes over two granules" },
	{ "brackets", 0, brackets, 1, "several granules held at once" },
	{ "copies", 0, copies, 1, "ranges" },
	{ "sweeps", 0, sweeps, 1, "page after page" },
	{ "handed-over", 0, handed_over, 1, "pages that go with a lock" },
	{ "loops", 0, loops, 1, "the same by loops in one bracket" },
	{ "at-rest", 0, at_rest, 1, "pages that are written from several sides, then read" },
	{ "own-words", 0, own_words, 1, "words of one page that are mostly one thread's each" },
	{ "mixed", 0, mixed, 1, "all of these, and locks" },
	{ 0 },
};

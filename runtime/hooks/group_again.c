/*
 * What a group has entered, for three cases in which that is not enough.
 *
 * A string is entered as far as it could be read, and in pieces; a scheme with claims may give back what it holds when
 * the next piece or the next range is entered. So the string may be longer then than it was, or readable. After each
 * range those that were entered before are looked at again, and the rest is entered, too, and as much behind what is
 * written: it may be a copy of the string.
 *
 * A fault inside a group (a function of libc's, inline assembler), and a handler that returns: the instruction is made
 * again, and what follows it in that code. The fault has ended the group, or a handler that waits for another thread
 * would wait for ever. So the way back from the handler enters the same ranges once more: what comes after is a group
 * of its own. Whether there was a group is in the fault's entry: at replay, a scheme with claims has none. A handler
 * that goes back to another instruction has left the code, for all we know, and nothing is entered.
 *
 * A fault in an access that found its claim, and so was made by the program itself: when it is made again, its bracket
 * has been closed, and the claim may be another's. So the way back enters a group for it, too, which __heddle_mended()
 * leaves: the bytes around the place of the fault, since it is not known where the access begins and ends. Longer ones
 * than a page are the runtime's where faults are handled (group_until), and a fault that the runtime meets is at the
 * hook: signals_fault_at_hook().
 */
#include "runtime/runtime.h"

#define ALIGN_TO 4096
#define RANGES	 64	    /* of one group; what touches is one */
#define STRING	 (1u << 20) /* bytes that are looked at for its end */
#define FAULTS	 8	    /* handlers that have not returned yet; some never will, and the oldest is forgotten */

struct group {
	uint64_t pc, sp; /* where it goes on; pc 0: nowhere */
	bool comes_by;	 /* replay: the program will call leave */
	uint32_t count;
	struct range {
		uint64_t from, to;
		const struct hook_site *site;
		uint32_t string; /* HOOK_UNIT, HOOK_END, HOOK_OR_ZERO; 0: bytes */
		uint8_t kind;
	} range[RANGES];
};

struct group_again {
	struct group now, faulted[FAULTS];
	uint32_t next;
};

static void note_range(struct group *g, const struct hook_site *site, uint64_t from, uint64_t to, uint8_t kind,
		       uint32_t string)
{
	for (uint32_t i = 0; i < g->count; i++)
		if (g->range[i].kind == kind && g->range[i].string == string && g->range[i].to >= from &&
		    g->range[i].from <= to) {
			g->range[i].from = MIN(g->range[i].from, from);
			g->range[i].to = MAX(g->range[i].to, to);
			return;
		}
	if (g->count == RANGES)
		cannot("a function of libc gets more than %d ranges of memory at once", (long)RANGES);
	g->range[g->count].from = from;
	g->range[g->count].to = to;
	g->range[g->count].site = site;
	g->range[g->count].string = string;
	g->range[g->count++].kind = kind;
}

/* Most characters are bytes: for them no call. */
static inline bool is_end(const uint8_t *character, uint64_t unit, uint32_t string)
{
	uint32_t wide = 0;
	if (likely(unit == 1))
		return *character == HOOK_END(string) || (!*character && string & HOOK_OR_ZERO);
	memcpy(&wide, character, unit);
	return !wide;
}

uint64_t group_string_ends(uint64_t addr, uint64_t n, uint32_t string)
{
	uint8_t bytes[64];
	uint64_t unit = HOOK_UNIT(string);
	for (uint64_t at = 0, now; at < n; at += now) {
		now = MIN(n - at, sizeof bytes);
		if (user_copy(bytes, (void *)(addr + at), now))
			return at + unit;
		for (uint64_t i = 0; i + unit <= now; i += unit)
			if (is_end(bytes + i, unit, string))
				return at + i + unit;
	}
	return 0;
}

static bool enter_range(struct thread *t, const struct order_ops *ops, const struct range *r, uint64_t from,
			uint64_t to)
{
	note_range(&t->again->now, r->site, from, to, r->kind, r->string);
	return group_enter(t, ops, r->site, from, to - from, r->kind);
}

/* Of a string, page by page, and looks for the end in each. How much it was. */
static uint64_t enter_rest(struct thread *t, const struct order_ops *ops, struct range *r)
{
	uint64_t from = r->from, was = r->to;
	while (!group_string_ends(from, r->to - from, r->string) && r->to < was + STRING) {
		struct range piece = *r;
		from = r->to;
		r->to = ALIGN_UP(from + 1, ALIGN_TO); /* also if it is noted as a part of another */
		enter_range(t, ops, &piece, from, r->to);
	}
	return r->to - was;
}

/* All strings have an end, except the one that `except` is in. */
static void complete(struct thread *t, const struct order_ops *ops, uint64_t except)
{
	struct group *g = &t->again->now;
	uint64_t more;
	do {
		more = 0;
		for (uint32_t i = 0; i < g->count; i++)
			if (g->range[i].string && (except < g->range[i].from || except >= g->range[i].to))
				more = MAX(more, enter_rest(t, ops, &g->range[i]));
		for (uint32_t i = 0; more && i < g->count; i++)
			if (g->range[i].kind & ACCESS_WRITES)
				enter_range(t, ops, &g->range[i], g->range[i].to, g->range[i].to + more);
	} while (more);
}

bool group_add(struct thread *t, const struct order_ops *ops, const struct hook_site *site, uint64_t addr, uint64_t n,
	       uint8_t kind, uint32_t c)
{
	struct range r = { addr, addr + n, site, c & ~HOOK_LIMITED, kind };
	if (!t->again)
		t->again = order_memory(sizeof *t->again);
	struct group *g = &t->again->now;
	bool first = !order_in_group(t);
	if (first)
		g->count = 0;
	bool done = enter_range(t, ops, &r, r.from, r.to);
	for (uint32_t i = 0; c & HOOK_LIMITED && i < g->count; i++)
		if (g->range[i].string && g->range[i].to == r.to && g->range[i].kind == kind)
			g->range[i].string = 0; /* its end is known */
	if (!first && ops->hold && !replaying)
		complete(t, ops, addr);
	return done;
}

static struct group *find(const struct thread *t, uint64_t pc, uint64_t sp)
{
	for (uint32_t i = 0; t->again && i < FAULTS; i++)
		if (t->again->faulted[i].pc == pc && t->again->faulted[i].sp == sp)
			return &t->again->faulted[i];
	return 0;
}

bool group_of_access(struct thread *t, uint64_t addr)
{
	uint64_t from = addr < HOOK_PAGE ? 0 : addr - HOOK_PAGE, to = addr + HOOK_PAGE;
	if (addr >= MAP_PROGRAM_END - HOOK_PAGE)
		return false;
	if (!t->again)
		t->again = order_memory(sizeof *t->again);
	t->again->now.count = 0;
	note_range(&t->again->now, 0, from, to, ACCESS_READS | ACCESS_WRITES, 0);
	return true;
}

void group_faulted(struct thread *t, uint64_t pc, uint64_t sp, bool grouped, bool comes_by)
{
	struct group *g = find(t, pc, sp); /* of a handler that jumped away */
	if (g)
		g->pc = 0;
	if (!grouped)
		return;
	if (!t->again)
		t->again = order_memory(sizeof *t->again);
	if (!g)
		g = &t->again->faulted[t->again->next++ % FAULTS];
	*g = t->again->now;
	g->pc = pc;
	g->sp = sp;
	g->comes_by = comes_by;
}

void group_return(struct thread *t, uint64_t pc, uint64_t sp)
{
	const struct order_ops *ops = scheme_ops;
	struct group *g = find(t, pc, sp);
	if (!g || !ops)
		return;
	g->pc = 0;
	t->again->now.count = 0;
	bracket_await(t); /* as in hook_run() */
	order_set_until(t);
	bracket_open(t);
	if (replaying && ops->hold) { /* it waits for what was waited for; the ranges are of no use */
		group_enter(t, ops, 0, pc, 1, ACCESS_READS);
		t->holds = g->comes_by;
		return;
	}
	for (uint32_t i = 0; i < g->count; i++)
		enter_range(t, ops, &g->range[i], g->range[i].from, g->range[i].to);
	complete(t, ops, 0);
}

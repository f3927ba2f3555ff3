/*
 * Pairs of accesses that may conflict, and what is left of them after each step. What no step removes is a warning, and
 * its accesses are hooked.
 *
 *   a pair      two accesses, at least one of them a write, that may touch the same byte of the same object, by two
 *               threads, and have no lock in common
 *   a warning   an object with a pair
 *   a site      an access in a pair
 *
 * Memory that code outside may access is not compared: accesses of it are hooked unless there is only one thread.
 * If a block may be freed while another thread accesses it, that thread may come to access whatever is put there next:
 * then all accesses of allocated memory are hooked.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/DebugInfo.h>
#include "compiler/races/races.h"

struct warnings warnings;

enum {
	MOST_OF_ONE_OBJECT = 4000, /* accesses; beyond that all of them are hooked without comparing */
	MOST_OF_GIVEN =
		200, /* of an object that code outside may access: they are hooked anyhow, and compared to be told */
};

static const char why_not_shared[] = "no other thread can reach it";
static const char why_constant[] = "a constant";
static const char why_alone[] = "while there is only one thread";
static const char why_no_conflict[] = "no other thread writes it, and nobody reads what it writes, at the same time";

/* ---- objects and their accesses ---------------------------------------------------------------------------------- */

struct use {
	uint32_t object, place, party;
};
static struct use *uses;
static size_t use_count, use_room;

static void add_use(struct use u)
{
	if (use_count == use_room) {
		use_room = use_room ? use_room * 2 : 1024;
		uses = realloc(uses, use_room * sizeof *uses);
		if (!uses)
			compiler_die("out of memory");
	}
	uses[use_count++] = u;
}

static int compare_uses(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->party != y->party ? (x->party < y->party ? -1 : 1) : (x->place > y->place) - (x->place < y->place);
}

static void list_uses(void)
{
	use_count = 0;
	for (uint32_t i = 0; i < warnings.party_count; i++) {
		const struct party *p = &warnings.parties[i];
		if (!p->shared || !p->classes || !objects_of(p->addr))
			continue;
		BITS_EACH(objects_of(p->addr), place)
		{
			uint32_t object = solve_place((uint32_t)place)->object;
			if (object != UNKNOWN_OBJECT && solve_object_at(object)->shared &&
			    !solve_object_at(object)->constant)
				add_use((struct use){ object, (uint32_t)place, i });
		}
	}
	qsort(uses, use_count, sizeof *uses, compare_uses);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

static void add_pair(uint32_t a, uint32_t b, uint32_t object)
{
	if (warnings.pair_count == warnings.pair_room) {
		warnings.pair_room = warnings.pair_room ? warnings.pair_room * 2 : 1024;
		warnings.pairs = realloc(warnings.pairs, warnings.pair_room * sizeof *warnings.pairs);
		if (!warnings.pairs)
			compiler_die("out of memory");
	}
	warnings.pairs[warnings.pair_count++] = (struct pair){ a, b, object, 0 };
	warnings.parties[a].pairs++;
	warnings.parties[b].pairs += a != b;
}

static const char *lock_reason(uint64_t common)
{
	static char *texts[64];
	unsigned n = (unsigned)__builtin_ctzll(common);

	if (!texts[n] &&
	    asprintf(&texts[n], "other threads access it only with the lock %s, too", locksets_name(n)) < 0)
		compiler_die("out of memory");
	return texts[n];
}

/* A lock that both hold, at least one of them for itself. */
static uint64_t common_lock(const struct party *a, const struct party *b)
{
	return (a->held.writing & b->held.reading) | (a->held.reading & b->held.writing);
}

static void compare(uint32_t a, uint32_t b, uint32_t object)
{
	struct party *x = &warnings.parties[a], *y = &warnings.parties[b];
	uint64_t common = common_lock(x, y);

	if (common && races_uses("locks")) {
		x->why = y->why = lock_reason(common);
		return;
	}
	add_pair(a, b, object);
}

static bool overlap(const struct use *a, size_t count_a, const struct use *b, size_t count_b)
{
	uint64_t size_a = warnings.parties[a->party].size, size_b = warnings.parties[b->party].size;

	for (size_t i = 0; i < count_a; i++)
		for (size_t j = 0; j < count_b; j++)
			if (solve_overlap(a[i].place, size_a, b[j].place, size_b))
				return true;
	return false;
}

/* Uses of one party. */
static size_t same_party(const struct use *u, const struct use *end)
{
	size_t n = 1;

	while (u + n < end && u[n].party == u->party)
		n++;
	return n;
}

/* A pair of each use in [from, end) with a; only_frees: with what frees the object. */
static void compare_use(const struct use *a, size_t count, const struct use *from, const struct use *end,
			bool only_frees)
{
	const struct party *x = &warnings.parties[a->party];

	for (const struct use *b = from; b < end;) {
		size_t count_b = same_party(b, end);
		const struct party *y = &warnings.parties[b->party];
		if ((x->write || y->write) && (!only_frees || x->frees || y->frees) &&
		    threads_two(x->classes, y->classes) && overlap(a, count, b, count_b))
			compare(a->party, b->party, a->object);
		b += count_b;
	}
}

/* Of an object with too many accesses only those that free it are compared with the others: follow_frees(). */
static void compare_object(const struct use *first, const struct use *end)
{
	bool many = end - first > MOST_OF_ONE_OBJECT,
	     only_frees = many || (end - first > MOST_OF_GIVEN && solve_object_at(first->object)->given), frees = false;

	for (const struct use *u = first; u < end; u++) {
		warnings.parties[u->party].unknown |= many;
		frees |= warnings.parties[u->party].frees;
	}
	if (only_frees && !frees)
		return;
	for (const struct use *a = first; a < end;) {
		size_t count = same_party(a, end);
		if (!only_frees)
			compare_use(a, count, a, end, false);
		else if (warnings.parties[a->party].frees)
			compare_use(a, count, first, end, true);
		a += count;
	}
}

/* An access that is two parties, as a copy is, is one site. */
static size_t count_site(bool *sites, const struct party *p)
{
	if (p->access == UINT32_MAX || program.m->accesses[p->access].shape == SHAPE_NONE || sites[p->access])
		return 0;
	return sites[p->access] = true;
}

static void count_step(const char *name)
{
	struct step_count *s = &warnings.steps[warnings.step_count++];
	bool *sites = calloc(program.m->count + 1, sizeof *sites);
	bool *objects = calloc(solve_object_count() + 1, sizeof *objects);

	*s = (struct step_count){ .name = name };
	for (size_t i = 0; i < warnings.pair_count; i++) {
		const struct pair *p = &warnings.pairs[i];
		if (p->step)
			continue;
		s->pairs++;
		s->warnings += !objects[p->object];
		objects[p->object] = true;
		s->sites += count_site(sites, &warnings.parties[p->a]) + count_site(sites, &warnings.parties[p->b]);
	}
	/* what no thread ever runs, such as the parts of libheddle that are of no use to the program, is none */
	for (size_t i = 0; i < warnings.party_count; i++)
		if (warnings.parties[i].unknown && warnings.parties[i].classes)
			s->sites += count_site(sites, &warnings.parties[i]);
	free(sites);
	free(objects);
}

static bool alone(const struct party *p)
{
	return p->classes == BIT(CLASS_MAIN) && !p->ever;
}

void warnings_find(void)
{
	list_uses();
	for (const struct use *u = uses, *end = uses + use_count; u < end;) {
		const struct use *next = u;
		while (next < end && next->object == u->object)
			next++;
		compare_object(u, next);
		u = next;
	}
	count_step("raw");
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static const struct step *const steps[] = { &step_threads, &step_phases, &step_partitions, &step_initialisation };

const char *warnings_place(LLVMValueRef inst)
{
	static char room[300];
	unsigned len = 0;
	inst = sites_line(inst);
	const char *file = LLVMGetDebugLocFilename(inst, &len), *slash = file ? memrchr(file, '/', len) : NULL;

	if (slash)
		len -= (unsigned)(slash + 1 - file);
	if (!file)
		return "a place without a line";
	snprintf(room, sizeof room, "%.*s:%u", (int)len, slash ? slash + 1 : file, LLVMGetDebugLocLine(inst));
	return room;
}

/* Reasons are kept for ever; each once would be better, but the table of strings makes them one. */
static const char *reason_text(const struct step *s, const struct party *other)
{
	char *text;

	if (asprintf(&text, s->reason, warnings_place(other->inst)) < 0)
		compiler_die("out of memory");
	return text;
}

static void run_step(unsigned n)
{
	const struct step *s = steps[n];

	if (s->begin)
		s->begin();
	for (size_t i = 0; i < warnings.pair_count && races_uses(s->option); i++) {
		struct pair *p = &warnings.pairs[i];
		struct party *a = &warnings.parties[p->a], *b = &warnings.parties[p->b];
		if (p->step || !s->removes(a, b, p->object))
			continue;
		p->step = (uint8_t)(n + 1);
		if (!--a->pairs)
			a->why = reason_text(s, b);
		if (a != b && !--b->pairs)
			b->why = reason_text(s, a);
	}
	if (s->end)
		s->end();
	count_step(s->name);
}

/* Memory that is freed while others may access it: what they access then may be any block. */
static void follow_frees(void)
{
	bool freed = false;

	for (size_t i = 0; i < warnings.pair_count; i++)
		freed |= !warnings.pairs[i].step &&
			 (warnings.parties[warnings.pairs[i].a].frees || warnings.parties[warnings.pairs[i].b].frees);
	for (size_t i = 0; i < warnings.party_count && freed; i++)
		if (warnings.parties[i].heap && !alone(&warnings.parties[i]))
			warnings.parties[i].unknown = true;
}

void warnings_prune(void)
{
	for (size_t i = 0; i < warnings.party_count; i++) {
		struct party *p = &warnings.parties[i];
		if (p->unknown && alone(p)) {
			p->unknown = false;
			p->why = why_alone;
		}
	}
	for (unsigned n = 0; n < sizeof steps / sizeof *steps; n++)
		run_step(n);
	follow_frees();
	count_step("free");
	for (size_t i = 0; i < warnings.party_count; i++) {
		struct party *p = &warnings.parties[i];
		if (!p->why)
			p->why = p->constant ? why_constant : !p->shared ? why_not_shared : why_no_conflict;
	}
}

const char *warnings_object(uint32_t object)
{
	static char room[400];
	const struct object *o = solve_object_at(object);

	switch (o->kind) {
	case OBJECT_GLOBAL:
	case OBJECT_TLS:
	case OBJECT_FUNCTION: return external_name(o->value);
	case OBJECT_STACK:
		snprintf(room, sizeof room, "%s of %s",
			 *external_name(o->value) ? external_name(o->value) : "a local variable",
			 external_name(LLVMGetBasicBlockParent(LLVMGetInstructionParent(o->value))));
		return room;
	case OBJECT_HEAP: snprintf(room, sizeof room, "allocated at %s", warnings_place(o->value)); return room;
	default: return "memory that code outside may access";
	}
}

void warnings_end(void)
{
	free(warnings.parties);
	free(warnings.pairs);
	free(uses);
	uses = NULL;
	use_room = 0;
	warnings = (struct warnings){ 0 };
}

/*
 * Rounds: what is known of the rounds of loops that two threads are in at the same time, if all go the same way from
 * wait to wait (uniform.c). At the same wait in a loop they are in the same round of it. From there to a place in the
 * same segment the jump back to the loop's beginning is taken never, once, or who knows how often; or the loop is
 * entered anew.
 */
#include <stdlib.h>
#include "compiler/races/phases.h"

enum { OUTSIDE, SAME, NEXT, FIRST, ANY, STATES };

/* A place in one function on the way from the thread's beginning to an access: the access itself, or a call that leads
   there. */
struct level {
	LLVMValueRef inst;
	const struct frame *frame;
};
enum { MOST_LEVELS = 12 };

/* One end of the pair: from the function that its thread begins with, down. */
struct side {
	const struct walk *walk;
	struct level levels[MOST_LEVELS];
	unsigned count;
	unsigned team;	/* the level of the function that the team begins with; the same as count: none */
	unsigned deep;	/* the last level that the walk has gone through, and ... */
	uint32_t chain; /* ... the chain that leads there; ANY_CHAIN: not known */
};

static void find_levels(struct side *s, LLVMValueRef inst, const struct frame *f)
{
	s->count = 0;
	for (; f && !f->creates && inst; f = f->up) {
		if (s->count == MOST_LEVELS) {
			s->count = 0;
			return;
		}
		for (unsigned i = s->count++; i > 0; i--)
			s->levels[i] = s->levels[i - 1];
		s->levels[0] = (struct level){ inst, f };
		inst = f->call ? f->call->inst : NULL;
	}
}

static uint32_t chain_below(const struct walk *w, uint32_t up, LLVMValueRef call)
{
	for (unsigned i = 1; i < w->chain_count; i++)
		if (w->chains[i].up == up && w->chains[i].call->inst == call)
			return i;
	return ANY_CHAIN;
}

static void find_side(struct side *s, const struct walk *w, LLVMValueRef inst, const struct frame *f, uint32_t entry)
{
	*s = (struct side){ .walk = w };
	find_levels(s, inst, f);
	while (s->team < s->count && program_block_of(s->levels[s->team].inst)->function != entry)
		s->team++;
	while (s->deep + 1 < s->count && s->chain != ANY_CHAIN &&
	       phases_function_waits(program_block_of(s->levels[s->deep + 1].inst)->function)) {
		s->chain = chain_below(w, s->chain, s->levels[s->deep].inst);
		s->deep++;
	}
	if (!s->count)
		s->chain = ANY_CHAIN;
}

static uint64_t events_in(const struct side *s, unsigned segment)
{
	return phases_events(&s->walk->segments[segment], s->levels[s->deep].inst, s->chain);
}

/* The place in a level's function where a segment begins: after this call. NULL: the segment was there before the
   function was called. */
static LLVMValueRef segment_begin(const struct walk *w, const struct segment *s, const struct level *levels,
				  unsigned at)
{
	const struct call *chain[MOST_LEVELS + 1];
	unsigned count = 0;

	if (s->call == UINT32_MAX)
		return NULL;
	chain[count++] = &program.calls[s->call];
	for (uint32_t c = s->chain; c; c = w->chains[c].up) {
		if (count > MOST_LEVELS)
			return NULL;
		chain[count++] = w->chains[c].call;
	}
	for (unsigned i = 0; i < at; i++)
		if (i >= count || chain[count - 1 - i]->inst != levels[i].inst)
			return NULL;
	return at < count ? chain[count - 1 - at]->inst : NULL;
}

struct search {
	LLVMBasicBlockRef header;
	LLVMValueRef target;
	uint32_t first; /* block of the function */
	uint8_t *seen;	/* of each block: states that it is entered in */
	uint32_t *todo;
	size_t count;
	uint8_t found; /* states that the target is come to in */
};

static void enter(struct search *s, uint32_t from, uint32_t to, unsigned state)
{
	LLVMBasicBlockRef at = program.blocks[to].ref;

	if (!plugin_in_loop(s->header, at))
		state = OUTSIDE;
	else if (at == s->header)
		state = !plugin_in_loop(s->header, program.blocks[from].ref) ? FIRST : state == SAME ? NEXT : ANY;
	if (s->seen[to - s->first] >> state & 1)
		return;
	s->seen[to - s->first] |= (uint8_t)(1u << state);
	s->todo[s->count++] = (to - s->first) * STATES + state;
}

/* Through a block, from this instruction on, until something waits for sure. */
static void pass(struct search *s, uint32_t block, LLVMValueRef from, unsigned state)
{
	const struct block *b = &program.blocks[block];

	for (LLVMValueRef i = from; i; i = LLVMGetNextInstruction(i)) {
		const struct call *c = program_call(i);
		if (i == s->target)
			s->found |= (uint8_t)(1u << state);
		if (c && phases_surely_waits(c))
			return;
	}
	for (uint32_t i = 0; i < b->next_count; i++)
		enter(s, block, b->next[i], state);
}

/* How may a place be come to from the beginning of a segment? */
static uint8_t states_of(LLVMBasicBlockRef header, LLVMValueRef begin, LLVMValueRef target)
{
	const struct function *f = &program.functions[program_block_of(target)->function];
	struct search s = { .header = header, .target = target, .first = f->first_block };

	s.seen = calloc(f->block_count + 1, 1);
	s.todo = calloc((size_t)f->block_count * STATES + 1, sizeof *s.todo);
	if (!s.seen || !s.todo)
		compiler_die("out of memory");
	if (begin) {
		uint32_t block = (uint32_t)(program_block_of(begin) - program.blocks);
		bool inside = plugin_in_loop(header, program.blocks[block].ref);
		if (begin == target) /* what was waited for is in there */
			s.found |= 1u << SAME;
		pass(&s, block, LLVMGetNextInstruction(begin), inside ? SAME : OUTSIDE);
	} else
		pass(&s, f->first_block, LLVMGetFirstInstruction(program.blocks[f->first_block].ref), OUTSIDE);
	for (size_t i = 0; i < s.count; i++) {
		uint32_t block = s.todo[i] / STATES + s.first;
		pass(&s, block, LLVMGetFirstInstruction(program.blocks[block].ref), s.todo[i] % STATES);
	}
	free(s.seen);
	free(s.todo);
	return s.found;
}

/* What is known of the rounds n and k if the places were come to like that; NULL: nothing. */
static Z3_ast fact(unsigned x, Z3_ast n, unsigned y, Z3_ast k)
{
	Z3_context z = terms_context();
	Z3_ast zero = Z3_mk_int64(z, 0, Z3_mk_int_sort(z)), one = Z3_mk_int64(z, 1, Z3_mk_int_sort(z));
	Z3_ast all[2];
	unsigned count = 0;

	if (x == FIRST)
		all[count++] = Z3_mk_eq(z, n, zero);
	if (y == FIRST)
		all[count++] = Z3_mk_eq(z, k, zero);
	if (x == y && (x == SAME || x == NEXT))
		all[count++] = Z3_mk_eq(z, n, k);
	if (x == SAME && y == NEXT)
		all[count++] = Z3_mk_eq(z, Z3_mk_add(z, 2, (Z3_ast[]){ n, one }), k);
	if (x == NEXT && y == SAME)
		all[count++] = Z3_mk_eq(z, Z3_mk_add(z, 2, (Z3_ast[]){ k, one }), n);
	return count == 0 ? NULL : count == 1 ? all[0] : Z3_mk_and(z, 2, all);
}

struct facts {
	Z3_ast any[64];
	unsigned count;
	bool nothing; /* is known */
};

static void add_facts(struct facts *all, uint8_t xs, Z3_ast n, uint8_t ys, Z3_ast k)
{
	for (unsigned x = 0; x < STATES; x++)
		for (unsigned y = 0; y < STATES; y++) {
			if (!(xs >> x & 1) || !(ys >> y & 1))
				continue;
			Z3_ast f = fact(x, n, y, k);
			bool have = false;
			for (unsigned i = 0; f && i < all->count; i++)
				have |= Z3_is_eq_ast(terms_context(), all->any[i], f);
			if (!f || (!have && all->count == 64))
				all->nothing = true;
			else if (!have)
				all->any[all->count++] = f;
		}
}

/* A function below the first may also be left and called again before anything waits. */
static uint8_t states_in(const struct walk *w, const struct segment *s, const struct side *side, unsigned at,
			 LLVMBasicBlockRef header)
{
	LLVMValueRef begin = segment_begin(w, s, side->levels + side->team, at),
		     inst = side->levels[side->team + at].inst;
	uint8_t anew = at || !begin ? states_of(header, NULL, inst) : 0;

	return anew | (begin ? states_of(header, begin, inst) : 0);
}

static void relate_loop(const struct meeting *m, const struct side *a, const struct side *b, unsigned at,
			LLVMBasicBlockRef header)
{
	struct facts all = { .count = 0 };
	Z3_ast n = terms_round(header, a->levels[a->team + at].frame);
	Z3_ast k = terms_round(header, b->levels[b->team + at].frame);

	for (unsigned p = 0; p < m->a->segment_count && !all.nothing; p++) {
		unsigned q = m->same[p];
		if (!phases_agree(m, p, events_in(a, p), q, events_in(b, q)))
			continue;
		const struct segment *s = &m->b->segments[q];
		add_facts(&all, states_in(m->b, s, a, at, header), n, states_in(m->b, s, b, at, header), k);
	}
	if (all.count && !all.nothing)
		terms_assert(Z3_mk_or(terms_context(), all.count, all.any));
}

/* Loops of one function, around both. */
static void relate_level(const struct meeting *m, const struct side *a, const struct side *b, unsigned at)
{
	LLVMBasicBlockRef x = LLVMGetInstructionParent(a->levels[a->team + at].inst),
			  y = LLVMGetInstructionParent(b->levels[b->team + at].inst);
	struct plugin_loop l;

	for (unsigned out = 0; plugin_loop(x, out, &l); out++)
		if (plugin_in_loop(l.header, y) && uniform_loop(m->uniform, l.header))
			relate_loop(m, a, b, at, l.header);
}

/* The meeting of two classes that are one team; NULL: they are not. */
static struct meeting *meeting_of(unsigned x, unsigned y)
{
	if (y < CLASS_FIRST || (x != y && x != CLASS_MAIN) || !races_uses("phases"))
		return NULL;
	struct meeting *m = phases_meeting(y, x == CLASS_MAIN);
	return m->meet ? m : NULL;
}

void phases_rounds(LLVMValueRef a, const struct frame *f, unsigned x, LLVMValueRef b, const struct frame *g, unsigned y)
{
	if (x != CLASS_MAIN && y == CLASS_MAIN) {
		phases_rounds(b, g, y, a, f, x);
		return;
	}
	struct meeting *m = meeting_of(x, y);
	if (!m || !m->uniform)
		return;
	uint32_t entry = program_function(classes[y].entry);
	struct side one, two;
	find_side(&one, m->a, a, f, entry);
	find_side(&two, m->b, b, g, entry);
	for (unsigned at = 0; one.team + at < one.count && two.team + at < two.count; at++) {
		relate_level(m, &one, &two, at);
		if (one.levels[one.team + at].inst != two.levels[two.team + at].inst)
			break;
	}
}

static bool sides_meet(const struct meeting *m, const struct side *a, const struct side *b)
{
	for (unsigned p = 0; p < m->a->segment_count; p++)
		for (unsigned q = 0; q < m->b->segment_count; q++)
			if (phases_agree(m, p, events_in(a, p), q, events_in(b, q)))
				return true;
	return false;
}

bool phases_frames_meet(LLVMValueRef a, const struct frame *f, unsigned x, LLVMValueRef b, const struct frame *g,
			unsigned y)
{
	struct side one, two;

	if (x != CLASS_MAIN && y == CLASS_MAIN)
		return phases_frames_meet(b, g, y, a, f, x);
	struct meeting *m = meeting_of(x, y);
	if (!m)
		return true;
	uint32_t entry = program_function(classes[y].entry);
	find_side(&one, m->a, a, f, entry);
	find_side(&two, m->b, b, g, entry);
	if (!one.count || !two.count || one.chain == ANY_CHAIN || two.chain == ANY_CHAIN || sides_meet(m, &one, &two))
		return true;
	if (x != y)
		return false;
	return sides_meet(m, &two, &one);
}

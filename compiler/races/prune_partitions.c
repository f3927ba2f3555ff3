/*
 * Parts of arrays: the two accesses are never to the same bytes, since each thread has its own part, or only one of
 * them comes there. Addresses and the conditions on the way are terms of what differs between the threads; the solver
 * is asked whether they can touch. Anything but a clear no within the time limit keeps the pair.
 */
#include <stdlib.h>
#include "compiler/races/numbers.h"
#include "compiler/races/phases.h"

/* Bytes of an access, from the base on that its address is a fixed way from. */
struct part {
	LLVMValueRef inst, base, length; /* length: if it is not `to` */
	int64_t from, to;
	uint32_t before; /* calls of its block that come before it */
	uint32_t group;	 /* number + 1; 0: not known yet */
};

enum { MOST_WAYS = 8, DEEPEST = 8 };

/* Ways from the beginning of a thread to a function: chains of calls. */
struct ways {
	const struct frame *ends[MOST_WAYS];
	unsigned count;
	bool too_many;
};

/* Frames, each made once: what is known of it is known to all that have come through it. */
static struct made {
	struct frame f;
	struct made *next; /* with the same caller */
} * *made;
static uint32_t made_count;
static struct map made_by; /* the number + 1 of the last one, by the caller's; without one, by side */
static struct ways **all_ways;
static uint32_t way_count;
static struct map ways_known; /* of a function, a class and a side: number + 1 */

static const struct frame *new_frame(struct frame f)
{
	uint32_t *last = map_enter(&made_by, f.up ? f.up->id + 2 : f.side + 1);

	for (struct made *m = *last ? made[*last - 1] : NULL; m; m = m->next)
		if (m->f.call == f.call && m->f.creates == f.creates)
			return &m->f;
	made = realloc(made, (made_count + 1) * sizeof *made);
	struct made *m = made ? calloc(1, sizeof *m) : NULL;
	if (!m)
		compiler_die("out of memory");
	f.id = made_count + 1;
	*m = (struct made){ f, *last ? made[*last - 1] : NULL };
	made[made_count++] = m;
	*last = made_count;
	return &m->f;
}

/* chain[0] is the call of the function itself, chain[depth - 1] the one nearest to the thread's beginning. */
static void add_way(struct ways *w, unsigned class, unsigned side, const struct call *const *chain, unsigned depth)
{
	const struct call *create = class >= CLASS_FIRST ? classes[class].create : NULL;
	const struct frame *up = NULL;

	if (create && !threads_made_together(create))
		create = NULL;

	if (w->count == MOST_WAYS) {
		w->too_many = true;
		return;
	}
	if (create)
		up = new_frame((struct frame){ .side = side, .creates = create });
	const struct frame *f = new_frame((struct frame){ .up = up, .call = create, .side = side });
	while (depth--)
		f = new_frame((struct frame){ .up = f, .call = chain[depth], .side = side });
	w->ends[w->count++] = f;
}

static void find_ways(struct ways *w, uint32_t function, unsigned class, unsigned side, const struct call **chain,
		      unsigned depth)
{
	LLVMValueRef begin = class == CLASS_MAIN ? program.main_function : classes[class].entry;

	if (program.functions[function].ref == begin)
		add_way(w, class, side, chain, depth);
	else if (program.functions[function].constructor || program.functions[function].given)
		w->too_many = true; /* it is also called by who is not seen, with what nobody knows */
	if (depth == DEEPEST) {
		w->too_many = true;
		return;
	}
	for (uint32_t i = 0; i < program.call_count && !w->too_many; i++) {
		const struct call *c = &program.calls[i];
		uint32_t in = program.blocks[c->block].function;
		if (!(program.functions[in].classes & BIT(class)))
			continue;
		if (in == function && program_calls_itself(c) && !phases_function_waits(function))
			continue; /* the way there is that of the first call: see argument() in terms.c */
		for (uint32_t k = 0; k < c->callee_count; k++)
			if (c->callees[k] == function) {
				chain[depth] = c;
				find_ways(w, in, class, side, chain, depth + 1);
			}
	}
}

/* One end of a pair: a place, and how a thread of this class has come there. */
struct side {
	const struct part *part;
	const struct frame *f;
	unsigned class;
	const struct view *view;
};
static struct map never; /* of two places: 1 both may be there, 2 not */

static const struct frame *creation(const struct frame *f)
{
	while (f->up)
		f = f->up;
	return f->creates ? f : NULL;
}

/* Two threads of the same class have come from different rounds of the loop that creates them. */
static void suppose(const struct side *a, const struct side *b)
{
	const struct frame *c = creation(a->f), *d = creation(b->f);

	terms_begin(ABOUT_BOTH);
	views_suppose(a->view, b->view);
	if (c && d && c->creates == d->creates)
		terms_differ(c, d);
	phases_rounds(a->part->inst, a->f, a->class, b->part->inst, b->f, b->class);
}

/* Wherever they access, can they be there at the same time? The answer is the same for all accesses in the two blocks,
   between the same calls. */
static bool never_both(const struct side *a, const struct side *b)
{
	if ((a->view->place | b->view->place) >> 20 || (a->part->before | b->part->before) >> 12)
		return false;
	uint32_t *known = map_enter(&never, (((uintptr_t)a->view->place << 12 | a->part->before) << 32 |
					     (uintptr_t)b->view->place << 12 | b->part->before) +
						    1);

	if (!*known) {
		suppose(a, b);
		*known = terms_may_be() ? 1 : 2;
		terms_end();
	}
	return *known == 2;
}

static bool may_be_within(const struct distance *d, struct interval touch, bool (*may_hold)(Z3_ast))
{
	Z3_context z = terms_context();
	Z3_ast t = distances_term(d);

	return !distances_is_never_within(d, touch) &&
	       may_hold(both(Z3_mk_ge(z, t, number(touch.from)), Z3_mk_le(z, t, number(touch.to))));
}

/* The simpler question first: it is the same for many accesses, and most often enough. */
static bool may_touch(const struct side *a, const struct side *b)
{
	const struct part *p = a->part, *q = b->part;
	const struct view *v = a->view, *w = b->view;
	Z3_context z = terms_context();
	struct distance d;

	if (v->length || w->length || !distances_find(v->at, w->at, &d)) {
		Z3_ast at = add(v->at, number(p->from)), bt = add(w->at, number(q->from));
		Z3_ast size_a = v->length ? v->length : number(p->to - p->from),
		       size_b = w->length ? w->length : number(q->to - q->from);
		return terms_may_hold(both(Z3_mk_lt(z, at, add(bt, size_b)), Z3_mk_lt(z, bt, add(at, size_a))));
	}
	/* a + [p->from, p->to) and b + [q->from, q->to) have a byte in common */
	struct interval touch = { q->from - p->to + 1, q->to - p->from - 1 };
	struct distance simple = d;
	struct interval wide = touch;
	bool simpler = distances_widen(&simple, &wide);
	return (!simpler || may_be_within(&simple, wide, terms_may_hold_simply)) &&
	       may_be_within(&d, touch, terms_may_hold);
}

static bool apart(const struct part *a, const struct frame *f, unsigned x, const struct part *b, const struct frame *g,
		  unsigned y)
{
	if (!phases_frames_meet(a->inst, f, x, b->inst, g, y))
		return true;
	if (terms_is_over())
		return false;
	const struct view *v = views_of(a->inst, a->base, a->length, f), *w = views_of(b->inst, b->base, b->length, g);
	const struct side one = { a, f, x, v }, two = { b, g, y, w };
	if (v->anywhere || w->anywhere)
		return never_both(&one, &two);
	suppose(&one, &two);
	bool touch = may_touch(&one, &two);
	terms_end();
	return !touch || never_both(&one, &two);
}

/* The ways to a function are the same for all its accesses. */
static const struct ways *ways_of(uint32_t function, unsigned class, unsigned side)
{
	uint32_t *n = map_enter(&ways_known, ((uintptr_t)function << 8 | class << 1 | side) + 1);
	const struct call *chain[DEEPEST + 1];

	if (*n)
		return all_ways[*n - 1];
	all_ways = realloc(all_ways, (way_count + 1) * sizeof *all_ways);
	struct ways *w = all_ways ? calloc(1, sizeof *w) : NULL;
	if (!w)
		compiler_die("out of memory");
	all_ways[way_count++] = w;
	*n = way_count;
	find_ways(w, function, class, side, chain, 0);
	return w;
}

static bool all_apart(const struct part *a, unsigned x, const struct part *b, unsigned y)
{
	const struct ways *v = ways_of(program_block_of(a->inst)->function, x, 0),
			  *w = ways_of(program_block_of(b->inst)->function, y, 1);

	if (v->too_many || w->too_many || !v->count || !w->count)
		return false;
	for (unsigned i = 0; i < v->count; i++)
		for (unsigned j = 0; j < w->count; j++)
			if (!apart(a, v->ends[i], x, b, w->ends[j], y))
				return false;
	return true;
}

/* ---- groups: accesses in one block that are a fixed way from the same base are asked for as one, first ----------- */

static struct part *parts; /* of each party; inst is NULL: not understood */
static struct group {
	struct part all; /* from the first of these bytes to the last */
	uint32_t next;	 /* with the same base; number + 1 */
	bool one;	 /* there is only one */
} * groups;
static uint32_t group_count;
static struct map by_base, answers; /* of pairs of groups and classes: 1 apart, 2 perhaps not */

static void strip(LLVMValueRef addr, struct part *p)
{
	for (p->base = addr; LLVMIsAGetElementPtrInst(p->base) && LLVMIsInBounds(p->base);
	     p->base = LLVMGetOperand(p->base, 0)) {
		LLVMTypeRef type = LLVMGetGEPSourceElementType(p->base);
		LLVMValueRef index = LLVMGetNumOperands(p->base) == 2 ? LLVMGetOperand(p->base, 1) : NULL;
		if (!index || !LLVMIsAConstantInt(index) || !LLVMTypeIsSized(type))
			return;
		p->from += LLVMConstIntGetSExtValue(index) * (int64_t)LLVMABISizeOfType(program.m->layout, type);
	}
}

static void find_part(const struct party *p, struct part *found)
{
	*found = (struct part){ .base = p->addr };
	if (p->size)
		strip(p->addr, found);
	else if (LLVMIsAMemSetInst(p->inst) || LLVMIsAMemCpyInst(p->inst) || LLVMIsAMemMoveInst(p->inst))
		found->length = LLVMGetOperand(p->inst, 2);
	else
		return;
	found->to = found->from + (int64_t)p->size;
	found->inst = p->inst;
	for (LLVMValueRef i = LLVMGetPreviousInstruction(p->inst); i; i = LLVMGetPreviousInstruction(i))
		found->before += program_call(i) != NULL;
}

static bool belongs(const struct part *p, const struct part *all)
{
	return !p->length && !all->length && p->before == all->before &&
	       LLVMGetInstructionParent(p->inst) == LLVMGetInstructionParent(all->inst);
}

static void add_to_group(struct part *p)
{
	uint32_t *first = map_enter(&by_base, (uintptr_t)p->base), g = *first;

	while (g && !belongs(p, &groups[g - 1].all))
		g = groups[g - 1].next;
	if (!g) {
		groups[group_count] = (struct group){ *p, *first, true };
		*first = p->group = ++group_count;
		return;
	}
	struct part *all = &groups[g - 1].all;
	groups[g - 1].one = false;
	all->from = p->from < all->from ? p->from : all->from;
	all->to = p->to > all->to ? p->to : all->to;
	p->group = g;
}

/* All that are still in a pair. */
static void find_groups(void)
{
	parts = calloc(warnings.party_count + 1, sizeof *parts);
	groups = calloc(warnings.party_count + 1, sizeof *groups);
	group_count = 0;
	if (!parts || !groups)
		compiler_die("out of memory");
	for (size_t i = 0; i < warnings.party_count; i++) {
		if (!warnings.parties[i].pairs)
			continue;
		find_part(&warnings.parties[i], &parts[i]);
		if (parts[i].inst)
			add_to_group(&parts[i]);
	}
}

static bool groups_apart(const struct part *a, unsigned x, const struct part *b, unsigned y)
{
	if (a->group > b->group || (a->group == b->group && x > y)) /* the answer is the same, and known once */
		return groups_apart(b, y, a, x);
	const struct group *g = &groups[a->group - 1], *h = &groups[b->group - 1];
	uintptr_t key = (((uintptr_t)a->group << 24 | b->group) << 12 | x << 6 | y) + 1;
	uint32_t known = map_find(&answers, (const void *)key);

	if (!known) {
		known = all_apart(&g->all, x, &h->all, y) ? 1 : 2;
		if (known == 1)
			terms_have_paid();
		*map_enter(&answers, key) = known;
	}
	return known == 1 || (!(g->one && h->one) && all_apart(a, x, b, y));
}

static void end(void)
{
	free(parts);
	free(groups);
	map_free(&by_base);
	map_free(&answers);
	map_free(&never);
	map_free(&ways_known);
	map_free(&made_by);
	while (made_count)
		free(made[--made_count]);
	free(made);
	made = NULL;
	while (way_count)
		free(all_ways[--way_count]);
	free(all_ways);
	all_ways = NULL;
	views_end();
}

static bool removes(const struct party *a, const struct party *b, uint32_t object)
{
	const struct part *p = &parts[a - warnings.parties], *q = &parts[b - warnings.parties];
	bool all = p->inst && q->inst;

	(void)object;
	for (uint64_t c = a->classes; c && all; c &= c - 1)
		for (uint64_t d = b->classes; d && all; d &= d - 1) {
			unsigned x = (unsigned)__builtin_ctzll(c), y = (unsigned)__builtin_ctzll(d);
			if (x == CLASS_OUTSIDE || y == CLASS_OUTSIDE)
				all = false;
			else if (prune_same_time(a, x, b, y))
				all = groups_apart(p, x, q, y);
		}
	return all;
}

const struct step step_partitions = {
	"partitions", "partitions", "each thread has its own part, or the lock of that part (against %s)",
	find_groups,  removes,	    end
};

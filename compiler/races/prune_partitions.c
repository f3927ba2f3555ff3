/*
 * Parts of arrays: the two accesses are never to the same bytes, since each thread has its own part, or only one of them comes there.
 * Addresses and the conditions on the way are terms of what differs between the threads; the solver is asked whether
 * they can touch. Anything but a clear no within the time limit keeps the pair.
 */
#include <stdlib.h>
#include <time.h>
#include "compiler/races/terms.h"

enum { MOST_WAYS = 8, DEEPEST = 8, TOTAL_MS = 20000 };

/* Ways from the beginning of a thread to a function: chains of calls. */
struct ways {
	struct frame frames[MOST_WAYS * (DEEPEST + 2)];
	unsigned frame_count;
	const struct frame *ends[MOST_WAYS];
	unsigned count;
	bool too_many;
};

static uint64_t spent;

static struct frame *new_frame(struct ways *w, struct frame f)
{
	if (w->frame_count == sizeof w->frames / sizeof *w->frames) {
		w->too_many = true;
		return &w->frames[0];
	}
	w->frames[w->frame_count] = f;
	return &w->frames[w->frame_count++];
}

/* chain[0] is the call of the function itself, chain[depth - 1] the one nearest to the thread's beginning. */
static void add_way(struct ways *w, unsigned class, unsigned side, const struct call *const *chain, unsigned depth)
{
	const struct call *create = class >= CLASS_FIRST ? classes[class].create : NULL;
	const struct frame *up = NULL;

	if (w->count == MOST_WAYS) {
		w->too_many = true;
		return;
	}
	if (create)
		up = new_frame(w, (struct frame){ NULL, NULL, side, create });
	const struct frame *f = new_frame(w, (struct frame){ up, create, side, NULL });
	while (depth--)
		f = new_frame(w, (struct frame){ f, chain[depth], side, NULL });
	w->ends[w->count++] = f;
}

static void find_ways(struct ways *w, uint32_t function, unsigned class, unsigned side, const struct call **chain,
		      unsigned depth)
{
	LLVMValueRef begin = class == CLASS_MAIN ? program.main_function : classes[class].entry;

	if (program.functions[function].ref == begin)
		add_way(w, class, side, chain, depth);
	if (depth == DEEPEST) {
		w->too_many = true;
		return;
	}
	for (uint32_t i = 0; i < program.call_count && !w->too_many; i++) {
		const struct call *c = &program.calls[i];
		uint32_t in = program.blocks[c->block].function;
		if (!(program.functions[in].classes & BIT(class)))
			continue;
		for (uint32_t k = 0; k < c->callee_count; k++)
			if (c->callees[k] == function) {
				chain[depth] = c;
				find_ways(w, in, class, side, chain, depth + 1);
			}
	}
}

static const struct frame *creation(const struct frame *f)
{
	while (f->up)
		f = f->up;
	return f->creates ? f : NULL;
}

static Z3_ast length(const struct party *p, const struct frame *f)
{
	Z3_context z = terms_context();

	if (p->size)
		return Z3_mk_int64(z, (int64_t)p->size, Z3_mk_int_sort(z));
	if (LLVMIsAMemSetInst(p->inst) || LLVMIsAMemCpyInst(p->inst) || LLVMIsAMemMoveInst(p->inst))
		return terms_of(LLVMGetOperand(p->inst, 2), f);
	return NULL;
}

/* Two threads of the same class have come from different rounds of the loop that creates them, if that loop is run once. */
static bool apart(const struct party *a, const struct frame *f, unsigned x_class, const struct party *b,
		  const struct frame *g, unsigned y_class)
{
	const struct frame *c = creation(f), *d = creation(g);
	bool touch = true;

	terms_begin();
	terms_conditions(LLVMGetInstructionParent(a->inst), f);
	terms_conditions(LLVMGetInstructionParent(b->inst), g);
	Z3_ast x = terms_of(a->addr, f), y = terms_of(b->addr, g), n = length(a, f), m = length(b, g);
	if (n && m) {
		if (c && d && c->creates == d->creates && program_function_is_once(c->creates->block))
			terms_differ(c, d);
		phases_rounds(a->inst, f, x_class, b->inst, g, y_class);
		touch = terms_may_meet(x, n, y, m);
	}
	terms_end();
	return !touch;
}

static bool all_apart(const struct party *a, unsigned x, const struct party *b, unsigned y)
{
	static struct ways v, w;
	const struct call *chain[DEEPEST + 1];

	v.frame_count = v.count = v.too_many = 0;
	w.frame_count = w.count = w.too_many = 0;
	find_ways(&v, a->function, x, 0, chain, 0);
	find_ways(&w, b->function, y, 1, chain, 0);
	if (v.too_many || w.too_many)
		return false;
	for (unsigned i = 0; i < v.count; i++)
		for (unsigned j = 0; j < w.count; j++)
			if (!apart(a, v.ends[i], x, b, w.ends[j], y))
				return false;
	return true;
}

static uint64_t milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void begin(void)
{
	spent = 0;
}

static bool removes(const struct party *a, const struct party *b, uint32_t object)
{
	uint64_t start = milliseconds();
	bool all = spent < TOTAL_MS;

	(void)object;
	for (uint64_t c = a->classes; c && all; c &= c - 1)
		for (uint64_t d = b->classes; d && all; d &= d - 1) {
			unsigned x = (unsigned)__builtin_ctzll(c), y = (unsigned)__builtin_ctzll(d);
			if (x == CLASS_OUTSIDE || y == CLASS_OUTSIDE)
				all = false;
			else if (prune_same_time(a, x, b, y))
				all = all_apart(a, x, b, y);
		}
	spent += milliseconds() - start;
	return all;
}

const struct step step_partitions = { "partitions", "each thread has its own part (against %s)", begin, removes };

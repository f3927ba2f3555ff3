/*
 * Which joins end which threads? For a class that one call creates:
 *
 *   once       the handle is written by that call alone, and a join reads the same variable: past the join it is over
 *   in a loop  round k writes element k of an array that nothing else writes, and a loop of joins reads element k in
 *              its round k, leaves only when it is through, and has as many rounds: on the edge that leaves it, and on
 *              the edge that goes around it because there is nothing to do, they are over
 *
 * This holds if no thread of the class was alive when the creating began; threads.c looks at that with the joins
 * believed, and takes back what does not hold (which is sound: the first time that it does not hold nothing was
 * believed wrongly before). Detached threads are not joined: where a program detaches any, no join counts.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/races/terms.h"

struct end {
	unsigned class;
	const struct call *call; /* past this call, or ... */
	uint32_t from, to;	 /* ... on this edge */
	LLVMValueRef begin;	 /* where no thread of the class may be alive */
};
static struct end *ends;
static unsigned end_count;

static void add_end(struct end e)
{
	ends = realloc(ends, (end_count + 1) * sizeof *ends);
	if (!ends)
		compiler_die("out of memory");
	ends[end_count++] = e;
}

/* ---- the handle -------------------------------------------------------------------------------------------------- */

static bool is_only_writer(const struct party *p, void *create)
{
	return p->inst == create;
}

/* Is the variable, or array, of handles written by this call alone? */
static bool handle_is_its_own(const struct call *create)
{
	const struct bits *set = objects_of(LLVMGetOperand(create->inst, 0));

	if (!set || bits_count(set) != 1)
		return false;
	BITS_EACH(set, place)
	{
		const struct object *o = solve_object_at(solve_place((uint32_t)place)->object);
		bool known = o->kind == OBJECT_GLOBAL || o->kind == OBJECT_STACK || o->kind == OBJECT_HEAP;
		bool once = o->kind == OBJECT_GLOBAL || (known && program_is_once(o->value));
		if (o->given || !once || !stable_each_writer((uint32_t)place, 8, is_only_writer, create->inst))
			return false;
	}
	return true;
}

/* The load that a join's handle comes from, if it is from the same place. */
static LLVMValueRef handle_load(const struct call *join, const struct call *create)
{
	LLVMValueRef handle = LLVMGetOperand(join->inst, 0);
	const struct bits *from = LLVMIsALoadInst(handle) ? objects_of(LLVMGetOperand(handle, 0)) : NULL;
	const struct bits *to = objects_of(LLVMGetOperand(create->inst, 0));

	return from && to && bits_count(from) == 1 && bits_count(to) == 1 && from->words[0].at == to->words[0].at &&
			       from->words[0].bits == to->words[0].bits ?
		       handle :
		       NULL;
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

static const struct frame common = { NULL, NULL, 2, NULL };

/* The test that ends a loop, at its end or at its beginning. */
static LLVMValueRef loop_test(const struct plugin_loop *l, LLVMBasicBlockRef *at)
{
	LLVMBasicBlockRef blocks[] = { l->latch, l->header };

	for (int i = 0; i < 2; i++) {
		LLVMValueRef end = blocks[i] ? LLVMGetBasicBlockTerminator(blocks[i]) : NULL;
		if (!end || !LLVMIsABranchInst(end) || !LLVMIsConditional(end))
			continue;
		bool stays0 = plugin_in_loop(l->header, LLVMGetSuccessor(end, 0)),
		     stays1 = plugin_in_loop(l->header, LLVMGetSuccessor(end, 1));
		if (stays0 != stays1 && LLVMIsAICmpInst(LLVMGetCondition(end))) {
			*at = blocks[i];
			return LLVMGetCondition(end);
		}
	}
	return NULL;
}

/* x of a test is phi, or phi + step. */
static LLVMValueRef tested_phi(LLVMValueRef x, const struct plugin_loop *l, LLVMValueRef *step)
{
	for (LLVMValueRef phi = LLVMGetFirstInstruction(l->header); phi && LLVMIsAPHINode(phi);
	     phi = LLVMGetNextInstruction(phi))
		for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
			LLVMValueRef next = LLVMGetIncomingValue(phi, i);
			if (LLVMGetIncomingBlock(phi, i) != l->latch || !LLVMIsAInstruction(next) ||
			    LLVMGetInstructionOpcode(next) != LLVMAdd || LLVMGetOperand(next, 0) != phi)
				continue;
			if (x == next || x == phi) {
				*step = LLVMGetOperand(next, 1);
				return phi;
			}
		}
	return NULL;
}

static LLVMValueRef first_value(LLVMValueRef phi, const struct plugin_loop *l)
{
	for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
		if (LLVMGetIncomingBlock(phi, i) != l->latch)
			return LLVMGetIncomingValue(phi, i);
	return NULL;
}

/* Do both loops have the same rounds, if they have any? Their tests must be alike. What comes before a test at the
   beginning is done once more than there are rounds: that must not be the creating. */
static bool same_rounds(const struct plugin_loop *a, const struct plugin_loop *b, LLVMBasicBlockRef creates)
{
	LLVMBasicBlockRef at_a, at_b;
	LLVMValueRef test_a = loop_test(a, &at_a), test_b = loop_test(b, &at_b), step_a = NULL, step_b = NULL;

	if (!test_a || !test_b || LLVMGetICmpPredicate(test_a) != LLVMGetICmpPredicate(test_b) ||
	    (at_a == a->latch) != (at_b == b->latch) || !a->latch || !b->latch || (at_a != a->latch && creates == at_a))
		return false;
	LLVMValueRef end_a = LLVMGetBasicBlockTerminator(at_a), end_b = LLVMGetBasicBlockTerminator(at_b);
	LLVMValueRef x = LLVMGetOperand(test_a, 0), y = LLVMGetOperand(test_b, 0);
	LLVMValueRef phi_a = tested_phi(x, a, &step_a), phi_b = tested_phi(y, b, &step_b);
	if (!phi_a || !phi_b || (x == phi_a) != (y == phi_b) || LLVMTypeOf(x) != LLVMTypeOf(y) ||
	    plugin_in_loop(a->header, LLVMGetSuccessor(end_a, 0)) !=
		    plugin_in_loop(b->header, LLVMGetSuccessor(end_b, 0)))
		return false;
	LLVMValueRef pairs[][2] = { { first_value(phi_a, a), first_value(phi_b, b) },
				    { step_a, step_b },
				    { LLVMGetOperand(test_a, 1), LLVMGetOperand(test_b, 1) } };
	for (int i = 0; i < 3; i++)
		if (!pairs[i][0] || !pairs[i][1] ||
		    !terms_same(terms_of(pairs[i][0], &common), terms_of(pairs[i][1], &common)))
			return false;
	return terms_invariant(LLVMGetOperand(test_a, 1), a->header) &&
	       terms_invariant(LLVMGetOperand(test_b, 1), b->header);
}

/* The branch that goes around the loop when there is nothing to do, and its other way. */
static bool way_around(const struct plugin_loop *l, LLVMBasicBlockRef *from, unsigned *way)
{
	LLVMBasicBlockRef at = l->before;
	LLVMValueRef end = at ? LLVMGetBasicBlockTerminator(at) : NULL;

	if (end && !(LLVMIsABranchInst(end) && LLVMIsConditional(end))) {
		at = plugin_dominator(at);
		end = at ? LLVMGetBasicBlockTerminator(at) : NULL;
	}
	if (!end || !LLVMIsABranchInst(end) || !LLVMIsConditional(end))
		return false;
	*from = at;
	for (*way = 0; *way < 2; ++*way)
		if (plugin_edge_dominates(at, LLVMGetSuccessor(end, !*way), l->header))
			return true;
	return false;
}

static uint32_t block_number(LLVMBasicBlockRef b)
{
	return map_find(&program.block_map, b) - 1;
}

/* If a thread was created, can this way be taken? */
static bool way_is_closed(const struct call *create, LLVMBasicBlockRef from, unsigned way)
{
	terms_begin(ABOUT_BOTH);
	terms_conditions(LLVMGetInstructionParent(create->inst), &common);
	Z3_ast taken = terms_condition(LLVMGetCondition(LLVMGetBasicBlockTerminator(from)), &common);
	bool closed = false;
	if (taken)
		closed = terms_surely(way ? taken : Z3_mk_not(terms_context(), taken));
	terms_end();
	return closed;
}

static void look_at_loop(unsigned class, const struct call *create, const struct call *join, LLVMValueRef load)
{
	struct plugin_loop l, m;
	LLVMBasicBlockRef at = LLVMGetInstructionParent(join->inst), from;
	unsigned way;

	if (LLVMGetBasicBlockParent(at) != LLVMGetBasicBlockParent(LLVMGetInstructionParent(create->inst)) ||
	    !plugin_loop(LLVMGetInstructionParent(create->inst), 0, &l) || !plugin_loop(at, 0, &m) ||
	    l.header == m.header || !l.before || !m.latch || !m.exiting || !m.exit || !plugin_dominates(at, m.latch) ||
	    plugin_in_loop(l.header, m.header) || plugin_in_loop(m.header, l.header))
		return;
	terms_begin(ABOUT_BOTH);
	Z3_ast a = terms_of(LLVMGetOperand(create->inst, 0), &common), b = terms_of(LLVMGetOperand(load, 0), &common);
	bool same = same_rounds(&l, &m, LLVMGetInstructionParent(create->inst));
	terms_assert(Z3_mk_eq(terms_context(), terms_round(l.header, &common), terms_round(m.header, &common)));
	same = same && terms_surely(Z3_mk_eq(terms_context(), a, b));
	terms_end();
	if (!same)
		return;
	LLVMValueRef begin = LLVMGetBasicBlockTerminator(l.before);
	add_end((struct end){ class, NULL, block_number(m.exiting), block_number(m.exit), begin });
	if (way_around(&m, &from, &way) && way_is_closed(create, from, way))
		add_end((struct end){ class, NULL, block_number(from),
				      block_number(LLVMGetSuccessor(LLVMGetBasicBlockTerminator(from), way)), begin });
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void look_at(unsigned class, const struct call *create, const struct call *join)
{
	LLVMValueRef load = handle_load(join, create);
	struct plugin_loop l;

	if (!load)
		return;
	if (plugin_loop(LLVMGetInstructionParent(create->inst), 0, &l))
		look_at_loop(class, create, join, load);
	const struct bits *set = objects_of(LLVMGetOperand(load, 0));
	uint32_t place = set->words[0].at * 64 + (uint32_t)__builtin_ctzll(set->words[0].bits);
	if (!solve_place(place)->stride)
		add_end((struct end){ class, join, 0, 0, create->inst });
}

static bool detaches(void)
{
	static const char *const names[] = { "pthread_detach", "thrd_detach", "pthread_attr_setdetachstate" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (LLVMGetNamedFunction(program.m->module, names[i]))
			return true;
	return false;
}

void joins_begin(void)
{
	end_count = 0;
	if (detaches())
		return;
	for (unsigned c = CLASS_FIRST; c < class_count; c++) {
		const struct call *create = classes[c].create;
		if (!create || !handle_is_its_own(create))
			continue;
		for (uint32_t i = 0; i < program.call_count; i++) {
			const struct call *join = &program.calls[i];
			if (join->kind == EXTERNAL_JOINS &&
			    program.functions[program.blocks[join->block].function].classes == BIT(CLASS_MAIN))
				look_at(c, create, join);
		}
	}
}

void joins_end(void)
{
	free(ends);
	ends = NULL;
	end_count = 0;
}

uint64_t joins_at_call(const struct call *c)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < end_count; i++)
		if (ends[i].call == c)
			all |= BIT(ends[i].class);
	return all;
}

uint64_t joins_at_edge(uint32_t from, uint32_t to)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < end_count; i++)
		if (!ends[i].call && ends[i].from == from && ends[i].to == to)
			all |= BIT(ends[i].class);
	return all;
}

/* Takes back those of classes that were alive already when they were created. Returns whether there were any. */
bool joins_check(void)
{
	uint64_t wrong = 0;
	unsigned kept = 0;

	for (unsigned i = 0; i < end_count; i++)
		if (threads_alive(ends[i].begin) & BIT(ends[i].class))
			wrong |= BIT(ends[i].class);
	for (unsigned i = 0; i < end_count; i++)
		if (!(wrong & BIT(ends[i].class)))
			ends[kept++] = ends[i];
	end_count = kept;
	return wrong;
}

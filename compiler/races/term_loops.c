/*
 * Values that change from round to round of a loop, as terms of the number of the round.
 */
#include <stdio.h>
#include "compiler/races/numbers.h"

enum { MOST_ROUNDS = 32 };

static struct round_row {
	LLVMBasicBlockRef header;
	const struct frame *f;
	Z3_ast k;
} rounds[MOST_ROUNDS]; /* which round of a loop it is */
static unsigned round_count;

void rounds_begin(void)
{
	round_count = 0;
}

/* Is it the same in every round? */
bool terms_invariant(LLVMValueRef v, LLVMBasicBlockRef header)
{
	if (!LLVMIsAInstruction(v) || !plugin_in_loop(header, LLVMGetInstructionParent(v)))
		return true;
	if (LLVMIsALoadInst(v))
		return stable_load(v, true);
	if (LLVMIsACastInst(v))
		return terms_invariant(LLVMGetOperand(v, 0), header);
	return LLVMIsABinaryOperator(v) && terms_invariant(LLVMGetOperand(v, 0), header) &&
	       terms_invariant(LLVMGetOperand(v, 1), header);
}

Z3_ast terms_round(LLVMBasicBlockRef header, const struct frame *f)
{
	for (unsigned i = 0; i < round_count; i++)
		if (rounds[i].header == header && rounds[i].f == f)
			return rounds[i].k;
	char kind[32];
	snprintf(kind, sizeof kind, "k%u_", f->id);
	Z3_ast k = terms_named(kind, header, 0);
	terms_assert(Z3_mk_ge(terms_context(), k, number(0)));
	if (round_count < MOST_ROUNDS)
		rounds[round_count++] = (struct round_row){ header, f, k };
	return k;
}

static LLVMIntPredicate opposite(LLVMIntPredicate how)
{
	switch (how) {
	case LLVMIntEQ: return LLVMIntNE;
	case LLVMIntNE: return LLVMIntEQ;
	case LLVMIntUGT: return LLVMIntULE;
	case LLVMIntULE: return LLVMIntUGT;
	case LLVMIntUGE: return LLVMIntULT;
	case LLVMIntULT: return LLVMIntUGE;
	case LLVMIntSGT: return LLVMIntSLE;
	case LLVMIntSLE: return LLVMIntSGT;
	case LLVMIntSGE: return LLVMIntSLT;
	default: return LLVMIntSGE;
	}
}

bool loops_value(LLVMValueRef phi, struct loop_value *l)
{
	LLVMBasicBlockRef block = LLVMGetInstructionParent(phi);

	if (!plugin_loop(block, 0, &l->loop) || l->loop.header != block || LLVMCountIncoming(phi) != 2 ||
	    !l->loop.latch || !l->loop.before)
		return false;
	l->init = l->next = NULL;
	for (unsigned i = 0; i < 2; i++)
		*(LLVMGetIncomingBlock(phi, i) == l->loop.latch ? &l->next : &l->init) = LLVMGetIncomingValue(phi, i);
	return l->init && l->next && LLVMIsAInstruction(l->next);
}

bool loops_test(LLVMValueRef phi, const struct loop_value *l, struct loop_test *t)
{
	LLVMValueRef end = LLVMGetBasicBlockTerminator(l->loop.latch);
	LLVMValueRef test = LLVMIsABranchInst(end) && LLVMIsConditional(end) ? LLVMGetCondition(end) : NULL;

	if (!test || !LLVMIsAICmpInst(test))
		return false;
	LLVMValueRef x = LLVMGetOperand(test, 0);
	*t = (struct loop_test){ LLVMGetICmpPredicate(test), LLVMGetOperand(test, 1), x == l->next };
	if (LLVMGetSuccessor(end, 0) != l->loop.header)
		t->how = opposite(t->how);
	return (x == phi || x == l->next) && terms_invariant(t->limit, l->loop.header);
}

/*
 * A value that goes up to a limit does not come round to the smallest numbers, if one step over the limit does not: in
 * each round that is followed by another the test was passed.
 */
static bool never_wraps(const struct loop_test *t, Z3_ast begin, Z3_ast step, unsigned bits, const struct frame *f)
{
	Z3_context z = terms_context();
	bool up = t->how == LLVMIntULT || t->how == LLVMIntSLT || t->how == LLVMIntULE || t->how == LLVMIntSLE;

	if (!up || bits > 64)
		return false;
	Z3_ast limit = terms_of(t->limit, f), zero = number(0), most = sub(numbers_power(bits - 1), step);
	Z3_ast all[] = { Z3_mk_gt(z, step, zero), Z3_mk_ge(z, begin, zero), Z3_mk_lt(z, begin, most),
			 Z3_mk_ge(z, limit, zero), Z3_mk_lt(z, limit, most) };
	return terms_surely(Z3_mk_and(z, 5, all));
}

/* The largest power of two that is not larger; 0: none, or it is too large to be of use. */
static int64_t power_below(int64_t n)
{
	return n < 1 || n > 1 << 24 ? 0 : (int64_t)1 << (63 - __builtin_clzll((uint64_t)n));
}

/* What the test at the end of the round before says of the value now. */
static void bound_by_test(const struct loop_test *t, bool wraps, Z3_ast v, Z3_ast init, Z3_ast step, Z3_ast k,
			  unsigned bits, const struct frame *f)
{
	Z3_context z = terms_context();
	int64_t n;

	if (!t->of_next && wraps)
		return;
	Z3_ast then = t->of_next ? v : sub(v, step), to = terms_of(t->limit, f);
	Z3_ast first = Z3_mk_eq(z, k, number(0));
	if (t->how != LLVMIntNE) {
		terms_assert(either(first, terms_compare(t->how, then, to, bits)));
	} else if (numbers_is(step, &n) && n > 0) {
		/* It stops when it meets the limit: it has not gone past it, if it began before it and does not jump
		   over it. */
		Z3_ast begin = t->of_next ? add(init, step) : init;
		Z3_ast meets = both(Z3_mk_le(z, begin, to), Z3_mk_eq(z, Z3_mk_mod(z, sub(to, begin), step), number(0)));
		terms_assert(either(first, Z3_mk_implies(z, meets, Z3_mk_lt(z, then, to))));
	}
}

/* Is it clear from the ranges of both that the value does not go past the limit, by steps that are tested? */
static bool stays_below(const struct loop_test *t, bool rises, struct interval begin, struct interval limit,
			Z3_ast step)
{
	int64_t n;

	if (!t->of_next || begin.from < 0 || begin.to >= 1 << 24 || limit.to >= 1 << 24)
		return false;
	return rises || (t->how == LLVMIntNE && numbers_is(step, &n) && n == 1 && begin.to < limit.from);
}

/*
 * The range of a value that goes up to a limit: known, or asked of the solver, it saves many questions later. The limit
 * is often a power of two, also where that is seen only by the steps in which it is come to.
 */
static void find_range(const struct loop_test *t, bool rises, Z3_ast v, Z3_ast begin, Z3_ast step,
		       const struct frame *f)
{
	Z3_context z = terms_context();
	Z3_ast limit = terms_of(t->limit, f);
	struct interval a = numbers_interval(begin), b = numbers_interval(limit);
	int64_t below = t->how == LLVMIntULT || t->how == LLVMIntSLT || t->how == LLVMIntNE;
	int64_t tries[] = { power_below(b.to), 1 << 10, 1 << 16, 1 << 24 }, most = INT64_MAX;

	if (stays_below(t, rises, a, b, step)) {
		most = a.to > b.to - below ? a.to : b.to - below;
		numbers_is_within(v, (struct interval){ a.from, most });
	}
	for (unsigned i = 0; i < sizeof tries / sizeof *tries && tries[i] - below < most; i++) {
		if (!tries[i] ||
		    !terms_surely(both(Z3_mk_ge(z, v, number(0)), Z3_mk_le(z, v, number(tries[i] - below)))))
			continue;
		numbers_is_within(v, (struct interval){ 0, tries[i] - below });
		return;
	}
}

static Z3_ast plain_phi(LLVMValueRef phi, const struct frame *f)
{
	Z3_ast v = terms_unknown(phi, f), any[16];
	unsigned count = LLVMCountIncoming(phi);

	if (count > 16)
		return v;
	for (unsigned i = 0; i < count; i++)
		any[i] = Z3_mk_eq(terms_context(), v, terms_of(LLVMGetIncomingValue(phi, i), f));
	terms_assert(Z3_mk_or(terms_context(), count, any));
	return v;
}

/* By which a value goes on from round to round; NULL: it is not a sum, or not always the same. */
static LLVMValueRef added(LLVMValueRef phi, const struct loop_value *l)
{
	LLVMValueRef next = l->next, by = NULL;

	if (LLVMIsAGetElementPtrInst(next) && LLVMGetNumOperands(next) == 2 && LLVMGetOperand(next, 0) == phi)
		by = LLVMGetOperand(next, 1);
	else if (LLVMGetInstructionOpcode(next) == LLVMAdd &&
		 (LLVMGetOperand(next, 0) == phi || LLVMGetOperand(next, 1) == phi))
		by = LLVMGetOperand(next, LLVMGetOperand(next, 0) == phi);
	return by && by != phi && terms_invariant(by, l->loop.header) ? by : NULL;
}

/* A value of the loop that is no sum: one of a few, or one that does not become large. */
static Z3_ast other_phi(LLVMValueRef phi, Z3_ast v)
{
	int64_t values[MOST_CHOICES];
	unsigned count;

	if (ranges_values(phi, values, &count))
		numbers_is_one_of(v, values, count);
	else if (terms_bits(phi) && ranges_most(phi) < (uint64_t)1 << 62)
		numbers_is_within(v, (struct interval){ 0, (int64_t)ranges_most(phi) });
	return v;
}

static struct map irreducible; /* functions: 1 no, 2 yes */

void term_loops_end(void)
{
	map_free(&irreducible);
}

/* In a function that has loops with two ways in, any phi may be at the head of one: what comes in is then of the round
   before. */
static bool goes_round_unseen(LLVMValueRef phi)
{
	LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(phi));
	uint32_t *answer = map_enter(&irreducible, (uintptr_t)function);

	if (!*answer)
		*answer = plugin_is_irreducible(function) ? 2 : 1;
	return *answer == 2;
}

Z3_ast terms_of_phi(LLVMValueRef phi, const struct frame *f, Z3_ast *early)
{
	struct plugin_loop around;
	struct loop_value l;
	struct loop_test t;

	if (!plugin_loop(LLVMGetInstructionParent(phi), 0, &around) || around.header != LLVMGetInstructionParent(phi))
		return goes_round_unseen(phi) ? terms_unknown(phi, f) : plain_phi(phi, f);
	Z3_ast v = terms_unknown(phi, f);
	if (!loops_value(phi, &l))
		return v;
	LLVMValueRef by = added(phi, &l);
	if (!by)
		return other_phi(phi, v);
	Z3_ast k = terms_round(l.loop.header, f);
	*early = v;
	Z3_ast begin = terms_of(l.init, f), step = terms_of(by, f);
	bool is_gep = LLVMIsAGetElementPtrInst(l.next);
	if (is_gep)
		step = times(step, number((int64_t)LLVMABISizeOfType(program.m->layout,
								     LLVMGetGEPSourceElementType(l.next))));
	Z3_ast sum = add(begin, numbers_multiply(k, step));
	unsigned bits = terms_bits(phi) ? terms_bits(phi) : 64;
	bool tested = loops_test(phi, &l, &t), rises = tested && !is_gep && never_wraps(&t, begin, step, bits, f);
	bool exact = is_gep || LLVMGetNSW(l.next) || rises;
	terms_assert(Z3_mk_eq(terms_context(), v, exact ? sum : numbers_wrap(sum, bits)));
	if (tested)
		bound_by_test(&t, !exact, v, begin, step, k, bits, f);
	if (tested && exact && !is_gep)
		find_range(&t, rises, v, begin, step, f);
	return v;
}

/*
 * From values to terms: see terms.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "compiler/races/numbers.h"

enum { MEMO = 4096, MOST_RESULTS = 128, DEEPEST = 60, SMALL_FACTOR = 4096 };

static Z3_context z;
static struct memo {
	LLVMValueRef v;
	const struct frame *f;
	Z3_ast term;
} memo[MEMO];
static struct result {
	LLVMOpcode op;
	unsigned bits;
	bool nsw;
	Z3_ast a, b, result;
} results[MOST_RESULTS];
static unsigned result_count;
static int depth;
static const struct frame common = { .side = 2 };
static struct map
	names; /* of what is the same in all questions: by number, so that the solver is always told the same */

void terms_begin(unsigned about)
{
	solver_begin(about);
	rounds_begin();
	tickets_begin();
	z = terms_context();
	memset(memo, 0, sizeof memo);
	result_count = 0;
	depth = 0;
}

void terms_close(void)
{
	solver_close();
	term_loops_end();
	map_free(&names);
}

static unsigned width(LLVMValueRef v)
{
	LLVMTypeRef t = LLVMTypeOf(v);

	return LLVMGetTypeKind(t) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(t) : 64;
}

/* For an unknown: pointers have no range. */
unsigned terms_bits(LLVMValueRef v)
{
	return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind ? width(v) : 0;
}

Z3_ast terms_named(const char *kind, const void *key, unsigned bits)
{
	uint32_t *n = map_enter(&names, (uintptr_t)key);
	char name[64];

	if (!*n)
		*n = (uint32_t)names.count;
	snprintf(name, sizeof name, "%s%u", kind, *n);
	Z3_ast t = Z3_mk_const(z, Z3_mk_string_symbol(z, name), Z3_mk_int_sort(z));
	numbers_bound(t, bits);
	return t;
}

static Z3_ast named(const char *kind, const void *key, LLVMValueRef v)
{
	return terms_named(kind, key, terms_bits(v));
}

/* By its value and frame: whatever is asked of it, it has the same name. Those of one side have a mark in it, see
   views.c. */
Z3_ast terms_unknown(LLVMValueRef v, const struct frame *f)
{
	char kind[32];

	snprintf(kind, sizeof kind, f->id ? "v%u!" : "v", f->id);
	return named(kind, v, v);
}

static Z3_ast small(LLVMValueRef v, Z3_ast t)
{
	if (terms_bits(v) && width(v) <= 62 && ranges_most(v) < (uint64_t)1 << (width(v) - 1))
		numbers_is_within(t, (struct interval){ 0, (int64_t)ranges_most(v) });
	return t;
}

/* Not understood, but perhaps small, or given out. */
static Z3_ast unknown_of(LLVMValueRef v, const struct frame *f)
{
	Z3_ast t = small(v, terms_unknown(v, f));

	if (LLVMIsALoadInst(v) || LLVMIsAAtomicRMWInst(v))
		tickets_note(v, f, t);
	return t;
}

/* ---- instructions ------------------------------------------------------------------------------------------------ */

static Z3_ast term(LLVMValueRef v, const struct frame *f);

Z3_ast terms_compare(LLVMIntPredicate how, Z3_ast a, Z3_ast b, unsigned bits)
{
	bool is_unsigned = how >= LLVMIntUGT && how <= LLVMIntULE;

	if (is_unsigned) {
		a = numbers_unsigned(a, bits);
		b = numbers_unsigned(b, bits);
	}
	switch (how) {
	case LLVMIntEQ: return Z3_mk_eq(z, a, b);
	case LLVMIntNE: return Z3_mk_not(z, Z3_mk_eq(z, a, b));
	case LLVMIntUGT:
	case LLVMIntSGT: return Z3_mk_gt(z, a, b);
	case LLVMIntUGE:
	case LLVMIntSGE: return Z3_mk_ge(z, a, b);
	case LLVMIntULT:
	case LLVMIntSLT: return Z3_mk_lt(z, a, b);
	default: return Z3_mk_le(z, a, b);
	}
}

static bool is_boolean(LLVMValueRef v)
{
	return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(LLVMTypeOf(v)) == 1;
}

/* A condition, or NULL if it is not understood. */
static Z3_ast condition(LLVMValueRef v, const struct frame *f)
{
	if (LLVMIsAConstantInt(v))
		return LLVMConstIntGetZExtValue(v) ? Z3_mk_true(z) : Z3_mk_false(z);
	if (LLVMIsAICmpInst(v)) {
		LLVMValueRef a = LLVMGetOperand(v, 0);
		LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(a));
		if ((kind != LLVMIntegerTypeKind && kind != LLVMPointerTypeKind) || width(a) > 64 || is_boolean(a))
			return NULL;
		return terms_compare(LLVMGetICmpPredicate(v), term(a, f), term(LLVMGetOperand(v, 1), f), width(a));
	}
	if (!LLVMIsAInstruction(v))
		return NULL;
	LLVMOpcode op = LLVMGetInstructionOpcode(v);
	bool choice = op == LLVMSelect && is_boolean(v);
	if (op == LLVMFreeze)
		return condition(LLVMGetOperand(v, 0), f);
	if (op == LLVMTrunc)
		return Z3_mk_eq(z, Z3_mk_mod(z, term(LLVMGetOperand(v, 0), f), number(2)), number(1));
	if (op != LLVMAnd && op != LLVMOr && op != LLVMXor && !choice)
		return NULL;
	Z3_ast a = condition(LLVMGetOperand(v, 0), f), b = condition(LLVMGetOperand(v, 1), f);
	if (choice) {
		Z3_ast c = condition(LLVMGetOperand(v, 2), f);
		return a && b && c ? Z3_mk_ite(z, a, b, c) : NULL;
	}
	if (!a || !b)
		return NULL;
	return op == LLVMAnd ? both(a, b) : op == LLVMOr ? either(a, b) : Z3_mk_xor(z, a, b);
}

static Z3_ast result_of(LLVMValueRef v, Z3_ast a, Z3_ast b)
{
	char how[16];

	snprintf(how, sizeof how, "op%d_", (int)LLVMGetInstructionOpcode(v));
	Z3_ast t = numbers_made(how, width(v), a, b);
	numbers_bound(t, width(v));
	return small(v, t);
}

static Z3_ast calculate(LLVMValueRef v, LLVMOpcode op, unsigned bits, Z3_ast a, Z3_ast b)
{
	Z3_ast r;
	int64_t n;

	if (bits > 64)
		return numbers_unknown();
	switch (op) {
	case LLVMAdd: r = add(a, b); return LLVMGetNSW(v) ? r : numbers_wrap(r, bits);
	case LLVMSub: r = sub(a, b); return LLVMGetNSW(v) ? r : numbers_wrap(r, bits);
	case LLVMMul:
		r = numbers_multiply(a, b);
		if (LLVMGetNSW(v) || numbers_fits(r, bits))
			return r;
		/* A multiple that may wrap is a hash or a random number: what is left of it says nothing. */
		return numbers_is(b, &n) && n > -SMALL_FACTOR && n < SMALL_FACTOR ? numbers_wrap(r, bits) :
										    result_of(v, a, b);
	case LLVMShl:
		if (!numbers_is(b, &n) || n < 0 || n > 62)
			return result_of(v, a, b);
		r = times(a, number((int64_t)1 << n));
		return LLVMGetNSW(v) ? r : numbers_wrap(r, bits);
	case LLVMLShr:
		return numbers_is(b, &n) && n > 0 && n < 63 ?
			       Z3_mk_div(z, numbers_unsigned(a, bits), number((int64_t)1 << n)) :
			       result_of(v, a, b);
	case LLVMAShr:
		return numbers_is(b, &n) && n >= 0 && n < 63 ? Z3_mk_div(z, a, number((int64_t)1 << n)) :
							       result_of(v, a, b);
	case LLVMUDiv:
		r = numbers_divide(numbers_unsigned(a, bits), numbers_unsigned(b, bits));
		return numbers_wrap(r, bits);
	case LLVMURem:
		r = numbers_remainder(numbers_unsigned(a, bits), numbers_unsigned(b, bits));
		return numbers_wrap(r, bits);
	case LLVMSDiv: {
		r = result_of(v, a, b);
		Z3_ast plus = both(Z3_mk_ge(z, a, number(0)), Z3_mk_gt(z, b, number(0)));
		terms_assert(Z3_mk_implies(z, plus, Z3_mk_eq(z, r, numbers_divide(a, b))));
		return r;
	}
	case LLVMSRem: {
		r = result_of(v, a, b);
		Z3_ast plus = both(Z3_mk_ge(z, a, number(0)), Z3_mk_gt(z, b, number(0)));
		terms_assert(Z3_mk_implies(z, plus, Z3_mk_eq(z, r, numbers_remainder(a, b))));
		return r;
	}
	case LLVMAnd: { /* with ones in a row */
		int low = numbers_is(b, &n) && n > 0 ? __builtin_ctzll((uint64_t)n) : -1;
		int64_t ones = low < 0 ? 0 : n >> low;
		if (low < 0 || ones & (ones + 1))
			return result_of(v, a, b);
		r = numbers_unsigned(a, bits);
		r = low ? Z3_mk_div(z, r, number((int64_t)1 << low)) : r;
		return times(numbers_modulo(r, number(ones + 1)), number((int64_t)1 << low));
	}
	case LLVMXor: /* with ones, of what is not larger: n - a */
		if (numbers_is(b, &n) && n >= 0 && !(n & (n + 1)) && numbers_interval(a).from >= 0 &&
		    numbers_interval(a).to <= n)
			return sub(b, a);
		return result_of(v, a, b);
	case LLVMOr: return LLVMGetIsDisjoint(v) ? add(a, b) : result_of(v, a, b);
	default: return result_of(v, a, b);
	}
}

/* The same of the same is the same, on both sides. */
static Z3_ast binary(LLVMValueRef v, const struct frame *f)
{
	LLVMOpcode op = LLVMGetInstructionOpcode(v);
	unsigned bits = width(v);
	Z3_ast a = Z3_simplify(z, term(LLVMGetOperand(v, 0), f)), b = Z3_simplify(z, term(LLVMGetOperand(v, 1), f));
	bool nsw = (op == LLVMAdd || op == LLVMSub || op == LLVMMul || op == LLVMShl) && LLVMGetNSW(v);

	for (unsigned i = 0; i < result_count; i++)
		if (results[i].op == op && results[i].bits == bits && results[i].nsw == nsw &&
		    Z3_is_eq_ast(z, results[i].a, a) && Z3_is_eq_ast(z, results[i].b, b))
			return results[i].result;
	Z3_ast r = calculate(v, op, bits, a, b);
	if (result_count < MOST_RESULTS)
		results[result_count++] = (struct result){ op, bits, nsw, a, b, r };
	return r;
}

static Z3_ast cast_term(LLVMValueRef v, const struct frame *f)
{
	LLVMValueRef from = LLVMGetOperand(v, 0);
	LLVMOpcode op = LLVMGetInstructionOpcode(v);

	if (is_boolean(from)) {
		Z3_ast c = condition(from, f);
		return c ? Z3_mk_ite(z, c, number(op == LLVMSExt ? -1 : 1), number(0)) : unknown_of(v, f);
	}
	Z3_ast t = term(from, f);
	switch (op) {
	case LLVMZExt: return LLVMGetNNeg(v) ? t : numbers_unsigned(t, width(from));
	case LLVMTrunc: return numbers_wrap(t, width(v));
	case LLVMSExt:
	case LLVMPtrToInt:
	case LLVMIntToPtr:
	case LLVMFreeze:
	case LLVMBitCast:
	case LLVMAddrSpaceCast: return t;
	default: return unknown_of(v, f);
	}
}

static Z3_ast gep(LLVMValueRef v, const struct frame *f)
{
	LLVMTypeRef type = LLVMGetGEPSourceElementType(v);
	Z3_ast t = term(LLVMGetOperand(v, 0), f);

	for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(v); i++) {
		LLVMValueRef index = LLVMGetOperand(v, i);
		if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
			unsigned n = (unsigned)LLVMConstIntGetZExtValue(index);
			t = add(t, number((int64_t)LLVMOffsetOfElement(program.m->layout, type, n)));
			type = LLVMStructGetTypeAtIndex(type, n);
			continue;
		}
		if (i > 1)
			type = LLVMGetElementType(type);
		if (LLVMGetTypeKind(type) == LLVMScalableVectorTypeKind ||
		    LLVMGetTypeKind(LLVMTypeOf(index)) != LLVMIntegerTypeKind)
			return numbers_unknown();
		Z3_ast step = times(term(index, f), number((int64_t)LLVMABISizeOfType(program.m->layout, type)));
		t = add(t, LLVMIsInBounds(v) ? step : numbers_wrap(step, 64));
	}
	return t;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* A function that calls itself has one frame for all its calls, which is that of the last: what each hands on as it got
   it is what the first was given. */
static bool is_handed_on(LLVMValueRef v, unsigned n)
{
	uint32_t function = program_function(LLVMGetParamParent(v));

	if (function == UINT32_MAX)
		return false;
	const struct function *f = &program.functions[function];
	for (uint32_t b = f->first_block; b < f->first_block + f->block_count; b++)
		for (uint32_t i = 0; i < program.blocks[b].call_count; i++) {
			const struct call *c = &program.calls[program.blocks[b].first_call + i];
			if (program_calls_itself(c) &&
			    (n >= LLVMGetNumArgOperands(c->inst) || LLVMGetOperand(c->inst, n) != v))
				return false;
		}
	return true;
}

static Z3_ast argument(LLVMValueRef v, const struct frame *f)
{
	unsigned n = 0;

	for (LLVMValueRef p = LLVMGetFirstParam(LLVMGetParamParent(v)); p && p != v; p = LLVMGetNextParam(p))
		n++;
	if (!is_handed_on(v, n))
		return unknown_of(v, f);
	if (!f->up) {
		/* A function that is called once: what it was given then. */
		const struct call *only = f->side == 2 || f->creates ? program_only_call(LLVMGetParamParent(v)) : NULL;
		if (only && n < LLVMGetNumArgOperands(only->inst))
			return term(LLVMGetOperand(only->inst, n), &common);
		return f->side == 2 || f->creates ? named("p", v, v) : unknown_of(v, f);
	}
	if (f->up->creates)
		n = LLVMGetNumArgOperands(f->call->inst) - 1;
	return n < LLVMGetNumArgOperands(f->call->inst) ? term(LLVMGetOperand(f->call->inst, n), f->up) :
							  unknown_of(v, f);
}

/* Does no other round of the loop that creates threads write the same place? */
static bool written_once(LLVMValueRef store, uint64_t size, const struct frame *mine)
{
	struct plugin_loop l;

	if (!plugin_loop(LLVMGetInstructionParent(store), 0, &l))
		return program_is_once(store);
	const struct frame other = { .side = 1 - mine->side, .creates = mine->creates, .id = UINT32_MAX - mine->side };
	Z3_ast here = term(LLVMGetOperand(store, 1), mine);
	Z3_ast there = term(LLVMGetOperand(store, 1), &other);
	return !terms_may_touch_if(terms_differ, mine, &other, here, there, size);
}

static Z3_ast load_term(LLVMValueRef v, const struct frame *f)
{
	const struct frame *top = f;

	while (top->up && !top->up->creates)
		top = top->up;
	bool by_main = !top->up; /* also in frames of creation */
	if (LLVMGetVolatile(v) || LLVMGetOrdering(v) != LLVMAtomicOrderingNotAtomic)
		return unknown_of(v, f);
	if (stable_load(v, by_main)) {
		uint32_t place = program_single_place(LLVMGetOperand(v, 0));
		char kind[32];
		snprintf(kind, sizeof kind, "m%u_%u_", width(v), place);
		return named(kind, &names, v);
	}
	if (!by_main && top->up->creates) {
		LLVMValueRef store = stable_argument_store(v, top->up->creates);
		Z3_ast here = store ? term(LLVMGetOperand(v, 0), f) : NULL;
		if (store && terms_same(here, term(LLVMGetOperand(store, 1), top->up)) &&
		    written_once(store, width(v) / 8, top->up))
			return term(LLVMGetOperand(store, 0), top->up);
	}
	return unknown_of(v, f);
}

static Z3_ast intrinsic(LLVMValueRef v, const struct frame *f)
{
	LLVMValueRef callee = LLVMGetCalledValue(v);
	const char *name = LLVMIsAFunction(callee) ? external_name(callee) : "";
	static const struct {
		const char *name;
		LLVMIntPredicate how;
	} choices[] = { { "llvm.smax.", LLVMIntSGT },
			{ "llvm.smin.", LLVMIntSLT },
			{ "llvm.umax.", LLVMIntUGT },
			{ "llvm.umin.", LLVMIntULT } };

	for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
		if (!strncmp(name, choices[i].name, strlen(choices[i].name)) &&
		    LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind) {
			Z3_ast a = term(LLVMGetOperand(v, 0), f), b = term(LLVMGetOperand(v, 1), f);
			return Z3_mk_ite(z, terms_compare(choices[i].how, a, b, width(v)), a, b);
		}
	return unknown_of(v, f);
}

/* In a frame of creation, what was known before the loop that creates is the same for both sides. */
static const struct frame *frame_of(LLVMValueRef v, const struct frame *f)
{
	struct plugin_loop l = { 0 }, outer;
	unsigned out = 0;

	if (!f->creates || f->side == 2)
		return f;
	while (plugin_loop(LLVMGetInstructionParent(f->creates->inst), out++, &outer))
		l = outer;
	bool inside = LLVMIsAInstruction(v) && l.header && plugin_in_loop(l.header, LLVMGetInstructionParent(v));
	return inside ? f : &common;
}

static Z3_ast build(LLVMValueRef v, const struct frame *f, Z3_ast *early)
{
	if (LLVMIsAConstantInt(v))
		return width(v) > 64 ? numbers_unknown() : number(LLVMConstIntGetSExtValue(v));
	if (LLVMIsNull(v))
		return number(0);
	if (LLVMIsAGlobalVariable(v) && !LLVMIsThreadLocal(v))
		return named("g", v, v);
	if (LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMGetElementPtr)
		return gep(v, f);
	if (LLVMIsAArgument(v))
		return argument(v, f);
	if (!LLVMIsAInstruction(v) || is_boolean(v))
		return unknown_of(v, f);
	if (LLVMIsAPHINode(v))
		return terms_of_phi(v, f, early);
	if (LLVMIsABinaryOperator(v))
		return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind ? binary(v, f) : numbers_unknown();
	if (LLVMIsACastInst(v) || LLVMGetInstructionOpcode(v) == LLVMFreeze)
		return cast_term(v, f);
	if (LLVMIsAGetElementPtrInst(v))
		return gep(v, f);
	if (LLVMIsALoadInst(v))
		return load_term(v, f);
	if (LLVMIsASelectInst(v)) {
		Z3_ast c = condition(LLVMGetOperand(v, 0), f);
		Z3_ast a = term(LLVMGetOperand(v, 1), f), b = term(LLVMGetOperand(v, 2), f);
		return c ? Z3_mk_ite(z, c, a, b) : unknown_of(v, f);
	}
	if (LLVMIsACallInst(v))
		return intrinsic(v, f);
	if (LLVMIsAAllocaInst(v) && program_is_once(v))
		return named("a", v, v);
	return unknown_of(v, f);
}

static struct memo *memo_of(LLVMValueRef v, const struct frame *f)
{
	size_t i = ((uintptr_t)v >> 4) * 31 + ((uintptr_t)f >> 4), tries = 0;

	while (memo[i % MEMO].v && (memo[i % MEMO].v != v || memo[i % MEMO].f != f) && ++tries < MEMO / 2)
		i++;
	return tries < MEMO / 2 ? &memo[i % MEMO] : NULL;
}

static Z3_ast term(LLVMValueRef v, const struct frame *f)
{
	LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(v));

	if (kind != LLVMIntegerTypeKind && kind != LLVMPointerTypeKind)
		return numbers_unknown();
	f = frame_of(v, f);
	struct memo *m = memo_of(v, f);
	if (m && m->v)
		return m->term ? m->term : numbers_unknown_of(terms_bits(v)); /* it depends on what it was before */
	if (!m || depth > DEEPEST)
		return unknown_of(v, f);
	*m = (struct memo){ v, f, NULL };
	depth++;
	/* A loop's value is known before the values it is made from are asked for. */
	m->term = build(v, f, &m->term);
	depth--;
	return m->term;
}

Z3_ast terms_condition(LLVMValueRef v, const struct frame *f)
{
	return condition(v, f);
}

Z3_ast terms_of(LLVMValueRef v, const struct frame *f)
{
	return term(v, f);
}

/* ---- conditions and questions ------------------------------------------------------------------------------------ */

static void add_condition(LLVMBasicBlockRef at, LLVMBasicBlockRef block, const struct frame *f)
{
	LLVMValueRef end = LLVMGetBasicBlockTerminator(at);

	if (LLVMIsABranchInst(end) && LLVMIsConditional(end) && LLVMGetSuccessor(end, 0) != LLVMGetSuccessor(end, 1)) {
		bool yes = plugin_edge_dominates(at, LLVMGetSuccessor(end, 0), block);
		bool no = plugin_edge_dominates(at, LLVMGetSuccessor(end, 1), block);
		Z3_ast c = yes || no ? condition(LLVMGetCondition(end), f) : NULL;
		if (c)
			terms_assert(yes ? c : Z3_mk_not(z, c));
	} else if (LLVMIsASwitchInst(end)) {
		Z3_ast v = term(LLVMGetOperand(end, 0), f);
		for (unsigned i = 1; i < LLVMGetNumSuccessors(end); i++)
			if (plugin_edge_dominates(at, LLVMGetSuccessor(end, i), block))
				terms_assert(Z3_mk_eq(z, v, term(LLVMGetOperand(end, 2 * i), f)));
	}
}

/* Is it in a loop that is over when the block is run? */
static bool is_over(LLVMBasicBlockRef at, LLVMBasicBlockRef block)
{
	struct plugin_loop l;

	return plugin_loop(at, 0, &l) && !plugin_in_loop(l.header, block);
}

/* Was a value asked for, or the one that it is a step away from? */
static bool is_used(LLVMValueRef v, const struct frame *f)
{
	for (unsigned n = 0; n < 2; n++) {
		const struct memo *m = memo_of(v, frame_of(v, f));
		if (LLVMIsAInstruction(v) && m && m->v)
			return true;
		if (!LLVMIsABinaryOperator(v))
			return false;
		v = LLVMGetOperand(v, 0);
	}
	return false;
}

static bool end_is_used(LLVMBasicBlockRef at, const struct frame *f)
{
	LLVMValueRef end = LLVMGetBasicBlockTerminator(at);
	LLVMValueRef c = LLVMIsABranchInst(end) && LLVMIsConditional(end) ? LLVMGetCondition(end) : NULL;

	return c && LLVMIsAICmpInst(c) && (is_used(LLVMGetOperand(c, 0), f) || is_used(LLVMGetOperand(c, 1), f));
}

static void conditions(LLVMBasicBlockRef block, const struct frame *f, bool of_ends)
{
	LLVMBasicBlockRef above[200];
	unsigned count = 0;

	/* From the outside in: what is known already makes the rest simpler. */
	if (f->up)
		conditions(LLVMGetInstructionParent(f->call->inst), f->up, of_ends);
	for (LLVMBasicBlockRef at = plugin_dominator(block); at && count < 200; at = plugin_dominator(at))
		above[count++] = at;
	while (count--)
		if (of_ends ? is_over(above[count], block) && end_is_used(above[count], f) :
			      !is_over(above[count], block))
			add_condition(above[count], block, f);
}

void terms_conditions(LLVMBasicBlockRef block, const struct frame *f)
{
	conditions(block, f, false);
}

void terms_ends(LLVMBasicBlockRef block, const struct frame *f)
{
	conditions(block, f, true);
}

void terms_differ(const struct frame *a, const struct frame *b)
{
	Z3_ast any[8];
	unsigned count = 0;
	struct plugin_loop l;

	while (count < 8 && plugin_loop(LLVMGetInstructionParent(a->creates->inst), count, &l)) {
		any[count] = Z3_mk_not(z, Z3_mk_eq(z, terms_round(l.header, a), terms_round(l.header, b)));
		count++;
	}
	if (count && count < 8)
		terms_assert(Z3_mk_or(z, count, any));
}

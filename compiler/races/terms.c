/*
 * From values to terms: see terms.h. Products and quotients of two unknowns are unknowns themselves, with the few facts
 * that divide arrays among threads (monotony, and one factor more is at least one multiple more); so all questions stay linear.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/races/terms.h"

enum { MEMO = 4096, MOST_PRODUCTS = 24, MOST_RESULTS = 128, DEEPEST = 60, LIMIT_MS = 200 };

static Z3_context z;
static Z3_solver solver;
static Z3_sort integer;
static struct memo {
	LLVMValueRef v;
	const struct frame *f;
	Z3_ast term;
} memo[MEMO];
static struct product {
	Z3_ast a, b, result; /* quotients: b is the divisor */
	bool quotient;
} products[MOST_PRODUCTS];
static unsigned product_count;
static struct result {
	LLVMOpcode op;
	unsigned bits;
	bool nsw;
	Z3_ast a, b, result;
} results[MOST_RESULTS];
static unsigned result_count;
static struct round_row {
	LLVMBasicBlockRef header;
	const struct frame *f;
	Z3_ast k;
} rounds[32]; /* which round of a loop it is */
static unsigned round_count;
static int depth;
static const struct frame common = { NULL, NULL, 2, NULL };

static void ignore(Z3_context c, Z3_error_code e)
{
	(void)c, (void)e;
}

void terms_close(void)
{
	if (z)
		Z3_del_context(z);
	z = NULL;
}

void terms_begin(void)
{
	static unsigned questions;

	if (++questions % 256 == 0) /* terms are kept as long as their context */
		terms_close();
	if (!z) {
		Z3_config config = Z3_mk_config();
		z = Z3_mk_context(config);
		Z3_del_config(config);
		Z3_set_error_handler(z, ignore);
		integer = Z3_mk_int_sort(z);
	}
	solver = Z3_mk_simple_solver(z);
	Z3_solver_inc_ref(z, solver);
	Z3_params params = Z3_mk_params(z);
	Z3_params_inc_ref(z, params);
	Z3_params_set_uint(z, params, Z3_mk_string_symbol(z, "timeout"), LIMIT_MS);
	Z3_solver_set_params(z, solver, params);
	Z3_params_dec_ref(z, params);
	memset(memo, 0, sizeof memo);
	product_count = round_count = result_count = 0;
	depth = 0;
}

void terms_end(void)
{
	Z3_solver_dec_ref(z, solver);
}

Z3_context terms_context(void)
{
	return z;
}

void terms_assert(Z3_ast fact)
{
	Z3_solver_assert(z, solver, fact);
}

/* ---- small words -------------------------------------------------------------------------------------------------------- */

static Z3_ast number(int64_t n)
{
	return Z3_mk_int64(z, n, integer);
}

static Z3_ast power(unsigned bits)
{
	char text[32];

	if (bits < 63)
		return number((int64_t)1 << bits);
	snprintf(text, sizeof text, "%s", bits == 63 ? "9223372036854775808" : "18446744073709551616");
	return Z3_mk_numeral(z, text, integer);
}

static Z3_ast add(Z3_ast a, Z3_ast b)
{
	return Z3_mk_add(z, 2, (Z3_ast[]){ a, b });
}

static Z3_ast sub(Z3_ast a, Z3_ast b)
{
	return Z3_mk_sub(z, 2, (Z3_ast[]){ a, b });
}

static Z3_ast times(Z3_ast a, Z3_ast b)
{
	return Z3_mk_mul(z, 2, (Z3_ast[]){ a, b });
}

static Z3_ast both(Z3_ast a, Z3_ast b)
{
	return Z3_mk_and(z, 2, (Z3_ast[]){ a, b });
}

static Z3_ast either(Z3_ast a, Z3_ast b)
{
	return Z3_mk_or(z, 2, (Z3_ast[]){ a, b });
}

static Z3_ast unknown(void)
{
	return Z3_mk_fresh_const(z, "v", integer);
}

static unsigned width(LLVMValueRef v)
{
	LLVMTypeRef t = LLVMTypeOf(v);

	return LLVMGetTypeKind(t) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(t) : 64;
}

static void bound(Z3_ast t, unsigned bits)
{
	if (bits > 64 || !bits)
		return;
	Z3_ast half = power(bits - 1);
	terms_assert(Z3_mk_le(z, Z3_mk_unary_minus(z, half), t));
	terms_assert(Z3_mk_lt(z, t, half));
}

static Z3_ast unknown_of(LLVMValueRef v)
{
	Z3_ast t = unknown();

	if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind)
		bound(t, width(v));
	return t;
}

/* The number that is left of t in n bits. */
static Z3_ast wrap(Z3_ast t, unsigned bits)
{
	Z3_ast r = unknown(), q = unknown();

	if (bits > 64)
		return r;
	/* Nothing is lost, most often, and then the question stays easy. */
	Z3_ast half = power(bits - 1);
	if (terms_surely(both(Z3_mk_le(z, Z3_mk_unary_minus(z, half), t), Z3_mk_lt(z, t, half))))
		return t;
	terms_assert(Z3_mk_eq(z, t, add(r, times(power(bits), q))));
	bound(r, bits);
	return r;
}

static Z3_ast as_unsigned(Z3_ast t, unsigned bits)
{
	if (terms_surely(Z3_mk_ge(z, t, number(0))))
		return t;
	return Z3_mk_ite(z, Z3_mk_lt(z, t, number(0)), add(t, power(bits)), t);
}

static bool is_numeral(Z3_ast t, int64_t *n)
{
	Z3_ast s = Z3_simplify(z, t);

	return Z3_get_ast_kind(z, s) == Z3_NUMERAL_AST && Z3_get_numeral_int64(z, s, n);
}

/* t is not negative. */
static Z3_ast modulo(Z3_ast t, Z3_ast n)
{
	return terms_surely(Z3_mk_lt(z, t, n)) ? t : Z3_mk_mod(z, t, n);
}

/* ---- products and quotients ------------------------------------------------------------------------------------------------- */

/* x <= y: p <= q, and one more is a whole factor more. The common factor is not negative. */
static void order_products(Z3_ast x, Z3_ast p, Z3_ast y, Z3_ast q, Z3_ast factor)
{
	Z3_ast positive = Z3_mk_ge(z, factor, number(0));

	terms_assert(Z3_mk_implies(z, both(positive, Z3_mk_le(z, x, y)), Z3_mk_le(z, p, q)));
	terms_assert(Z3_mk_implies(z, both(positive, Z3_mk_lt(z, x, y)), Z3_mk_le(z, add(p, factor), q)));
	terms_assert(Z3_mk_implies(z, both(positive, Z3_mk_le(z, y, x)), Z3_mk_le(z, q, p)));
	terms_assert(Z3_mk_implies(z, both(positive, Z3_mk_lt(z, y, x)), Z3_mk_le(z, add(q, factor), p)));
}

static void order_quotients(const struct product *a, const struct product *b)
{
	Z3_ast positive = Z3_mk_gt(z, a->b, number(0));

	terms_assert(Z3_mk_implies(z, both(positive, Z3_mk_le(z, a->a, b->a)), Z3_mk_le(z, a->result, b->result)));
	terms_assert(Z3_mk_implies(z, both(positive, Z3_mk_le(z, b->a, a->a)), Z3_mk_le(z, b->result, a->result)));
}

static void relate(const struct product *a, const struct product *b)
{
	if (a->quotient && b->quotient && Z3_is_eq_ast(z, a->b, b->b))
		order_quotients(a, b);
	if (a->quotient || b->quotient)
		return;
	if (Z3_is_eq_ast(z, a->b, b->b))
		order_products(a->a, a->result, b->a, b->result, a->b);
	else if (Z3_is_eq_ast(z, a->a, b->a))
		order_products(a->b, a->result, b->b, b->result, a->a);
	else if (Z3_is_eq_ast(z, a->a, b->b))
		order_products(a->b, a->result, b->a, b->result, a->a);
	else if (Z3_is_eq_ast(z, a->b, b->a))
		order_products(a->a, a->result, b->b, b->result, a->b);
}

static Z3_ast combine(Z3_ast a, Z3_ast b, bool quotient)
{
	struct product p = { Z3_simplify(z, a), Z3_simplify(z, b), unknown(), quotient };
	Z3_ast zero = number(0),
	       signs = both(Z3_mk_ge(z, p.a, zero), quotient ? Z3_mk_gt(z, p.b, zero) : Z3_mk_ge(z, p.b, zero));

	terms_assert(Z3_mk_implies(z, signs, Z3_mk_ge(z, p.result, zero)));
	if (quotient)
		terms_assert(Z3_mk_implies(z, signs, Z3_mk_le(z, p.result, p.a)));
	else { /* 0 * b, 1 * b */
		terms_assert(Z3_mk_implies(z, Z3_mk_eq(z, p.a, zero), Z3_mk_eq(z, p.result, zero)));
		terms_assert(Z3_mk_implies(z, Z3_mk_eq(z, p.b, zero), Z3_mk_eq(z, p.result, zero)));
		terms_assert(Z3_mk_implies(z, Z3_mk_eq(z, p.a, number(1)), Z3_mk_eq(z, p.result, p.b)));
		terms_assert(Z3_mk_implies(z, Z3_mk_eq(z, p.b, number(1)), Z3_mk_eq(z, p.result, p.a)));
	}
	if (product_count < MOST_PRODUCTS) {
		for (unsigned i = 0; i < product_count; i++)
			relate(&products[i], &p);
		products[product_count++] = p;
	}
	return p.result;
}

static Z3_ast multiply(Z3_ast a, Z3_ast b)
{
	int64_t n;

	return is_numeral(a, &n) || is_numeral(b, &n) ? times(a, b) : combine(a, b, false);
}

/* Both not negative. */
static Z3_ast divide(Z3_ast a, Z3_ast b)
{
	int64_t n;

	return is_numeral(b, &n) && n > 0 ? Z3_mk_div(z, a, b) : combine(a, b, true);
}

/* ---- instructions ------------------------------------------------------------------------------------------------------------- */

static Z3_ast term(LLVMValueRef v, const struct frame *f);

static Z3_ast compare(LLVMIntPredicate how, Z3_ast a, Z3_ast b, unsigned bits)
{
	bool is_unsigned = how >= LLVMIntUGT && how <= LLVMIntULE;

	if (is_unsigned) {
		a = as_unsigned(a, bits);
		b = as_unsigned(b, bits);
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
		return compare(LLVMGetICmpPredicate(v), term(a, f), term(LLVMGetOperand(v, 1), f), width(a));
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

static Z3_ast calculate(LLVMValueRef v, LLVMOpcode op, unsigned bits, Z3_ast a, Z3_ast b)
{
	Z3_ast r;
	int64_t n;

	if (bits > 64)
		return unknown();
	switch (op) {
	case LLVMAdd: r = add(a, b); return LLVMGetNSW(v) ? r : wrap(r, bits);
	case LLVMSub: r = sub(a, b); return LLVMGetNSW(v) ? r : wrap(r, bits);
	case LLVMMul: r = multiply(a, b); return LLVMGetNSW(v) ? r : wrap(r, bits);
	case LLVMShl:
		if (!is_numeral(b, &n) || n < 0 || n > 62)
			return unknown_of(v);
		r = times(a, number((int64_t)1 << n));
		return LLVMGetNSW(v) ? r : wrap(r, bits);
	case LLVMLShr:
		return is_numeral(b, &n) && n > 0 && n < 63 ?
			       Z3_mk_div(z, as_unsigned(a, bits), number((int64_t)1 << n)) :
			       unknown_of(v);
	case LLVMAShr:
		return is_numeral(b, &n) && n >= 0 && n < 63 ? Z3_mk_div(z, a, number((int64_t)1 << n)) : unknown_of(v);
	case LLVMUDiv: r = divide(as_unsigned(a, bits), as_unsigned(b, bits)); return wrap(r, bits);
	case LLVMURem:
		if (is_numeral(b, &n) && n > 0)
			return modulo(as_unsigned(a, bits), b);
		r = unknown_of(v);
		terms_assert(Z3_mk_implies(z, Z3_mk_gt(z, b, number(0)),
					   both(Z3_mk_ge(z, r, number(0)), Z3_mk_lt(z, r, b))));
		return r;
	case LLVMSDiv: {
		r = unknown_of(v);
		Z3_ast plus = both(Z3_mk_ge(z, a, number(0)), Z3_mk_gt(z, b, number(0)));
		terms_assert(Z3_mk_implies(z, plus, Z3_mk_eq(z, r, divide(a, b))));
		return r;
	}
	case LLVMSRem: {
		r = unknown_of(v);
		Z3_ast plus = both(Z3_mk_ge(z, a, number(0)), Z3_mk_gt(z, b, number(0)));
		if (is_numeral(b, &n) && n > 0)
			terms_assert(Z3_mk_implies(z, plus, Z3_mk_eq(z, r, Z3_mk_mod(z, a, b))));
		terms_assert(Z3_mk_implies(z, plus, both(Z3_mk_ge(z, r, number(0)), Z3_mk_lt(z, r, b))));
		return r;
	}
	case LLVMAnd: { /* with ones in a row */
		int low = is_numeral(b, &n) && n > 0 ? __builtin_ctzll((uint64_t)n) : -1;
		int64_t ones = low < 0 ? 0 : n >> low;
		if (low < 0 || ones & (ones + 1))
			return unknown_of(v);
		r = as_unsigned(a, bits);
		r = low ? Z3_mk_div(z, r, number((int64_t)1 << low)) : r;
		return times(modulo(r, number(ones + 1)), number((int64_t)1 << low));
	}
	case LLVMOr: return LLVMGetIsDisjoint(v) ? add(a, b) : unknown_of(v);
	default: return unknown_of(v);
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
		return c ? Z3_mk_ite(z, c, number(op == LLVMSExt ? -1 : 1), number(0)) : unknown_of(v);
	}
	Z3_ast t = term(from, f);
	switch (op) {
	case LLVMZExt: return LLVMGetNNeg(v) ? t : as_unsigned(t, width(from));
	case LLVMTrunc: return wrap(t, width(v));
	case LLVMSExt:
	case LLVMPtrToInt:
	case LLVMIntToPtr:
	case LLVMFreeze:
	case LLVMBitCast:
	case LLVMAddrSpaceCast: return t;
	default: return unknown_of(v);
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
			return unknown();
		Z3_ast step = times(term(index, f), number((int64_t)LLVMABISizeOfType(program.m->layout, type)));
		t = add(t, LLVMIsInBounds(v) ? step : wrap(step, 64));
	}
	return t;
}

/* ---- loops ----------------------------------------------------------------------------------------------------------------------- */

/* Is it the same in every round? */
static bool invariant(LLVMValueRef v, LLVMBasicBlockRef header)
{
	if (!LLVMIsAInstruction(v) || !plugin_in_loop(header, LLVMGetInstructionParent(v)))
		return true;
	if (LLVMIsALoadInst(v))
		return stable_load(v, true);
	if (LLVMIsACastInst(v))
		return invariant(LLVMGetOperand(v, 0), header);
	return LLVMIsABinaryOperator(v) && invariant(LLVMGetOperand(v, 0), header) &&
	       invariant(LLVMGetOperand(v, 1), header);
}

static Z3_ast round_of(LLVMBasicBlockRef header, const struct frame *f)
{
	for (unsigned i = 0; i < round_count; i++)
		if (rounds[i].header == header && rounds[i].f == f)
			return rounds[i].k;
	Z3_ast k = unknown();
	terms_assert(Z3_mk_ge(z, k, number(0)));
	if (round_count < 32)
		rounds[round_count++] = (struct round_row){ header, f, k };
	return k;
}

/* What the test at the end of the round before says of the value now. */
static void bound_by_latch(LLVMValueRef phi, LLVMValueRef next, Z3_ast v, Z3_ast init, Z3_ast step, Z3_ast k,
			   const struct plugin_loop *l, const struct frame *f)
{
	LLVMValueRef end = l->latch ? LLVMGetBasicBlockTerminator(l->latch) : NULL;
	LLVMValueRef test = end && LLVMIsABranchInst(end) && LLVMIsConditional(end) ? LLVMGetCondition(end) : NULL;
	int64_t n;

	if (!test || !LLVMIsAICmpInst(test))
		return;
	LLVMIntPredicate how = LLVMGetICmpPredicate(test);
	LLVMValueRef x = LLVMGetOperand(test, 0), limit = LLVMGetOperand(test, 1);
	bool wraps = LLVMGetInstructionOpcode(next) == LLVMAdd && !LLVMGetNSW(next);
	if ((x != phi && x != next) || (x == phi && wraps) || !invariant(limit, l->header))
		return;
	Z3_ast then = x == next ? v : sub(v, step), to = term(limit, f);
	bool goes_on_if_true = LLVMGetSuccessor(end, 0) == l->header;
	Z3_ast first = Z3_mk_eq(z, k, number(0));
	if (how != LLVMIntEQ && how != LLVMIntNE) {
		Z3_ast holds = compare(how, then, to, width(x));
		terms_assert(either(first, goes_on_if_true ? holds : Z3_mk_not(z, holds)));
	} else if ((how == LLVMIntEQ) == goes_on_if_true) {
		terms_assert(either(first, Z3_mk_eq(z, then, to)));
	} else if (is_numeral(step, &n) && n > 0) {
		/* It stops when it meets the limit: it has not gone past it, if it began before it and does not jump over it. */
		Z3_ast begin = x == next ? add(init, step) : init;
		Z3_ast meets = both(Z3_mk_le(z, begin, to), Z3_mk_eq(z, Z3_mk_mod(z, sub(to, begin), step), number(0)));
		terms_assert(either(first, Z3_mk_implies(z, meets, Z3_mk_lt(z, then, to))));
	}
}

static Z3_ast plain_phi(LLVMValueRef phi, const struct frame *f)
{
	Z3_ast v = unknown_of(phi), any[16];
	unsigned count = LLVMCountIncoming(phi);

	if (count > 16)
		return v;
	for (unsigned i = 0; i < count; i++)
		any[i] = Z3_mk_eq(z, v, term(LLVMGetIncomingValue(phi, i), f));
	terms_assert(Z3_mk_or(z, count, any));
	return v;
}

static Z3_ast phi_term(LLVMValueRef phi, const struct frame *f, Z3_ast *early)
{
	LLVMBasicBlockRef block = LLVMGetInstructionParent(phi);
	struct plugin_loop l;
	LLVMValueRef init = NULL, next = NULL, by = NULL;

	if (!plugin_loop(block, 0, &l) || l.header != block)
		return plain_phi(phi, f);
	if (LLVMCountIncoming(phi) != 2 || !l.latch || !l.before)
		return unknown_of(phi);
	for (unsigned i = 0; i < 2; i++)
		*(LLVMGetIncomingBlock(phi, i) == l.latch ? &next : &init) = LLVMGetIncomingValue(phi, i);
	if (!init || !next || !LLVMIsAInstruction(next))
		return unknown_of(phi);
	bool is_gep = LLVMIsAGetElementPtrInst(next) && LLVMGetNumOperands(next) == 2 && LLVMGetOperand(next, 0) == phi;
	bool is_sum = LLVMGetInstructionOpcode(next) == LLVMAdd &&
		      (LLVMGetOperand(next, 0) == phi || LLVMGetOperand(next, 1) == phi);
	if (is_gep)
		by = LLVMGetOperand(next, 1);
	else if (is_sum)
		by = LLVMGetOperand(next, LLVMGetOperand(next, 0) == phi);
	if (!by || by == phi || !invariant(by, block))
		return unknown_of(phi);
	Z3_ast v = unknown_of(phi), k = round_of(block, f);
	*early = v;
	Z3_ast begin = term(init, f), step = term(by, f);
	if (is_gep)
		step = times(step,
			     number((int64_t)LLVMABISizeOfType(program.m->layout, LLVMGetGEPSourceElementType(next))));
	Z3_ast sum = add(begin, multiply(k, step));
	terms_assert(Z3_mk_eq(z, v, is_gep || LLVMGetNSW(next) ? sum : wrap(sum, width(phi))));
	bound_by_latch(phi, next, v, begin, step, k, &l, f);
	return v;
}

/* ---- values ------------------------------------------------------------------------------------------------------------------------ */

static Z3_ast named(const char *kind, const void *key, LLVMValueRef v)
{
	char name[64];

	snprintf(name, sizeof name, "%s%p", kind, key);
	Z3_ast t = Z3_mk_const(z, Z3_mk_string_symbol(z, name), integer);
	if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind)
		bound(t, width(v));
	return t;
}

static Z3_ast argument(LLVMValueRef v, const struct frame *f)
{
	unsigned n = 0;

	for (LLVMValueRef p = LLVMGetFirstParam(LLVMGetParamParent(v)); p && p != v; p = LLVMGetNextParam(p))
		n++;
	if (!f->up) {
		/* A function that is called once: what it was given then. */
		const struct call *only = f->side == 2 || f->creates ? program_only_call(LLVMGetParamParent(v)) : NULL;
		if (only && n < LLVMGetNumArgOperands(only->inst))
			return term(LLVMGetOperand(only->inst, n), &common);
		return f->side == 2 || f->creates ? named("p", v, v) : unknown_of(v);
	}
	if (f->up->creates)
		n = LLVMGetNumArgOperands(f->call->inst) - 1;
	return n < LLVMGetNumArgOperands(f->call->inst) ? term(LLVMGetOperand(f->call->inst, n), f->up) : unknown_of(v);
}

/* Does no other round of the loop that creates threads write the same place? */
static bool written_once(LLVMValueRef store, uint64_t size, const struct frame *mine)
{
	static struct frame other;
	struct plugin_loop l;

	if (!plugin_loop(LLVMGetInstructionParent(store), 0, &l))
		return program_is_once(store);
	other = (struct frame){ NULL, NULL, 1 - mine->side, mine->creates };
	Z3_ast here = term(LLVMGetOperand(store, 1), mine);
	Z3_ast there = term(LLVMGetOperand(store, 1), &other);
	Z3_solver_push(z, solver);
	terms_differ(mine, &other);
	bool touches = terms_may_touch(here, size, there, size);
	Z3_solver_pop(z, solver, 1);
	return !touches;
}

static Z3_ast load_term(LLVMValueRef v, const struct frame *f)
{
	const struct frame *top = f;
	const struct bits *set = objects_of(LLVMGetOperand(v, 0));

	while (top->up && !top->up->creates)
		top = top->up;
	bool by_main = !top->up; /* also in frames of creation */
	if (LLVMGetVolatile(v) || LLVMGetOrdering(v) != LLVMAtomicOrderingNotAtomic)
		return unknown_of(v);
	if (set && bits_count(set) == 1 && stable_load(v, by_main)) {
		uint32_t place = set->words[0].at * 64 + (uint32_t)__builtin_ctzll(set->words[0].bits);
		char kind[32];
		snprintf(kind, sizeof kind, "m%u_", width(v));
		return named(kind, (void *)(uintptr_t)(place + 1), v);
	}
	if (!by_main && top->up->creates) {
		LLVMValueRef store = stable_argument_store(v, top->up->creates);
		Z3_ast here = store ? term(LLVMGetOperand(v, 0), f) : NULL;
		if (store && terms_same(here, term(LLVMGetOperand(store, 1), top->up)) &&
		    written_once(store, width(v) / 8, top->up))
			return term(LLVMGetOperand(store, 0), top->up);
	}
	return unknown_of(v);
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
			return Z3_mk_ite(z, compare(choices[i].how, a, b, width(v)), a, b);
		}
	return unknown_of(v);
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
		return width(v) > 64 ? unknown() : number(LLVMConstIntGetSExtValue(v));
	if (LLVMIsNull(v))
		return number(0);
	if (LLVMIsAGlobalVariable(v) && !LLVMIsThreadLocal(v))
		return named("g", v, v);
	if (LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMGetElementPtr)
		return gep(v, f);
	if (LLVMIsAArgument(v))
		return argument(v, f);
	if (!LLVMIsAInstruction(v) || is_boolean(v))
		return unknown_of(v);
	if (LLVMIsAPHINode(v))
		return phi_term(v, f, early);
	if (LLVMIsABinaryOperator(v))
		return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind ? binary(v, f) : unknown();
	if (LLVMIsACastInst(v) || LLVMGetInstructionOpcode(v) == LLVMFreeze)
		return cast_term(v, f);
	if (LLVMIsAGetElementPtrInst(v))
		return gep(v, f);
	if (LLVMIsALoadInst(v))
		return load_term(v, f);
	if (LLVMIsASelectInst(v)) {
		Z3_ast c = condition(LLVMGetOperand(v, 0), f);
		Z3_ast a = term(LLVMGetOperand(v, 1), f), b = term(LLVMGetOperand(v, 2), f);
		return c ? Z3_mk_ite(z, c, a, b) : unknown_of(v);
	}
	if (LLVMIsACallInst(v))
		return intrinsic(v, f);
	if (LLVMIsAAllocaInst(v) && program_is_once(v))
		return named("a", v, v);
	return unknown_of(v);
}

static Z3_ast term(LLVMValueRef v, const struct frame *f)
{
	LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(v));

	if (kind != LLVMIntegerTypeKind && kind != LLVMPointerTypeKind)
		return unknown();
	f = frame_of(v, f);
	size_t i = ((uintptr_t)v >> 4) * 31 + ((uintptr_t)f >> 4), tries = 0;
	while (memo[i % MEMO].v && (memo[i % MEMO].v != v || memo[i % MEMO].f != f) && ++tries < MEMO / 2)
		i++;
	struct memo *m = &memo[i % MEMO];
	if (m->v == v && m->f == f)
		return m->term ? m->term : unknown_of(v); /* a value that depends on itself */
	if (tries >= MEMO / 2 || depth > DEEPEST)
		return unknown_of(v);
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

Z3_ast terms_round(LLVMBasicBlockRef header, const struct frame *f)
{
	return round_of(header, f);
}

bool terms_invariant(LLVMValueRef v, LLVMBasicBlockRef header)
{
	return invariant(v, header);
}

Z3_ast terms_of(LLVMValueRef v, const struct frame *f)
{
	return term(v, f);
}

/* ---- conditions and questions ---------------------------------------------------------------------------------------------------------- */

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

void terms_conditions(LLVMBasicBlockRef block, const struct frame *f)
{
	LLVMBasicBlockRef above[200];
	unsigned count = 0;

	/* From the outside in: what is known already makes the rest simpler. */
	if (f->up)
		terms_conditions(LLVMGetInstructionParent(f->call->inst), f->up);
	for (LLVMBasicBlockRef at = plugin_dominator(block); at && count < 200; at = plugin_dominator(at))
		above[count++] = at;
	while (count--)
		add_condition(above[count], block, f);
}

void terms_differ(const struct frame *a, const struct frame *b)
{
	Z3_ast any[8];
	unsigned count = 0;
	struct plugin_loop l;

	while (count < 8 && plugin_loop(LLVMGetInstructionParent(a->creates->inst), count, &l)) {
		any[count] = Z3_mk_not(z, Z3_mk_eq(z, round_of(l.header, a), round_of(l.header, b)));
		count++;
	}
	if (count && count < 8)
		terms_assert(Z3_mk_or(z, count, any));
}

bool terms_may_meet(Z3_ast a, Z3_ast size_a, Z3_ast b, Z3_ast size_b)
{
	terms_assert(Z3_mk_lt(z, a, add(b, size_b)));
	terms_assert(Z3_mk_lt(z, b, add(a, size_a)));
	return Z3_solver_check(z, solver) != Z3_L_FALSE;
}

bool terms_may_touch(Z3_ast a, uint64_t size_a, Z3_ast b, uint64_t size_b)
{
	return terms_may_meet(a, number((int64_t)size_a), b, number((int64_t)size_b));
}

bool terms_surely(Z3_ast fact)
{
	Z3_ast simple = Z3_simplify(z, fact);

	if (Z3_get_bool_value(z, simple) != Z3_L_UNDEF)
		return Z3_get_bool_value(z, simple) == Z3_L_TRUE;
	Z3_solver_push(z, solver);
	Z3_solver_assert(z, solver, Z3_mk_not(z, fact));
	bool sure = Z3_solver_check(z, solver) == Z3_L_FALSE;
	Z3_solver_pop(z, solver, 1);
	return sure;
}

bool terms_same(Z3_ast a, Z3_ast b)
{
	int64_t n;

	return is_numeral(sub(a, b), &n) && n == 0;
}

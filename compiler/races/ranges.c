/*
 * What can be said of a value in every round of every loop, without the solver: the numbers that a loop counts through,
 * if its beginning, its step and its limit are constants; and how large a value can become, by the bits that it is made
 * of.
 */
#include "compiler/races/numbers.h"

enum { DEEPEST = 12 };

static unsigned width(LLVMValueRef v)
{
	return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(LLVMTypeOf(v)) : 0;
}

static uint64_t ones(unsigned bits)
{
	return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

static int64_t with_sign(uint64_t n, unsigned bits)
{
	return (int64_t)(n << (64 - bits)) >> (64 - bits);
}

/* ---- loops that count from constant to constant ------------------------------------------------------------------ */

static bool step(LLVMOpcode op, uint64_t *n, uint64_t by, unsigned bits)
{
	switch (op) {
	case LLVMAdd: *n += by; break;
	case LLVMSub: *n -= by; break;
	case LLVMMul: *n *= by; break;
	case LLVMShl: *n = by < bits ? *n << by : 0; break;
	case LLVMLShr: *n = by < bits ? *n >> by : 0; break;
	case LLVMUDiv: *n /= by; break;
	default: return false;
	}
	*n &= ones(bits);
	return true;
}

static bool passes(LLVMIntPredicate how, uint64_t a, uint64_t b, unsigned bits)
{
	int64_t x = with_sign(a, bits), y = with_sign(b, bits);

	switch (how) {
	case LLVMIntEQ: return a == b;
	case LLVMIntNE: return a != b;
	case LLVMIntUGT: return a > b;
	case LLVMIntUGE: return a >= b;
	case LLVMIntULT: return a < b;
	case LLVMIntULE: return a <= b;
	case LLVMIntSGT: return x > y;
	case LLVMIntSGE: return x >= y;
	case LLVMIntSLT: return x < y;
	default: return x <= y;
	}
}

bool ranges_values(LLVMValueRef phi, int64_t *values, unsigned *count)
{
	struct loop_value l;
	struct loop_test t;
	unsigned bits = width(phi);

	*count = 0;
	if (!bits || bits > 64 || !loops_value(phi, &l) || !loops_test(phi, &l, &t) || !LLVMIsABinaryOperator(l.next) ||
	    LLVMGetOperand(l.next, 0) != phi || !LLVMIsAConstantInt(LLVMGetOperand(l.next, 1)) ||
	    !LLVMIsAConstantInt(l.init) || !LLVMIsAConstantInt(t.limit))
		return false;
	uint64_t n = LLVMConstIntGetZExtValue(l.init), by = LLVMConstIntGetZExtValue(LLVMGetOperand(l.next, 1));
	uint64_t limit = LLVMConstIntGetZExtValue(t.limit);
	if (!by)
		return false;
	while (*count < MOST_CHOICES) {
		uint64_t now = n;
		values[(*count)++] = with_sign(n, bits);
		if (!step(LLVMGetInstructionOpcode(l.next), &n, by, bits))
			return false;
		if (!passes(t.how, t.of_next ? n : now, limit, bits))
			return true;
	}
	return false;
}

/* ---- the largest that a value can be, without sign --------------------------------------------------------------- */

static uint64_t most(LLVMValueRef v, unsigned depth);

/* All bits up to the highest of n. */
static uint64_t cover(uint64_t n)
{
	return n ? UINT64_MAX >> __builtin_clzll(n) : 0;
}

static uint64_t most_of_phi(LLVMValueRef phi, unsigned depth)
{
	int64_t values[MOST_CHOICES];
	struct loop_value l;
	uint64_t all = 0, mask = ones(width(phi));
	unsigned count;

	if (ranges_values(phi, values, &count)) {
		for (unsigned i = 0; i < count; i++)
			all = ((uint64_t)values[i] & mask) > all ? (uint64_t)values[i] & mask : all;
		return all;
	}
	if (!loops_value(phi, &l) || LLVMGetInstructionOpcode(l.next) != LLVMOr)
		return mask;
	LLVMValueRef a = LLVMGetOperand(l.next, 0), b = LLVMGetOperand(l.next, 1);
	if (a != phi && b != phi)
		return mask;
	return cover(most(l.init, depth + 1) | most(a == phi ? b : a, depth + 1));
}

static uint64_t most_of_operator(LLVMValueRef v, unsigned depth)
{
	LLVMOpcode op = LLVMGetInstructionOpcode(v);
	unsigned bits = width(v);
	uint64_t a = most(LLVMGetOperand(v, 0), depth + 1), b = most(LLVMGetOperand(v, 1), depth + 1);

	switch (op) {
	case LLVMAnd: return a < b ? a : b;
	case LLVMOr:
	case LLVMXor: return cover(a | b);
	case LLVMShl: return b < bits && a <= ones(bits) >> b ? a << b : ones(bits);
	case LLVMLShr: return LLVMIsAConstantInt(LLVMGetOperand(v, 1)) && b < bits ? a >> b : a;
	case LLVMSub: return LLVMGetNUW(v) ? a : ones(bits);
	case LLVMAdd: return a <= ones(bits) - b ? a + b : ones(bits);
	case LLVMUDiv: return a;
	case LLVMURem: return b && b - 1 < a ? b - 1 : a;
	default: return ones(bits);
	}
}

static uint64_t most(LLVMValueRef v, unsigned depth)
{
	unsigned bits = width(v);

	if (LLVMIsAConstantInt(v) && bits <= 64)
		return LLVMConstIntGetZExtValue(v);
	if (!LLVMIsAInstruction(v) || !bits || bits > 64 || depth > DEEPEST)
		return ones(bits ? bits : 64);
	if (LLVMIsAZExtInst(v))
		return most(LLVMGetOperand(v, 0), depth + 1);
	if (LLVMIsATruncInst(v)) {
		uint64_t a = most(LLVMGetOperand(v, 0), depth + 1);
		return a < ones(bits) ? a : ones(bits);
	}
	if (LLVMIsAPHINode(v))
		return most_of_phi(v, depth);
	return LLVMIsABinaryOperator(v) ? most_of_operator(v, depth) : ones(bits);
}

uint64_t ranges_most(LLVMValueRef v)
{
	return most(v, 0);
}

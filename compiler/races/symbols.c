/*
 * See symbols.h. A symbol is (base, plus): what it is made from, and a number, modulo its width. Base 0 is nothing: a
 * number.
 */
#include <stdlib.h>
#include "compiler/races/symbols.h"

enum { NAME = 1000, MOST_SYMBOLS = 4096 };

static struct base {
	unsigned op, how, bits; /* LLVMOpcode, or NAME: a number of its own is in `how` */
	symbol a, b, c;
} * bases;
static struct value {
	uint32_t base;
	int64_t plus;
	unsigned bits;
} * values;
static uint32_t base_count, value_count;
static struct {
	symbol counter, parties;
	int64_t least, most;
} bound;

void symbols_begin(void)
{
	bases = calloc(MOST_SYMBOLS, sizeof *bases);
	values = calloc(MOST_SYMBOLS, sizeof *values);
	if (!bases || !values)
		compiler_die("out of memory");
	base_count = value_count = 1;
	symbols_bound(0, 0, 0, 0);
}

void symbols_end(void)
{
	free(bases);
	free(values);
}

void symbols_bound(symbol counter, int64_t least, symbol parties, int64_t most)
{
	bound.counter = counter;
	bound.least = least;
	bound.parties = parties;
	bound.most = most;
}

/* ---- making them ------------------------------------------------------------------------------------------------- */

static int64_t wrap(int64_t n, unsigned bits)
{
	return bits >= 64 ? n : (int64_t)((uint64_t)n << (64 - bits)) >> (64 - bits);
}

/* When there are too many, the last one is all the rest, of which nothing is known: 0. */
static symbol value_of(uint32_t base, int64_t plus, unsigned bits)
{
	plus = wrap(plus, bits);
	for (uint32_t i = 1; i < value_count; i++)
		if (values[i].base == base && values[i].plus == plus && values[i].bits == bits)
			return i;
	if (value_count == MOST_SYMBOLS || !bits || bits > 64)
		return 0;
	values[value_count] = (struct value){ base, plus, bits };
	return value_count++;
}

static symbol add_base(struct base made)
{
	if (base_count == MOST_SYMBOLS)
		return 0;
	bases[base_count] = made;
	return value_of(base_count++, 0, made.bits);
}

symbol symbols_number(int64_t number, unsigned bits)
{
	return value_of(0, number, bits);
}

symbol symbols_new(unsigned bits)
{
	return add_base((struct base){ .op = NAME, .how = base_count, .bits = bits });
}

symbol symbols_plus(symbol s, int64_t more)
{
	return s ? value_of(values[s].base, values[s].plus + more, values[s].bits) : 0;
}

unsigned symbols_bits(symbol s)
{
	return s ? values[s].bits : 0;
}

bool symbols_is_number(symbol s, int64_t *number)
{
	if (!s || values[s].base)
		return false;
	*number = values[s].plus;
	return true;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

enum { NO, YES, PERHAPS };

/* x - y, as far as it is known, and without a wrap. */
struct interval {
	bool from_known, to_known;
	int64_t from, to;
};

static bool small(int64_t n, int64_t from, int64_t to)
{
	return n >= from && n <= to;
}

/*
 * The counter, or the next number, against the parties, or one less. None of them wraps: 0 <= counter < parties.
 * Against a number that is not negative.
 */
static bool known_distance(symbol x, symbol y, struct interval *d)
{
	const struct value *a = &values[x], *b = &values[y], *c = &values[bound.counter], *p = &values[bound.parties];

	*d = (struct interval){ 0 };
	if (!bound.counter || a->base != c->base || !small(a->plus, 0, 1))
		return false;
	if (!b->base && b->plus >= 0) {
		*d = (struct interval){ true, !p->base, bound.least + a->plus - b->plus,
					p->plus + bound.most + a->plus - b->plus };
		return true;
	}
	if (b->base != p->base || !small(b->plus - p->plus, -1, 0))
		return b->base == a->base && small(b->plus, 0, 1) &&
		       (*d = (struct interval){ true, true, a->plus - b->plus, a->plus - b->plus }, true);
	*d = (struct interval){ false, true, 0, bound.most + a->plus - (b->plus - p->plus) };
	return true;
}

static int judge(LLVMIntPredicate how, struct interval d)
{
	bool below = d.to_known && d.to < 0, above = d.from_known && d.from > 0;
	bool not_above = d.to_known && d.to <= 0, not_below = d.from_known && d.from >= 0;

	switch (how) {
	case LLVMIntEQ: return below || above ? NO : not_above && not_below ? YES : PERHAPS;
	case LLVMIntNE: return below || above ? YES : not_above && not_below ? NO : PERHAPS;
	case LLVMIntSLT:
	case LLVMIntULT: return below ? YES : not_below ? NO : PERHAPS;
	case LLVMIntSLE:
	case LLVMIntULE: return not_above ? YES : above ? NO : PERHAPS;
	case LLVMIntSGT:
	case LLVMIntUGT: return above ? YES : not_above ? NO : PERHAPS;
	default: return not_below ? YES : below ? NO : PERHAPS;
	}
}

/* The lowest bit of a value, if it is made from one; else 0. */
static symbol lowest(symbol s)
{
	const struct base *b = &bases[values[s].base];

	return !values[s].plus && b->op == LLVMTrunc && values[s].bits == 1 ? b->a : 0;
}

/* Is it made so that it is never what it is made from? x ^ n; !x; !(lowest bit of x). */
static bool never_same(symbol made, symbol x)
{
	const struct base *b = &bases[values[made].base];
	int64_t n;

	if (values[made].plus)
		return false;
	if (b->op == LLVMXor)
		return (b->a == x && symbols_is_number(b->b, &n) && n) ||
		       (b->b == x && symbols_is_number(b->a, &n) && n);
	if (b->op == LLVMICmp && b->how == LLVMIntEQ && symbols_is_number(b->b, &n) && !n)
		return b->a == x; /* both are one bit */
	if (b->op != LLVMZExt)
		return false;
	const struct base *inner = &bases[values[b->a].base];
	if (values[b->a].plus || symbols_bits(b->a) != 1)
		return false;
	if (inner->op == LLVMXor)
		return symbols_is_number(inner->b, &n) && n && lowest(inner->a) == x;
	return inner->op == LLVMICmp && inner->how == LLVMIntEQ && symbols_is_number(inner->b, &n) && !n &&
	       (inner->a == x || lowest(inner->a) == x);
}

static LLVMIntPredicate turned(LLVMIntPredicate how)
{
	static const LLVMIntPredicate other[] = {
		[LLVMIntEQ] = LLVMIntEQ,   [LLVMIntNE] = LLVMIntNE,   [LLVMIntUGT] = LLVMIntULT,
		[LLVMIntUGE] = LLVMIntULE, [LLVMIntULT] = LLVMIntUGT, [LLVMIntULE] = LLVMIntUGE,
		[LLVMIntSGT] = LLVMIntSLT, [LLVMIntSGE] = LLVMIntSLE, [LLVMIntSLT] = LLVMIntSGT,
		[LLVMIntSLE] = LLVMIntSGE,
	};
	return other[how];
}

static int compare_numbers(LLVMIntPredicate how, int64_t a, int64_t b, unsigned bits)
{
	uint64_t mask = bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1, x = (uint64_t)a & mask,
		 y = (uint64_t)b & mask;
	bool is_unsigned = how >= LLVMIntUGT && how <= LLVMIntULE;
	int64_t way = is_unsigned ? (x > y) - (x < y) : (a > b) - (a < b);

	return judge(how, (struct interval){ true, true, way, way });
}

static int compare(LLVMIntPredicate how, symbol x, symbol y)
{
	bool equality = how == LLVMIntEQ || how == LLVMIntNE;
	struct interval d;

	if (x == y)
		return judge(how, (struct interval){ true, true, 0, 0 });
	if (!values[x].base && !values[y].base)
		return compare_numbers(how, values[x].plus, values[y].plus, values[x].bits);
	if (known_distance(x, y, &d))
		return judge(how, d);
	if (known_distance(y, x, &d))
		return judge(turned(how), d);
	if (equality && (values[x].base == values[y].base || never_same(x, y) || never_same(y, x)))
		return how == LLVMIntNE ? YES : NO;
	return PERHAPS;
}

/* ---- what instructions make -------------------------------------------------------------------------------------- */

static unsigned width(LLVMValueRef v)
{
	return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(LLVMTypeOf(v)) : 0;
}

static symbol find_base(struct base made)
{
	for (uint32_t i = 1; i < base_count; i++) {
		const struct base *b = &bases[i];
		if (b->op == made.op && b->how == made.how && b->bits == made.bits && b->a == made.a &&
		    b->b == made.b && b->c == made.c)
			return value_of(i, 0, made.bits);
	}
	return add_base(made);
}

static bool fold(LLVMOpcode op, int64_t a, int64_t b, int64_t *to)
{
	switch (op) {
	case LLVMAdd: *to = (int64_t)((uint64_t)a + (uint64_t)b); return true;
	case LLVMSub: *to = (int64_t)((uint64_t)a - (uint64_t)b); return true;
	case LLVMXor: *to = a ^ b; return true;
	case LLVMAnd: *to = a & b; return true;
	case LLVMOr: *to = a | b; return true;
	default: return false;
	}
}

static symbol binary(LLVMOpcode op, symbol a, symbol b, unsigned bits)
{
	int64_t n = 0, m = 0, r;
	bool left = symbols_is_number(a, &n), right = symbols_is_number(b, &m);

	if (left && right && fold(op, n, m, &r))
		return symbols_number(r, bits);
	if (op == LLVMAdd && (left || right))
		return left ? symbols_plus(b, n) : symbols_plus(a, m);
	if (op == LLVMSub && right)
		return symbols_plus(a, -m);
	if (bits == 1 && (op == LLVMAnd || op == LLVMOr) && (left || right)) {
		symbol other = left ? b : a;
		bool yes = left ? n : m;
		return yes == (op == LLVMAnd) ? other : symbols_number(op == LLVMOr ? -1 : 0, 1);
	}
	return find_base((struct base){ .op = op, .bits = bits, .a = a, .b = b });
}

static symbol cast(LLVMOpcode op, symbol a, unsigned bits)
{
	unsigned from = symbols_bits(a);
	int64_t n;

	if (op == LLVMFreeze || op == LLVMBitCast)
		return a;
	if (symbols_is_number(a, &n))
		return symbols_number(op == LLVMZExt && from < 64 ? n & (int64_t)(((uint64_t)1 << from) - 1) : n, bits);
	const struct base *b = &bases[values[a].base];
	if (op == LLVMTrunc && !values[a].plus && (b->op == LLVMZExt || b->op == LLVMSExt) &&
	    symbols_bits(b->a) == bits)
		return b->a;
	return find_base((struct base){ .op = op, .bits = bits, .a = a });
}

symbol symbols_made(LLVMValueRef inst, const symbol *operands, unsigned count)
{
	LLVMOpcode op = LLVMGetInstructionOpcode(inst);
	unsigned bits = width(inst);

	if (!bits)
		return 0;
	for (unsigned i = 0; i < count; i++)
		if (!operands[i])
			return symbols_new(bits);
	if (LLVMIsABinaryOperator(inst))
		return binary(op, operands[0], operands[1], bits);
	if (LLVMIsACastInst(inst) || op == LLVMFreeze)
		return cast(op, operands[0], bits);
	if (op == LLVMICmp) {
		int known = compare(LLVMGetICmpPredicate(inst), operands[0], operands[1]);
		return known != PERHAPS ? symbols_number(known == YES ? -1 : 0, 1) :
					  find_base((struct base){ .op = op,
								   .how = LLVMGetICmpPredicate(inst),
								   .bits = 1,
								   .a = operands[0],
								   .b = operands[1] });
	}
	if (op == LLVMSelect) {
		int64_t yes;
		if (symbols_is_number(operands[0], &yes))
			return operands[yes ? 1 : 2];
		return find_base(
			(struct base){ .op = op, .bits = bits, .a = operands[0], .b = operands[1], .c = operands[2] });
	}
	return symbols_new(bits);
}

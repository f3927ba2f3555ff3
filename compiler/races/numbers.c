/*
 * Arithmetic over terms: see numbers.h. A product of two unknowns is a function of them of which the solver is told
 * what divides arrays among threads: monotony, and that one factor more is at least one multiple more. Being a
 * function, it is the same for the same.
 */
#include <stdio.h>
#include <string.h>
#include "compiler/races/numbers.h"

enum { DEEPEST = 10 };

static struct product products[MOST_PRODUCTS];
static unsigned product_count;
static struct known_interval known[MOST_KNOWN];
static unsigned known_count;
static struct choices {
	Z3_ast t;
	int64_t values[MOST_CHOICES];
	unsigned count;
} choices[8];
static unsigned choice_count, unknown_count, asks;

void numbers_begin(unsigned who)
{
	product_count = known_count = choice_count = unknown_count = 0;
	asks = who;
}

/* ---- small words ------------------------------------------------------------------------------------------------- */

Z3_ast numbers_power(unsigned bits)
{
	char text[32];

	if (bits < 63)
		return number((int64_t)1 << bits);
	snprintf(text, sizeof text, "%s", bits == 63 ? "9223372036854775808" : "18446744073709551616");
	return Z3_mk_numeral(terms_context(), text, Z3_mk_int_sort(terms_context()));
}

Z3_ast numbers_unknown(void)
{
	Z3_context z = terms_context();
	char name[32];

	snprintf(name, sizeof name, "u%u!%u", asks, unknown_count++);
	return Z3_mk_const(z, Z3_mk_string_symbol(z, name), Z3_mk_int_sort(z));
}

Z3_ast numbers_made(const char *how, unsigned bits, Z3_ast a, Z3_ast b)
{
	Z3_context z = terms_context();
	char name[80];

	snprintf(name, sizeof name, "%s%u_%u_%u", how, bits, Z3_get_ast_id(z, a), Z3_get_ast_id(z, b));
	return Z3_mk_const(z, Z3_mk_string_symbol(z, name), Z3_mk_int_sort(z));
}

void numbers_bound(Z3_ast t, unsigned bits)
{
	Z3_context z = terms_context();

	if (bits > 64 || !bits)
		return;
	if (bits < 64 && Z3_get_ast_kind(z, t) == Z3_APP_AST) {
		numbers_is_within(t, (struct interval){ -((int64_t)1 << (bits - 1)), ((int64_t)1 << (bits - 1)) - 1 });
		return;
	}
	Z3_ast half = numbers_power(bits - 1);
	terms_assert(Z3_mk_le(z, Z3_mk_unary_minus(z, half), t));
	terms_assert(Z3_mk_lt(z, t, half));
}

Z3_ast numbers_unknown_of(unsigned bits)
{
	Z3_ast t = numbers_unknown();

	numbers_bound(t, bits);
	return t;
}

bool numbers_is(Z3_ast t, int64_t *n)
{
	Z3_context z = terms_context();
	Z3_ast s = Z3_simplify(z, t);

	return Z3_get_ast_kind(z, s) == Z3_NUMERAL_AST && Z3_get_numeral_int64(z, s, n);
}

/* ---- intervals --------------------------------------------------------------------------------------------------- */

static const struct interval everything = { INT64_MIN, INT64_MAX };

static int64_t clamp(__int128 n)
{
	return n <= INT64_MIN ? INT64_MIN : n >= INT64_MAX ? INT64_MAX : (int64_t)n;
}

static bool has_end(struct interval i)
{
	return i.from != INT64_MIN && i.to != INT64_MAX;
}

static struct interval sum(struct interval a, struct interval b)
{
	return (struct interval){ a.from == INT64_MIN || b.from == INT64_MIN ? INT64_MIN :
									       clamp((__int128)a.from + b.from),
				  a.to == INT64_MAX || b.to == INT64_MAX ? INT64_MAX : clamp((__int128)a.to + b.to) };
}

static struct interval product(struct interval a, struct interval b)
{
	struct interval r = { INT64_MAX, INT64_MIN };

	if (!has_end(a) || !has_end(b))
		return a.from >= 0 && b.from >= 0 ? (struct interval){ 0, INT64_MAX } : everything;
	for (int i = 0; i < 4; i++) {
		int64_t n = clamp((__int128)(i & 1 ? a.from : a.to) * (i & 2 ? b.from : b.to));
		r.from = n < r.from ? n : r.from;
		r.to = n > r.to ? n : r.to;
	}
	return r;
}

static struct interval join(struct interval a, struct interval b)
{
	return (struct interval){ a.from < b.from ? a.from : b.from, a.to > b.to ? a.to : b.to };
}

static struct interval negative(struct interval a)
{
	return (struct interval){ a.to == INT64_MAX ? INT64_MIN : -a.to, a.from == INT64_MIN ? INT64_MAX : -a.from };
}

static struct interval known_of(Z3_ast t)
{
	for (unsigned i = known_count; i-- > 0;)
		if (Z3_is_eq_ast(terms_context(), known[i].t, t))
			return known[i].in;
	return everything;
}

static struct interval interval_of(Z3_ast t, unsigned depth);

static struct interval interval_of_app(Z3_ast t, unsigned depth)
{
	Z3_context z = terms_context();
	Z3_app app = Z3_to_app(z, t);
	Z3_decl_kind kind = Z3_get_decl_kind(z, Z3_get_app_decl(z, app));
	unsigned count = Z3_get_app_num_args(z, app);

	if (kind != Z3_OP_ADD && kind != Z3_OP_SUB && kind != Z3_OP_MUL && kind != Z3_OP_UMINUS && kind != Z3_OP_ITE &&
	    kind != Z3_OP_MOD && kind != Z3_OP_IDIV)
		return known_of(t);
	struct interval a = interval_of(Z3_get_app_arg(z, app, kind == Z3_OP_ITE), depth + 1);
	if (kind == Z3_OP_UMINUS)
		return negative(a);
	for (unsigned i = kind == Z3_OP_ITE ? 2 : 1; i < count; i++) {
		struct interval b = interval_of(Z3_get_app_arg(z, app, i), depth + 1);
		bool divides = b.from == b.to && b.from > 0;
		switch (kind) {
		case Z3_OP_ADD: a = sum(a, b); break;
		case Z3_OP_SUB: a = sum(a, negative(b)); break;
		case Z3_OP_MUL: a = product(a, b); break;
		case Z3_OP_ITE: a = join(a, b); break;
		case Z3_OP_MOD: a = divides ? (struct interval){ 0, b.from - 1 } : everything; break;
		default:
			a = divides && has_end(a) && a.from >= 0 ? (struct interval){ a.from / b.from, a.to / b.from } :
								   everything;
		}
	}
	return a;
}

static struct interval interval_of(Z3_ast t, unsigned depth)
{
	Z3_context z = terms_context();
	int64_t n;

	if (Z3_get_ast_kind(z, t) == Z3_NUMERAL_AST)
		return Z3_get_numeral_int64(z, t, &n) ? (struct interval){ n, n } : everything;
	if (Z3_get_ast_kind(z, t) != Z3_APP_AST || depth > DEEPEST)
		return everything;
	return interval_of_app(t, depth);
}

struct interval numbers_interval(Z3_ast t)
{
	return interval_of(t, 0);
}

void numbers_is_within(Z3_ast unknown, struct interval i)
{
	Z3_context z = terms_context();
	struct interval was = numbers_interval(unknown);

	if (i.from > was.from)
		terms_assert(Z3_mk_ge(z, unknown, number(i.from)));
	if (i.to < was.to)
		terms_assert(Z3_mk_le(z, unknown, number(i.to)));
	i.from = i.from > was.from ? i.from : was.from;
	i.to = i.to < was.to ? i.to : was.to;
	if (known_count < MOST_KNOWN)
		known[known_count++] = (struct known_interval){ unknown, i };
}

const struct known_interval *numbers_known(unsigned *count)
{
	*count = known_count;
	return known;
}

void numbers_know(const struct known_interval *more, unsigned count)
{
	for (unsigned i = 0; i < count && known_count < MOST_KNOWN; i++)
		known[known_count++] = more[i];
}

void numbers_is_one_of(Z3_ast unknown, const int64_t *values, unsigned count)
{
	Z3_context z = terms_context();
	struct interval in = { INT64_MAX, INT64_MIN };
	Z3_ast any[MOST_CHOICES];

	for (unsigned i = 0; i < count; i++) {
		any[i] = Z3_mk_eq(z, unknown, number(values[i]));
		in = join(in, (struct interval){ values[i], values[i] });
	}
	terms_assert(Z3_mk_or(z, count, any));
	numbers_is_within(unknown, in);
	if (choice_count == sizeof choices / sizeof *choices)
		return;
	struct choices *c = &choices[choice_count++];
	c->t = unknown;
	c->count = count;
	memcpy(c->values, values, count * sizeof *values);
}

/* ---- numbers of n bits ------------------------------------------------------------------------------------------- */

bool numbers_fits(Z3_ast t, unsigned bits)
{
	Z3_context z = terms_context();
	struct interval i = numbers_interval(t);
	Z3_ast half = numbers_power(bits - 1);

	if (bits == 64 ? has_end(i) : i.from >= -((int64_t)1 << (bits - 1)) && i.to < (int64_t)1 << (bits - 1))
		return true;
	return terms_surely(both(Z3_mk_le(z, Z3_mk_unary_minus(z, half), t), Z3_mk_lt(z, t, half)));
}

/* Nothing is lost, most often, and then the question stays easy. */
Z3_ast numbers_wrap(Z3_ast t, unsigned bits)
{
	Z3_ast r, q;

	if (bits > 64)
		return numbers_unknown();
	if (numbers_fits(t, bits))
		return t;
	t = Z3_simplify(terms_context(), t);
	r = numbers_made("low", bits, t, t);
	q = numbers_made("high", bits, t, t);
	terms_assert(Z3_mk_eq(terms_context(), t, add(r, times(numbers_power(bits), q))));
	numbers_bound(r, bits);
	return r;
}

Z3_ast numbers_unsigned(Z3_ast t, unsigned bits)
{
	Z3_context z = terms_context();

	if (numbers_interval(t).from >= 0 || terms_surely(Z3_mk_ge(z, t, number(0))))
		return t;
	return Z3_mk_ite(z, Z3_mk_lt(z, t, number(0)), add(t, numbers_power(bits)), t);
}

Z3_ast numbers_modulo(Z3_ast t, Z3_ast n)
{
	struct interval i = numbers_interval(t);
	int64_t m;

	if (numbers_is(n, &m) && i.from >= 0 && i.to < m)
		return t;
	return terms_surely(Z3_mk_lt(terms_context(), t, n)) ? t : Z3_mk_mod(terms_context(), t, n);
}

/* ---- products and quotients -------------------------------------------------------------------------------------- */

static Z3_ast apply(const char *name, Z3_ast a, Z3_ast b)
{
	Z3_context z = terms_context();
	Z3_sort integer = Z3_mk_int_sort(z);
	Z3_func_decl f = Z3_mk_func_decl(z, Z3_mk_string_symbol(z, name), 2, (Z3_sort[]){ integer, integer }, integer);

	return Z3_mk_app(z, f, 2, (Z3_ast[]){ a, b });
}

/* x <= y: p <= q, and one more is a whole factor more. The common factor is not negative. */
static void order_products(Z3_ast x, Z3_ast p, Z3_ast y, Z3_ast q, Z3_ast factor)
{
	Z3_context z = terms_context();
	Z3_ast positive = Z3_mk_ge(z, factor, number(0));

	terms_assert(Z3_mk_implies(z, both(positive, Z3_mk_le(z, x, y)), Z3_mk_le(z, p, q)));
	terms_assert(Z3_mk_implies(z, both(positive, Z3_mk_lt(z, x, y)), Z3_mk_le(z, add(p, factor), q)));
	terms_assert(Z3_mk_implies(z, both(positive, Z3_mk_le(z, y, x)), Z3_mk_le(z, q, p)));
	terms_assert(Z3_mk_implies(z, both(positive, Z3_mk_lt(z, y, x)), Z3_mk_le(z, add(q, factor), p)));
}

static void order_quotients(const struct product *a, const struct product *b)
{
	Z3_context z = terms_context();
	Z3_ast positive = Z3_mk_gt(z, a->b, number(0));

	terms_assert(Z3_mk_implies(z, both(positive, Z3_mk_le(z, a->a, b->a)), Z3_mk_le(z, a->result, b->result)));
	terms_assert(Z3_mk_implies(z, both(positive, Z3_mk_le(z, b->a, a->a)), Z3_mk_le(z, b->result, a->result)));
}

static void relate(const struct product *a, const struct product *b)
{
	Z3_context z = terms_context();

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

static void add_product(struct product p)
{
	if (product_count == MOST_PRODUCTS)
		return;
	for (unsigned i = 0; i < product_count; i++)
		relate(&products[i], &p);
	products[product_count++] = p;
}

unsigned numbers_products(struct product *all)
{
	memcpy(all, products, product_count * sizeof *products);
	return product_count;
}

void numbers_relate(const struct product *a, unsigned count_a, const struct product *b, unsigned count_b)
{
	for (unsigned i = 0; i < count_a; i++)
		for (unsigned j = 0; j < count_b; j++)
			relate(&a[i], &b[j]);
}

/* The choice that a factor is made of, times a constant. */
static const struct choices *choices_of(Z3_ast t, int64_t *factor)
{
	Z3_context z = terms_context();
	Z3_app app = Z3_to_app(z, t);

	*factor = 1;
	for (unsigned i = 0; i < choice_count; i++)
		if (Z3_is_eq_ast(z, choices[i].t, t))
			return &choices[i];
	if (Z3_get_decl_kind(z, Z3_get_app_decl(z, app)) != Z3_OP_MUL || Z3_get_app_num_args(z, app) != 2 ||
	    !numbers_is(Z3_get_app_arg(z, app, 0), factor))
		return NULL;
	for (unsigned i = 0; i < choice_count; i++)
		if (Z3_is_eq_ast(z, choices[i].t, Z3_get_app_arg(z, app, 1)))
			return &choices[i];
	return NULL;
}

/* With a factor that is one of a few numbers the product is that many of the other. */
static bool choose(Z3_ast a, Z3_ast b, Z3_ast result)
{
	Z3_context z = terms_context();
	int64_t factor;
	const struct choices *c = Z3_get_ast_kind(z, a) == Z3_APP_AST ? choices_of(a, &factor) : NULL;

	for (unsigned i = 0; c && i < c->count; i++) {
		int64_t n;
		if (__builtin_mul_overflow(c->values[i], factor, &n))
			return false;
		terms_assert(Z3_mk_implies(z, Z3_mk_eq(z, c->t, number(c->values[i])),
					   Z3_mk_eq(z, result, times(number(n), b))));
	}
	return c;
}

Z3_ast numbers_multiply(Z3_ast a, Z3_ast b)
{
	Z3_context z = terms_context();
	int64_t n;

	if (numbers_is(a, &n) || numbers_is(b, &n))
		return times(a, b);
	a = Z3_simplify(z, a);
	b = Z3_simplify(z, b);
	Z3_ast r = apply("product", a, b), zero = number(0), one = number(1);
	if (choose(a, b, r) || choose(b, a, r))
		return r;
	terms_assert(Z3_mk_implies(z, both(Z3_mk_ge(z, a, zero), Z3_mk_ge(z, b, zero)), Z3_mk_ge(z, r, zero)));
	terms_assert(Z3_mk_implies(z, Z3_mk_eq(z, a, zero), Z3_mk_eq(z, r, zero)));
	terms_assert(Z3_mk_implies(z, Z3_mk_eq(z, b, zero), Z3_mk_eq(z, r, zero)));
	terms_assert(Z3_mk_implies(z, Z3_mk_eq(z, a, one), Z3_mk_eq(z, r, b)));
	terms_assert(Z3_mk_implies(z, Z3_mk_eq(z, b, one), Z3_mk_eq(z, r, a)));
	add_product((struct product){ a, b, r, false });
	numbers_is_within(r, product(numbers_interval(a), numbers_interval(b)));
	return r;
}

Z3_ast numbers_divide(Z3_ast a, Z3_ast b)
{
	Z3_context z = terms_context();
	int64_t n;

	if (numbers_is(b, &n) && n > 0)
		return Z3_mk_div(z, a, b);
	a = Z3_simplify(z, a);
	b = Z3_simplify(z, b);
	Z3_ast r = apply("quotient", a, b), zero = number(0);
	Z3_ast signs = both(Z3_mk_ge(z, a, zero), Z3_mk_gt(z, b, zero));
	terms_assert(Z3_mk_implies(z, signs, both(Z3_mk_ge(z, r, zero), Z3_mk_le(z, r, a))));
	add_product((struct product){ a, b, r, true });
	return r;
}

Z3_ast numbers_remainder(Z3_ast a, Z3_ast b)
{
	Z3_context z = terms_context();
	int64_t n;

	if (numbers_is(b, &n) && n > 0)
		return numbers_modulo(a, b);
	Z3_ast r = apply("remainder", Z3_simplify(z, a), Z3_simplify(z, b)), zero = number(0);
	Z3_ast signs = both(Z3_mk_ge(z, a, zero), Z3_mk_gt(z, b, zero));
	terms_assert(Z3_mk_implies(z, signs, both(both(Z3_mk_ge(z, r, zero), Z3_mk_lt(z, r, b)), Z3_mk_le(z, r, a))));
	return r;
}

/*
 * The way between two addresses, as a sum: what can be said of it without the solver, and what it need not know. Most
 * pairs are different members of the elements of an array, or lie in different rows of one: then neither the index, nor
 * the place in the row, matters.
 */
#include <string.h>
#include "compiler/races/numbers.h"

static bool add_summand(struct distance *d, Z3_ast t)
{
	Z3_context z = terms_context();
	int64_t n;

	if (Z3_get_ast_kind(z, t) == Z3_NUMERAL_AST)
		return Z3_get_numeral_int64(z, t, &n) && !__builtin_add_overflow(d->constant, n, &d->constant);
	struct summand s = { 1, t };
	if (Z3_get_ast_kind(z, t) == Z3_APP_AST) {
		Z3_app app = Z3_to_app(z, t);
		if (Z3_get_decl_kind(z, Z3_get_app_decl(z, app)) == Z3_OP_MUL && Z3_get_app_num_args(z, app) == 2 &&
		    Z3_get_ast_kind(z, Z3_get_app_arg(z, app, 0)) == Z3_NUMERAL_AST) {
			if (!Z3_get_numeral_int64(z, Z3_get_app_arg(z, app, 0), &s.factor))
				return false;
			s.t = Z3_get_app_arg(z, app, 1);
		}
	}
	if (d->count == MOST_SUMMANDS || s.factor == INT64_MIN)
		return false;
	d->summands[d->count++] = s;
	return true;
}

bool distances_find(Z3_ast a, Z3_ast b, struct distance *d)
{
	Z3_context z = terms_context();
	Z3_ast t = Z3_simplify(z, sub(a, b));
	bool sum = Z3_get_ast_kind(z, t) == Z3_APP_AST &&
		   Z3_get_decl_kind(z, Z3_get_app_decl(z, Z3_to_app(z, t))) == Z3_OP_ADD;
	unsigned count = sum ? Z3_get_app_num_args(z, Z3_to_app(z, t)) : 1;

	*d = (struct distance){ 0 };
	for (unsigned i = 0; i < count; i++)
		if (!add_summand(d, sum ? Z3_get_app_arg(z, Z3_to_app(z, t), i) : t))
			return false;
	return true;
}

Z3_ast distances_term(const struct distance *d)
{
	Z3_ast t = number(d->constant);

	for (unsigned i = 0; i < d->count; i++)
		t = add(t, times(number(d->summands[i].factor), d->summands[i].t));
	return t;
}

static int64_t magnitude(int64_t n)
{
	return n < 0 ? -n : n;
}

/* All that the summand can add, if that is less than one step of the largest one. */
static bool is_within_step(const struct summand *s, int64_t step, struct interval *i)
{
	__int128 ends[2];

	*i = numbers_interval(s->t);
	if (i->from == INT64_MIN || i->to == INT64_MAX)
		return false;
	ends[s->factor < 0] = (__int128)i->from * s->factor;
	ends[s->factor >= 0] = (__int128)i->to * s->factor;
	if (ends[1] - ends[0] >= step || ends[0] < INT32_MIN || ends[1] > INT32_MAX)
		return false;
	*i = (struct interval){ (int64_t)ends[0], (int64_t)ends[1] };
	return true;
}

bool distances_widen(struct distance *d, struct interval *touch)
{
	int64_t step = 0;
	unsigned left = 0;

	for (unsigned i = 0; i < d->count; i++)
		step = magnitude(d->summands[i].factor) > step ? magnitude(d->summands[i].factor) : step;
	for (unsigned i = 0; i < d->count; i++) {
		struct interval in;
		if (!is_within_step(&d->summands[i], step, &in)) {
			d->summands[left++] = d->summands[i];
			continue;
		}
		touch->from -= in.to;
		touch->to -= in.from;
	}
	bool wider = left < d->count;
	d->count = left;
	return wider;
}

bool distances_is_never_within(const struct distance *d, struct interval touch)
{
	int64_t step = 0;

	for (unsigned i = 0; i < d->count; i++) {
		int64_t a = magnitude(d->summands[i].factor), b = step;
		while (b) {
			int64_t rest = a % b;
			a = b;
			b = rest;
		}
		step = a;
	}
	/* A multiple of the step, and the constant: the first one from touch.from on is it. */
	__int128 from = (__int128)touch.from - d->constant, to = (__int128)touch.to - d->constant;
	if (!step)
		return from > 0 || to < 0;
	__int128 first = from / step * step;
	if (first < from)
		first += step;
	return first > to;
}

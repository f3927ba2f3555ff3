/*
 * Arithmetic for terms.c: numbers of the program as integers of the solver, what is known of their ranges, and products
 * and quotients of two unknowns, which become unknowns themselves with a few facts, so that all questions stay linear.
 */
#ifndef COMPILER_RACES_NUMBERS_H
#define COMPILER_RACES_NUMBERS_H
#include "compiler/races/terms.h"

static inline Z3_ast number(int64_t n)
{
	return Z3_mk_int64(terms_context(), n, Z3_mk_int_sort(terms_context()));
}

static inline Z3_ast add(Z3_ast a, Z3_ast b)
{
	return Z3_mk_add(terms_context(), 2, (Z3_ast[]){ a, b });
}

static inline Z3_ast sub(Z3_ast a, Z3_ast b)
{
	return Z3_mk_sub(terms_context(), 2, (Z3_ast[]){ a, b });
}

static inline Z3_ast times(Z3_ast a, Z3_ast b)
{
	return Z3_mk_mul(terms_context(), 2, (Z3_ast[]){ a, b });
}

static inline Z3_ast both(Z3_ast a, Z3_ast b)
{
	return Z3_mk_and(terms_context(), 2, (Z3_ast[]){ a, b });
}

static inline Z3_ast either(Z3_ast a, Z3_ast b)
{
	return Z3_mk_or(terms_context(), 2, (Z3_ast[]){ a, b });
}

/* A product or quotient of two unknowns. */
struct product {
	Z3_ast a, b, result; /* quotients: b is the divisor */
	bool quotient;
};
enum { MOST_PRODUCTS = 24 };

void numbers_begin(unsigned who);
unsigned numbers_products(struct product *products); /* all there are */
void numbers_relate(const struct product *a, unsigned count_a, const struct product *b, unsigned count_b);
Z3_ast numbers_power(unsigned bits); /* of two */
/* A new one. They are counted, so that they have the same names when the same is asked again; each side has its own. */
Z3_ast numbers_unknown(void);
/* What a calculation gives that is not understood, by what it is made of: the same of the same is the same. */
Z3_ast numbers_made(const char *how, unsigned bits, Z3_ast a, Z3_ast b);
Z3_ast numbers_unknown_of(unsigned bits); /* in the range of a signed number; 0: any */
void numbers_bound(Z3_ast t, unsigned bits);
bool numbers_is(Z3_ast t, int64_t *n); /* is it a constant? */

/* What surely holds of a term by the way it is made; the solver may know more. */
struct interval {
	int64_t from, to; /* both included; INT64_MIN, INT64_MAX: no limit */
};
struct interval numbers_interval(Z3_ast t);
void numbers_is_within(Z3_ast unknown, struct interval i); /* also told to the solver */
/* It is one of these. */
enum { MOST_CHOICES = 64 };
void numbers_is_one_of(Z3_ast unknown, const int64_t *values, unsigned count);

/* What is known of all terms so far, for another question. */
struct known_interval {
	Z3_ast t;
	struct interval in;
};
enum { MOST_KNOWN = 256 };
const struct known_interval *numbers_known(unsigned *count);
void numbers_know(const struct known_interval *known, unsigned count);

/* distances.c: a sum of a constant and of multiples of terms, such as the way from one address to another. */
enum { MOST_SUMMANDS = 16 };
struct distance {
	struct summand {
		int64_t factor;
		Z3_ast t;
	} summands[MOST_SUMMANDS];
	unsigned count;
	int64_t constant;
};
bool distances_find(Z3_ast a, Z3_ast b, struct distance *d);
Z3_ast distances_term(const struct distance *d);
bool distances_is_never_within(const struct distance *d, struct interval touch); /* whatever the terms are? */
/* Without those summands that are less than one step of the largest: they make the interval wider. Has it become
   simpler? */
bool distances_widen(struct distance *d, struct interval *touch);

bool numbers_fits(Z3_ast t, unsigned bits);   /* surely? */
Z3_ast numbers_wrap(Z3_ast t, unsigned bits); /* what is left of it in n bits */
Z3_ast numbers_unsigned(Z3_ast t, unsigned bits);
Z3_ast numbers_modulo(Z3_ast t, Z3_ast n); /* t is not negative, n a constant */
Z3_ast numbers_multiply(Z3_ast a, Z3_ast b);
Z3_ast numbers_divide(Z3_ast a, Z3_ast b);    /* both not negative */
Z3_ast numbers_remainder(Z3_ast a, Z3_ast b); /* both not negative */
#endif

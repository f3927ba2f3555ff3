/*
 * The solver: what it is told, and what it is asked. Anything but a clear answer within a limit is none. All limits count Z3's steps, not
 * seconds, so that the answers do not depend on what else the machine does.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/races/numbers.h"

enum {
	STEPS_OF_FACT = 10000,	  /* is this surely so? */
	STEPS_OF_PAIR = 300000,	  /* can the two meet? */
	STEPS_OF_SECOND = 500000, /* all second opinions */
	STEPS_OF_ALL = 12000000,  /* for a program */
};

/* Z3's two ways of arithmetic: the older one takes a third of the time for most questions, but gives up on some that the newer one answers. */
enum { OLDER = 2, NEWER = 6 };

static Z3_context z;
static Z3_solver solver;
static uint64_t steps, second;
static Z3_ast *facts; /* that were asserted since the question began, but for what is only supposed */
static size_t fact_count, fact_room;
static unsigned supposed;

static void ignore(Z3_context c, Z3_error_code e)
{
	(void)c, (void)e;
}

void solver_close(void)
{
	if (z)
		Z3_del_context(z);
	z = NULL;
	free(facts);
	facts = NULL;
	fact_room = fact_count = 0;
	steps = second = 0;
}

Z3_context terms_context(void)
{
	return z;
}

static void set(Z3_solver s, const char *name, unsigned value)
{
	Z3_params params = Z3_mk_params(z);

	Z3_params_inc_ref(z, params);
	Z3_params_set_uint(z, params, Z3_mk_string_symbol(z, name), value);
	Z3_solver_set_params(z, s, params);
	Z3_params_dec_ref(z, params);
}

static Z3_solver new_solver(unsigned arithmetic)
{
	Z3_solver s = Z3_mk_simple_solver(z);

	Z3_solver_inc_ref(z, s);
	set(s, "arith.solver", arithmetic);
	return s;
}

void solver_begin(void)
{
	if (!z) {
		Z3_config config = Z3_mk_config();
		z = Z3_mk_context(config);
		Z3_del_config(config);
		Z3_set_error_handler(z, ignore);
	}
	solver = new_solver(OLDER);
	fact_count = 0;
	numbers_begin();
}

static uint64_t steps_so_far(void)
{
	Z3_stats stats = Z3_solver_get_statistics(z, solver);
	uint64_t found = 0;

	Z3_stats_inc_ref(z, stats);
	for (unsigned i = 0; i < Z3_stats_size(z, stats); i++)
		if (!strcmp(Z3_stats_get_key(z, stats, i), "rlimit count") && Z3_stats_is_uint(z, stats, i))
			found = Z3_stats_get_uint_value(z, stats, i);
	Z3_stats_dec_ref(z, stats);
	return found;
}

static Z3_lbool check(unsigned most)
{
	if (terms_is_over())
		return Z3_L_UNDEF;
	set(solver, "rlimit", most);
	uint64_t before = steps_so_far();
	Z3_lbool answer = Z3_solver_check(z, solver);
	uint64_t after = steps_so_far();

	steps += after > before ? after - before : 0;
	return answer;
}

bool terms_is_over(void)
{
	return steps > STEPS_OF_ALL;
}

void terms_end(void)
{
	Z3_solver_dec_ref(z, solver);
}

void terms_assert(Z3_ast fact)
{
	Z3_solver_assert(z, solver, fact);
	if (supposed)
		return;
	if (fact_count == fact_room) {
		fact_room = fact_room ? fact_room * 2 : 256;
		facts = realloc(facts, fact_room * sizeof *facts);
		if (!facts)
			compiler_die("out of memory");
	}
	facts[fact_count++] = fact;
}

size_t solver_facts(Z3_ast **copy)
{
	*copy = calloc(fact_count + 1, sizeof **copy);
	if (!*copy)
		compiler_die("out of memory");
	if (fact_count)
		memcpy(*copy, facts, fact_count * sizeof *facts);
	return fact_count;
}

bool terms_may_be(void)
{
	return check(STEPS_OF_FACT) != Z3_L_FALSE;
}

/* A second opinion. */
static Z3_lbool check_again(void)
{
	uint64_t before = steps;

	if (second >= STEPS_OF_SECOND || supposed)
		return Z3_L_UNDEF;
	Z3_solver_dec_ref(z, solver);
	solver = new_solver(NEWER);
	for (size_t i = 0; i < fact_count; i++)
		Z3_solver_assert(z, solver, facts[i]);
	Z3_lbool answer = check(STEPS_OF_PAIR);
	second += steps - before;
	return answer;
}

bool terms_may_meet(Z3_ast a, Z3_ast size_a, Z3_ast b, Z3_ast size_b)
{
	terms_assert(Z3_mk_lt(z, a, add(b, size_b)));
	terms_assert(Z3_mk_lt(z, b, add(a, size_a)));
	Z3_lbool answer = check(STEPS_OF_PAIR);
	if (answer == Z3_L_UNDEF)
		answer = check_again();
	return answer != Z3_L_FALSE;
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
	bool sure = check(STEPS_OF_FACT) == Z3_L_FALSE;
	Z3_solver_pop(z, solver, 1);
	return sure;
}

bool terms_same(Z3_ast a, Z3_ast b)
{
	int64_t n;

	return numbers_is(sub(a, b), &n) && n == 0;
}

bool terms_may_touch_if(void (*suppose)(const struct frame *a, const struct frame *b), const struct frame *f,
			const struct frame *g, Z3_ast a, Z3_ast b, uint64_t size)
{
	Z3_solver_push(z, solver);
	supposed++;
	suppose(f, g);
	bool touches = terms_may_touch(a, size, b, size);
	supposed--;
	Z3_solver_pop(z, solver, 1);
	return touches;
}

/*
 * The solver: what it is told, and what it is asked. Anything but a clear answer within a limit is none. All limits
 * count Z3's steps, not seconds, so that the answers do not depend on what else the machine does.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/races/numbers.h"

enum {
	STEPS_OF_FACT = 10000,	  /* is this surely so? */
	STEPS_OF_PAIR = 300000,	  /* can the two meet? */
	STEPS_OF_SIMPLE = 20000,  /* the same, made simpler */
	STEPS_OF_SECOND = 500000, /* all second opinions */
	STEPS_OF_ALL = 12000000,  /* for a program */
	STEPS_IN_VAIN = 4000000,  /* for one of which nothing has become known */
};

/* Z3's two ways of arithmetic: the older one takes a third of the time for most questions, but gives up on some that
   the newer one answers. */
enum { OLDER = 2, NEWER = 6 };

static Z3_context z;
static Z3_tactic tactic;	     /* for a question that is asked once: unknowns that are a sum of others go */
static Z3_solver solver;	     /* for questions among the facts, as they come; NULL: none was asked yet */
static size_t told;		     /* facts that it knows */
static uint64_t steps, second, paid; /* paid: steps that what has become known is worth */
static Z3_ast *facts;		     /* that were asserted since the question began */
static size_t fact_count, fact_room;
/*
 * Most questions are asked again, since unknowns have the same names in all that are asked of the same places. A list
 * of facts has a number: each is entered as the list without its last one, and that. Answers are 1 + Z3's + 1; a
 * question that takes too long is too long the next time.
 */
static struct map lists, answers;
static uint32_t list;

static void ignore(Z3_context c, Z3_error_code e)
{
	(void)c, (void)e;
}

void solver_close(void)
{
	if (z) {
		Z3_tactic_dec_ref(z, tactic);
		Z3_del_context(z);
	}
	z = NULL;
	free(facts);
	facts = NULL;
	fact_room = fact_count = 0;
	steps = second = paid = 0;
	map_free(&lists);
	map_free(&answers);
	relevant_end();
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

static Z3_tactic find_tactic(const char *name)
{
	Z3_tactic t = Z3_mk_tactic(z, name);

	Z3_tactic_inc_ref(z, t);
	return t;
}

static void open_solver(void)
{
	Z3_config config = Z3_mk_config();

	z = Z3_mk_context(config);
	Z3_del_config(config);
	Z3_set_error_handler(z, ignore);
	Z3_tactic first = find_tactic("solve-eqs"), then = find_tactic("smt");
	tactic = Z3_tactic_and_then(z, first, then);
	Z3_tactic_inc_ref(z, tactic);
	Z3_tactic_dec_ref(z, first);
	Z3_tactic_dec_ref(z, then);
}

static Z3_solver new_solver(Z3_solver s, unsigned arithmetic)
{
	Z3_solver_inc_ref(z, s);
	set(s, "arith.solver", arithmetic);
	return s;
}

static void tell(Z3_solver s, const Z3_ast *what, size_t count)
{
	for (size_t i = 0; i < count; i++)
		Z3_solver_assert(z, s, what[i]);
}

void solver_begin(unsigned about)
{
	if (!z)
		open_solver();
	list = 0;
	fact_count = 0;
	numbers_begin(about);
}

static uint64_t steps_so_far(Z3_solver s)
{
	Z3_stats stats = Z3_solver_get_statistics(z, s);
	uint64_t found = 0;

	Z3_stats_inc_ref(z, stats);
	for (unsigned i = 0; i < Z3_stats_size(z, stats); i++)
		if (!strcmp(Z3_stats_get_key(z, stats, i), "rlimit count") && Z3_stats_is_uint(z, stats, i))
			found = Z3_stats_get_uint_value(z, stats, i);
	Z3_stats_dec_ref(z, stats);
	return found;
}

static Z3_lbool check(Z3_solver s, unsigned most)
{
	if (terms_is_over())
		return Z3_L_UNDEF;
	set(s, "rlimit", most);
	uint64_t before = steps_so_far(s);
	Z3_lbool answer = Z3_solver_check(z, s);
	uint64_t after = steps_so_far(s);

	steps += after > before ? after - before : 0;
	return answer;
}

bool terms_is_over(void)
{
	return steps > STEPS_OF_ALL || steps > STEPS_IN_VAIN + paid;
}

void terms_have_paid(void)
{
	paid += STEPS_OF_PAIR;
}

static void forget_solver(void)
{
	if (solver)
		Z3_solver_dec_ref(z, solver);
	solver = NULL;
	told = 0;
}

void terms_end(void)
{
	forget_solver();
}

/* The number of a list of facts and one more. */
static uint32_t longer(uint32_t than, Z3_ast fact)
{
	uint32_t *n = map_enter(&lists, ((uintptr_t)than << 32 | Z3_get_ast_id(z, fact)) + 1);

	if (!*n)
		*n = (uint32_t)lists.count;
	return *n;
}

void terms_assert(Z3_ast fact)
{
	if (fact_count == fact_room) {
		fact_room = fact_room ? fact_room * 2 : 256;
		facts = realloc(facts, fact_room * sizeof *facts);
		if (!facts)
			compiler_die("out of memory");
	}
	facts[fact_count++] = fact;
	list = longer(list, fact);
}

size_t solver_facts(Z3_ast **copy)
{
	*copy = calloc(fact_count + 1, sizeof **copy);
	if (!*copy) /* one more: for a question about them */
		compiler_die("out of memory");
	if (fact_count)
		memcpy(*copy, facts, fact_count * sizeof *facts);
	return fact_count;
}

static Z3_lbool check_once(Z3_solver s, const Z3_ast *of, size_t count, unsigned most)
{
	tell(s, of, count);
	Z3_lbool answer = check(s, most);
	Z3_solver_dec_ref(z, s);
	return answer;
}

/* Can they be true, all of them? */
static Z3_lbool check_all(const Z3_ast *of, size_t count, unsigned most, bool again)
{
	uint32_t question = 0;

	for (size_t i = 0; i < count; i++)
		question = longer(question, of[i]);
	uint32_t known = map_find(&answers, (void *)(uintptr_t)question);
	if (known)
		return (Z3_lbool)known - 2;
	Z3_lbool answer = check_once(new_solver(Z3_mk_solver_from_tactic(z, tactic), OLDER), of, count, most);
	if (answer == Z3_L_UNDEF && again && second < STEPS_OF_SECOND) {
		uint64_t before = steps;
		answer = check_once(new_solver(Z3_mk_simple_solver(z), NEWER), of, count, most);
		second += steps - before;
	}
	*map_enter(&answers, question) = (uint32_t)(answer + 2);
	return answer;
}

bool terms_may_be(void)
{
	return check_all(facts, fact_count, STEPS_OF_FACT, false) != Z3_L_FALSE;
}

static bool may_hold(Z3_ast question, unsigned most, bool again)
{
	Z3_ast *some;
	size_t count = solver_facts(&some);

	count = relevant_facts(some, count, question);
	some[count] = question; /* there is room for one more */
	Z3_lbool answer = check_all(some, count + 1, most, again);
	free(some);
	return answer != Z3_L_FALSE;
}

bool terms_may_hold(Z3_ast question)
{
	return may_hold(question, STEPS_OF_PAIR, true);
}

bool terms_may_hold_simply(Z3_ast question)
{
	return may_hold(question, STEPS_OF_SIMPLE, false);
}

bool terms_surely(Z3_ast fact)
{
	Z3_ast simple = Z3_simplify(z, fact);

	if (Z3_get_bool_value(z, simple) != Z3_L_UNDEF)
		return Z3_get_bool_value(z, simple) == Z3_L_TRUE;
	Z3_ast opposite = Z3_mk_not(z, simple);
	uint32_t question = longer(list, opposite), known = map_find(&answers, (void *)(uintptr_t)question);
	if (known)
		return (Z3_lbool)known - 2 == Z3_L_FALSE;
	if (!solver)
		solver = new_solver(Z3_mk_simple_solver(z), OLDER);
	tell(solver, facts + told, fact_count - told);
	told = fact_count;
	Z3_solver_push(z, solver);
	Z3_solver_assert(z, solver, opposite);
	Z3_lbool answer = check(solver, STEPS_OF_FACT);
	Z3_solver_pop(z, solver, 1);
	*map_enter(&answers, question) = (uint32_t)(answer + 2);
	return answer == Z3_L_FALSE;
}

bool terms_same(Z3_ast a, Z3_ast b)
{
	int64_t n;

	return numbers_is(sub(a, b), &n) && n == 0;
}

bool terms_may_touch_if(void (*suppose)(const struct frame *a, const struct frame *b), const struct frame *f,
			const struct frame *g, Z3_ast a, Z3_ast b, uint64_t size)
{
	uint32_t before = list;
	size_t count = fact_count;

	suppose(f, g);
	Z3_ast bytes = number((int64_t)size);
	bool touches =
		may_hold(both(Z3_mk_lt(z, a, add(b, bytes)), Z3_mk_lt(z, b, add(a, bytes))), STEPS_OF_PAIR, false);
	list = before;
	fact_count = count;
	if (told > count)
		forget_solver();
	return touches;
}

/*
 * A window of light's walk, put in order by Z3 (integer difference logic): its nodes come after all before the window,
 * and before all after it.
 *
 * Words
 *   index     of a node in the window: its place less the window's beginning.
 *   known     a comes before b in every schedule of the window: by program order, by a flow, or because something
 *             follows from those. What is known is closed under "and so", as long as the window is small enough for a
 *             table.
 *   interval  of a write: from it to the last reads of its flows. Intervals of the same granule do not overlap.
 *
 * What is known already decides most pairs of intervals, often all; Z3 is given the others to choose. A flow that comes
 * from before the window ends before every write of its granule here; one that goes on after it begins after them all;
 * where one spans the whole window and the granule is written here there is no schedule, and the caller takes a wider
 * window.
 */
#include <dlfcn.h>
#include <string.h>
#include <time.h>
#include <z3.h>
#include "commands/light.h"

#define TABLE_MOST 32768 /* nodes: the table has as many bits as their square */

/* ---- the library: loaded when it is needed, since it would make every heddle command start slowly ---------------- */

/* clang-format off */
#define Z3_FUNCTIONS(X) \
	X(mk_lt) X(solver_assert) X(mk_or) X(mk_and) X(mk_int_sort) X(mk_const) X(mk_int_symbol) X(solver_get_model) \
	X(model_inc_ref) X(model_eval) X(get_numeral_int64) X(model_dec_ref) X(mk_params) X(params_inc_ref) \
	X(params_set_uint) X(mk_string_symbol) X(solver_set_params) X(params_dec_ref) X(mk_config) \
	X(mk_context) X(del_config) X(mk_solver_for_logic) X(solver_inc_ref) X(solver_dec_ref) X(del_context) \
	X(solver_check) X(mk_int) X(mk_ge) X(mk_distinct) X(mk_not) X(mk_eq)
/* clang-format on */

#define Z3_MEMBER(name) __typeof__(Z3_##name) *name;
static struct {
	Z3_FUNCTIONS(Z3_MEMBER)
} z3;

const char *solver_load(void)
{
	void *library = dlopen("libz3.so.4", RTLD_NOW);
	const char *missing = library ? NULL :
					"light needs the solver Z3: install libz3-4, or record with --order=light:ww";

#define Z3_LOAD(name)                                                                  \
	if (!missing && !(z3.name = (__typeof__(z3.name))dlsym(library, "Z3_" #name))) \
		missing = "this libz3.so.4 has no Z3_" #name;
	Z3_FUNCTIONS(Z3_LOAD)
	return missing;
}

/* ---- what is known ---------------------------------------------------------------------------------------------- */

struct order {
	struct window *w;
	size_t n, words;
	uint64_t *after; /* table: bit b of row a: a comes before b. 0: the window is too large for it */
	struct pair {
		size_t a, b;
	} * pair; /* all that was told, a before b */
	size_t pairs, room;
	size_t closed; /* how many of them the table has */
	bool impossible;
	double deadline; /* 0: none */
	Z3_context context;
	Z3_solver solver;
	Z3_ast *number; /* of each index */
};

static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static bool is_late(const struct order *o)
{
	return o->deadline && now() > o->deadline;
}

static int64_t node_at(const struct order *o, size_t index)
{
	return o->w->walk->order[o->w->from + index];
}

static bool is_known(const struct order *o, size_t a, size_t b)
{
	if (o->after)
		return o->after[a * o->words + b / 64] >> b % 64 & 1;
	const struct node *x = &o->w->p->node[node_at(o, a)], *y = &o->w->p->node[node_at(o, b)];
	return x->slot == y->slot && x->event < y->event;
}

/* Row a gets b and all that follows b. */
static void add_row(struct order *o, size_t a, size_t b)
{
	const uint64_t *from = o->after + b * o->words;
	uint64_t *row = o->after + a * o->words;

	for (size_t k = 0; k < o->words; k++)
		row[k] |= from[k];
	row[b / 64] |= 1ull << b % 64;
}

/* The table is closed under what was told since. Nearly all pairs go the way of the walk: from its end to its beginning
   one pass is enough for them. Against it, whoever comes before a comes before b and what follows it. */
static void close_table(struct order *o)
{
	size_t *head = zeroed(o->n, sizeof *head), *next = zeroed(o->pairs, sizeof *next);

	for (size_t i = 0; i < o->pairs; i++) {
		next[i] = head[o->pair[i].a];
		head[o->pair[i].a] = i + 1;
	}
	for (size_t a = o->n; a-- > 0;)
		for (size_t i = head[a]; i; i = next[i - 1])
			if (o->pair[i - 1].b > a)
				add_row(o, a, o->pair[i - 1].b);
	for (size_t i = 0; i < o->pairs && !is_late(o); i++) {
		size_t a = o->pair[i].a, b = o->pair[i].b;
		for (size_t k = 0; b < a && k < o->n; k++)
			if (k == a || is_known(o, k, a))
				add_row(o, k, b);
	}
	for (size_t i = 0; i < o->n; i++)
		o->impossible |= is_known(o, i, i);
	o->closed = o->pairs;
	free(head);
	free(next);
}

static Z3_ast less(const struct order *o, size_t a, size_t b)
{
	return z3.mk_lt(o->context, o->number[a], o->number[b]);
}

static void must_come_before(struct order *o, size_t a, size_t b)
{
	o->pair = grown(o->pair, o->pairs, &o->room, sizeof *o->pair);
	o->pair[o->pairs++] = (struct pair){ a, b };
}

static void comes_before(struct order *o, size_t a, size_t b)
{
	if (is_known(o, a, b))
		return;
	o->impossible |= a == b || is_known(o, b, a);
	must_come_before(o, a, b);
}

/* ---- program order and flows ------------------------------------------------------------------------------------- */

static bool is_inside(const struct order *o, int64_t node)
{
	return node != NONE && o->w->walk->place[node] >= o->w->from && o->w->walk->place[node] < o->w->to;
}

static size_t index_of(const struct order *o, int64_t node)
{
	return o->w->walk->place[node] - o->w->from;
}

static void know_order(struct order *o)
{
	const struct problem *p = o->w->p;
	size_t *last = zeroed(p->threads, sizeof *last); /* index + 1 */
	int64_t f;

	for (size_t i = 0; i < o->n; i++) {
		size_t *before = &last[p->node[node_at(o, i)].slot];
		if (*before)
			must_come_before(o, *before - 1, i);
		*before = i + 1;
		for
			EACH(f, p->into, node_at(o, i))
		if (is_inside(o, p->flow[f].write))
			comes_before(o, index_of(o, p->flow[f].write), i);
	}
	free(last);
}

/* ---- the writes of a granule ------------------------------------------------------------------------------------- */

/* A write in the window, and where its interval ends. */
struct interval {
	size_t write;
	size_t *end, ends; /* the write itself is the first of them */
	bool goes_on;	   /* after the window */
};

struct intervals {
	struct interval *at;
	size_t n;
};

/* The first write of the granule that is not before the window. */
static size_t first_write(const struct order *o, int64_t granule)
{
	const struct lists *l = &o->w->p->writes;
	size_t low = l->from[granule], high = l->from[granule + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (o->w->walk->place[l->item[middle]] < o->w->from)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct interval make_interval(const struct order *o, int64_t write, int64_t granule)
{
	const struct problem *p = o->w->p;
	struct interval made = { .write = index_of(o, write) };
	int64_t f;

	made.end = zeroed(p->from.from[write + 1] - p->from.from[write] + 1, sizeof *made.end);
	made.end[made.ends++] = made.write;
	for
		EACH(f, p->from, write)
		{
			if (p->flow[f].granule != granule)
				continue;
			if (is_inside(o, p->flow[f].last))
				made.end[made.ends++] = index_of(o, p->flow[f].last);
			else
				made.goes_on = true;
		}
	return made;
}

static struct intervals make_intervals(const struct order *o, int64_t granule)
{
	const struct lists *l = &o->w->p->writes;
	size_t from = first_write(o, granule), to = from;

	while (to < l->from[granule + 1] && is_inside(o, l->item[to]))
		to++;
	struct intervals made = { zeroed(to - from, sizeof *made.at), to - from };
	for (size_t i = 0; i < made.n; i++)
		made.at[i] = make_interval(o, l->item[from + i], granule);
	return made;
}

static void free_intervals(struct intervals *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->at[i].end);
	free(l->at);
}

/* a is over before b begins. A write that is itself the last read of a may be b's. */
static void is_over_before(struct order *o, const struct interval *a, size_t b)
{
	for (size_t i = 0; i < a->ends; i++)
		if (a->end[i] != b)
			comes_before(o, a->end[i], b);
}

/* What comes from before the window. Flows are sorted by their write; see find_latest(). */
static void know_incoming(struct order *o, int64_t granule, const struct intervals *l)
{
	const struct problem *p = o->w->p;
	const struct walk *walk = o->w->walk;
	size_t first = p->of_granule.from[granule], at = p->of_granule.from[granule + 1];

	while (at > first && walk->latest[at - 1] >= o->w->from) {
		const struct flow *f = &p->flow[p->of_granule.item[--at]];
		if ((f->write != NONE && walk->place[f->write] >= o->w->from) || walk->place[f->last] < o->w->from)
			continue;
		if (!is_inside(o, f->last)) {
			o->impossible = true;
			return;
		}
		for (size_t i = 0; i < l->n; i++)
			if (l->at[i].write != index_of(o, f->last))
				comes_before(o, index_of(o, f->last), l->at[i].write);
	}
}

static void know_outgoing(struct order *o, const struct intervals *l)
{
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; l->at[i].goes_on && k < l->n; k++)
			if (k != i)
				is_over_before(o, &l->at[k], l->at[i].write);
}

/* Does something show that a cannot be over before b begins? */
static bool cannot_precede(const struct order *o, const struct interval *a, const struct interval *b)
{
	for (size_t i = 0; i < a->ends; i++)
		if (is_known(o, b->write, a->end[i]))
			return true;
	return false;
}

/* false: it must be chosen. */
static bool decide(struct order *o, const struct interval *a, const struct interval *b)
{
	if (is_known(o, a->write, b->write) || cannot_precede(o, b, a))
		is_over_before(o, a, b->write);
	else if (is_known(o, b->write, a->write) || cannot_precede(o, a, b))
		is_over_before(o, b, a->write);
	else
		return false;
	return true;
}

static Z3_ast all_before(const struct order *o, const struct interval *a, size_t b)
{
	Z3_ast *each = zeroed(a->ends, sizeof *each), all;
	unsigned n = 0;

	for (size_t i = 0; i < a->ends; i++)
		if (a->end[i] != b)
			each[n++] = less(o, a->end[i], b);
	all = n == 1 ? each[0] : z3.mk_and(o->context, n, each);
	free(each);
	return all;
}

static void let_choose(struct order *o, const struct interval *a, const struct interval *b)
{
	Z3_ast either[2] = { all_before(o, a, b->write), all_before(o, b, a->write) };

	z3.solver_assert(o->context, o->solver, z3.mk_or(o->context, 2, either));
	o->w->choices++;
}

static void each_pair(struct order *o, const struct intervals *l, bool choose)
{
	for (size_t i = 0; i < l->n && !o->impossible && !is_late(o); i++)
		for (size_t k = i + 1; k < l->n && !o->impossible; k++)
			if (!decide(o, &l->at[i], &l->at[k]) && choose)
				let_choose(o, &l->at[i], &l->at[k]);
}

/* ---- all granules that the window writes ------------------------------------------------------------------------- */

static int compare_granules(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

static size_t written_granules(const struct order *o, int64_t *to)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < 2 * o->n; i++)
		if (o->w->p->node[node_at(o, i / 2)].granule[i % 2] != NONE)
			to[n++] = o->w->p->node[node_at(o, i / 2)].granule[i % 2];
	qsort(to, n, sizeof *to, compare_granules);
	for (size_t i = 0; i < n; i++)
		if (!kept || to[kept - 1] != to[i])
			to[kept++] = to[i];
	return kept;
}

/* Until nothing more follows; then the rest is the solver's. */
static void constrain(struct order *o)
{
	int64_t *granule = zeroed(2 * o->n, sizeof *granule);
	size_t n = written_granules(o, granule);
	struct intervals *list = zeroed(n, sizeof *list);

	know_order(o);
	if (o->after)
		close_table(o);
	for (size_t i = 0; i < n && !o->impossible && !is_late(o); i++) {
		list[i] = make_intervals(o, granule[i]);
		know_incoming(o, granule[i], &list[i]);
		know_outgoing(o, &list[i]);
	}
	while (o->after && o->closed < o->pairs && !o->impossible && !is_late(o)) {
		close_table(o);
		for (size_t i = 0; i < n; i++)
			each_pair(o, &list[i], false);
	}
	for (size_t i = 0; i < n; i++) {
		each_pair(o, &list[i], true);
		free_intervals(&list[i]);
	}
	if (o->after && o->closed < o->pairs)
		close_table(o);
	free(list);
	free(granule);
}

/* ---- the solver -------------------------------------------------------------------------------------------------- */

static void order_open(struct order *o, struct window *w, double seconds)
{
	Z3_config config = z3.mk_config();

	*o = (struct order){ .w = w, .n = w->to - w->from, .deadline = seconds > 0 ? now() + seconds : 0 };
	o->words = (o->n + 63) / 64;
	o->after = o->n <= TABLE_MOST && !w->plain ? zeroed(o->n * o->words, sizeof *o->after) : NULL;
	o->context = z3.mk_context(config);
	z3.del_config(config);
	o->solver = z3.mk_solver_for_logic(o->context, z3.mk_string_symbol(o->context, "QF_IDL"));
	z3.solver_inc_ref(o->context, o->solver);
	o->number = zeroed(o->n, sizeof *o->number);
	for (size_t i = 0; i < o->n; i++)
		o->number[i] =
			z3.mk_const(o->context, z3.mk_int_symbol(o->context, (int)i), z3.mk_int_sort(o->context));
}

static void order_close(struct order *o)
{
	z3.solver_dec_ref(o->context, o->solver);
	z3.del_context(o->context);
	free(o->number);
	free(o->after);
	free(o->pair);
}

static void set_time(struct order *o)
{
	Z3_params params = z3.mk_params(o->context);
	double left = o->deadline - now();

	z3.params_inc_ref(o->context, params);
	z3.params_set_uint(o->context, params, z3.mk_string_symbol(o->context, "timeout"),
			   left > 0 ? (unsigned)(left * 1000) + 1 : 1);
	z3.solver_set_params(o->context, o->solver, params);
	z3.params_dec_ref(o->context, params);
}

struct numbered {
	int64_t number, node;
	size_t index;
};

static int compare_numbered(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* The window's part of the schedule. */
static void take_model(struct order *o, int64_t *to)
{
	Z3_model model = z3.solver_get_model(o->context, o->solver);
	struct numbered *list = zeroed(o->n, sizeof *list);

	z3.model_inc_ref(o->context, model);
	for (size_t i = 0; i < o->n; i++) {
		Z3_ast value;
		list[i] = (struct numbered){ 0, node_at(o, i), i };
		if (z3.model_eval(o->context, model, o->number[i], true, &value))
			z3.get_numeral_int64(o->context, value, &list[i].number);
	}
	z3.model_dec_ref(o->context, model);
	qsort(list, o->n, sizeof *list, compare_numbered);
	for (size_t i = 0; i < o->n; i++)
		to[o->w->from + i] = list[i].node;
	free(list);
}

static enum answer ask_solver(struct order *o, int64_t *to)
{
	for (size_t i = 0; i < o->pairs; i++)
		z3.solver_assert(o->context, o->solver, less(o, o->pair[i].a, o->pair[i].b));
	if (o->deadline)
		set_time(o);
	Z3_lbool found = z3.solver_check(o->context, o->solver);
	if (found == Z3_L_TRUE)
		take_model(o, to);
	return found == Z3_L_TRUE ? SCHEDULE : found == Z3_L_FALSE ? NO_SCHEDULE : TIME_IS_UP;
}

/* Nothing is left to choose: each node in the walk's order, those that must come before it first. */
static void sort_pairs(struct order *o, int64_t *to)
{
	size_t *head = zeroed(o->n, sizeof *head), *next = zeroed(o->pairs, sizeof *next);
	size_t *stack = zeroed(o->n + 1, sizeof *stack), put = o->w->from;
	bool *done = zeroed(o->n, 1);

	for (size_t i = 0; i < o->pairs; i++) {
		next[i] = head[o->pair[i].b];
		head[o->pair[i].b] = i + 1;
	}
	for (size_t i = 0; i < o->n; i++) {
		size_t depth = 0;
		for (stack[depth++] = i; depth;) {
			size_t at = stack[depth - 1], pair = head[at];
			if (pair) { /* the table is closed and has no circle, so this ends */
				head[at] = next[pair - 1];
				if (!done[o->pair[pair - 1].a])
					stack[depth++] = o->pair[pair - 1].a;
				continue;
			}
			depth--;
			if (!done[at])
				to[put++] = node_at(o, at);
			done[at] = true;
		}
	}
	free(head);
	free(next);
	free(stack);
	free(done);
}

enum answer solve_window(struct window *w, int64_t *order, double seconds)
{
	enum answer answer = NO_SCHEDULE;
	size_t choices = w->choices;
	struct order o;

	order_open(&o, w, seconds);
	constrain(&o);
	if (!o.impossible && is_late(&o)) {
		answer = TIME_IS_UP;
	} else if (!o.impossible && o.after && w->choices == choices) {
		answer = SCHEDULE;
		sort_pairs(&o, order);
	} else if (!o.impossible) {
		answer = ask_solver(&o, order);
	}
	order_close(&o);
	return answer;
}

/* ---- every schedule of a small trace ----------------------------------------------------------------------------- */

/* Each node has a number of its own below n, so that a model is one order. */
static void number_all(struct order *o)
{
	Z3_sort integer = z3.mk_int_sort(o->context);
	Z3_ast low = z3.mk_int(o->context, 0, integer), high = z3.mk_int(o->context, (int)o->n, integer);

	for (size_t i = 0; i < o->n; i++) {
		z3.solver_assert(o->context, o->solver, z3.mk_ge(o->context, o->number[i], low));
		z3.solver_assert(o->context, o->solver, z3.mk_lt(o->context, o->number[i], high));
	}
	z3.solver_assert(o->context, o->solver, z3.mk_distinct(o->context, (unsigned)o->n, o->number));
}

static void forbid(struct order *o, const int64_t *order)
{
	Z3_ast *other = zeroed(o->n, sizeof *other);

	for (size_t i = 0; i < o->n; i++) {
		Z3_ast number = z3.mk_int(o->context, (int)i, z3.mk_int_sort(o->context));
		other[i] = z3.mk_not(o->context, z3.mk_eq(o->context, o->number[index_of(o, order[i])], number));
	}
	z3.solver_assert(o->context, o->solver, z3.mk_or(o->context, (unsigned)o->n, other));
	free(other);
}

long solve_every(struct window *w, long most, void (*each)(void *arg, const int64_t *order), void *arg)
{
	int64_t *order = zeroed(w->p->nodes, sizeof *order);
	long found = 0;
	struct order o;

	order_open(&o, w, 0);
	constrain(&o);
	if (!o.impossible)
		number_all(&o);
	for (size_t i = 0; i < o.pairs; i++)
		z3.solver_assert(o.context, o.solver, less(&o, o.pair[i].a, o.pair[i].b));
	while (!o.impossible && found >= 0 && found < most && z3.solver_check(o.context, o.solver) == Z3_L_TRUE) {
		take_model(&o, order);
		forbid(&o, order);
		found = is_schedule(w->p, order) ? found + 1 : -1;
		each(arg, order);
	}
	order_close(&o);
	free(order);
	return found;
}

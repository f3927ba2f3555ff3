/*
 * The schedule that light's replay follows: an order of all events that its flows name, in which each read sees the write
 * of its flow. Found by Z3 (integer difference logic), as Light's authors do.
 *
 * Words
 *   node     an event that a flow names: a write that somebody read, the first and the last read of a flow.
 *   flow     write w, reads r .. l of one thread. w = none: what was there at first.
 *   order    each node gets a number. Program order: smaller first. Flow: w < r. And nothing in between: for any other
 *            node x that writes the granule, x < w or l < x. These choices are what makes it hard.
 *
 * Window by window, since the time grows fast with the number of choices. Windows are cut from an order that a greedy walk
 * makes: it runs the threads in turn, and holds a write back while others still have to read what it would overwrite. All
 * nodes of a window come before those of the next. A flow that spans a cut allows no other write of its granule between;
 * if that leaves a window without a schedule, the window is joined with the next and tried again.
 *
 * The result is checked by is_schedule(), which shares no code with the constraints, and becomes edges: each read follows
 * its write, each write the reads of the write before it.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <z3.h>
#include "runtime/order/light.h"

enum { WINDOW = 200, NONE = -1 };

struct node {
	uint32_t slot;
	uint64_t event;
	int64_t granule[2]; /* numbers of the granules that it writes, where a flow begins here; NONE */
};

struct flow {
	int64_t write; /* node; NONE: at first */
	int64_t first, last;
	int64_t granule;
};

/* Lists of small numbers, by key. */
struct lists {
	size_t *from; /* list i: item[from[i]] .. item[from[i + 1]] */
	int64_t *item;
};

struct problem {
	struct node *node;
	struct flow *flow;
	size_t nodes, flows, granules;
	uint32_t threads;
	struct lists of_thread;	 /* nodes, in program order */
	struct lists writes;	 /* nodes that write a granule */
	struct lists of_granule; /* flows */
	struct lists from;	 /* flows that begin at a node */
	struct lists into;	 /* flows whose first read is a node */
	struct lists until;	 /* flows whose last read is a node */
};

static void *zeroed(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);
	if (!p) {
		fputs("heddle: no memory for light's schedule\n", stderr);
		exit(122);
	}
	return p;
}

static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- the library: loaded when it is needed, since it would make every heddle command start slowly ------------------ */

/* clang-format off */
#define Z3_FUNCTIONS(X) \
	X(mk_lt) X(solver_assert) X(mk_or) X(mk_int_sort) X(mk_const) X(mk_int_symbol) X(solver_get_model) \
	X(model_inc_ref) X(model_eval) X(get_numeral_int64) X(model_dec_ref) X(mk_params) X(params_inc_ref) \
	X(params_set_uint) X(mk_string_symbol) X(solver_set_params) X(params_dec_ref) X(mk_config) \
	X(mk_context) X(del_config) X(mk_solver_for_logic) X(solver_inc_ref) X(solver_dec_ref) X(del_context) \
	X(solver_check) X(mk_int) X(mk_ge) X(mk_distinct) X(mk_not) X(mk_eq)
/* clang-format on */

#define Z3_MEMBER(name) __typeof__(Z3_##name) *name;
static struct {
	Z3_FUNCTIONS(Z3_MEMBER)
} z3;

static const char *load_z3(void)
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

/* ---- light's log, and the one for replay: see runtime/order/light.c ------------------------------------------------ */

static struct light_flow *new_flow(struct light_flows *to)
{
	if (to->n == to->room) {
		to->room = to->room ? to->room * 2 : 1024;
		to->at = realloc(to->at, to->room * sizeof *to->at);
		if (!to->at)
			abort();
	}
	return &to->at[to->n++];
}

/* The newest flow of this thread into that granule. */
struct newest {
	uint64_t granule;
	size_t flow; /* + 1 */
};

static struct newest *newest_of(struct newest *table, size_t room, uint64_t granule)
{
	size_t i = granule * 0x9e3779b97f4a7c15ull >> 20;

	for (i %= room; table[i].flow && table[i].granule != granule; i = (i + 1) % room)
		;
	table[i].granule = granule;
	return &table[i];
}

bool light_flows_of(uint32_t slot, const struct order_entry *entries, size_t n, struct light_flows *to)
{
	size_t room = 2 * n + 16;
	struct newest *table = zeroed(room, sizeof *table);
	uint64_t granule = 0;
	bool fine = true;

	for (const struct order_entry *e = entries; fine && e < entries + n; e++) {
		bool ends = e->n == 3 && e->numbers[0] == 1;
		fine = ends || (e->n == 4 && !(e->numbers[0] & 1));
		granule += unzigzag(e->numbers[1]);
		struct newest *newest = newest_of(table, room, granule);
		uint64_t back = ends ? e->numbers[2] : e->numbers[3];
		if (back && newest->flow)
			to->at[newest->flow - 1].last = e->event - back;
		if (ends)
			continue;
		*new_flow(to) = (struct light_flow){ granule * GRANULE, (int64_t)(e->numbers[0] >> 1) - 1,
						     e->numbers[2],	slot,
						     e->event,		e->event };
		newest->flow = to->n;
	}
	free(table);
	return fine;
}

void light_log_edge(struct order_log_text *to, uint64_t event, uint32_t slot, uint64_t source, uint64_t *last)
{
	if (to->n == to->room) {
		to->room = to->room ? to->room * 2 : 1024;
		to->entry = realloc(to->entry, to->room * sizeof *to->entry);
		if (!to->entry)
			abort();
	}
	to->entry[to->n++] =
		(struct order_entry){ .event = event, .n = 2, .numbers = { slot, zigzag(source - last[slot]) } };
	last[slot] = source;
}

/* ---- from flows to nodes -------------------------------------------------------------------------------------- */

static int compare_nodes(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static int64_t find_node(const struct problem *p, uint32_t slot, uint64_t event)
{
	struct node key = { slot, event, { 0 } }, *found = bsearch(&key, p->node, p->nodes, sizeof key, compare_nodes);
	return found ? found - p->node : NONE;
}

static size_t without_doubles(void *base, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	char *at = base;
	size_t kept = 0;

	qsort(base, n, size, compare);
	for (size_t i = 0; i < n; i++)
		if (!kept || compare(at + (kept - 1) * size, at + i * size))
			memmove(at + kept++ * size, at + i * size, size);
	return kept;
}

static void make_nodes(struct problem *p, const struct light_flows *flows, const uint64_t *events)
{
	size_t n = 0;

	for (uint32_t i = 0; events && i < p->threads; i++)
		n += events[i];
	p->node = zeroed(3 * flows->n + n, sizeof *p->node);
	for (size_t i = 0; i < flows->n; i++) {
		const struct light_flow *f = &flows->at[i];
		if (f->writer >= 0)
			p->node[p->nodes++] = (struct node){ (uint32_t)f->writer, f->write, { NONE, NONE } };
		p->node[p->nodes++] = (struct node){ f->reader, f->first, { NONE, NONE } };
		p->node[p->nodes++] = (struct node){ f->reader, f->last, { NONE, NONE } };
	}
	for (uint32_t i = 0; events && i < p->threads; i++)
		for (uint64_t e = 0; e < events[i]; e++)
			p->node[p->nodes++] = (struct node){ i, e, { NONE, NONE } };
	p->nodes = without_doubles(p->node, p->nodes, sizeof *p->node, compare_nodes);
}

/* One, or two if it is 16 bytes wide. */
static void writes_granule(struct node *n, int64_t granule)
{
	if (n->granule[0] == NONE)
		n->granule[0] = granule;
	else if (n->granule[0] != granule)
		n->granule[1] = granule;
}

static bool writes(const struct node *n, int64_t granule)
{
	return n->granule[0] == granule || n->granule[1] == granule;
}

static void make_flows(struct problem *p, const struct light_flows *flows)
{
	uint64_t *granules = zeroed(flows->n, sizeof *granules);

	for (size_t i = 0; i < flows->n; i++)
		granules[i] = flows->at[i].granule;
	p->granules = without_doubles(granules, flows->n, sizeof *granules, compare_numbers);
	p->flow = zeroed(flows->n, sizeof *p->flow);
	p->flows = flows->n;
	for (size_t i = 0; i < flows->n; i++) {
		const struct light_flow *f = &flows->at[i];
		uint64_t *granule = bsearch(&f->granule, granules, p->granules, sizeof *granules, compare_numbers);
		p->flow[i] = (struct flow){ f->writer < 0 ? NONE : find_node(p, (uint32_t)f->writer, f->write),
					    find_node(p, f->reader, f->first), find_node(p, f->reader, f->last),
					    granule - granules };
		if (p->flow[i].write != NONE)
			writes_granule(&p->node[p->flow[i].write], p->flow[i].granule);
	}
	free(granules);
}

/* Sorts n things by key into lists; key(p, i) = NONE: in none of them. */
static struct lists make_lists(const struct problem *p, size_t keys, size_t n,
			       int64_t (*key)(const struct problem *, size_t))
{
	struct lists l = { zeroed(keys + 2, sizeof *l.from), zeroed(n, sizeof *l.item) };

	for (size_t i = 0; i < n; i++)
		if (key(p, i) != NONE)
			l.from[key(p, i) + 2]++;
	for (size_t i = 2; i < keys + 2; i++)
		l.from[i] += l.from[i - 1];
	for (size_t i = 0; i < n; i++)
		if (key(p, i) != NONE)
			l.item[l.from[key(p, i) + 1]++] = (int64_t)i;
	return l;
}

#define EACH(i, l, k) (size_t at_ = (l).from[k]; at_ < (l).from[(k) + 1] && ((i) = (l).item[at_], true); at_++)

static int64_t slot_of(const struct problem *p, size_t i)
{
	return p->node[i].slot;
}

static int64_t written_by(const struct problem *p, size_t i)
{
	return p->node[i / 2].granule[i % 2];
}

static int64_t granule_of(const struct problem *p, size_t i)
{
	return p->flow[i].granule;
}

static int64_t write_of(const struct problem *p, size_t i)
{
	return p->flow[i].write;
}

static int64_t first_of(const struct problem *p, size_t i)
{
	return p->flow[i].first;
}

static int64_t last_of(const struct problem *p, size_t i)
{
	return p->flow[i].last;
}

static void problem_open(struct problem *p, const struct light_flows *flows, const uint64_t *events, uint32_t threads)
{
	*p = (struct problem){ .threads = threads };
	make_nodes(p, flows, events);
	make_flows(p, flows);
	p->of_thread = make_lists(p, threads, p->nodes, slot_of);
	p->writes = make_lists(p, p->granules, 2 * p->nodes, written_by);
	for (size_t i = 0; i < 2 * p->nodes; i++)
		p->writes.item[i] /= 2;
	p->of_granule = make_lists(p, p->granules, p->flows, granule_of);
	p->from = make_lists(p, p->nodes, p->flows, write_of);
	p->into = make_lists(p, p->nodes, p->flows, first_of);
	p->until = make_lists(p, p->nodes, p->flows, last_of);
}

static void problem_close(struct problem *p)
{
	struct lists *lists[] = { &p->of_thread, &p->writes, &p->of_granule, &p->from, &p->into, &p->until };

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		free(lists[i]->from);
		free(lists[i]->item);
	}
	free(p->node);
	free(p->flow);
}

/* ---- the greedy walk: which nodes belong together --------------------------------------------------------------- */

struct walk {
	const struct problem *p;
	bool *done;
	size_t *next;	 /* of each thread, in of_thread */
	size_t *pending; /* of each granule: flows whose write is done and whose last read is not */
};

static bool flows_have_come(const struct walk *w, int64_t node)
{
	int64_t f;

	for
		EACH(f, w->p->into, node)
	if (w->p->flow[f].write != NONE && !w->done[w->p->flow[f].write])
		return false;
	return true;
}

static bool would_overwrite(const struct walk *w, int64_t node)
{
	const struct node *n = &w->p->node[node];
	size_t others = 0;
	int64_t f;

	for (unsigned i = 0; i < 2; i++)
		others += n->granule[i] == NONE ? 0 : w->pending[n->granule[i]];
	for
		EACH(f, w->p->until, node)
	others -= writes(n, w->p->flow[f].granule) && (w->p->flow[f].write == NONE || w->done[w->p->flow[f].write]);
	return others;
}

static void walk_over(struct walk *w, int64_t node)
{
	int64_t f;

	w->done[node] = true;
	for
		EACH(f, w->p->until, node)
	w->pending[w->p->flow[f].granule]--;
	for
		EACH(f, w->p->from, node)
	w->pending[w->p->flow[f].granule]++;
}

/* The threads in turn, one node each; `forced`: one that overwrites is taken if there is no other. */
static bool walk_round(struct walk *w, int64_t *walked, size_t *n, bool forced)
{
	size_t before = *n;

	for (uint32_t t = 0; t < w->p->threads && !(forced && *n > before); t++) {
		if (w->next[t] == w->p->of_thread.from[t + 1])
			continue;
		int64_t node = w->p->of_thread.item[w->next[t]];
		if (!flows_have_come(w, node) || (!forced && would_overwrite(w, node)))
			continue;
		walk_over(w, node);
		walked[(*n)++] = node;
		w->next[t]++;
	}
	return *n > before;
}

/* false: the flows themselves are circular. */
static bool greedy(const struct problem *p, int64_t *walked)
{
	struct walk w = { p, zeroed(p->nodes, 1), zeroed(p->threads, sizeof(size_t)),
			  zeroed(p->granules, sizeof(size_t)) };
	size_t n = 0;

	for (uint32_t t = 0; t < p->threads; t++)
		w.next[t] = p->of_thread.from[t];
	for (size_t f = 0; f < p->flows; f++)
		w.pending[p->flow[f].granule] += p->flow[f].write == NONE;
	while (walk_round(&w, walked, &n, false) || walk_round(&w, walked, &n, true))
		;
	free(w.done);
	free(w.next);
	free(w.pending);
	return n == p->nodes;
}

/* ---- constraints ----------------------------------------------------------------------------------------------- */

struct window {
	const struct problem *p;
	const int64_t *order; /* the greedy one */
	size_t from, to;      /* this window's part of it */
	const size_t *place;  /* of each node in `order` */
	Z3_context context;
	Z3_solver solver;
	Z3_ast *number; /* of each node of the window */
	size_t choices;
};

static bool is_before(const struct window *w, int64_t node)
{
	return node == NONE || w->place[node] < w->from;
}

static bool is_inside(const struct window *w, int64_t node)
{
	return node != NONE && w->place[node] >= w->from && w->place[node] < w->to;
}

static Z3_ast less(const struct window *w, int64_t a, int64_t b)
{
	return z3.mk_lt(w->context, w->number[w->place[a] - w->from], w->number[w->place[b] - w->from]);
}

static void assert_less(struct window *w, int64_t a, int64_t b)
{
	z3.solver_assert(w->context, w->solver, less(w, a, b));
}

static bool same_thread(const struct window *w, int64_t a, int64_t b)
{
	return w->p->node[a].slot == w->p->node[b].slot;
}

/* x writes what flow f carries; both ends of f are in the window. Program order often leaves no choice. */
static void keep_out(struct window *w, const struct flow *f, int64_t x)
{
	if (same_thread(w, x, f->write) ? x < f->write : same_thread(w, x, f->last) && x > f->last)
		return; /* it is out */
	if (same_thread(w, x, f->write)) {
		assert_less(w, f->last, x);
	} else if (same_thread(w, x, f->last)) {
		assert_less(w, x, f->write);
	} else {
		Z3_ast either[2] = { less(w, x, f->write), less(w, f->last, x) };
		z3.solver_assert(w->context, w->solver, z3.mk_or(w->context, 2, either));
		w->choices++;
	}
}

/* false: no write of the granule may be in this window, and one is. */
static bool nothing_between(struct window *w, const struct flow *f)
{
	bool begins = is_inside(w, f->write), ends = is_inside(w, f->last);
	int64_t x;

	if ((!begins && !is_before(w, f->write)) || is_before(w, f->last))
		return true; /* it is elsewhere */
	for
		EACH(x, w->p->writes, f->granule)
		{
			if (x == f->write || x == f->last || !is_inside(w, x))
				continue;
			if (begins && ends)
				keep_out(w, f, x);
			else if (begins)
				assert_less(w, x, f->write);
			else if (ends)
				assert_less(w, f->last, x);
			else
				return false;
		}
	return true;
}

static bool assert_granule(struct window *w, char *seen, int64_t granule)
{
	bool fine = true;
	int64_t f;

	if (granule == NONE || seen[granule])
		return true;
	seen[granule] = 1;
	for
		EACH(f, w->p->of_granule, granule)
	fine = fine && nothing_between(w, &w->p->flow[f]);
	return fine;
}

/* Each granule that a node of the window writes, once: where nothing is written nothing can come between. */
static bool assert_granules(struct window *w)
{
	char *seen = zeroed(w->p->granules, 1);
	bool fine = true;

	for (size_t i = w->from; fine && i < w->to; i++)
		for (unsigned k = 0; fine && k < 2; k++)
			fine = assert_granule(w, seen, w->p->node[w->order[i]].granule[k]);
	free(seen);
	return fine;
}

static bool assert_all(struct window *w)
{
	int64_t *last = zeroed(w->p->threads, sizeof *last), f;
	Z3_sort integer = z3.mk_int_sort(w->context);

	for (size_t i = w->from; i < w->to; i++)
		w->number[i - w->from] =
			z3.mk_const(w->context, z3.mk_int_symbol(w->context, (int)(i - w->from)), integer);
	for (size_t i = w->from; i < w->to; i++) {
		int64_t node = w->order[i], *before = &last[w->p->node[node].slot];
		if (*before)
			assert_less(w, *before - 1, node);
		*before = node + 1;
		for
			EACH(f, w->p->into, node)
		if (is_inside(w, w->p->flow[f].write))
			assert_less(w, w->p->flow[f].write, node);
	}
	free(last);
	return assert_granules(w);
}

/* ---- one window -------------------------------------------------------------------------------------------------- */

struct numbered {
	int64_t number, node;
	size_t place;
};

static int compare_numbered(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Writes the window's part of the schedule. */
static void take_model(struct window *w, int64_t *schedule)
{
	Z3_model model = z3.solver_get_model(w->context, w->solver);
	size_t n = w->to - w->from;
	struct numbered *list = zeroed(n, sizeof *list);

	z3.model_inc_ref(w->context, model);
	for (size_t i = 0; i < n; i++) {
		Z3_ast value;
		list[i] = (struct numbered){ 0, w->order[w->from + i], i };
		if (z3.model_eval(w->context, model, w->number[i], true, &value))
			z3.get_numeral_int64(w->context, value, &list[i].number);
	}
	z3.model_dec_ref(w->context, model);
	qsort(list, n, sizeof *list, compare_numbered);
	for (size_t i = 0; i < n; i++)
		schedule[w->from + i] = list[i].node;
	free(list);
}

static void set_time(struct window *w, double seconds)
{
	Z3_params params = z3.mk_params(w->context);

	z3.params_inc_ref(w->context, params);
	z3.params_set_uint(w->context, params, z3.mk_string_symbol(w->context, "timeout"),
			   (unsigned)(seconds * 1000) + 1);
	z3.solver_set_params(w->context, w->solver, params);
	z3.params_dec_ref(w->context, params);
}

static void window_open(struct window *w)
{
	Z3_config config = z3.mk_config();

	w->context = z3.mk_context(config);
	z3.del_config(config);
	w->solver = z3.mk_solver_for_logic(w->context, z3.mk_string_symbol(w->context, "QF_IDL"));
	z3.solver_inc_ref(w->context, w->solver);
	w->number = zeroed(w->to - w->from, sizeof *w->number);
}

static void window_close(struct window *w)
{
	z3.solver_dec_ref(w->context, w->solver);
	z3.del_context(w->context);
	free(w->number);
}

/* L_FALSE: this cut has no schedule. UNDEF: the time is up. */
static Z3_lbool solve_window(struct window *w, int64_t *schedule, double seconds)
{
	Z3_lbool result = Z3_L_FALSE;

	window_open(w);
	if (seconds > 0)
		set_time(w, seconds);
	if (assert_all(w))
		result = z3.solver_check(w->context, w->solver);
	if (result == Z3_L_TRUE)
		take_model(w, schedule);
	window_close(w);
	return result;
}

/* ---- is it one? ---------------------------------------------------------------------------------------------------- */

/* Runs the schedule over a memory in which each granule holds the node that wrote it last. */
static bool is_schedule(const struct problem *p, const int64_t *schedule)
{
	int64_t *memory = zeroed(p->granules, sizeof *memory), f; /* node + 1 */
	uint64_t *next = zeroed(p->threads, sizeof *next);
	bool fine = true;

	for (size_t i = 0; i < p->nodes && fine; i++) {
		const struct node *n = &p->node[schedule[i]];
		fine = n->event >= next[n->slot];
		next[n->slot] = n->event + 1;
		for
			EACH(f, p->into, schedule[i])
		fine = fine && memory[p->flow[f].granule] == p->flow[f].write + 1;
		for
			EACH(f, p->until, schedule[i])
		fine = fine && memory[p->flow[f].granule] == p->flow[f].write + 1;
		for (unsigned k = 0; k < 2; k++)
			if (n->granule[k] != NONE)
				memory[n->granule[k]] = schedule[i] + 1;
	}
	free(memory);
	free(next);
	return fine;
}

/* ---- from the schedule to edges -------------------------------------------------------------------------------------- */

struct edge {
	uint32_t slot, source_slot;
	uint64_t event, source;
};

struct edges {
	struct edge *at;
	size_t n, room;
};

static void add_edge(struct edges *e, const struct node *from, const struct node *to)
{
	if (from->slot == to->slot)
		return;
	if (e->n == e->room) {
		e->room = e->room ? 2 * e->room : 1024;
		e->at = realloc(e->at, e->room * sizeof *e->at);
		if (!e->at)
			abort();
	}
	e->at[e->n++] = (struct edge){ to->slot, from->slot, to->event, from->event };
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->source_slot != y->source_slot)
		return x->source_slot < y->source_slot ? -1 : 1;
	return x->source > y->source ? -1 : x->source < y->source;
}

/* Node x writes the granule: after the write before it, and after the reads of that. */
static void edges_of_write(const struct problem *p, int64_t x, int64_t granule, int64_t *memory, struct edges *edges)
{
	int64_t before = memory[granule] - 1, f;

	if (before != NONE)
		add_edge(edges, &p->node[before], &p->node[x]);
	for
		EACH(f, p->of_granule, granule)
	if (p->flow[f].write == before && p->flow[f].last != x)
		add_edge(edges, &p->node[p->flow[f].last], &p->node[x]);
	memory[granule] = x + 1;
}

static void gather_edges(const struct problem *p, const int64_t *schedule, struct edges *edges)
{
	int64_t *memory = zeroed(p->granules, sizeof *memory), f; /* node + 1 */

	for (size_t i = 0; i < p->nodes; i++) {
		const struct node *n = &p->node[schedule[i]];
		for
			EACH(f, p->into, schedule[i])
		if (p->flow[f].write != NONE)
			add_edge(edges, &p->node[p->flow[f].write], n);
		for (unsigned k = 0; k < 2; k++)
			if (n->granule[k] != NONE)
				edges_of_write(p, schedule[i], n->granule[k], memory, edges);
	}
	free(memory);
	if (edges->n)
		qsort(edges->at, edges->n, sizeof *edges->at, compare_edges);
}

static void write_edges(const struct edges *edges, struct order_log_text *logs, uint32_t threads)
{
	uint64_t *known = zeroed(threads, sizeof *known), *last = zeroed(threads, sizeof *last);

	for (size_t i = 0; i < edges->n; i++) {
		const struct edge *e = &edges->at[i];
		if (!i || edges->at[i - 1].slot != e->slot) {
			memset(known, 0, threads * sizeof *known);
			memset(last, 0, threads * sizeof *last);
		}
		if (known[e->source_slot] > e->source)
			continue;
		known[e->source_slot] = e->source + 1;
		light_log_edge(&logs[e->slot], e->event, e->source_slot, e->source, last);
	}
	free(known);
	free(last);
}

/* ---- the two entries ---------------------------------------------------------------------------------------------------- */

static bool solve_all(const struct problem *p, const struct light_limits *limits, struct light_outcome *o,
		      int64_t *schedule)
{
	int64_t *walked = zeroed(p->nodes, sizeof *walked);
	size_t *place = zeroed(p->nodes, sizeof *place), size = limits->window ? limits->window : WINDOW;
	double began = now();
	bool fine = greedy(p, walked);

	if (!fine)
		o->problem = "the flows are circular: the log is damaged";
	for (size_t i = 0; i < p->nodes; i++)
		place[walked[i]] = i;
	struct window w = { .p = p, .order = walked, .place = place };
	while (fine && w.from < p->nodes) {
		w.to = w.to > w.from ? w.to + (w.to - w.from) : w.from + size; /* no schedule: twice as large */
		if (w.to > p->nodes)
			w.to = p->nodes;
		double left = limits->seconds - (now() - began);
		Z3_lbool result = Z3_L_UNDEF;
		if (!limits->seconds || left > 0)
			result = solve_window(&w, schedule, limits->seconds ? left : 0);
		if (limits->progress)
			limits->progress(result == Z3_L_TRUE ? w.to : w.from, p->nodes, now() - began);
		if (result == Z3_L_UNDEF)
			o->problem = "the solver's time is up";
		else if (result == Z3_L_FALSE && w.to == p->nodes)
			o->problem = "there is no schedule from here on";
		fine = !o->problem;
		if (w.to - w.from > o->largest)
			o->largest = w.to - w.from;
		if (result == Z3_L_TRUE) {
			o->windows++;
			w.from = w.to;
		}
	}
	o->choices = w.choices;
	o->seconds = now() - began;
	free(walked);
	free(place);
	return fine;
}

int light_solve(struct order_log_text *logs, uint32_t threads, const struct light_limits *limits,
		struct light_outcome *outcome)
{
	struct light_flows flows = { 0 };
	struct problem p;
	struct edges edges = { 0 };

	*outcome = (struct light_outcome){ .problem = load_z3() };
	for (uint32_t i = 0; i < threads; i++)
		if (!light_flows_of(i, logs[i].entry, logs[i].n, &flows))
			outcome->problem = "this is no log of light's, or it has been solved already";
	for (size_t i = 0; i < flows.n; i++)
		if (flows.at[i].writer >= (int64_t)threads)
			outcome->problem = "a flow comes from a thread that there is not: the log is damaged";
	if (outcome->problem) {
		free(flows.at);
		return -1;
	}
	problem_open(&p, &flows, 0, threads);
	outcome->flows = p.flows;
	outcome->events = p.nodes;
	int64_t *schedule = zeroed(p.nodes, sizeof *schedule);
	bool fine = solve_all(&p, limits, outcome, schedule);
	if (fine && !is_schedule(&p, schedule)) {
		outcome->problem = "the schedule found is none: this is a bug of heddle's";
		fine = false;
	}
	if (fine) {
		gather_edges(&p, schedule, &edges);
		for (uint32_t i = 0; i < threads; i++)
			logs[i].n = 0;
		write_edges(&edges, logs, threads);
	}
	free(edges.at);
	free(schedule);
	problem_close(&p);
	free(flows.at);
	return fine ? 0 : -1;
}

/* Each node has a number of its own below n, so that a model is one order; and this order is then forbidden. */
static long enumerate(struct window *w, const struct problem *p, int64_t *schedule, long most,
		      void (*each)(void *, const uint32_t *, const uint64_t *, size_t), void *arg)
{
	Z3_ast low = z3.mk_int(w->context, 0, z3.mk_int_sort(w->context)),
	       high = z3.mk_int(w->context, (int)p->nodes, z3.mk_int_sort(w->context));
	Z3_ast *other = zeroed(p->nodes, sizeof *other);
	uint32_t *slots = zeroed(p->nodes, sizeof *slots);
	uint64_t *events = zeroed(p->nodes, sizeof *events);
	long found = 0;

	for (size_t i = 0; i < p->nodes; i++) {
		z3.solver_assert(w->context, w->solver, z3.mk_ge(w->context, w->number[i], low));
		z3.solver_assert(w->context, w->solver, z3.mk_lt(w->context, w->number[i], high));
	}
	z3.solver_assert(w->context, w->solver, z3.mk_distinct(w->context, (unsigned)p->nodes, w->number));
	while (found >= 0 && found < most && z3.solver_check(w->context, w->solver) == Z3_L_TRUE) {
		take_model(w, schedule);
		for (size_t i = 0; i < p->nodes; i++) {
			slots[i] = p->node[schedule[i]].slot;
			events[i] = p->node[schedule[i]].event;
			Z3_ast number = z3.mk_int(w->context, (int)i, z3.mk_int_sort(w->context));
			other[i] =
				z3.mk_not(w->context, z3.mk_eq(w->context, w->number[w->place[schedule[i]]], number));
		}
		z3.solver_assert(w->context, w->solver, z3.mk_or(w->context, (unsigned)p->nodes, other));
		found = is_schedule(p, schedule) ? found + 1 : -1;
		each(arg, slots, events, p->nodes);
	}
	free(other);
	free(slots);
	free(events);
	return found;
}

long light_schedules(const struct light_flows *flows, const uint64_t *events, uint32_t threads, long most,
		     void (*each)(void *arg, const uint32_t *slots, const uint64_t *events, size_t n), void *arg)
{
	struct problem p;
	long found = 0;

	if (load_z3())
		return -2;
	problem_open(&p, flows, events, threads);
	int64_t *walked = zeroed(p.nodes, sizeof *walked), *schedule = zeroed(p.nodes, sizeof *schedule);
	size_t *place = zeroed(p.nodes, sizeof *place);
	if (p.nodes && greedy(&p, walked)) {
		for (size_t i = 0; i < p.nodes; i++)
			place[walked[i]] = i;
		struct window w = { .p = &p, .order = walked, .place = place, .to = p.nodes };
		window_open(&w);
		if (assert_all(&w))
			found = enumerate(&w, &p, schedule, most, each, arg);
		window_close(&w);
	}
	free(walked);
	free(schedule);
	free(place);
	problem_close(&p);
	return found;
}

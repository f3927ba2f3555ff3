/*
 * Light's schedule: an order of all events that its flows name, in which each read sees the write of its flow.
 *
 * Words
 *   node      an event that a flow names: a write that somebody read, the first and the last read of a flow.
 *   flow      write w, reads r .. l of one thread. w = NONE: what was there at first. A flow without a granule is one
 *             between locks, threads or system calls: r follows w, and nothing else.
 *   order     each node gets a number. Program order: smaller first. Flow: w < r. And nothing in between: for any other
 *             node x that writes the granule, x < w or l < x. These choices are what makes it hard.
 *   walk      an order that is made without looking back (light_walk.c). Mostly it is a schedule but for a few places.
 *   window    a part of the walk around such a place, which Z3 orders anew (light_window.c).
 */
#ifndef COMMANDS_LIGHT_H
#define COMMANDS_LIGHT_H
#include <stdio.h>
#include <stdlib.h>
#include "runtime/order/light.h"
#include "trace/format.h"

enum { NONE = -1 };

struct node {
	uint32_t slot;
	uint64_t event;
	int64_t granule[2]; /* numbers of the granules that it writes, where a flow begins here; NONE */
};

struct flow {
	int64_t write; /* node; NONE: at first */
	int64_t first, last;
	int64_t granule; /* NONE: of no memory */
};

/* Lists of small numbers, by key. */
struct lists {
	size_t *from; /* list i: item[from[i]] .. item[from[i + 1]] */
	int64_t *item;
};
#define EACH(i, l, k) (size_t at_ = (l).from[k]; at_ < (l).from[(k) + 1] && ((i) = (l).item[at_], true); at_++)

/* ---- light_problem.c: from a log to nodes and flows -------------------------------------------------------------- */

struct problem {
	struct node *node; /* by slot, then by event */
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

/* events: 0, or how many each thread has: all of them become nodes. */
void problem_open(struct problem *p, const struct light_flows *flows, const uint64_t *events, uint32_t threads);
void problem_close(struct problem *p);

static inline void *zeroed(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);
	if (!p) {
		fputs("heddle: no memory for light's schedule; record with --order=light:ww, which needs none\n",
		      stderr);
		exit(EXIT_CANNOT);
	}
	return p;
}

/* Room for one more in an array; NULL does at first. */
static inline void *grown(void *array, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return array;
	*room = *room ? 2 * *room : 1024;
	array = realloc(array, *room * size);
	if (!array)
		zeroed(SIZE_MAX / 2, 1); /* says so, and ends */
	return array;
}

static inline bool node_writes(const struct node *n, int64_t granule)
{
	return granule != NONE && (n->granule[0] == granule || n->granule[1] == granule);
}

/* ---- light_walk.c ------------------------------------------------------------------------------------------------ */

struct walk {
	int64_t *order; /* nodes */
	size_t *place;	/* of each node in it */
	size_t *wrong;	/* places of writes that came although others had still to read what they overwrote */
	size_t wrongs;
	size_t *latest; /* by index in of_granule.item: the latest end of this flow or of one before it */
};

/* Sorts the flows and the writes of each granule by their place. false: the flows themselves are circular. */
bool walk_open(struct walk *w, struct problem *p);
void walk_close(struct walk *w);
/* Runs an order over a memory in which each granule holds the node that wrote it last: does each read see its write? */
bool is_schedule(const struct problem *p, const int64_t *order);

/* ---- light_window.c: a part of the walk, in a right order -------------------------------------------------------- */

struct window {
	const struct problem *p;
	const struct walk *walk;
	size_t from, to; /* places */
	bool plain;	 /* everything to the solver, as it is: for measuring */
	size_t choices;	 /* given to the solver, in all */
};

enum answer { NO_SCHEDULE, SCHEDULE, TIME_IS_UP };

/* What is missing, or 0. */
const char *solver_load(void);
/* seconds: 0 is no limit. On SCHEDULE order[from .. to) is written. */
enum answer solve_window(struct window *w, int64_t *order, double seconds);
/* Of the whole walk: every order that is one, up to `most`; each(n nodes). */
long solve_every(struct window *w, long most, void (*each)(void *arg, const int64_t *order), void *arg);

/* ---- light_edges.c: from a schedule to the log that replay reads ------------------------------------------------- */

void write_edges(const struct problem *p, const int64_t *schedule, struct order_log_text *logs);
#endif

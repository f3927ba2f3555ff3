/*
 * heddle explain: reruns of a program, one thread at a time, and the search among them for the orders that make it
 * fail. trace/turns.h has the words.
 */
#ifndef COMMANDS_EXPLAIN_H
#define COMMANDS_EXPLAIN_H
#include "meta.h"
#include "trace/turns.h"

struct explain_options {
	const char *expect, *refuse, *timeout_text, *output;
	double timeout;
	long runs;
	bool quiet, json;
};

/* Switches come in pairs: thread s stands before its point B while thread u goes on up to its point A, and then goes on
   itself. */
struct schedule {
	unsigned count;
	bool backwards;
	struct turns_switch list[TURNS_SWITCHES];
};

/* ---- explain_runs.c ---- */
void runs_open(const struct meta *meta, const struct explain_options *options);
/* Reruns the program so: does it end as the recording did? */
bool runs_fails(const struct schedule *s);
/* Can a recording that ended so be one that hung? Then somebody ended it from outside, by a signal for that. */
bool runs_hung(uint32_t status);
/* Of the last rerun: what its threads did, until the next one; and its trace. */
const struct turns_file *runs_file(void);
const char *runs_trace(void);
unsigned runs_made(void); /* so far */
bool runs_over(void);	  /* as many as the user wants */
/* Removes everything, or moves the last trace there first. */
void runs_close(const char *keep);

/* ---- explain_pairs.c: which orders of two threads could be changed ---- */
struct pairs;
struct pair {
	struct turns_entry b, a; /* b came first, and a can perhaps come first */
	uint32_t until; /* a's thread goes on up to this point: its next op on the lock that is a has been made */
};
/* From what a rerun did from its entry `from` on; if that is not the first, the next ones come first. */
struct pairs *pairs_find(const struct turns_file *file, uint32_t from);
void pairs_free(struct pairs *p);
/* The n-th to try: each pair of places at one time first, then all of them at another, ... False: no more. */
bool pairs_get(const struct pairs *p, unsigned n, struct pair *pair);
unsigned pairs_places(const struct pairs *p); /* how many pairs of places */
bool entries_conflict(const struct turns_entry *a, const struct turns_entry *b);

/* ---- explain_search.c ---- */
/* "first came before second": turned round, the failure was gone. */
struct order_needed {
	struct turns_entry first, second;
};
#define ORDERS_MAX 16
struct explanation {
	struct schedule schedule; /* fails */
	bool never_passes;	  /* it fails also if each thread runs on until it waits */
	bool confirmed;		  /* the schedule failed again, and each change of it passed again */
	unsigned count;
	struct order_needed orders[ORDERS_MAX];
};
/* False: nothing was found. */
bool explain_search(struct explanation *e);
#endif

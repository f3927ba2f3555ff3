/*
 * What the files about phases share: barriers.c, handmade.c, uniform.c, phases.c, rounds.c.
 *
 * Words
 *   segment   what a thread runs from its beginning, or from a barrier that it has passed, until it waits again
 *   chain     the calls that lead from the function a thread begins with to a function that waits
 *   event     what ends a segment: the wait that comes next, the end of the thread, or nothing at all
 */
#ifndef COMPILER_RACES_PHASES_H
#define COMPILER_RACES_PHASES_H
#include "compiler/races/terms.h"

/* ---- barriers.c -------------------------------------------------------------------------------------------------- */

void barriers_begin(void);
void barriers_end(void);
/* Does this call wait for all of the team? */
bool barriers_count(uint32_t call, unsigned team, bool with_main);
bool barriers_same(uint32_t a, uint32_t b); /* two calls that wait */
bool barriers_is_one(uint32_t function);    /* a function that is one: --barrier=NAME, or of the program's own */

/* ---- handmade.c -------------------------------------------------------------------------------------------------- */

/* A barrier from a mutex, a condition and a counter: as many parties as this value, and so many more. */
struct handmade {
	LLVMValueRef parties;
	int more;
};
bool handmade_may_be(LLVMValueRef function); /* by what it calls; of a module that is not yet the program, too */
bool handmade_find(uint32_t function, struct handmade *found);
/* What is at a place, if nothing is ever stored there; NULL: not known. */
LLVMValueRef handmade_first_value(uint32_t place, unsigned bits);

/* ---- phases.c ---------------------------------------------------------------------------------------------------- */

enum { MOST_SEGMENTS = 256, MOST_CHAINS = 512, MOST_EVENTS = 62 };
#define EVENT_END  BIT(62) /* the thread ends, or goes on without ever waiting again */
#define EVENT_NONE BIT(63) /* it never returns: exit, abort, a loop for ever */

/* A chain of calls into functions that wait. */
struct chain {
	uint32_t up; /* index; the first chain is the beginning of the thread */
	const struct call *call;
};
/* Calls of a block from `from` (all before it are over) to `to`, which is not passed. */
struct piece {
	uint32_t chain, block, from, to;
	uint64_t events; /* that may come next */
};
struct segment {
	uint32_t chain, call; /* the wait that it begins with; UINT32_MAX: the thread's beginning */
	struct piece *pieces;
	uint32_t piece_count;
	uint64_t *calls; /* of each function that is called in it and does not wait: the events that may come next */
	uint32_t next[MOST_EVENTS]; /* events: segments that follow */
	unsigned next_count;
};
/* The segments of a class, for barriers of one team. */
struct walk {
	unsigned class, team;
	bool with_main, failed;
	struct chain chains[MOST_CHAINS];
	unsigned chain_count;
	struct segment segments[MOST_SEGMENTS];
	unsigned segment_count;
};
struct meeting {
	struct walk *a, *b; /* of the first thread or the team, and of the team */
	bool *meet;	    /* [segment of a][segment of b]; NULL: nothing is known */
	/* All go the same way: a segment of a meets only one of b, and the events that come next are the same, too. */
	struct uniform *uniform;
	uint32_t *same; /* of each segment of a: that of b */
};
struct meeting *phases_meeting(unsigned team, bool with_main);
/* The events that may come next if the place, in a function that the walk has gone through, is in this segment; 0: it
   is not. */
#define ANY_CHAIN UINT32_MAX
uint64_t phases_events(const struct segment *s, LLVMValueRef inst, uint32_t chain);
/* Does it surely wait before it returns, for the team of the meeting that was asked for last? */
bool phases_surely_waits(const struct call *c);
bool phases_function_waits(uint32_t function);
/* Can two threads be in these segments, if these events come next? */
bool phases_agree(const struct meeting *m, unsigned p, uint64_t events_p, unsigned q, uint64_t events_q);

/* ---- uniform.c --------------------------------------------------------------------------------------------------- */

/* Do all threads that begin with a function go the same way from wait to wait? NULL: perhaps not. `waits`: by function,
   whether it may. */
struct uniform *uniform_find(uint32_t entry, const bool *waits, bool (*is_wait)(const struct call *c));
void uniform_free(struct uniform *u);
/* Have all threads of the team gone round a loop as often, when they are at the same wait in it? */
bool uniform_loop(const struct uniform *u, LLVMBasicBlockRef header);
#endif

/*
 * What light's log says, for the tool: commands/light_*.c read it and make a schedule of it.
 */
#ifndef ORDER_LIGHT_H
#define ORDER_LIGHT_H
#include "vector.h"

/* A flow from a write to the reads of it that one thread made in a row; or from one op (of locks, threads, system
   calls) to the next. */
#define LIGHT_OPS (~0ull)
struct light_flow {
	uint64_t granule; /* its address; LIGHT_OPS: none */
	int64_t writer;	  /* slot; -1: what was there at first */
	uint64_t write;	  /* its event */
	uint32_t reader;
	uint64_t first, last; /* events of the reader */
};

struct light_flows {
	struct light_flow *at;
	size_t n, room;
};

/* Appends the flows that this thread's log has. false: it is no log of light's. */
bool light_flows_of(uint32_t slot, const struct order_entry *entries, size_t n, struct light_flows *to);

struct light_limits {
	unsigned window;  /* events that are solved at once; 0: a good number */
	unsigned seconds; /* for all; 0: no limit */
	bool every;	  /* give all of it to the solver, also what is right already: for measuring */
	uint64_t first;	  /* events of this process begin here; smaller ones are of before its fork */
	void (*progress)(size_t done, size_t all, double seconds); /* optional */
};

struct light_outcome {
	size_t flows, events, windows, largest; /* largest window that was needed */
	size_t wrongs;				/* places where the walk without a solver was wrong */
	size_t choices;				/* disjunctions the solver was given */
	double seconds;
	const char *problem; /* why there is no schedule */
};

/*
 * commands/light_solve.c: a schedule of all events that flows name, in which every read sees the write of its flow: Z3,
 * integer difference logic, window by window, where a walk over them is not right. logs[i].entry of thread i is
 * replaced by what replay waits for. 0: done. -1: there is none, or the time is up: see outcome->problem.
 */
int light_solve(struct order_log_text *logs, uint32_t threads, const struct light_limits *limits,
		struct light_outcome *outcome);
/*
 * All schedules of the events of a written trace, up to `most`: each is checked against the flows by a second routine.
 * events[i] of thread i are 0 .. events[i]-1. each(slots, events, n) is called per schedule. Returns how many;
 * -1: one did not satisfy the flows; -2: there is no solver.
 */
long light_schedules(const struct light_flows *flows, const uint64_t *events, uint32_t threads, long most,
		     void (*each)(void *arg, const uint32_t *slots, const uint64_t *events, size_t n), void *arg);
#endif

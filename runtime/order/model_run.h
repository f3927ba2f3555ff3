/*
 * One run of the reference model: what its files share. See model.h.
 */
#ifndef ORDER_MODEL_RUN_H
#define ORDER_MODEL_RUN_H
#include "order.h"
#ifdef HEDDLE_TOOL
#include <ucontext.h>
#include "compiler/hooks.h"
#include "model.h"

enum { STACK = 128 << 10, STEPS = 8 * MODEL_EVENTS, ENTRIES = 2 * MODEL_EVENTS };

struct thread {
	struct order_thread order;
	uint64_t finished;	   /* events */
	size_t *line, lines, next; /* its part of the trace: indices in trace->event */
	bool started, under_way, ended;
	ucontext_t context;
	void *stack;
	bool (*ready)(const void *); /* 0: can go on */
	const void *arg;
	struct order_entry *entry; /* the log */
	size_t entries, taken;
	unsigned number;       /* replay: numbers taken of the entry that is due */
	struct access *access; /* by event; no addr: not an access */
	size_t *line_of;       /* by event */
	uint64_t *value;       /* recorded, by line: what was read */
	uint64_t known[MODEL_THREADS];
	struct hook_self self; /* for schemes with claims: they may move its count of events on */
};

/* A lock of the program. */
struct lock {
	bool held;
	uint64_t known[MODEL_THREADS];
	size_t *order, count, taken; /* lines that took it, as recorded; how many have, at replay */
};

struct plan {
	unsigned n, at, choice[STEPS], of[STEPS];
	uint64_t random; /* 0: choices in turn */
};

/* The run under way, or the last one. */
struct run {
	const struct model_trace *trace;
	const struct order_scheme *scheme;
	const struct order_ops *ops;
	bool replays, searches, splits; /* splits: a read may stop between value and bound */
	struct thread threads[MODEL_THREADS], *now;
	struct lock locks[MODEL_OBJECTS];
	_Alignas(16) uint64_t memory[MODEL_OBJECTS], memory_recorded[MODEL_OBJECTS];
	uint64_t states[MODEL_OBJECTS * 8];
	ucontext_t chooser;
	size_t came[STEPS], came_count; /* lines, as they were done */
	bool failed;
	char failure[400];
};
extern struct run run;

/* model.c */
void *run_memory(size_t n);
/* Another thread may run now; this one goes on when `ready`. */
void run_stop(bool (*ready)(const void *), const void *arg);
void run_step(struct thread *t);
/* The run is over. */
_Noreturn void run_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool run_can_go_on(const struct thread *t);
void run_set_up(bool replay);
/* Memory for a trace; once for each. */
void run_open(const struct order_scheme *s, const struct model_trace *t);
void run_close(void);

/* model_services.c */
void run_next_entry(struct thread *t);

/* model_events.c: a thread, from its first line to its end */
void run_body(void);
/* Does the trace fork, or join, this thread? */
bool run_is_named(enum model_op op, uint32_t slot);
#endif
#endif

/*
 * The reference model: runs a scheme over a written trace without a program, and looks at every replay that its log
 * allows. For the tool only; `heddle order` is its command.
 *
 * Threads are coroutines, so a scheme can be stopped wherever it waits, takes a lock or calls order_chaos(), and the
 * model decides who goes on. Memory is sequentially consistent here: what fences are for, real threads show
 * (tests/orders/).
 */
#ifndef ORDER_MODEL_H
#define ORDER_MODEL_H
#include <stdio.h>
#include "order.h"

enum { MODEL_THREADS = 64, MODEL_OBJECTS = 256, MODEL_EVENTS = 4096 };

enum model_op {
	MODEL_READ,
	MODEL_WRITE,
	MODEL_VALUE,
	MODEL_BOUND,
	MODEL_ACQUIRE,
	MODEL_RELEASE,
	MODEL_FORK,
	MODEL_JOIN
};

/* A line of the written trace. */
struct model_event {
	uint32_t slot;
	enum model_op op;
	uint32_t object; /* fork, join: the other thread's slot */
	uint64_t value;	 /* write: stored. Read: what must be there, if `expected` */
	bool expected;
};

struct model_trace {
	unsigned threads, objects;
	size_t count;
	struct model_event event[MODEL_EVENTS];
	char thread[MODEL_THREADS][32], object[MODEL_OBJECTS][32];
};

/* Records the trace in its written order. 0, or what cannot be done; *at: with which event. */
const char *model_record(const struct order_scheme *s, const struct model_trace *t, size_t *at);
/* What a scheme's print() needs of the last recording. */
void model_printer(struct order_printer *p, FILE *to);

struct model_result {
	uint64_t recordings, replays; /* looked at */
	bool all;		      /* these are all there are */
	bool wrong;
	char text[1000]; /* what was wrong: how the events came, and what differed */
};
/* All replays of the last recording, up to `limit`; beyond that at random. */
void model_check(uint64_t limit, struct model_result *result);
/* All recordings of the threads' parts of the trace, in whatever order they may come, and their replays. */
void model_check_all(const struct order_scheme *s, const struct model_trace *t, uint64_t limit,
		     struct model_result *result);
#endif

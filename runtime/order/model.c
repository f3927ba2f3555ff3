/*
 * The reference model: a run over a written trace, and what is left of it. See model.h.
 */
#include "model_run.h"
#ifdef HEDDLE_TOOL
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct run run;

void *run_memory(size_t n)
{
	void *p = calloc(1, n);

	if (!p)
		abort();
	return p;
}

/* ---- coroutines -------------------------------------------------------------------------------------------------- */

/* Another thread may run now; this one goes on when `ready`. */
void run_stop(bool (*ready)(const void *), const void *arg)
{
	struct thread *t = run.now;

	t->ready = ready;
	t->arg = arg;
	swapcontext(&t->context, &run.chooser);
	t->ready = 0;
}

void run_step(struct thread *t)
{
	run.now = t;
	swapcontext(&run.chooser, &t->context);
}

/* The run is over. */
_Noreturn void run_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(run.failure, sizeof run.failure, format, args);
	va_end(args);
	run.failed = true;
	for (;;)
		swapcontext(&run.now->context, &run.chooser);
}

bool run_can_go_on(const struct thread *t)
{
	return t->started && !t->ended && (!t->ready || t->ready(t->arg));
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

static void set_up_thread(struct thread *t, uint32_t slot)
{
	void *own = t->order.own;

	memset(own, 0, run.scheme->thread_size);
	t->order = (struct order_thread){ .slot = slot, .own = own, .next_entry = ORDER_NEVER };
	t->finished = t->next = t->taken = t->self.events = 0;
	t->under_way = t->ended = false;
	t->ready = 0;
	memset(t->known, 0, sizeof t->known);
	if (run.replays)
		run_next_entry(t);
	else
		t->entries = 0;
	getcontext(&t->context);
	t->context.uc_stack.ss_sp = t->stack;
	t->context.uc_stack.ss_size = STACK;
	makecontext(&t->context, run_body, 0);
	t->started = !run_is_named(MODEL_FORK, slot);
}

void run_set_up(bool replay)
{
	run.replays = replay;
	run.ops = replay ? &run.scheme->replay : &run.scheme->record;
	order_used = run.scheme;
	run.failed = false;
	run.came_count = 0;
	memset(run.memory, 0, sizeof run.memory);
	memset(run.states, 0, sizeof run.states);
	for (unsigned i = 0; i < run.trace->objects; i++) {
		run.locks[i].held = false;
		run.locks[i].taken = 0;
		run.locks[i].count = replay ? run.locks[i].count : 0;
		memset(run.locks[i].known, 0, sizeof run.locks[i].known);
	}
	for (uint32_t i = 0; i < run.trace->threads; i++)
		set_up_thread(&run.threads[i], i);
	if (run.ops->open)
		run.ops->open();
	for (uint32_t i = 0; i < run.trace->threads && !run.failed; i++)
		if (run.threads[i].started)
			run_step(&run.threads[i]);
}

/* Memory for a trace; once for each. */
void run_open(const struct order_scheme *s, const struct model_trace *t)
{
	run.scheme = s;
	run.trace = t;
	for (uint32_t i = 0; i < t->threads; i++) {
		size_t n = (t->count + 2) * (MODEL_THREADS + 1); /* each event may have as many edges */
		run.threads[i] = (struct thread){ .line = run_memory(n * sizeof(size_t)),
						  .stack = run_memory(STACK),
						  .entry = run_memory(ENTRIES * sizeof(struct order_entry)),
						  .access = run_memory(n * sizeof(struct access)),
						  .line_of = run_memory(n * sizeof(size_t)),
						  .value = run_memory(n * 8) };
		run.threads[i].order.own = run_memory(s->thread_size + 1);
	}
	for (size_t i = 0; i < t->count; i++) {
		struct thread *own = &run.threads[t->event[i].slot];
		own->line[own->lines++] = i;
	}
	for (unsigned i = 0; i < t->objects; i++)
		run.locks[i].order = run_memory((t->count + 1) * sizeof(size_t));
}

void run_close(void)
{
	for (uint32_t i = 0; i < run.trace->threads; i++) {
		struct thread *t = &run.threads[i];
		free(t->line), free(t->stack), free(t->entry), free(t->access), free(t->line_of), free(t->value);
		free(t->order.own);
	}
	for (unsigned i = 0; i < run.trace->objects; i++)
		free(run.locks[i].order);
	run.trace = 0;
}

/* Whoever stopped in the middle of an event goes on to its end, or as far as it can. */
static bool push_others(struct thread *t)
{
	bool moved = false;

	for (uint32_t i = 0; i < run.trace->threads; i++)
		if (&run.threads[i] != t && run.threads[i].under_way && run_can_go_on(&run.threads[i])) {
			run_step(&run.threads[i]);
			moved = true;
		}
	return moved;
}

/* The next line of this thread, to its end; a split read to its value. */
static bool run_line(struct thread *t, const struct model_event *e)
{
	size_t before = t->next;

	while (!run.failed && t->next == before && !t->ended) {
		if (t->under_way && e->op == MODEL_VALUE && run_can_go_on(t))
			return true; /* it has stopped with its value */
		if (run_can_go_on(t))
			run_step(t);
		else if (!push_others(t))
			return false;
	}
	return true;
}

static void finish_all(void)
{
	for (bool moved = true; moved && !run.failed;) {
		moved = false;
		for (uint32_t i = 0; i < run.trace->threads && !run.failed; i++)
			if (run.threads[i].next == run.threads[i].lines && run_can_go_on(&run.threads[i])) {
				run_step(&run.threads[i]);
				moved = true;
			}
	}
}

static const char *record_lines(size_t *at)
{
	for (*at = 0; *at < run.trace->count; ++*at) {
		const struct model_event *e = &run.trace->event[*at];
		struct thread *t = &run.threads[e->slot];
		if (!t->started)
			return "this thread has not been forked yet";
		while (t->under_way && !run.failed && run_can_go_on(t)) /* a split read that has its value */
			run_step(t);
		if (e->op == MODEL_JOIN)
			finish_all();
		if (!run_line(t, e) && !run.failed)
			return e->op == MODEL_ACQUIRE ? "the lock is held" :
			       e->op == MODEL_JOIN    ? "the other thread has more to do" :
							"the scheme waits";
		if (run.failed)
			return run.failure;
	}
	finish_all();
	return run.failed ? run.failure : 0;
}

const char *model_record(const struct order_scheme *s, const struct model_trace *t, size_t *at)
{
	if (run.trace)
		run_close();
	run_open(s, t);
	run.searches = false;
	run.splits = true;
	run_set_up(false);
	const char *problem = run.failed ? run.failure : record_lines(at);
	memcpy(run.memory_recorded, run.memory, sizeof run.memory);
	return problem;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void line(void *to, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(to, format, args);
	va_end(args);
	putc('\n', to);
}

static const struct order_entry *entries(uint32_t slot, size_t *count)
{
	*count = run.threads[slot].entries;
	return run.threads[slot].entry;
}

static const struct access *access_at(uint32_t slot, uint64_t event)
{
	const struct access *a = &run.threads[slot].access[event];

	return event < run.threads[slot].finished && a->addr ? a : 0;
}

static const char *location_name(uint64_t addr)
{
	return run.trace->object[(addr - (uint64_t)run.memory) / GRANULE];
}

/* Four results may be in use at once. */
static const char *event_name(uint32_t slot, uint64_t event)
{
	static char text[4][24];
	static unsigned n;

	n = (n + 1) % 4;
	snprintf(text[n], sizeof text[n], "e%zu", run.threads[slot].line_of[event] + 1);
	return text[n];
}

void model_printer(struct order_printer *p, FILE *to)
{
	*p = (struct order_printer){ .line = line,
				     .to = to,
				     .threads = run.trace->threads,
				     .entries = entries,
				     .access = access_at,
				     .location_name = location_name,
				     .event_name = event_name };
}
#endif

/*
 * The reference model: the lines of a written trace, as a thread does them.
 *
 * Locks of the program, fork and join are ordered at replay as the common part does it, whatever the scheme.
 */
#include "model_run.h"
#ifdef HEDDLE_TOOL
#include <string.h>

static void learn(uint64_t *to, const uint64_t *from)
{
	for (unsigned i = 0; i < run.trace->threads; i++)
		if (from[i] > to[i])
			to[i] = from[i];
}

static void publish(struct thread *t, uint64_t *to)
{
	t->known[t->order.slot] = t->finished;
	learn(to, t->known);
}

static void finish(struct thread *t)
{
	if (t->lines) /* the end of the thread belongs to its last line */
		t->line_of[t->order.event] = t->line[t->next < t->lines ? t->next : t->lines - 1];
	t->finished = ++t->order.event;
	t->self.events = 2 * t->finished;
	if (run.replays && t->order.next_entry < t->order.event)
		run_fail("%s does not take an entry", run.trace->thread[t->order.slot]);
}

static void interleave(void)
{
	if (run.searches)
		run_stop(0, 0);
}

static void check_value(struct thread *t, const struct access *a)
{
	const struct model_event *e = &run.trace->event[t->line[t->next]];
	uint64_t *recorded = &t->value[t->next];

	if (!(a->kind & ACCESS_READS))
		return;
	if (!run.replays && e->expected && !run.searches && e->value != a->old[0])
		run_fail("%s reads %s = %llu, not %llu", run.trace->thread[t->order.slot], run.trace->object[e->object],
			 (unsigned long long)a->old[0], (unsigned long long)e->value);
	if (!run.replays)
		*recorded = a->old[0];
	else if (*recorded != a->old[0])
		run_fail("%s reads %s = %llu at e%zu, recorded was %llu", run.trace->thread[t->order.slot],
			 run.trace->object[run.trace->event[t->line[t->next]].object], (unsigned long long)a->old[0],
			 t->line[t->next] + 1, (unsigned long long)*recorded);
}

static void do_access(struct thread *t, const struct model_event *e)
{
	static struct hook_site sites[MODEL_OBJECTS]; /* each object is an element of its own */
	struct access *a = &t->access[t->order.event];

	sites[e->object].element = e->object;
	*a = (struct access){ .addr = (uint64_t)&run.memory[e->object],
			      .size = 8,
			      .granules = 1,
			      .kind = e->op == MODEL_WRITE ? ACCESS_WRITES : ACCESS_READS,
			      .site = &sites[e->object],
			      .value = { e->value } };
	t->self.events = 2 * t->order.event + 1;
	if (run.ops->access) {
		uint64_t number = t->order.event;
		run.ops->access(&t->order, a);
		for (; number < t->order.event; number++) /* left out, see order_scheme.claims */
			t->line_of[number] = t->line[t->next];
	} else {
		run.ops->before(&t->order, a);
		interleave();
		access_perform(a);
		interleave();
		run.ops->after(&t->order, a, true);
	}
	check_value(t, a);
	finish(t);
}

/* An event for the scheme, if it wants to see it. */
static void tell(struct thread *t, void (*op)(struct order_thread *, uint64_t), uint64_t object)
{
	if (!op)
		return;
	t->access[t->order.event] = (struct access){ 0 };
	op(&t->order, object);
	finish(t);
}

struct turn {
	const struct lock *lock;
	size_t line;
};

static bool lock_is_free(const void *arg)
{
	const struct turn *turn = arg;
	const struct lock *l = turn->lock;

	return !l->held && (!run.replays || (l->taken < l->count && l->order[l->taken] == turn->line));
}

static void do_acquire(struct thread *t, struct lock *l, uint64_t object)
{
	struct turn turn = { l, t->line[t->next] };

	while (!lock_is_free(&turn))
		run_stop(lock_is_free, &turn);
	l->held = true;
	if (run.replays)
		l->taken++;
	else
		l->order[l->count++] = turn.line;
	learn(t->known, l->known);
	tell(t, run.ops->acquire, object);
}

static void do_release(struct thread *t, struct lock *l, uint64_t object)
{
	tell(t, run.ops->release, object);
	publish(t, l->known);
	l->held = false;
}

/* Objects for acquire and release that are threads have numbers of their own. */
static uint64_t thread_object(uint32_t slot)
{
	return MODEL_OBJECTS + slot;
}

static void do_fork(struct thread *t, struct thread *child)
{
	if (run.ops->create) {
		t->access[t->order.event] = (struct access){ 0 };
		run.ops->create(&t->order, &child->order);
		finish(t);
	} else {
		tell(t, run.ops->release, thread_object(child->order.slot));
	}
	publish(t, child->known);
	child->started = true;
}

static bool has_ended(const void *arg)
{
	return ((const struct thread *)arg)->ended;
}

static void do_join(struct thread *t, struct thread *child)
{
	while (!child->ended)
		run_stop(has_ended, child);
	publish(child, t->known);
	tell(t, run.ops->acquire, thread_object(child->order.slot));
}

static void do_event(struct thread *t, const struct model_event *e)
{
	switch (e->op) {
	case MODEL_READ:
	case MODEL_WRITE:
	case MODEL_VALUE: do_access(t, e); return;
	case MODEL_BOUND: return; /* the read has gone on to its end */
	case MODEL_ACQUIRE: do_acquire(t, &run.locks[e->object], e->object); return;
	case MODEL_RELEASE: do_release(t, &run.locks[e->object], e->object); return;
	case MODEL_FORK: do_fork(t, &run.threads[e->object]); return;
	case MODEL_JOIN: do_join(t, &run.threads[e->object]); return;
	}
}

/* Does the trace fork, or join, this thread? */
bool run_is_named(enum model_op op, uint32_t slot)
{
	for (size_t i = 0; i < run.trace->count; i++)
		if (run.trace->event[i].op == op && run.trace->event[i].object == slot)
			return true;
	return false;
}

void run_body(void)
{
	struct thread *t = run.now;

	if (run.ops->begin)
		run.ops->begin(&t->order);
	if (!run.ops->create && run_is_named(MODEL_FORK, t->order.slot))
		tell(t, run.ops->acquire, thread_object(t->order.slot)); /* it follows its creator's call */
	for (; t->next < t->lines; t->next++) {
		run_stop(0, 0); /* between events */
		t->under_way = true;
		do_event(t, &run.trace->event[t->line[t->next]]);
		t->under_way = false;
		run.came[run.came_count++ % STEPS] = t->line[t->next];
	}
	if (run_is_named(MODEL_JOIN, t->order.slot))
		tell(t, run.ops->release, thread_object(t->order.slot));
	if (run.ops->end)
		run.ops->end(&t->order);
	t->ended = true;
	for (;;)
		run_stop(0, 0);
}
#endif

/*
 * The reference model. See model.h.
 *
 * One run is a sequence of choices: at each step one of the threads that can go on is chosen, and runs until it has
 * done its event, waits, or comes to a place where another might interfere (order_chaos(), and between before, access
 * and after). A run is repeated from its beginning with the choices of the run before, the last one changed, until there
 * is no other: an exhaustive search that needs no copy of a state.
 *
 * Locks of the program, fork and join are ordered at replay as the common part does it, whatever the scheme.
 */
#include "order.h"
#ifdef HEDDLE_TOOL
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
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

static const struct model_trace *trace;
static const struct order_scheme *scheme;
static const struct order_ops *ops;
static bool replays, searches, splits; /* splits: a read may stop between value and bound */
static struct thread threads[MODEL_THREADS], *now;
static struct lock locks[MODEL_OBJECTS];
static _Alignas(16) uint64_t memory[MODEL_OBJECTS], memory_recorded[MODEL_OBJECTS];
static uint64_t states[MODEL_OBJECTS * 8];
static ucontext_t chooser;
static struct plan *plan;
static size_t came[STEPS], came_count; /* lines, as they were done */
static bool failed;
static char failure[400];

static void *get_memory(size_t n)
{
	void *p = calloc(1, n);

	if (!p)
		abort();
	return p;
}

/* ---- coroutines ------------------------------------------------------------------------------------------------------ */

/* Another thread may run now; this one goes on when `ready`. */
static void stop(bool (*ready)(const void *), const void *arg)
{
	struct thread *t = now;

	t->ready = ready;
	t->arg = arg;
	swapcontext(&t->context, &chooser);
	t->ready = 0;
}

static void step(struct thread *t)
{
	now = t;
	swapcontext(&chooser, &t->context);
}

/* The run is over. */
static _Noreturn void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(failure, sizeof failure, format, args);
	va_end(args);
	failed = true;
	for (;;)
		swapcontext(&now->context, &chooser);
}

static bool can_go_on(const struct thread *t)
{
	return t->started && !t->ended && (!t->ready || t->ready(t->arg));
}

/* ---- services of order.h ---------------------------------------------------------------------------------------------- */

static struct thread *thread_of(struct order_thread *t)
{
	return &threads[t->slot];
}

bool access_perform(struct access *a)
{
	uint64_t *p = (uint64_t *)a->addr;

	if (a->kind & ACCESS_READS)
		a->old[0] = *p;
	if (a->kind & ACCESS_WRITES)
		*p = a->value[0];
	a->op = 1; /* done */
	return true;
}

void *order_state(uint64_t addr)
{
	return (char *)states + (addr - (uint64_t)memory) / GRANULE * scheme->state_size;
}

void order_log(struct order_thread *t, unsigned n, const uint64_t *numbers)
{
	struct thread *own = thread_of(t);

	if (own->entries == ENTRIES || n > 15)
		fail("%s logs too much", trace->thread[t->slot]);
	struct order_entry *e = &own->entry[own->entries++];
	*e = (struct order_entry){ .event = t->event, .n = n };
	memcpy(e->numbers, numbers, n * sizeof *numbers);
	t->last_entry = t->event;
	t->entries++;
}

static void next_entry(struct thread *t)
{
	t->number = 0;
	t->order.next_entry = t->taken < t->entries ? t->entry[t->taken].event : ORDER_NEVER;
}

uint64_t order_number(struct order_thread *t)
{
	struct thread *own = thread_of(t);

	if (own->taken == own->entries || own->number == own->entry[own->taken].n)
		fail("%s takes more numbers than it has logged", trace->thread[t->slot]);
	return own->entry[own->taken].numbers[own->number++];
}

void order_taken(struct order_thread *t)
{
	struct thread *own = thread_of(t);

	if (own->number != own->entry[own->taken].n)
		fail("%s takes fewer numbers than it has logged", trace->thread[t->slot]);
	own->taken++;
	next_entry(own);
}

static bool is_free(const void *arg)
{
	return !*(const uint32_t *)arg;
}

void order_lock(uint32_t *lock)
{
	while (*lock)
		stop(is_free, lock);
	*lock = 1;
}

void order_unlock(uint32_t *lock)
{
	*lock = 0;
}

void order_wait(struct order_thread *t, bool (*ready)(const void *arg), const void *arg, const char *why)
{
	(void)t, (void)why;
	while (!ready(arg))
		stop(ready, arg);
}

bool order_finished(uint32_t slot, uint64_t event)
{
	return (scheme->claims ? threads[slot].self.events / 2 : threads[slot].finished) >= event;
}

struct place {
	uint32_t slot;
	uint64_t event;
};

static bool place_finished(const void *arg)
{
	const struct place *p = arg;

	return order_finished(p->slot, p->event);
}

void order_wait_event(struct order_thread *t, uint32_t slot, uint64_t event)
{
	order_wait(t, place_finished, &(struct place){ slot, event }, "");
}

uint64_t order_events(uint32_t slot)
{
	return threads[slot].finished;
}

bool order_known(struct order_thread *t, uint32_t slot, uint64_t event)
{
	uint64_t *known = &thread_of(t)->known[slot];

	if (slot == t->slot || *known > event)
		return true;
	*known = event + 1;
	return false;
}

uint32_t order_slots(void)
{
	return trace->threads;
}

struct order_thread *order_thread_of(uint32_t slot)
{
	return &threads[slot].order;
}

/* nobody is killed here */
void order_came_to(struct order_thread *t)
{
	(void)t;
}

void order_begun(struct order_thread *t)
{
	(void)t;
}

/* In a written trace only a read that is split stops, once it has its value. */
void order_chaos(struct order_thread *t)
{
	struct thread *own = thread_of(t);

	if (searches || (splits && own->access[t->event].op && trace->event[own->line[own->next]].op == MODEL_VALUE))
		stop(0, 0);
}

void *order_memory(size_t n)
{
	return get_memory(n); /* until the tool ends */
}

/* Schemes with claims: there are none here, so everything goes to the scheme. */
struct hook_self *order_self(uint32_t slot)
{
	return &threads[slot].self;
}

uint8_t *order_claims(uint32_t slot)
{
	(void)slot;
	return 0;
}

void order_membarrier(void)
{
}

void order_relax(unsigned *looked)
{
	++*looked;
	stop(0, 0);
}

void order_say(struct order_thread *t, const char *line)
{
	printf("%s %s\n", trace->thread[t->slot], line);
}

void order_cannot(const char *what)
{
	fail("the scheme cannot go on: %s", what);
}

/* ---- events ------------------------------------------------------------------------------------------------------------ */

static void learn(uint64_t *to, const uint64_t *from)
{
	for (unsigned i = 0; i < trace->threads; i++)
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
	if (replays && t->order.next_entry < t->order.event)
		fail("%s does not take an entry", trace->thread[t->order.slot]);
}

static void interleave(void)
{
	if (searches)
		stop(0, 0);
}

static void check_value(struct thread *t, const struct access *a)
{
	const struct model_event *e = &trace->event[t->line[t->next]];
	uint64_t *recorded = &t->value[t->next];

	if (!(a->kind & ACCESS_READS))
		return;
	if (!replays && e->expected && !searches && e->value != a->old[0])
		fail("%s reads %s = %llu, not %llu", trace->thread[t->order.slot], trace->object[e->object],
		     (unsigned long long)a->old[0], (unsigned long long)e->value);
	if (!replays)
		*recorded = a->old[0];
	else if (*recorded != a->old[0])
		fail("%s reads %s = %llu at e%zu, recorded was %llu", trace->thread[t->order.slot],
		     trace->object[trace->event[t->line[t->next]].object], (unsigned long long)a->old[0],
		     t->line[t->next] + 1, (unsigned long long)*recorded);
}

static void do_access(struct thread *t, const struct model_event *e)
{
	static struct hook_site sites[MODEL_OBJECTS]; /* each object is an element of its own */
	struct access *a = &t->access[t->order.event];

	sites[e->object].element = e->object;
	*a = (struct access){ .addr = (uint64_t)&memory[e->object],
			      .size = 8,
			      .granules = 1,
			      .kind = e->op == MODEL_WRITE ? ACCESS_WRITES : ACCESS_READS,
			      .site = &sites[e->object],
			      .value = { e->value } };
	t->self.events = 2 * t->order.event + 1;
	if (ops->access) {
		uint64_t number = t->order.event;
		ops->access(&t->order, a);
		for (; number < t->order.event; number++) /* left out, see order_scheme.claims */
			t->line_of[number] = t->line[t->next];
	} else {
		ops->before(&t->order, a);
		interleave();
		access_perform(a);
		interleave();
		ops->after(&t->order, a, true);
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

	return !l->held && (!replays || (l->taken < l->count && l->order[l->taken] == turn->line));
}

static void do_acquire(struct thread *t, struct lock *l, uint64_t object)
{
	struct turn turn = { l, t->line[t->next] };

	while (!lock_is_free(&turn))
		stop(lock_is_free, &turn);
	l->held = true;
	if (replays)
		l->taken++;
	else
		l->order[l->count++] = turn.line;
	learn(t->known, l->known);
	tell(t, ops->acquire, object);
}

static void do_release(struct thread *t, struct lock *l, uint64_t object)
{
	tell(t, ops->release, object);
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
	if (ops->create) {
		t->access[t->order.event] = (struct access){ 0 };
		ops->create(&t->order, &child->order);
		finish(t);
	} else {
		tell(t, ops->release, thread_object(child->order.slot));
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
		stop(has_ended, child);
	publish(child, t->known);
	tell(t, ops->acquire, thread_object(child->order.slot));
}

static void do_event(struct thread *t, const struct model_event *e)
{
	switch (e->op) {
	case MODEL_READ:
	case MODEL_WRITE:
	case MODEL_VALUE: do_access(t, e); return;
	case MODEL_BOUND: return; /* the read has gone on to its end */
	case MODEL_ACQUIRE: do_acquire(t, &locks[e->object], e->object); return;
	case MODEL_RELEASE: do_release(t, &locks[e->object], e->object); return;
	case MODEL_FORK: do_fork(t, &threads[e->object]); return;
	case MODEL_JOIN: do_join(t, &threads[e->object]); return;
	}
}

/* Does the trace fork, or join, this thread? */
static bool is_named(enum model_op op, uint32_t slot)
{
	for (size_t i = 0; i < trace->count; i++)
		if (trace->event[i].op == op && trace->event[i].object == slot)
			return true;
	return false;
}

static void body(void)
{
	struct thread *t = now;

	if (ops->begin)
		ops->begin(&t->order);
	if (!ops->create && is_named(MODEL_FORK, t->order.slot))
		tell(t, ops->acquire, thread_object(t->order.slot)); /* it follows its creator's call */
	for (; t->next < t->lines; t->next++) {
		stop(0, 0); /* between events */
		t->under_way = true;
		do_event(t, &trace->event[t->line[t->next]]);
		t->under_way = false;
		came[came_count++ % STEPS] = t->line[t->next];
	}
	if (is_named(MODEL_JOIN, t->order.slot))
		tell(t, ops->release, thread_object(t->order.slot));
	if (ops->end)
		ops->end(&t->order);
	t->ended = true;
	for (;;)
		stop(0, 0);
}

/* ---- a run ------------------------------------------------------------------------------------------------------------- */

static void set_up_thread(struct thread *t, uint32_t slot)
{
	void *own = t->order.own;

	memset(own, 0, scheme->thread_size);
	t->order = (struct order_thread){ .slot = slot, .own = own, .next_entry = ORDER_NEVER };
	t->finished = t->next = t->taken = t->self.events = 0;
	t->under_way = t->ended = false;
	t->ready = 0;
	memset(t->known, 0, sizeof t->known);
	if (replays)
		next_entry(t);
	else
		t->entries = 0;
	getcontext(&t->context);
	t->context.uc_stack.ss_sp = t->stack;
	t->context.uc_stack.ss_size = STACK;
	makecontext(&t->context, body, 0);
	t->started = !is_named(MODEL_FORK, slot);
}

static void set_up(bool replay)
{
	replays = replay;
	ops = replay ? &scheme->replay : &scheme->record;
	order_used = scheme;
	failed = false;
	came_count = 0;
	memset(memory, 0, sizeof memory);
	memset(states, 0, sizeof states);
	for (unsigned i = 0; i < trace->objects; i++) {
		locks[i].held = false;
		locks[i].taken = 0;
		locks[i].count = replay ? locks[i].count : 0;
		memset(locks[i].known, 0, sizeof locks[i].known);
	}
	for (uint32_t i = 0; i < trace->threads; i++)
		set_up_thread(&threads[i], i);
	if (ops->open)
		ops->open();
	for (uint32_t i = 0; i < trace->threads && !failed; i++)
		if (threads[i].started)
			step(&threads[i]);
}

/* Memory for a trace; once for each. */
static void open_trace(const struct order_scheme *s, const struct model_trace *t)
{
	scheme = s;
	trace = t;
	for (uint32_t i = 0; i < t->threads; i++) {
		size_t n = (t->count + 2) * (MODEL_THREADS + 1); /* each event may have as many edges */
		threads[i] = (struct thread){ .line = get_memory(n * sizeof(size_t)),
					      .stack = get_memory(STACK),
					      .entry = get_memory(ENTRIES * sizeof(struct order_entry)),
					      .access = get_memory(n * sizeof(struct access)),
					      .line_of = get_memory(n * sizeof(size_t)),
					      .value = get_memory(n * 8) };
		threads[i].order.own = get_memory(s->thread_size + 1);
	}
	for (size_t i = 0; i < t->count; i++) {
		struct thread *own = &threads[t->event[i].slot];
		own->line[own->lines++] = i;
	}
	for (unsigned i = 0; i < t->objects; i++)
		locks[i].order = get_memory((t->count + 1) * sizeof(size_t));
}

static void close_trace(void)
{
	for (uint32_t i = 0; i < trace->threads; i++) {
		struct thread *t = &threads[i];
		free(t->line), free(t->stack), free(t->entry), free(t->access), free(t->line_of), free(t->value);
		free(t->order.own);
	}
	for (unsigned i = 0; i < trace->objects; i++)
		free(locks[i].order);
	trace = 0;
}

/* Whoever stopped in the middle of an event goes on to its end, or as far as it can. */
static bool push_others(struct thread *t)
{
	bool moved = false;

	for (uint32_t i = 0; i < trace->threads; i++)
		if (&threads[i] != t && threads[i].under_way && can_go_on(&threads[i])) {
			step(&threads[i]);
			moved = true;
		}
	return moved;
}

/* The next line of this thread, to its end; a split read to its value. */
static bool run_line(struct thread *t, const struct model_event *e)
{
	size_t before = t->next;

	while (!failed && t->next == before && !t->ended) {
		if (t->under_way && e->op == MODEL_VALUE && can_go_on(t))
			return true; /* it has stopped with its value */
		if (can_go_on(t))
			step(t);
		else if (!push_others(t))
			return false;
	}
	return true;
}

static void finish_all(void)
{
	for (bool moved = true; moved && !failed;) {
		moved = false;
		for (uint32_t i = 0; i < trace->threads && !failed; i++)
			if (threads[i].next == threads[i].lines && can_go_on(&threads[i])) {
				step(&threads[i]);
				moved = true;
			}
	}
}

static const char *record_lines(size_t *at)
{
	for (*at = 0; *at < trace->count; ++*at) {
		const struct model_event *e = &trace->event[*at];
		struct thread *t = &threads[e->slot];
		if (!t->started)
			return "this thread has not been forked yet";
		while (t->under_way && !failed && can_go_on(t)) /* a split read that has its value */
			step(t);
		if (e->op == MODEL_JOIN)
			finish_all();
		if (!run_line(t, e) && !failed)
			return e->op == MODEL_ACQUIRE ? "the lock is held" :
			       e->op == MODEL_JOIN    ? "the other thread has more to do" :
							"the scheme waits";
		if (failed)
			return failure;
	}
	finish_all();
	return failed ? failure : 0;
}

const char *model_record(const struct order_scheme *s, const struct model_trace *t, size_t *at)
{
	if (trace)
		close_trace();
	open_trace(s, t);
	searches = false;
	splits = true;
	set_up(false);
	const char *problem = failed ? failure : record_lines(at);
	memcpy(memory_recorded, memory, sizeof memory);
	return problem;
}

/* ---- searching ---------------------------------------------------------------------------------------------------------- */

static unsigned choose(unsigned n)
{
	if (n == 1)
		return 0;
	if (plan->random) {
		plan->random ^= plan->random << 13;
		plan->random ^= plan->random >> 7;
		plan->random ^= plan->random << 17;
		return (unsigned)((plan->random >> 20) % n);
	}
	if (plan->at == STEPS)
		return 0;
	if (plan->at == plan->n) {
		plan->choice[plan->n] = 0;
		plan->of[plan->n++] = n;
	}
	return plan->choice[plan->at++];
}

/* False: that was the last. */
static bool next_plan(void)
{
	plan->at = 0;
	while (plan->n && plan->choice[plan->n - 1] + 1 == plan->of[plan->n - 1])
		plan->n--;
	if (!plan->n)
		return false;
	plan->choice[plan->n - 1]++;
	return true;
}

static void run_choices(void)
{
	for (;;) {
		uint32_t can[MODEL_THREADS];
		unsigned n = 0, left = 0;
		for (uint32_t i = 0; i < trace->threads; i++) {
			left += !threads[i].ended;
			if (can_go_on(&threads[i]))
				can[n++] = i;
		}
		if (failed || !left)
			return;
		if (!n) {
			snprintf(failure, sizeof failure, "nobody can go on: %u threads wait for ever", left);
			failed = true;
			return;
		}
		step(&threads[can[choose(n)]]);
	}
}

static void check_memory(void)
{
	for (unsigned i = 0; i < trace->objects && !failed; i++)
		if (memory[i] != memory_recorded[i]) {
			snprintf(failure, sizeof failure, "%s is %llu at the end, recorded was %llu", trace->object[i],
				 (unsigned long long)memory[i], (unsigned long long)memory_recorded[i]);
			failed = true;
		}
}

static void tell_failure(struct model_result *r)
{
	size_t n = (size_t)snprintf(r->text, sizeof r->text, "%s; the events came as", failure);

	r->wrong = true;
	for (size_t i = 0; i < came_count && i < STEPS && n < sizeof r->text - 20; i++)
		n += (size_t)snprintf(r->text + n, sizeof r->text - n, " e%zu", came[i] + 1);
}

static void replay_once(struct model_result *r)
{
	set_up(true);
	run_choices();
	check_memory();
	r->replays++;
	if (failed)
		tell_failure(r);
}

/* light: the log of the recording becomes the one that replay reads. */
static void solve_log(struct model_result *r)
{
	struct order_log_text logs[MODEL_THREADS] = { 0 };

	if (!scheme->solve)
		return;
	for (uint32_t i = 0; i < trace->threads; i++) {
		logs[i] = (struct order_log_text){ get_memory(ENTRIES * sizeof(struct order_entry)), threads[i].entries,
						   ENTRIES };
		memcpy(logs[i].entry, threads[i].entry, logs[i].n * sizeof(struct order_entry));
	}
	const char *problem = scheme->solve(logs, trace->threads, 0, 0, 0);
	for (uint32_t i = 0; i < trace->threads; i++) {
		if (!problem && logs[i].n > ENTRIES)
			problem = "the solved log is too long for the model";
		if (!problem)
			memcpy(threads[i].entry, logs[i].entry, logs[i].n * sizeof(struct order_entry));
		threads[i].entries = problem ? threads[i].entries : logs[i].n;
		free(logs[i].entry);
	}
	r->wrong = problem != 0;
	snprintf(r->text, sizeof r->text, "%s", problem ? problem : "");
}

/* In turn up to `limit`, then as many again at random, stopping within events too. */
static void check_replays(uint64_t limit, struct model_result *r, struct plan *p)
{
	uint64_t first = r->replays;

	solve_log(r);
	*p = (struct plan){ 0 };
	plan = p;
	searches = false;
	bool more = true;
	while (more && !r->wrong && r->replays - first < limit) {
		replay_once(r);
		more = next_plan();
	}
	r->all = r->all && !more;
	searches = true;
	plan->random = 88172645463325252ull;
	for (uint64_t i = 0, n = more ? limit : r->replays - first; i < n && i < limit && !r->wrong; i++)
		replay_once(r);
	searches = false;
}

void model_check(uint64_t limit, struct model_result *r)
{
	struct plan *p = get_memory(sizeof *p);

	*r = (struct model_result){ .recordings = 1, .all = true };
	splits = false;
	check_replays(limit, r, p);
	free(p);
}

static bool record_once(struct plan *p)
{
	plan = p;
	searches = true;
	set_up(false);
	run_choices();
	memcpy(memory_recorded, memory, sizeof memory);
	return !failed;
}

void model_check_all(const struct order_scheme *s, const struct model_trace *t, uint64_t limit, struct model_result *r)
{
	struct plan *recording = get_memory(sizeof *recording), *replay = get_memory(sizeof *replay);
	bool more = true;

	if (trace)
		close_trace();
	open_trace(s, t);
	splits = false;
	*r = (struct model_result){ .all = true };
	for (; more && !r->wrong && r->recordings < 2 * limit; r->recordings++) {
		if (!record_once(recording))
			tell_failure(r);
		else
			check_replays(20, r, replay);
		plan = recording;
		if (recording->random)
			continue;
		more = next_plan();
		if (r->recordings + 1 == limit)
			recording->random = 88172645463325252ull;
	}
	r->all = r->all && !more && !recording->random;
	free(recording), free(replay);
}

/* ---- printing ------------------------------------------------------------------------------------------------------------ */

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
	*count = threads[slot].entries;
	return threads[slot].entry;
}

static const struct access *access_at(uint32_t slot, uint64_t event)
{
	const struct access *a = &threads[slot].access[event];

	return event < threads[slot].finished && a->addr ? a : 0;
}

static const char *location_name(uint64_t addr)
{
	return trace->object[(addr - (uint64_t)memory) / GRANULE];
}

/* Four results may be in use at once. */
static const char *event_name(uint32_t slot, uint64_t event)
{
	static char text[4][24];
	static unsigned n;

	n = (n + 1) % 4;
	snprintf(text[n], sizeof text[n], "e%zu", threads[slot].line_of[event] + 1);
	return text[n];
}

void model_printer(struct order_printer *p, FILE *to)
{
	*p = (struct order_printer){ .line = line,
				     .to = to,
				     .threads = trace->threads,
				     .entries = entries,
				     .access = access_at,
				     .location_name = location_name,
				     .event_name = event_name };
}
#endif

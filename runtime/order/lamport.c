/*
 * lamport: Lamport clocks of threads and locations (JaRec, extended to memory). An event's time is one more than the
 * larger of its thread's time and the location's. Two conflicting accesses have different times, in their order; replay
 * lets an event happen when every thread has come to its time. With --select=none this is JaRec: locks only.
 *
 * Entry: by how much the time is later than the thread's own next one. It is logged only if it is.
 *
 * 1. Record: a granule's lock is held from before to after, where the granule gets the time; so times of conflicting
 *    accesses grow in their order. A read follows the last write, a write also all reads since: two reads may have the
 *    same time. Accesses that a thread holds together all leave the time of the last one.
 * 2. Replay: `reached` of a thread is the time of its next event, published (release) when the event before is done, so
 *    "reached >= c" says: whatever it does at times below c is done. An event of time c waits (acquire) until that is
 *    so for every other thread. Those at time c do not conflict with it, by 1. Accesses that are held together count
 *    as done at the time of the last, so each may be reached while those before are still held.
 * 3. The number of the next event is read from the log in advance (`ahead`), and counts from the time of the last one
 *    that has begun: not every number need be an event of ours, and the next one may be of the slot's next thread,
 *    whose time begins with that of its parent. A thread that waits elsewhere (for a lock, in a system
 *    call) therefore holds nobody back who came before it: the op is an event too, with a time after that of the op
 *    which it waits for, through their object. So in every chain of waits times fall, and no chain is a circle. Ops
 *    themselves do not wait here; they are ordered in any case.
 * 4. A child's time begins with that of its parent's event `create`, and is set within it: nobody can pass in between.
 *    A thread without further events has reached ORDER_NEVER, or is over: it may compute without an end. 0: no such
 *    thread yet.
 * 5. Objects share 4096 times by their hash. A collision only makes a time later.
 */
#include "order.h"

struct state {
	uint32_t lock;
	uint64_t write, read; /* times of the last write, and of the last read */
	uint64_t spare;
};

struct own {
	uint64_t time;	    /* of the last event that has begun */
	uint64_t known;	    /* replay: number of the first event that has not been looked up in the log */
	uint64_t ahead;	    /* replay: what the log said for the one before, if that has not begun */
	uint64_t passed;    /* replay: all other threads have been seen to reach this */
	uint32_t held;	    /* replay: accesses between before and after */
	uint64_t apart[16]; /* others read the next one all the time */
	uint64_t reached;   /* replay: invariant 2 */
	uint64_t apart_too[15];
};

static uint64_t objects[4096];

static void open(void)
{
	for (unsigned i = 0; i < sizeof objects / sizeof *objects; i++)
		objects[i] = 0;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t *time_of(uint64_t object)
{
	return &objects[object * 0x9E3779B97F4A7C15ull >> 52];
}

/* ---- record --------------------------------------------------------------------------------------------- */

/* The thread's next event comes after `time`. */
static void advance(struct order_thread *t, uint64_t time)
{
	struct own *own = t->own;

	if (time > own->time) {
		ORDER_LOG(t, time - own->time);
		own->time = time;
	}
	own->time++;
}

static uint64_t take(const struct access *a, unsigned i)
{
	struct state *s = order_state(a->addr + i * GRANULE);

	order_lock(&s->lock);
	return access_writes(a) ? later(s->read, s->write) : s->write;
}

static void record_before(struct order_thread *t, struct access *a)
{
	uint64_t time = take(a, 0);

	if (unlikely(a->granules == 2))
		time = later(time, take(a, 1));
	advance(t, time);
	order_chaos(t);
}

static void record_after(struct order_thread *t, struct access *a, bool done)
{
	struct own *own = t->own;

	(void)done; /* an access that faulted counts, at replay too */
	for (unsigned i = 0; i < a->granules; i++) {
		struct state *s = order_state(a->addr + i * GRANULE);
		if (access_writes(a))
			s->write = own->time;
		else
			s->read = later(s->read, own->time);
		order_unlock(&s->lock);
	}
}

/* Acquire: pairs with the release below, of the op that this one follows. */
static void record_acquire(struct order_thread *t, uint64_t object)
{
	advance(t, __atomic_load_n(time_of(object), __ATOMIC_ACQUIRE));
}

static void record_release(struct order_thread *t, uint64_t object)
{
	struct own *own = t->own;
	uint64_t *time = time_of(object), was = __atomic_load_n(time, __ATOMIC_RELAXED);

	advance(t, was);
	while (was < own->time &&
	       !__atomic_compare_exchange_n(time, &was, own->time, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

static void record_create(struct order_thread *t, struct order_thread *child)
{
	advance(t, 0);
	((struct own *)child->own)->time = ((struct own *)t->own)->time;
}

/* ---- replay --------------------------------------------------------------------------------------------- */

static void set_reached(struct own *own, uint64_t time)
{
	__atomic_store_n(&own->reached, time, __ATOMIC_RELEASE); /* invariant 2 */
	order_moved();
}

static void publish(struct own *own)
{
	set_reached(own, own->time + own->ahead + 1);
}

/* Looks up, and publishes, the time of event `event`: the one that begins or the next. */
static void reach(struct order_thread *t, uint64_t event)
{
	struct own *own = t->own;
	uint64_t now = t->event;

	if (own->known > event)
		return;
	t->event = event;
	own->ahead = 0;
	if (order_due(t)) {
		own->ahead = order_number(t);
		order_taken(t);
	}
	t->event = now;
	own->known = event + 1;
	publish(own);
}

/* The event under way has its time. */
static void begin(struct order_thread *t)
{
	struct own *own = t->own;

	reach(t, t->event);
	own->time += own->ahead + 1;
	own->ahead = 0;
}

/* The earliest time that a thread other than t has reached. */
static uint64_t earliest(const struct order_thread *t)
{
	uint64_t time = ORDER_NEVER;

	for (uint32_t i = 0; i < order_slots(); i++) {
		const struct own *own = order_thread_of(i)->own;
		uint64_t reached = i == t->slot || !own ? 0 : __atomic_load_n(&own->reached, __ATOMIC_ACQUIRE);
		if (reached && reached < time && !order_over(i))
			time = reached;
	}
	return time;
}

static bool all_have_come(const void *arg)
{
	const struct order_thread *t = arg;

	return earliest(t) >= ((const struct own *)t->own)->time;
}

static void await_all(struct order_thread *t)
{
	struct own *own = t->own;

	order_wait(t, all_have_come, t, "threads at earlier times");
	own->passed = earliest(t); /* not earlier than it was a moment ago */
}

static void replay_before(struct order_thread *t, struct access *a)
{
	struct own *own = t->own;

	(void)a;
	own->held++;
	begin(t);
	if (unlikely(own->passed < own->time))
		await_all(t);
}

static void finish(struct order_thread *t)
{
	reach(t, ((struct own *)t->own)->known);
}

static void replay_after(struct order_thread *t, struct access *a, bool done)
{
	struct own *own = t->own;

	(void)a, (void)done;
	if (!--own->held)
		finish(t);
}

static void replay_op(struct order_thread *t, uint64_t object)
{
	(void)object;
	begin(t);
	finish(t);
}

static void replay_create(struct order_thread *t, struct order_thread *child)
{
	struct own *own = t->own, *new = child->own;

	begin(t);
	new->time = own->time;
	new->passed = own->passed = 0; /* one's own child may be behind all that were there */
	__atomic_store_n(&new->reached, own->time + 1,
			 __ATOMIC_RELEASE); /* invariant 4: before own->reached moves on */
	finish(t);
}

/* The one before in this slot may have looked the first event up, as its own next one. */
static void replay_begin(struct order_thread *t)
{
	struct own *own = t->own;

	reach(t, t->event);
	if (own->known == t->event + 1)
		publish(own);
}

static void replay_end(struct order_thread *t)
{
	set_reached(t->own, ORDER_NEVER);
}

/* What was read in advance is of the parent's log. */
static void replay_forked(struct order_thread *t)
{
	for (uint32_t i = 0; i < order_slots(); i++) {
		struct own *own = order_thread_of(i)->own;
		own->known = own->ahead = own->held = 0;
		if (i != t->slot)
			replay_end(order_thread_of(i));
	}
}

#ifdef HEDDLE_TOOL
/* ---- `heddle order lamport`: the times of each thread's events ---------------------------------------------- */
#include "print.h"

static void print(const struct order_printer *p)
{
	for (uint32_t slot = 0; slot < p->threads; slot++) {
		struct text *text = print_memory(sizeof *text);
		size_t entries, at = 0;
		const struct order_entry *entry = p->entries(slot, &entries);
		uint64_t time = 0;
		text_add(text, "t%u:", slot + 1);
		for (uint64_t event = 0; event < order_events(slot); event++) {
			if (at < entries && entry[at].event == event)
				time += entry[at++].numbers[0];
			time++;
			if (p->access(slot, event))
				text_add(text, " %s@%llu", p->event_name(slot, event), (unsigned long long)time);
		}
		text_lines(p, text);
		free(text);
	}
}

static void describe(const uint64_t *numbers, unsigned n, char *to, size_t room)
{
	(void)n;
	snprintf(to, room, "time + %llu", (unsigned long long)numbers[0]);
}
#endif

const struct order_scheme order_lamport = {
	.name = "lamport",
	.summary = "Lamport clocks of threads and locations (JaRec)",
	.guarantee = "exact",
	.version = 1,
	.state_size = sizeof(struct state),
	.thread_size = sizeof(struct own),
	.tells = true,
	.record = { .open = open,
		    .create = record_create,
		    .before = record_before,
		    .after = record_after,
		    .acquire = record_acquire,
		    .release = record_release },
	.replay = { .create = replay_create,
		    .begin = replay_begin,
		    .end = replay_end,
		    .before = replay_before,
		    .after = replay_after,
		    .acquire = replay_op,
		    .release = replay_op,
		    .forked = replay_forked },
#ifdef HEDDLE_TOOL
	.print = print,
	.describe = describe,
#endif
};

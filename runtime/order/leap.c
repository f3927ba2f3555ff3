/*
 * leap: every location has a vector of the threads that accessed it, in order (LEAP). Locations are granules; the
 * vectors are run-length compressed and written as they grow: the thread that takes a location over from another logs
 * how many accesses the location had before.
 *
 * Entry: accesses of the granule so far; for 16 bytes those of both granules. It is logged only when another thread had
 * a granule last; who goes on with a granule, or is the first to touch it, logs nothing.
 *
 * 1. Record: a granule's lock is held from before to after, so counts are in the order of the accesses, and the vector
 *    of a granule is the list of its takeovers, sorted by count. Locks are taken in ascending order of addresses.
 * 2. Replay: `count` of a granule is what has been done to it. An access with an entry waits until it is the logged
 *    number; one without follows the thread's own last access of the granule, or is the first: all that other threads
 *    do to the granule is then either done, or waits for a larger count. So at most one thread may go on at any time,
 *    and only that one writes `count`: a release store after the access, which has_come()'s acquire load reads.
 * 3. Waits cannot be circular: each is for accesses that came earlier in time.
 * 4. Reads count as accesses, as in the paper: two readers that take turns log each turn.
 */
#include "order.h"

struct state {
	uint32_t lock;
	uint32_t last;	/* record: slot + 1 of the thread that accessed the granule last */
	uint64_t count; /* accesses so far */
};

/* ---- record --------------------------------------------------------------------------------------------- */

/* True: from another thread. */
static bool take(struct order_thread *t, struct state *s, uint64_t *count)
{
	order_lock(&s->lock);
	bool takeover = s->last && s->last != t->slot + 1;
	s->last = t->slot + 1;
	*count = s->count++;
	return takeover;
}

static __attribute__((noinline)) void record_wide(struct order_thread *t, struct access *a)
{
	uint64_t count[2];
	bool low = take(t, order_state(a->addr), &count[0]), high = take(t, order_state(a->addr + GRANULE), &count[1]);

	if (low || high)
		order_log(t, 2, count);
}

static void record_before(struct order_thread *t, struct access *a)
{
	uint64_t count;

	if (unlikely(a->granules == 2))
		record_wide(t, a);
	else if (take(t, order_state(a->addr), &count))
		ORDER_LOG(t, count);
	order_chaos(t);
}

/* An access that faulted counts, at replay too. */
static void record_after(struct order_thread *t, struct access *a, bool done)
{
	struct state *s = order_state(a->addr), *high = a->granules == 2 ? order_state(a->addr + GRANULE) : 0;

	(void)t, (void)done;
	order_unlock(&s->lock);
	if (unlikely(high))
		order_unlock(&high->lock);
}

/* ---- replay --------------------------------------------------------------------------------------------- */

struct turn {
	const struct state *state;
	uint64_t count;
};

static bool has_come(const void *arg)
{
	const struct turn *turn = arg;

	return __atomic_load_n(&turn->state->count, __ATOMIC_ACQUIRE) == turn->count; /* invariant 2 */
}

static void replay_before(struct order_thread *t, struct access *a)
{
	struct turn turn[2];

	if (!order_due(t))
		return;
	for (unsigned i = 0; i < a->granules; i++)
		turn[i] = (struct turn){ order_state(a->addr + i * GRANULE), order_number(t) };
	order_taken(t);
	for (unsigned i = 0; i < a->granules; i++)
		order_wait(t, has_come, &turn[i], "its turn at a location");
}

static void replay_after(struct order_thread *t, struct access *a, bool done)
{
	(void)t, (void)done;
	for (unsigned i = 0; i < a->granules; i++) {
		struct state *s = order_state(a->addr + i * GRANULE);
		__atomic_store_n(&s->count, s->count + 1, __ATOMIC_RELEASE);
	}
}

#ifdef HEDDLE_TOOL
/* ---- `heddle order leap`: the access vectors, from the log -------------------------------------------------- */
#include "print.h"

struct run {
	uint64_t from; /* accesses of the location before it */
	const char *thread;
};

static int by_place(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Is this the thread's first access of the location? Without an entry it is then the first of all. */
static bool is_first(const struct told_trace *t, const struct told *e)
{
	for (const struct told *before = t->event; before < e; before++)
		if (before->slot == e->slot && before->location == e->location)
			return false;
	return true;
}

static void print_vector(const struct order_printer *p, struct told_trace *t, uint32_t location)
{
	struct text *text = print_memory(sizeof *text);
	struct run *run = print_memory((t->n + 1) * sizeof *run);
	size_t runs = 0;
	uint64_t count = 0;

	for (struct told *e = t->event; e < t->event + t->n; e++) {
		if (e->location != location)
			continue;
		const struct order_entry *entry = told_entry(e);
		if (entry || is_first(t, e))
			run[runs++] = (struct run){ entry ? entry->numbers[0] : 0, e->thread };
		count++;
	}
	qsort(run, runs, sizeof *run, by_place);
	run[runs].from = count;
	text_add(text, "%s:", p->location_name(t->location[location]));
	for (size_t i = 0; i < runs; i++)
		if (run[i + 1].from - run[i].from == 1)
			text_add(text, " %s", run[i].thread);
		else
			text_add(text, " %s*%llu", run[i].thread, (unsigned long long)(run[i + 1].from - run[i].from));
	text_lines(p, text);
	free(text), free(run);
}

void leap_print(const struct order_printer *p)
{
	struct told_trace *t = told_open(p);

	for (uint32_t i = 0; i < t->locations; i++)
		print_vector(p, t, i);
	told_close(t);
}

void leap_describe(const uint64_t *numbers, unsigned n, char *to, size_t room)
{
	if (n == 2)
		snprintf(to, room, "after %llu and %llu accesses", (unsigned long long)numbers[0],
			 (unsigned long long)numbers[1]);
	else
		snprintf(to, room, "after %llu accesses of the location", (unsigned long long)numbers[0]);
}
#endif

const struct order_scheme order_leap = {
	.name = "leap",
	.summary = "for each location the threads that accessed it, in order (LEAP)",
	.guarantee = "exact",
	.version = 1,
	.state_size = sizeof(struct state),
	.record = { .before = record_before, .after = record_after },
	.replay = { .before = replay_before, .after = replay_after },
#ifdef HEDDLE_TOOL
	.print = leap_print,
	.describe = leap_describe,
#endif
};

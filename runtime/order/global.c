/*
 * global: one clock over all accesses (DejaVu). Every access of every thread takes the next tick; replay gives them the
 * same ticks. `global:2clocks` has one clock for accesses and another for synchronisation (RacX, section 6.1).
 *
 * Entry: how much later the tick is than the thread's next one would have been. It is logged only when another thread
 * has ticked since: a thread's run of consecutive ticks costs nothing (DejaVu's intervals). The event that an entry
 * stands at is RacX's instruction count.
 *
 * 1. Record: a tick is taken and the access done under one lock, so ticks are in the order of the accesses.
 * 2. A thread that is between before and after for several granules holds the lock until the last after: `held` counts.
 *    Its ticks are then consecutive.
 * 3. Replay: `turn` of a clock is the tick whose access may happen now. Only the thread whose tick that is writes it,
 *    and only after its access; so plain access and release store suffice, and before's acquire load sees all accesses
 *    of earlier ticks.
 * 4. Waits cannot be circular: each tick waits for smaller ones, which were taken earlier in time, as whatever a
 *    recorded thread waited for.
 */
#include "order.h"

enum { ACCESSES, SYNCHRONISATION };

static struct clock {
	_Alignas(128) uint32_t lock;
	uint64_t turn; /* the next tick */
} clocks[2];

struct own {
	uint64_t next[2]; /* tick of this thread's next event if nobody else ticks before */
	uint32_t held;	  /* accesses between before and after */
};

static void open(void)
{
	clocks[ACCESSES] = clocks[SYNCHRONISATION] = (struct clock){ 0 };
}

/* Clocks begin anew: how far they were depends on what other threads did beside the fork, which is of another moment at
   replay. One of those, which are gone, may have held a lock. */
static void forked(struct order_thread *t)
{
	(void)t;
	open();
	for (uint32_t slot = 0; slot < order_slots(); slot++) {
		struct own *own = order_thread_of(slot)->own;
		if (own)
			*own = (struct own){ 0 };
	}
}

/* ---- record --------------------------------------------------------------------------------------------- */

/* Under the clock's lock. */
static void take_tick(struct order_thread *t, unsigned clock)
{
	struct own *own = t->own;
	uint64_t tick = clocks[clock].turn++;

	if (tick != own->next[clock])
		ORDER_LOG(t, tick - own->next[clock]);
	own->next[clock] = tick + 1;
}

static void record_before(struct order_thread *t, struct access *a)
{
	struct own *own = t->own;

	(void)a;
	if (!own->held++)
		order_lock(&clocks[ACCESSES].lock);
	take_tick(t, ACCESSES);
	order_chaos(t);
}

static void record_after(struct order_thread *t, struct access *a, bool done)
{
	struct own *own = t->own;

	(void)a, (void)done;
	if (!--own->held)
		order_unlock(&clocks[ACCESSES].lock);
}

static void record_op(struct order_thread *t, unsigned clock)
{
	order_lock(&clocks[clock].lock);
	take_tick(t, clock);
	order_begun(t); /* others wait for this tick: it must not get lost */
	order_unlock(&clocks[clock].lock);
}

/* ---- replay --------------------------------------------------------------------------------------------- */

struct tick {
	unsigned clock;
	uint64_t number;
};

static bool has_come(const void *arg)
{
	const struct tick *tick = arg;

	return __atomic_load_n(&clocks[tick->clock].turn, __ATOMIC_ACQUIRE) == tick->number; /* invariant 3 */
}

static void move_turn(unsigned clock, uint64_t to)
{
	__atomic_store_n(&clocks[clock].turn, to, __ATOMIC_RELEASE); /* invariant 3 */
	order_moved();
}

static void await_tick(struct order_thread *t, unsigned clock, bool mine)
{
	struct own *own = t->own;

	if (order_due(t)) {
		own->next[clock] += order_number(t);
		order_taken(t);
	}
	if (!mine)
		order_wait(t, has_come, &(struct tick){ clock, own->next[clock] }, "its turn on the global clock");
	own->next[clock]++;
}

static void replay_before(struct order_thread *t, struct access *a)
{
	struct own *own = t->own;

	(void)a;
	await_tick(t, ACCESSES, own->held++); /* invariant 2: it is already this thread's turn */
}

static void replay_after(struct order_thread *t, struct access *a, bool done)
{
	struct own *own = t->own;

	(void)a, (void)done;
	if (!--own->held)
		move_turn(ACCESSES, own->next[ACCESSES]);
}

static void replay_op(struct order_thread *t, unsigned clock)
{
	struct own *own = t->own;

	await_tick(t, clock, false);
	move_turn(clock, own->next[clock]);
}

#ifdef HEDDLE_TOOL
/* ---- `heddle order global`: the ticks of each thread, as intervals ------------------------------------------ */
#include "print.h"

static void print_interval(struct text *text, uint64_t from, uint64_t to)
{
	if (from + 1 == to)
		text_add(text, " %llu", (unsigned long long)from);
	else if (from < to)
		text_add(text, " %llu-%llu", (unsigned long long)from, (unsigned long long)(to - 1));
}

/* clock: which events are shown; both: they share one. */
static void print_thread(const struct order_printer *p, uint32_t slot, unsigned clock, bool both)
{
	struct text *text = print_memory(sizeof *text);
	size_t entries, at = 0;
	const struct order_entry *entry = p->entries(slot, &entries);
	uint64_t from = 0, next = 0;

	text_add(text, "t%u%s:", slot + 1, both ? "" : clock == ACCESSES ? " accesses" : " locks");
	for (uint64_t event = 0; event < order_events(slot); event++) {
		bool due = at < entries && entry[at].event == event;
		at += due;
		if (!both && (clock == ACCESSES) != (p->access(slot, event) != 0))
			continue;
		if (due) {
			print_interval(text, from, next);
			from = next += entry[at - 1].numbers[0];
		}
		next++;
	}
	print_interval(text, from, next);
	text_lines(p, text);
	free(text);
}

static void print_1(const struct order_printer *p)
{
	for (uint32_t slot = 0; slot < p->threads; slot++)
		print_thread(p, slot, ACCESSES, true);
}

static void print_2(const struct order_printer *p)
{
	for (uint32_t slot = 0; slot < p->threads; slot++) {
		print_thread(p, slot, ACCESSES, false);
		print_thread(p, slot, SYNCHRONISATION, false);
	}
}

static void describe(const uint64_t *numbers, unsigned n, char *to, size_t room)
{
	(void)n;
	snprintf(to, room, "after %llu ticks of others", (unsigned long long)numbers[0]);
}
#define PRINT(how) .print = print_##how, .describe = describe,
#else
#define PRINT(how)
#endif

/* ---- the two schemes ------------------------------------------------------------------------------------- */

static void record_op_1(struct order_thread *t, uint64_t object)
{
	(void)object;
	record_op(t, ACCESSES);
}

static void replay_op_1(struct order_thread *t, uint64_t object)
{
	(void)object;
	replay_op(t, ACCESSES);
}

static void record_op_2(struct order_thread *t, uint64_t object)
{
	(void)object;
	record_op(t, SYNCHRONISATION);
}

static void replay_op_2(struct order_thread *t, uint64_t object)
{
	(void)object;
	replay_op(t, SYNCHRONISATION);
}

#define SCHEME(how, ...)                                                                                           \
	{                                                                                                          \
		.guarantee = "exact", .version = 2, .thread_size = sizeof(struct own), .tells = true, __VA_ARGS__, \
		.record = { .open = open,                                                                          \
			    .before = record_before,                                                               \
			    .after = record_after,                                                                 \
			    .acquire = record_op_##how,                                                            \
			    .release = record_op_##how,                                                            \
			    .forked = forked },                                                                    \
		.replay = { .open = open,                                                                          \
			    .before = replay_before,                                                               \
			    .after = replay_after,                                                                 \
			    .acquire = replay_op_##how,                                                            \
			    .release = replay_op_##how,                                                            \
			    .forked = forked },                                                                    \
		PRINT(how)                                                                                         \
	}

const struct order_scheme order_global =
	SCHEME(1, .name = "global", .summary = "one clock over all accesses and locks (DejaVu)");
const struct order_scheme order_global_2clocks =
	SCHEME(2, .name = "global:2clocks", .summary = "one clock for accesses, one for locks (RacX)");

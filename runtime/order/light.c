/*
 * light: only flows are logged, from a write to a read of another thread (Light; as AggrePlay and TPLAY describe it).
 * A write that no other thread reads, a blind one, is not logged and not ordered. The schedule is computed before
 * replay by a solver: commands/light_solve.c.
 *
 * Words
 *   write word  per granule: who wrote it last, (slot + 1) << 48 | event; 0: nobody. BUSY: it is being written.
 *   prec        a thread's table: for a granule, the write it saw last, and its first and last event with that write in
 *               place. While the write word has not changed since, a read is not logged (the paper's prec check).
 *
 * Entries, the granule as a step from the last one logged:
 *   writer << 1, granule, event, back   a read, and a write of fewer than 8 bytes, since it keeps the others: it saw
 *                                       event `event` of slot writer - 1; writer 0: what was there at first. back > 0:
 *                                       the flow before it of this granule went on until `back` events ago.
 *   1, granule, back                    a flow went on until `back` events ago; now the table forgets it.
 *   writer, event                       an op (of a lock, a thread, a system call) that follows event `event` of slot
 *                                       writer - 1, the op before it; the event as a step from the last one logged so.
 * For replay the solver writes another log: entries {slot, event}: this event follows that one.
 *
 * 1. Record: a write sets BUSY, then the data, then the word (each with release); a read takes word, data, word again.
 *    If the word is the same and not BUSY, the data is of that write. So reads store nothing and take no lock.
 * 2. Replay has no order but the schedule's: each read of another thread's write, against all writes that are read.
 *    What is not in it (blind writes; a thread's reads of its own writes) may come in between: flow determinism is what
 *    the paper promises, and only if nothing blind is in the way. Ops keep their own order, all of them one chain: it
 *    is logged as flows are, and the schedule keeps it, so that no wait of the schedule's can be circular with one at
 *    an op. A process that is killed leaves only the first read of the flows that it was in: those may end too early.
 *
 * light:ww also logs the order of writes, and which threads have read before a write, and needs no solver. It is exact:
 * 3. Record: under the granule's lock, so {log; access} is one step. Edges go from the last write, and for a write also
 *    from each thread that has read since the last write, to what this thread has done by now (`upto`): its reads of
 *    this granule are among that, since each sets `upto` before it unlocks. Edges that are known are left out.
 * 4. Replay waits for the edges. All go forward in time, so no wait is circular.
 */
#include "vector.h"

#define BUSY	   (1ull << 63)
#define EVENT_BITS 48
#define READERS	   10

struct state {
	uint32_t lock;
	uint32_t readers; /* light:ww: threads that have read since the last write; more than READERS: in `many` */
	uint64_t write;
	uint32_t reader[READERS];
	struct vector *many;
};
_Static_assert(sizeof(struct state) == 64, "a power of two");

struct prec {
	uint64_t granule; /* address + 1; 0: free */
	uint64_t write, first, last;
};

struct own {
	uint64_t upto;			/* light:ww: events below this that read have been done; release */
	struct vector edges;		/* for each slot: the event logged last */
	uint64_t granule, op;		/* logged last */
	struct prec prec[KNOWN_PLACES]; /* light:ww does without */
};

/* The last op of each object; the runtime gives all ops the same. */
#define OBJECTS 64
static struct last_op {
	uint32_t lock;
	uint64_t word; /* like a write word */
} last_op[OBJECTS];

static struct pool pool;

static void open(void)
{
	pool = (struct pool){ 0 };
	for (unsigned i = 0; i < OBJECTS; i++)
		last_op[i] = (struct last_op){ 0 };
}

static uint64_t word_of(const struct order_thread *t)
{
	return (uint64_t)(t->slot + 1) << EVENT_BITS | t->event;
}

static uint32_t writer_of(uint64_t word)
{
	return (uint32_t)(word >> EVENT_BITS) & 0x7fff;
}

static uint64_t event_of(uint64_t word)
{
	return word & ((1ull << EVENT_BITS) - 1);
}

static struct prec *prec_of(struct own *own, uint64_t granule)
{
	uint64_t n = granule / GRANULE;
	return &own->prec[(n ^ n >> 12) % KNOWN_PLACES];
}

/* ---- light: record -------------------------------------------------------------------------------------------- */

static uint64_t granule_step(struct own *own, uint64_t granule)
{
	uint64_t step = zigzag(granule / GRANULE - own->granule);
	own->granule = granule / GRANULE;
	return step;
}

/* Did the flow that the table has here go on after its first read? A thread's own writes are no flow. */
static bool went_on(const struct order_thread *t, const struct prec *p)
{
	return p->granule && p->last > p->first && writer_of(p->write) != t->slot + 1;
}

__attribute__((noinline)) static void log_last(struct order_thread *t, const struct prec *p)
{
	ORDER_LOG(t, 1, granule_step(t->own, p->granule - 1), t->event - p->last);
}

static void read_of(struct order_thread *t, uint64_t granule, uint64_t word)
{
	struct own *own = t->own;
	struct prec *p = prec_of(own, granule);
	bool same = p->granule == granule + 1;

	if (likely(same && p->write == word)) {
		p->last = t->event;
		return;
	}
	if (writer_of(word) == t->slot + 1) { /* within the thread */
		if (went_on(t, p))
			log_last(t, p);
	} else {
		if (!same && went_on(t, p))
			log_last(t, p);
		uint64_t back = same && went_on(t, p) ? t->event - p->last : 0;
		ORDER_LOG(t, (uint64_t)writer_of(word) << 1, granule_step(own, granule), event_of(word), back);
	}
	*p = (struct prec){ granule + 1, word, t->event, t->event };
}

/* A write is about to end the flow that the table has there. Logged before the access: entries are in order of events,
   and an `after` may come after the `before` of later ones. */
static void ends_flow(struct order_thread *t, uint64_t granule)
{
	struct prec *p = prec_of(t->own, granule);

	if (went_on(t, p))
		log_last(t, p);
	*p = (struct prec){ 0 };
}

static void written(struct order_thread *t, uint64_t granule, uint64_t word)
{
	*prec_of(t->own, granule) = (struct prec){ granule + 1, word, t->event, t->event };
}

static bool keeps_bytes(const struct access *a)
{
	return a->kind & ACCESS_READS || a->size < GRANULE;
}

static void lock_granules(struct access *a)
{
	for (unsigned i = 0; i < a->granules; i++)
		order_lock(&STATE_OF(a, i)->lock);
}

static void record_before(struct order_thread *t, struct access *a)
{
	lock_granules(a);
	for (unsigned i = 0; i < a->granules; i++) {
		struct state *s = STATE_OF(a, i);
		if (keeps_bytes(a))
			read_of(t, (a->addr & ~7ull) + i * GRANULE, s->write);
		if (!access_writes(a))
			continue;
		ends_flow(t, (a->addr & ~7ull) + i * GRANULE);
		__atomic_store_n(&s->write, s->write | BUSY, __ATOMIC_RELAXED);
	}
	__atomic_thread_fence(__ATOMIC_RELEASE); /* invariant 1: BUSY before the data; pairs with the one in try_read */
	order_chaos(t);
}

static void record_after(struct order_thread *t, struct access *a, bool done)
{
	for (unsigned i = 0; i < a->granules; i++) {
		struct state *s = STATE_OF(a, i);
		if (access_writes(a)) {
			uint64_t word = done ? word_of(t) : s->write & ~BUSY;
			written(t, (a->addr & ~7ull) + i * GRANULE, word);
			__atomic_store_n(&s->write, word, __ATOMIC_RELEASE);
		}
		order_unlock(&s->lock);
	}
}

/* false: a write came between, or is under way. */
static bool try_read(struct order_thread *t, struct access *a, uint64_t word[2], bool *done)
{
	for (unsigned i = 0; i < a->granules; i++) {
		word[i] = __atomic_load_n(&STATE_OF(a, i)->write, __ATOMIC_ACQUIRE);
		if (word[i] & BUSY)
			return false;
	}
	order_chaos(t);
	*done = access_perform(a);
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* the data before the words */
	for (unsigned i = 0; i < a->granules; i++)
		if (__atomic_load_n(&STATE_OF(a, i)->write, __ATOMIC_RELAXED) != word[i])
			return false;
	return true;
}

/* Under the lock nobody writes: what is BUSY then was left so by a thread that a fork has not taken along. */
static void wait_for_writer(struct state *s)
{
	order_lock(&s->lock);
	if (unlikely(s->write & BUSY))
		__atomic_store_n(&s->write, s->write & ~BUSY, __ATOMIC_RELAXED);
	order_unlock(&s->lock);
}

static bool record_access(struct order_thread *t, struct access *a)
{
	uint64_t word[2];
	bool done;

	if (access_writes(a)) {
		record_before(t, a);
		order_begun(t);
		done = access_perform(a);
		record_after(t, a, done);
		return done;
	}
	while (!try_read(t, a, word, &done)) {
		for (unsigned i = 0; i < a->granules; i++)
			wait_for_writer(STATE_OF(a, i));
	}
	for (unsigned i = 0; i < a->granules; i++)
		read_of(t, (a->addr & ~7ull) + i * GRANULE, word[i]);
	order_begun(t); /* it has taken place, and its entry is there */
	return done;
}

static void record_op(struct order_thread *t, uint64_t object)
{
	struct last_op *last = &last_op[object % OBJECTS];
	struct own *own = t->own;

	order_lock(&last->lock);
	if (last->word && writer_of(last->word) != t->slot + 1) {
		ORDER_LOG(t, writer_of(last->word), zigzag(event_of(last->word) - own->op));
		own->op = event_of(last->word);
	}
	last->word = word_of(t);
	order_begun(t); /* others follow it: it must not get lost */
	order_unlock(&last->lock);
}

/* What the table still has goes to the log, at the event that would come next. */
static void record_end(struct order_thread *t)
{
	struct own *own = t->own;

	for (unsigned i = 0; i < KNOWN_PLACES; i++) {
		if (went_on(t, &own->prec[i]))
			log_last(t, &own->prec[i]);
		own->prec[i] = (struct prec){ 0 };
	}
}

/* ---- light:ww: record ------------------------------------------------------------------------------------------ */

static void edge(struct order_thread *t, uint32_t slot, uint64_t event)
{
	struct own *own = t->own;

	if (slot == t->slot || order_known(t, slot, event))
		return;
	uint64_t *last = vector_of(&pool, &own->edges, slot);
	ORDER_LOG(t, slot, zigzag(event - *last));
	*last = event;
}

static bool has_read(const struct state *s, uint32_t slot)
{
	if (s->readers > READERS)
		return vector_get(s->many, slot);
	for (uint32_t i = 0; i < s->readers; i++)
		if (s->reader[i] == slot)
			return true;
	return false;
}

static void add_reader(struct state *s, uint32_t slot)
{
	if (s->readers < READERS) {
		s->reader[s->readers++] = slot;
		return;
	}
	if (s->readers == READERS) {
		if (!s->many)
			s->many = pool_take(&pool, sizeof *s->many);
		for (uint32_t i = 0; i < READERS; i++)
			*vector_of(&pool, s->many, s->reader[i]) = 1;
	}
	*vector_of(&pool, s->many, slot) = 1;
	s->readers++;
}

static void edge_from_reader(struct order_thread *t, uint32_t slot)
{
	struct own *other = slot == t->slot ? 0 : order_thread_of(slot)->own;

	if (other)
		edge(t, slot, __atomic_load_n(&other->upto, __ATOMIC_ACQUIRE) - 1);
}

static void edges_from_readers(struct order_thread *t, struct state *s)
{
	for (uint32_t i = 0; s->readers <= READERS && i < s->readers; i++)
		edge_from_reader(t, s->reader[i]);
	for (uint32_t i = 0; s->readers > READERS && i < s->many->room; i++) {
		if (s->many->at[i])
			edge_from_reader(t, i);
		s->many->at[i] = 0;
	}
	s->readers = 0;
}

static void ww_before(struct order_thread *t, struct access *a)
{
	lock_granules(a);
	for (unsigned i = 0; i < a->granules; i++) {
		struct state *s = STATE_OF(a, i);
		if (s->write)
			edge(t, writer_of(s->write) - 1, event_of(s->write));
		if (access_writes(a))
			edges_from_readers(t, s);
	}
	order_chaos(t);
}

static void ww_after(struct order_thread *t, struct access *a, bool done)
{
	struct own *own = t->own;

	(void)done; /* one that faults is ordered like any other: it faults again */
	__atomic_store_n(&own->upto, t->event + 1, __ATOMIC_RELEASE); /* invariant 3: before it unlocks */
	for (unsigned i = 0; i < a->granules; i++) {
		struct state *s = STATE_OF(a, i);
		if (access_writes(a))
			s->write = word_of(t);
		else if (!has_read(s, t->slot))
			add_reader(s, t->slot);
		order_unlock(&s->lock);
	}
}

/* ---- replay, both: the edges ------------------------------------------------------------------------------------- */

static void replay_before(struct order_thread *t, struct access *a)
{
	struct own *own = t->own;

	(void)a;
	while (order_due(t)) {
		uint32_t slot = (uint32_t)order_number(t);
		uint64_t *last = vector_of(&pool, &own->edges, slot);
		*last += unzigzag(order_number(t));
		order_taken(t);
		order_wait_event(t, slot, *last + 1);
	}
}

static void replay_after(struct order_thread *t, struct access *a, bool done)
{
	(void)t, (void)a, (void)done;
}

static void replay_op(struct order_thread *t, uint64_t object)
{
	(void)object;
	replay_before(t, 0);
}

/* Logs begin anew, at record and replay: what was logged last is forgotten, of all slots. */
static void forked(struct order_thread *t)
{
	bool flows = order_used->thread_size == sizeof(struct own);

	(void)t;
	for (uint32_t slot = 0; slot < order_slots(); slot++) {
		struct own *own = order_thread_of(slot)->own;
		for (uint32_t i = 0; i < own->edges.room; i++)
			own->edges.at[i] = 0;
		for (unsigned i = 0; flows && i < KNOWN_PLACES; i++)
			own->prec[i] = (struct prec){ 0 };
		own->granule = own->op = 0;
	}
}

/* ---- print ------------------------------------------------------------------------------------------------------- */

#ifdef HEDDLE_TOOL
#include "light.h"
#include "print.h"

static int by_first_read(const void *a, const void *b)
{
	const struct light_flow *x = a, *y = b;
	return x->first != y->first  ? (x->first < y->first ? -1 : 1) :
	       x->reader < y->reader ? -1 :
				       x->reader > y->reader;
}

struct printing {
	const struct order_printer *p;
	long said;
};

static void print_schedule(void *arg, const uint32_t *slots, const uint64_t *events, size_t n)
{
	struct printing *printing = arg;
	struct text *text;

	if (printing->said++ > 0)
		return; /* the first stands for all */
	text = print_memory(sizeof *text);
	for (size_t i = 0; i < n; i++)
		text_add(text, "%s%s", i ? "," : "", printing->p->event_name(slots[i], events[i]));
	printing->p->line(printing->p->to, "schedule=⟨%s⟩", text->at);
	free(text);
}

enum flow_kind { FLOWS, INITIAL, OPS };

static enum flow_kind kind_of(const struct light_flow *f)
{
	return f->granule == LIGHT_OPS ? OPS : f->writer < 0 ? INITIAL : FLOWS;
}

static void print_flows(const struct order_printer *p, const struct light_flows *flows, enum flow_kind kind)
{
	static const char *const name[] = { "flows", "initial", "ops" };
	struct text *text = print_memory(sizeof *text);

	for (size_t i = 0; i < flows->n; i++) {
		const struct light_flow *f = &flows->at[i];
		if (kind_of(f) != kind)
			continue;
		text_add(text, "%s", text->n ? "," : "");
		if (kind != INITIAL)
			text_add(text, "%s→", p->event_name((uint32_t)f->writer, f->write));
		text_add(text, "%s", p->event_name(f->reader, f->first));
	}
	if (text->n || kind == FLOWS)
		p->line(p->to, "%s={%s}", name[kind], text->at);
	free(text);
}

static void print(const struct order_printer *p)
{
	enum { MOST = 600 };
	struct light_flows flows = { 0 };
	uint64_t events[PRINT_THREADS];
	uint32_t threads = p->threads < PRINT_THREADS ? p->threads : PRINT_THREADS;
	struct printing printing = { .p = p };

	for (uint32_t slot = 0; slot < threads; slot++) {
		size_t n;
		const struct order_entry *entry = p->entries(slot, &n);
		if (!light_flows_of(slot, entry, n, &flows))
			p->line(p->to, "t%u: not a log of light's", slot + 1);
		events[slot] = order_events(slot);
	}
	qsort(flows.at, flows.n, sizeof *flows.at, by_first_read);
	print_flows(p, &flows, FLOWS);
	print_flows(p, &flows, INITIAL);
	print_flows(p, &flows, OPS);
	long n = light_schedules(&flows, events, threads, MOST, print_schedule, &printing);
	if (n == -2)
		p->line(p->to, "no schedule: the solver Z3 is not installed (libz3-4)");
	else if (n < 0)
		p->line(p->to, "a schedule of the solver's does not satisfy the flows");
	else
		p->line(p->to, "schedules: %ld%s, all satisfy the flows", n, n == MOST ? " or more" : "");
	free(flows.at);
}

static void print_ww(const struct order_printer *p)
{
	struct told_trace *trace = told_open(p);
	uint64_t last[PRINT_THREADS][PRINT_THREADS] = { 0 };
	struct text *text = print_memory(sizeof *text);

	for (unsigned i = 0; i < trace->n; i++) {
		struct told *e = &trace->event[i];
		for (const struct order_entry *entry; (entry = told_entry(e));) {
			uint32_t slot = (uint32_t)entry->numbers[0] % PRINT_THREADS;
			last[e->slot][slot] += unzigzag(entry->numbers[1]);
			text_add(text, "%s%s→", text->n ? "," : "", p->event_name(slot, last[e->slot][slot]));
			text_add(text, "%s", e->name);
		}
	}
	p->line(p->to, "edges={%s}", text->at);
	free(text);
	told_close(trace);
}

static const char *entries(const uint64_t *numbers, unsigned n, uint64_t *count)
{
	(void)count;
	return n == 4 && numbers[0] ? "flows" : n == 4 ? "first reads" : n == 3 ? "ends of flows" : "orders of ops";
}

static void describe(const uint64_t *numbers, unsigned n, char *to, size_t room)
{
	if (n == 4 && !numbers[0])
		snprintf(to, room, "reads what was there at first");
	else if (n == 4)
		snprintf(to, room, "reads what event %llu of thread %llu wrote", (unsigned long long)numbers[2],
			 (unsigned long long)(numbers[0] >> 1) - 1);
	else if (n == 3)
		snprintf(to, room, "an earlier flow went on until %llu events ago", (unsigned long long)numbers[2]);
	else if (n == 2 && order_used->solve)
		snprintf(to, room, "an op that follows one of thread %llu", (unsigned long long)numbers[0] - 1);
	else if (n == 2)
		snprintf(to, room, "follows an event of thread %llu", (unsigned long long)numbers[0]);
}

static const char *solve(struct order_log_text *logs, uint32_t threads, uint64_t first, unsigned seconds,
			 void (*progress)(size_t done, size_t all, double seconds))
{
	struct light_outcome outcome;

	light_solve(logs, threads, &(struct light_limits){ .first = first, .seconds = seconds, .progress = progress },
		    &outcome);
	return outcome.problem;
}
#define FOR_TOOL(...) .entries = entries, .describe = describe, __VA_ARGS__,
#else
#define FOR_TOOL(...)
#endif

/* ---- the two schemes -------------------------------------------------------------------------------------------- */

const struct order_scheme order_light = { .name = "light",
					  .summary = "flows between threads; a solver finds the schedule (Light)",
					  .guarantee = "flow determinism: blind writes are not ordered",
					  .version = 2,
					  .state_size = sizeof(struct state),
					  .thread_size = sizeof(struct own),
					  .record = { .open = open,
						      .end = record_end,
						      .before = record_before,
						      .after = record_after,
						      .access = record_access,
						      .acquire = record_op,
						      .release = record_op,
						      .forked = forked },
					  .replay = { .open = open,
						      .before = replay_before,
						      .after = replay_after,
						      .acquire = replay_op,
						      .release = replay_op,
						      .forked = forked },
					  FOR_TOOL(.print = print, .solve = solve) };
const struct order_scheme order_light_ww = {
	.name = "light:ww",
	.summary = "light with the order of writes, without a solver",
	.guarantee = "exact",
	.version = 1,
	.state_size = sizeof(struct state),
	.thread_size = offsetof(struct own, prec),
	.record = { .open = open, .before = ww_before, .after = ww_after, .forked = forked },
	.replay = { .open = open, .before = replay_before, .after = replay_after, .forked = forked },
	FOR_TOOL(.print = print_ww)
};

/*
 * tplay: order between transactions (TPLAY, Algorithms 1 to 4; 3 and 4, thread identity, are common to all schemes).
 *
 * Words
 *   transaction  a run of a thread's events that begins at its first write after a read. Numbered 1, 2, ... per thread
 *                (trID). Also ends before whatever may wait for another thread: `acquire`.
 *   edge         dSet: this event follows the last write of its location, which is in transaction n of thread s; replay
 *                waits until that transaction has *ended*. Edges of a pair of transactions are logged once.
 *   counts       rwSet: before this write the other threads had made so many reads in all; replay waits for them.
 *   stamp        when a transaction began: one counter for the process.
 *
 * A transaction that must wait for one that waits for it would wait for ever: its atomicity is violated. It is then
 * split at the violating event e: what came before e ends as a transaction of its own. For two transactions this is the
 * paper's artificial pair: S waited for T, and now waits for the part of T that ended with the event e' before e (aSet:
 * e' → S); and e waits for S (bSet: S → e). But it also mends cycles through three and more, where the pair would have
 * to replace an edge of a third thread's.
 *
 * Entries at an event; the low two bits of the first number say which:
 *   SPLIT                          the transaction ends here; or, at an acquire, it ends before that waits
 *   SPLIT | n << 2                 the thread ends here, after n transactions: to be counted, nothing waits for it
 *   VIOLATION | s << 2, n, here, there   the same, because of transaction n of s; addresses of the two sites
 *   EDGE | s << 2, step            step: from the last transaction of s that this thread has waited for
 *   COUNTS | k << 2, k times {s, step}   threads whose counts have grown since this thread's last entry of them
 *
 * 1. Record: edges, counts, stamps and the access are one step under the granule's lock (THE RULE): {log in before;
 *    access; last write and own count in after}.
 * 2. Every edge and count goes from a transaction with a smaller stamp to one with a larger. If the thread's current
 *    transaction began before the source did, it is split, and the rest gets a new stamp.
 * 3. So no wait is circular, whatever the locks and system calls add: call `began` of an access the stamp of its
 *    transaction, and of an acquire the moment it was done. A thread that waits at an access waits for another thread
 *    to get through an access or acquire that began earlier (2); a thread that waits at an acquire waits for something
 *    that was done earlier. An acquire never lies within a transaction, or the second part would not hold.
 * 4. A split without a cycle costs a number and nothing else. Whether there was a cycle, and so a violation to report,
 *    the vector clocks say (RegionTrack): a thread's clock holds for each other thread the newest transaction that it
 *    follows by accesses of a location or a lock, and from which of its own transactions on. T is violated by source S
 *    if S's clock has T.
 * 5. An edge to a write is left out where the counts logged at the same event include a read that the writer made
 *    later: program order does the rest. (This is why figure 2 of the paper has no e1→e7 and no e8→e13.)
 * 6. While a thread is between before and after of several granules, nothing has happened yet of what was begun, but
 *    transactions may begin and end. So accesses are entered (last write, count) in `after`, under the transaction that
 *    is then current; those that have ended before have none of them.
 * 7. Replay: `ended` and `reads` of a thread are release stores of its own; who waits for them loads with acquire.
 *    `ended` is stored before the event that begins the next transaction waits for anything; a SPLIT entry is looked at
 *    when the event before it is finished, so that it is stored before an acquire waits.
 * 8. In the child of a fork the other threads' transactions and reads are done, and numbers begin anew for those that
 *    come into their slots: whatever a state or the thread that forked knows of another thread from before is
 *    forgotten.
 *
 * `tplay:published` is the print: bookkeeping without the access, counts before it, and a split only if S directly
 * waits for T: a cycle of three transactions stands still at replay. It is there to be measured.
 */
#include "tplay.h"

struct state {
	uint32_t lock;
	uint32_t writer;      /* slot + 1 of the last write; 0: none */
	uint64_t transaction; /* its number */
	uint64_t stamp;
	uint64_t reads; /* what its thread had read by then */
	uint64_t site;
	uint32_t reader; /* slot + 1 of the last read, for the clocks */
	uint32_t forks;	 /* those before writer and reader were set */
	uint64_t reader_transaction;
	uint64_t reader_site;
};
_Static_assert(sizeof(struct state) == 64, "a power of two");

enum { COUNTS_MAX = 7 };

static uint64_t begun; /* transactions of all threads */
static uint32_t forks; /* this process is the child of so many, one of the other */
static uint32_t graph; /* lock of all clocks and of the objects */
static struct pool pool;

/* Who released an object last, for the clocks. Two objects may share a place: then a violation is not seen as one. */
#define OBJECTS 1024
static struct object {
	uint64_t object, transaction;
	uint32_t slot;
} objects[OBJECTS];

static void forget_objects(void)
{
	for (unsigned i = 0; i < OBJECTS; i++)
		objects[i] = (struct object){ 0 };
}

static void open(void)
{
	begun = 0;
	graph = forks = 0;
	pool = (struct pool){ 0 };
	forget_objects();
}

static struct own *own_of(uint32_t slot)
{
	struct order_thread *t = order_thread_of(slot);
	return t ? t->own : 0;
}

/* ---- clocks (invariant 4): under the graph's lock --------------------------------------------------------------- */

static struct follows *clock_of(struct own *own, uint32_t slot)
{
	if (unlikely(slot >= own->clock_room)) {
		uint32_t room = own->clock_room ? own->clock_room : 8;
		while (room <= slot)
			room *= 2;
		struct follows *to = pool_take(&pool, room * sizeof *to);
		for (uint32_t i = 0; i < own->clock_room; i++)
			to[i] = own->clock[i];
		own->clock = to;
		own->clock_room = room;
	}
	return &own->clock[slot];
}

static void follow(struct own *own, uint32_t slot, uint64_t transaction)
{
	struct follows *f = clock_of(own, slot);
	if (transaction > f->transaction)
		*f = (struct follows){ transaction, own->transaction };
}

/* This thread follows transaction n of slot, and all that this one follows. */
static void join(struct order_thread *t, uint32_t slot, uint64_t n)
{
	struct own *own = t->own, *source = own_of(slot);

	follow(own, slot, n);
	for (uint32_t i = 0; source && i < source->clock_room; i++)
		if (i != t->slot && source->clock[i].transaction && source->clock[i].since <= n)
			follow(own, i, source->clock[i].transaction);
}

/* Does transaction n of slot follow the current one of this thread? */
static bool follows_me(struct order_thread *t, uint32_t slot, uint64_t n)
{
	struct own *own = t->own, *source = own_of(slot);

	if (!source || t->slot >= source->clock_room)
		return false;
	struct follows *f = &source->clock[t->slot];
	return f->transaction >= own->transaction && f->since <= n;
}

/* ---- record ------------------------------------------------------------------------------------------------- */

/* What the event follows. */
struct source {
	uint32_t slot;
	uint64_t transaction, reads, site;
	bool edge; /* its transaction must have ended; else it is only for the clocks */
};

struct sources {
	struct source at[4]; /* last write and last read of two granules */
	unsigned n;
	uint64_t newest; /* stamp among all that the event will wait for */
	bool counts;	 /* other threads' counts have grown */
	bool clocks;	 /* some are news to this thread's clock */
};

static void add_source(struct own *own, struct sources *from, struct source source)
{
	from->at[from->n++] = source;
	/* only this thread writes its clock */
	if (source.slot >= own->clock_room || own->clock[source.slot].transaction < source.transaction)
		from->clocks = true;
}

static void gather_writer(struct order_thread *t, const struct state *s, struct sources *from)
{
	struct own *own = t->own;

	if (!s->writer || s->writer - 1 == t->slot)
		return;
	bool edge = vector_get(&own->waited, s->writer - 1) < s->transaction;
	add_source(own, from, (struct source){ s->writer - 1, s->transaction, s->reads, s->site, edge });
	if (edge && s->stamp > from->newest)
		from->newest = s->stamp;
}

static void gather_reader(struct order_thread *t, const struct state *s, struct sources *from)
{
	if (s->reader && s->reader - 1 != t->slot)
		add_source(t->own, from,
			   (struct source){ s->reader - 1, s->reader_transaction, 0, s->reader_site, false });
}

static void gather_counts(struct order_thread *t, struct sources *from)
{
	struct own *own = t->own;

	for (uint32_t slot = 0; slot < order_slots(); slot++) {
		struct own *other = slot == t->slot ? 0 : own_of(slot);
		uint64_t *seen = vector_of(&pool, &own->seen, slot);
		if (!other ||
		    (*seen = __atomic_load_n(&other->reads, __ATOMIC_ACQUIRE)) <= vector_get(&own->counted, slot))
			continue;
		from->counts = true;
		uint64_t stamp =
			__atomic_load_n(&other->read_stamp, __ATOMIC_RELAXED); /* of that read, or a later one */
		if (stamp > from->newest)
			from->newest = stamp;
	}
}

static void log_counts(struct order_thread *t)
{
	struct own *own = t->own;
	uint64_t numbers[1 + 2 * COUNTS_MAX];
	unsigned n = 0;

	for (uint32_t slot = 0; slot < own->seen.room; slot++) {
		uint64_t seen = own->seen.at[slot], counted = vector_get(&own->counted, slot);
		if (seen > counted) {
			numbers[1 + 2 * n] = slot;
			numbers[2 + 2 * n++] = seen - counted;
		}
		if (n == COUNTS_MAX || (n && slot + 1 == own->seen.room)) {
			numbers[0] = COUNTS | n << 2;
			order_log(t, 1 + 2 * n, numbers);
			n = 0;
		}
	}
}

/* Invariant 5. Before the counts become known. */
static bool is_counted(const struct own *own, const struct source *from)
{
	uint64_t seen = vector_get(&own->seen, from->slot);
	return seen > vector_get(&own->counted, from->slot) && seen > from->reads;
}

static void log_edges(struct order_thread *t, const struct sources *from)
{
	struct own *own = t->own;

	for (unsigned i = 0; i < from->n; i++) {
		const struct source *s = &from->at[i];
		uint64_t *waited = vector_of(&pool, &own->waited, s->slot);
		if (!s->edge || s->transaction <= *waited || (from->counts && is_counted(own, s)))
			continue;
		ORDER_LOG(t, EDGE | s->slot << 2, s->transaction - *waited);
		*waited = s->transaction;
	}
	for (uint32_t slot = 0; from->counts && slot < own->seen.room; slot++)
		if (own->seen.at[slot] > vector_get(&own->counted, slot))
			*vector_of(&pool, &own->counted, slot) = own->seen.at[slot];
}

static const struct source *violating(struct order_thread *t, const struct sources *from)
{
	for (unsigned i = 0; i < from->n; i++)
		if (follows_me(t, from->at[i].slot, from->at[i].transaction))
			return &from->at[i];
	return 0;
}

static void split(struct order_thread *t, const struct access *a, const struct sources *from)
{
	struct own *own = t->own;

	order_lock(&graph);
	const struct source *by = violating(t, from);
	order_unlock(&graph);
	if (by)
		ORDER_LOG(t, VIOLATION | by->slot << 2, by->transaction, (uint64_t)a->site, by->site);
	else
		ORDER_LOG(t, SPLIT);
	begin_one(own);
}

static void join_all(struct order_thread *t, const struct sources *from)
{
	order_lock(&graph);
	for (unsigned i = 0; i < from->n; i++)
		join(t, from->at[i].slot, from->at[i].transaction);
	order_unlock(&graph);
}

/* Stamps come from one counter; relaxed is enough, since each is compared only with such as were taken before it by
   way of a granule's lock or of `reads` (acquire). */
static uint64_t new_stamp(void)
{
	return __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
}

static void gather(struct order_thread *t, const struct access *a, struct sources *from)
{
	for (unsigned i = 0; i < a->granules; i++) {
		const struct state *s = STATE_OF(a, i);
		if (unlikely(s->forks != forks)) /* invariant 8 */
			continue;
		gather_writer(t, s, from);
		if (access_writes(a))
			gather_reader(t, s, from);
	}
	if (access_writes(a))
		gather_counts(t, from);
}

static void record_before(struct order_thread *t, struct access *a)
{
	struct own *own = t->own;
	struct sources from = { 0 };

	for (unsigned i = 0; i < a->granules; i++)
		order_lock(&STATE_OF(a, i)->lock);
	if (begins_one(own, a))
		begin_one(own);
	gather(t, a, &from);
	if (!own->untouched && from.newest > own->stamp)
		split(t, a, &from);
	if (own->untouched)
		own->stamp = new_stamp(); /* invariant 2: newer than all that was gathered */
	if (from.counts)
		log_counts(t);
	log_edges(t, &from);
	if (from.clocks)
		join_all(t, &from);
	own->last_was_read = !access_writes(a);
	order_chaos(t);
}

static void count_read(struct own *own)
{
	__atomic_store_n(&own->read_stamp, own->stamp, __ATOMIC_RELAXED);
	__atomic_store_n(&own->reads, own->reads + 1, __ATOMIC_RELEASE);
}

static void leave_mark(struct order_thread *t, const struct access *a, struct state *s)
{
	struct own *own = t->own;

	if (unlikely(s->forks != forks)) {
		s->writer = s->reader = 0;
		s->forks = forks;
	}
	if (access_writes(a)) {
		s->writer = t->slot + 1;
		s->transaction = own->transaction;
		s->stamp = own->stamp;
		s->reads = own->reads;
		s->site = (uint64_t)a->site;
		s->reader = 0;
	} else {
		s->reader = t->slot + 1;
		s->reader_transaction = own->transaction;
		s->reader_site = (uint64_t)a->site;
	}
}

static void record_after(struct order_thread *t, struct access *a, bool done)
{
	struct own *own = t->own;

	(void)done; /* one that faults is ordered like any other: it faults again */
	if (!access_writes(a))
		count_read(own);
	for (unsigned i = 0; i < a->granules; i++) {
		leave_mark(t, a, STATE_OF(a, i));
		order_unlock(&STATE_OF(a, i)->lock);
	}
	own->untouched = false;
}

static struct object *object_of(uint64_t object)
{
	return &objects[(object >> 4 ^ object >> 14) % OBJECTS];
}

static void record_acquire(struct order_thread *t, uint64_t object)
{
	struct own *own = t->own;
	struct object *o = object_of(object);

	if (own->open)
		ORDER_LOG(t, SPLIT);
	own->open = own->last_was_read = false;
	order_lock(&graph);
	if (o->object == object && o->slot != t->slot)
		join(t, o->slot, o->transaction);
	order_unlock(&graph);
}

static void record_release(struct order_thread *t, uint64_t object)
{
	struct own *own = t->own;

	order_lock(&graph);
	*object_of(object) = (struct object){ object, own->transaction, t->slot };
	order_unlock(&graph);
}

static void record_end(struct order_thread *t)
{
	struct own *own = t->own;

	if (own->transaction > own->told)
		ORDER_LOG(t, SPLIT | (own->transaction - own->told) << 2);
	own->told = own->transaction; /* a thread that comes later may have its slot */
	own->open = own->last_was_read = false;
}

/* ---- record, as printed --------------------------------------------------------------------------------------- */

/* Algorithm 1: lines 4 and 12 come before the access, the rest after it, and nothing keeps others out in between. */
static void published_before(struct order_thread *t, struct access *a)
{
	struct own *own = t->own;

	if (begins_one(own, a))
		begin_one(own);
	if (!access_writes(a))
		count_read(own);
	own->last_was_read = !access_writes(a);
	order_chaos(t);
}

/* Lines 27 to 33: aSet only if S waits for T itself. */
static void published_violation(struct order_thread *t, const struct access *a, const struct sources *from)
{
	const struct source *by = violating(t, from);
	struct own *own = t->own, *source = by ? own_of(by->slot) : 0;

	if (!source || vector_get(&source->waited, t->slot) < own->transaction)
		return;
	ORDER_LOG(t, VIOLATION | by->slot << 2, by->transaction, (uint64_t)a->site, by->site);
	begin_one(own);
}

static void published_after(struct order_thread *t, struct access *a, bool done)
{
	struct own *own = t->own;
	struct sources from = { 0 };

	(void)done;
	order_chaos(t);
	order_lock(&graph);
	gather(t, a, &from);
	published_violation(t, a, &from);
	if (from.counts)
		log_counts(t);
	log_edges(t, &from);
	for (unsigned i = 0; i < from.n; i++)
		join(t, from.at[i].slot, from.at[i].transaction);
	for (unsigned i = 0; i < a->granules; i++)
		leave_mark(t, a, STATE_OF(a, i));
	order_unlock(&graph);
	own->untouched = false;
}

/* ---- replay ------------------------------------------------------------------------------------------------- */

struct wanted {
	const uint64_t *is;
	uint64_t at_least;
	uint32_t slot; /* whose */
};

static bool has_come(const void *arg)
{
	const struct wanted *w = arg;
	return __atomic_load_n(w->is, __ATOMIC_ACQUIRE) >= w->at_least || order_over(w->slot);
}

static bool is_there(const void *arg)
{
	return own_of(*(const uint32_t *)arg) != 0;
}

/* The source may not have made its first access yet. */
static struct own *source_of(struct order_thread *t, uint32_t slot)
{
	if (unlikely(!own_of(slot)))
		order_wait(t, is_there, &slot, "another thread's first access");
	return own_of(slot);
}

static void end_one(struct own *own)
{
	__atomic_store_n(&own->ended, own->transaction, __ATOMIC_RELEASE); /* invariant 7 */
}

/* The entry at event `event`, if there is one, is begun: its kind + 1. */
static unsigned look(struct order_thread *t, uint64_t event)
{
	struct own *own = t->own;

	if (!own->head && t->next_entry == event) {
		own->head = order_number(t) + 1;
		if (((own->head - 1) & KIND) <= VIOLATION)
			end_one(own);
	}
	return own->head ? (unsigned)((own->head - 1) & KIND) + 1 : 0;
}

static void take_counts(struct order_thread *t, uint64_t n)
{
	struct own *own = t->own;
	struct wanted wanted[COUNTS_MAX];

	for (uint64_t i = 0; i < n && i < COUNTS_MAX; i++) {
		uint32_t slot = (uint32_t)order_number(t);
		uint64_t *counted = vector_of(&pool, &own->counted, slot);
		*counted += order_number(t);
		wanted[i] = (struct wanted){ &source_of(t, slot)->reads, *counted, slot };
	}
	order_taken(t);
	for (uint64_t i = 0; i < n && i < COUNTS_MAX; i++)
		order_wait(t, has_come, &wanted[i], "reads before its write");
}

static void take_edge(struct order_thread *t, uint32_t slot)
{
	struct own *own = t->own;
	uint64_t *waited = vector_of(&pool, &own->waited, slot);

	*waited += order_number(t);
	order_taken(t);
	order_wait(t, has_come, &(struct wanted){ &source_of(t, slot)->ended, *waited, slot },
		   "the end of a transaction");
}

static void take_split(struct order_thread *t, bool violation)
{
	for (unsigned i = 0; violation && i < 3; i++)
		order_number(t);
	order_taken(t);
}

static void take_entries(struct order_thread *t)
{
	struct own *own = t->own;

	for (unsigned kind; (kind = look(t, t->event));) {
		uint64_t rest = (own->head - 1) >> 2;
		own->head = 0;
		if (kind - 1 == COUNTS) {
			take_counts(t, rest);
		} else if (kind - 1 == EDGE) {
			take_edge(t, (uint32_t)rest);
		} else {
			take_split(t, kind - 1 == VIOLATION);
			begin_one(own);
		}
	}
}

static void replay_before(struct order_thread *t, struct access *a)
{
	struct own *own = t->own;

	if (begins_one(own, a)) {
		end_one(own);
		begin_one(own);
	}
	take_entries(t);
	own->last_was_read = !access_writes(a);
}

static void replay_after(struct order_thread *t, struct access *a, bool done)
{
	struct own *own = t->own;

	(void)done;
	if (!access_writes(a))
		__atomic_store_n(&own->reads, own->reads + 1, __ATOMIC_RELEASE);
	look(t, t->event + 1);
}

static void replay_acquire(struct order_thread *t, uint64_t object)
{
	struct own *own = t->own;

	(void)object;
	if (look(t, t->event)) {
		own->head = 0;
		take_split(t, false);
	}
	own->open = own->last_was_read = false;
	look(t, t->event + 1);
}

static void replay_release(struct order_thread *t, uint64_t object)
{
	(void)object;
	look(t, t->event + 1);
}

static void replay_end(struct order_thread *t)
{
	struct own *own = t->own;

	if (look(t, t->event) == SPLIT + 1 && (own->head - 1) >> 2) {
		own->head = 0;
		order_taken(t);
	}
	end_one(own);
	own->open = own->last_was_read = false;
}

/* Invariant 8. An entry of the parent's that was looked at is none of this process's. */
static void forked(struct order_thread *t)
{
	struct own *own = own_of(t->slot);

	forks++;
	forget_objects();
	for (uint32_t slot = 0; slot < order_slots(); slot++)
		if (slot != t->slot && own_of(slot))
			*own_of(slot) = (struct own){ 0 };
	own->waited = own->counted = own->seen = (struct vector){ 0 };
	own->clock = 0;
	own->clock_room = 0;
	own->head = 0;
}

#ifdef HEDDLE_TOOL
#define FOR_TOOL \
	.print = tplay_print, .entries = tplay_entries, .describe = tplay_describe, .violation = tplay_violation,
#else
#define FOR_TOOL
#endif

/* ---- the two schemes -------------------------------------------------------------------------------------------- */

#define SCHEME(kind, ...)                                                                                         \
	{                                                                                                         \
		.version = 2, .state_size = sizeof(struct state), .thread_size = sizeof(struct own), __VA_ARGS__, \
		FOR_TOOL.record = { .open = open,                                                                 \
				    .end = record_end,                                                            \
				    .before = kind##_before,                                                      \
				    .after = kind##_after,                                                        \
				    .acquire = record_acquire,                                                    \
				    .release = record_release,                                                    \
				    .forked = forked },                                                           \
		.replay = { .open = open,                                                                         \
			    .end = replay_end,                                                                    \
			    .before = replay_before,                                                              \
			    .after = replay_after,                                                                \
			    .acquire = replay_acquire,                                                            \
			    .release = replay_release,                                                            \
			    .forked = forked },                                                                   \
	}

const struct order_scheme order_tplay =
	SCHEME(record, .name = "tplay", .guarantee = "exact",
	       .summary = "order between transactions, split where atomicity is violated (TPLAY)");
const struct order_scheme order_tplay_published =
	SCHEME(published, .name = "tplay:published",
	       .guarantee = "none: as printed, bookkeeping and access are not one step; cycles of three stand still",
	       .summary = "TPLAY's algorithm 1 to the letter, to be measured");

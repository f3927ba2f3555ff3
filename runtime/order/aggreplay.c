/*
 * aggreplay: the order of writes of each location, the write that each read saw, and how many reads came before each
 * write (AggrePlay, Algorithms 1 and 2). A write of the replay waits until the counted reads have been done.
 *
 * Words
 *   version   writes of a granule so far. The paper's lists W (write-write) and WR (write-read) are one thing here: the
 *             version that an access finds. It is logged only if the thread does not expect it: it last saw or wrote
 *             this version itself, or the granule was never written.
 *   counts    for each slot: its reads of the granule since the last write. The paper's vectors RC are their sums.
 *
 * Entries at an event, for the first granule, then for the second (bit 1 of the first number):
 *   found - expected << 2 | granule << 1      the version, if it is not the expected one
 *   reads << 2 | granule << 1 | 1, slot, n    slots slot .. slot+n-1 have read that often each
 * O1: no reads since the last write, no counts. The paper compares with the thread's own last vector; reads that an
 *     earlier write of anybody has waited for are implied too, since writes are ordered.
 * O2: a thread's own reads are not logged: they are before its write by program order.
 * O3: equal counts of neighbouring slots are one entry.
 *
 * 1. Record: version, counts and access are one step under the granule's lock (THE RULE). So the counts at a write are
 *    exactly the reads of the version that it replaces.
 * 2. Replay: a read waits until the granule has the version it saw. The write that replaces this version waits until as
 *    many reads have been counted, so it cannot come between a read's wait and its count; no lock is held over the
 *    access. A write's wait for its version and for the counts leaves nobody else who may touch the granule.
 * 3. `version` and counts are changed in `after`, version with a release store; the acquire load of who waits for it
 *    sees the access. Counts are read under the lock.
 * 4. Waits cannot be circular: whatever is waited for happened earlier in the recording.
 *
 * `aggreplay:published` does what Algorithm 1 prints: a read is counted first, then the last write is looked up under
 * the lock, then the read takes place outside of it. A write in between is lost; replay then reads another value or
 * stands still. It is there to be measured.
 */
#include "vector.h"

struct state {
	uint32_t lock;
	uint32_t one; /* slot + 1 of the only reader of this version, while `counts` is empty */
	uint64_t version;
	uint64_t one_reads;
	struct vector *counts; /* once two threads have read between two writes */
};

struct own {
	struct known known[KNOWN_PLACES];
	struct entry_head head;
};

enum { COUNTS = 1, SECOND = 2 };

static struct pool pool;

static void open(void)
{
	pool = (struct pool){ 0 };
}

/* ---- counts: under the lock ---------------------------------------------------------------------------------- */

__attribute__((noinline)) static void count_in_vector(struct state *s, uint32_t slot)
{
	if (!s->counts) {
		s->counts = pool_take(&pool, sizeof *s->counts);
		*vector_of(&pool, s->counts, s->one - 1) = s->one_reads;
		s->one = 0;
	}
	++*vector_of(&pool, s->counts, slot);
}

static void count_read(struct state *s, uint32_t slot)
{
	if (unlikely(s->counts || (s->one && s->one != slot + 1))) {
		count_in_vector(s, slot);
		return;
	}
	s->one_reads = s->one ? s->one_reads + 1 : 1;
	s->one = slot + 1;
}

static uint64_t reads_of(const struct state *s, uint32_t slot)
{
	if (s->counts)
		return vector_get(s->counts, slot);
	return s->one == slot + 1 ? s->one_reads : 0;
}

static uint32_t slots_counted(const struct state *s)
{
	return s->counts ? s->counts->room : s->one;
}

static void forget_reads(struct state *s)
{
	s->one = 0;
	for (uint32_t i = 0; s->counts && i < s->counts->room; i++)
		s->counts->at[i] = 0;
}

/* ---- record ------------------------------------------------------------------------------------------------- */

/* Runs of equal counts (O3). The thread's own slot fits into any run (O2). */
static void log_counts(struct order_thread *t, const struct state *s, unsigned granule)
{
	uint32_t end = slots_counted(s);

	for (uint32_t slot = 0, n; slot < end; slot += n) {
		uint64_t reads = slot == t->slot ? 0 : reads_of(s, slot);
		for (n = 1; reads && slot + n < end; n++)
			if (slot + n != t->slot && reads_of(s, slot + n) != reads)
				break;
		if (reads)
			ORDER_LOG(t, reads << 2 | granule * SECOND | COUNTS, slot, n);
	}
}

static void log_version(struct order_thread *t, const struct access *a, const struct state *s, unsigned granule)
{
	struct own *own = t->own;
	uint64_t expected = known_version(own->known, a->addr + granule * GRANULE);

	if (s->version != expected)
		ORDER_LOG(t, (s->version - expected) << 2 | granule * SECOND);
}

static void record_before(struct order_thread *t, struct access *a)
{
	for (unsigned i = 0; i < a->granules; i++)
		order_lock(&STATE_OF(a, i)->lock);
	for (unsigned i = 0; i < a->granules; i++) {
		log_version(t, a, STATE_OF(a, i), i);
		if (access_writes(a))
			log_counts(t, STATE_OF(a, i), i);
	}
	order_chaos(t);
}

/* What the access leaves behind, in both directions: invariant 3. */
static void step(struct order_thread *t, const struct access *a, struct state *s, unsigned granule)
{
	struct own *own = t->own;

	if (access_writes(a)) {
		forget_reads(s);
		__atomic_store_n(&s->version, s->version + 1, __ATOMIC_RELEASE);
	} else {
		count_read(s, t->slot);
	}
	known_set(own->known, a->addr + granule * GRANULE, s->version);
}

static void record_after(struct order_thread *t, struct access *a, bool done)
{
	(void)done; /* one that faults is ordered like any other: it faults again */
	for (unsigned i = 0; i < a->granules; i++) {
		step(t, a, STATE_OF(a, i), i);
		order_unlock(&STATE_OF(a, i)->lock);
	}
}

/* ---- record, as printed --------------------------------------------------------------------------------------- */

static void count_outside(struct order_thread *t, struct access *a)
{
	for (unsigned i = 0; i < a->granules; i++) {
		order_lock(&STATE_OF(a, i)->lock);
		count_read(STATE_OF(a, i), t->slot); /* line 15 */
		order_unlock(&STATE_OF(a, i)->lock);
	}
	order_chaos(t);
	for (unsigned i = 0; i < a->granules; i++) {
		struct own *own = t->own;
		order_lock(&STATE_OF(a, i)->lock);
		log_version(t, a, STATE_OF(a, i), i); /* line 16 */
		known_set(own->known, a->addr + i * GRANULE, STATE_OF(a, i)->version);
		order_unlock(&STATE_OF(a, i)->lock);
	}
	order_chaos(t); /* line 17 follows: nothing keeps a write out */
}

static void published_before(struct order_thread *t, struct access *a)
{
	if (access_writes(a))
		record_before(t, a);
	else
		count_outside(t, a);
}

static void published_after(struct order_thread *t, struct access *a, bool done)
{
	if (access_writes(a))
		record_after(t, a, done);
}

/* ---- replay ------------------------------------------------------------------------------------------------- */

struct wanted {
	struct state *state;
	uint64_t number;
	uint32_t slot;
};

static bool has_version(const void *arg)
{
	const struct wanted *w = arg;
	return __atomic_load_n(&w->state->version, __ATOMIC_ACQUIRE) == w->number;
}

static bool has_reads(const void *arg)
{
	const struct wanted *w = arg;
	order_lock(&w->state->lock);
	bool enough = reads_of(w->state, w->slot) >= w->number;
	order_unlock(&w->state->lock);
	return enough;
}

static void wait_for_counts(struct order_thread *t, struct state *s, uint64_t reads)
{
	uint32_t first = (uint32_t)order_number(t), n = (uint32_t)order_number(t);

	order_taken(t);
	for (uint32_t slot = first; slot < first + n; slot++)
		if (slot != t->slot)
			order_wait(t, has_reads, &(struct wanted){ s, reads, slot }, "reads before its write");
}

static void replay_before(struct order_thread *t, struct access *a)
{
	struct own *own = t->own;

	for (unsigned i = 0; i < a->granules; i++) {
		struct state *s = STATE_OF(a, i);
		uint64_t version = known_version(own->known, a->addr + i * GRANULE), head;
		bool more = head_take(t, &own->head, SECOND, i, &head);
		if (more && !(head & COUNTS)) {
			version += head >> 2;
			order_taken(t);
			more = head_take(t, &own->head, SECOND, i, &head);
		}
		order_wait(t, has_version, &(struct wanted){ s, version, 0 }, "the write it read or replaced");
		for (; more; more = head_take(t, &own->head, SECOND, i, &head))
			wait_for_counts(t, s, head >> 2);
	}
}

static void replay_after(struct order_thread *t, struct access *a, bool done)
{
	(void)done;
	for (unsigned i = 0; i < a->granules; i++) {
		order_lock(&STATE_OF(a, i)->lock);
		step(t, a, STATE_OF(a, i), i);
		order_unlock(&STATE_OF(a, i)->lock);
	}
}

/* ---- print ---------------------------------------------------------------------------------------------------- */

#ifdef HEDDLE_TOOL
#include "print.h"

struct location {
	struct text writes, reads, counted;
	const struct told *writer[PRINT_EVENTS]; /* of each version */
	uint64_t version;
	uint64_t sums[PRINT_THREADS], own_reads[PRINT_THREADS];
};

/* The version that the log says it found; the sums of the counts grow. true: counts were logged here. */
static bool decode(struct told *e, struct own *own, struct location *at, uint64_t *found, bool *logged)
{
	const struct order_entry *entry;
	bool counted = false;

	*found = known_version(own->known, e->access->addr);
	*logged = false;
	while ((entry = told_entry(e))) {
		if (!(entry->numbers[0] & COUNTS)) {
			*found += entry->numbers[0] >> 2;
			*logged = true;
			continue;
		}
		for (uint64_t i = 0; i < entry->numbers[2]; i++)
			if (entry->numbers[1] + i != e->slot)
				at->sums[entry->numbers[1] + i] += entry->numbers[0] >> 2;
		counted = true;
	}
	return counted;
}

static void tell(const struct order_printer *p, struct told *e, struct own *own, struct location *at)
{
	uint64_t found, mine = at->own_reads[e->slot];
	bool logged, counted = decode(e, own, at, &found, &logged);

	if (access_writes(e->access)) {
		if (counted) {
			text_add(&at->counted, "%s.%s=⟨[", e->thread, p->location_name(e->access->addr));
			for (unsigned i = 0; i < p->threads; i++)
				text_add(&at->counted, "%s%llu", i ? "," : "",
					 (unsigned long long)(i == e->slot ? mine : at->sums[i]));
			text_add(&at->counted, "],%s⟩\n", e->name);
		}
		text_add(&at->writes, "%s%s", found ? "," : "", e->name);
		found++;
		if (found < PRINT_EVENTS)
			at->writer[found] = e;
	} else {
		at->own_reads[e->slot]++;
		if (logged && found < PRINT_EVENTS && at->writer[found])
			text_add(&at->reads, "%s%s→%s", at->reads.n ? "," : "", at->writer[found]->name, e->name);
	}
	known_set(own->known, e->access->addr, found);
}

static void print(const struct order_printer *p)
{
	struct told_trace *trace = told_open(p);
	struct own *owns = print_memory(PRINT_THREADS * sizeof *owns);
	struct location *locations = print_memory(PRINT_LOCATIONS * sizeof *locations);

	for (unsigned i = 0; i < trace->n; i++)
		tell(p, &trace->event[i], &owns[trace->event[i].slot], &locations[trace->event[i].location]);
	for (unsigned i = 0; i < trace->locations; i++)
		if (locations[i].writes.n)
			p->line(p->to, "W%s=⟨%s⟩", p->location_name(trace->location[i]), locations[i].writes.at);
	for (unsigned i = 0; i < trace->locations; i++)
		if (locations[i].reads.n)
			p->line(p->to, "WR%s=⟨%s⟩", p->location_name(trace->location[i]), locations[i].reads.at);
	for (unsigned i = 0; i < trace->locations; i++)
		text_lines(p, &locations[i].counted);
	free(owns);
	free(locations);
	told_close(trace);
}

/* Whether it was a read or a write that found a version is not in the log. */
static const char *entries(const uint64_t *numbers, unsigned n, uint64_t *count)
{
	(void)count;
	return n && numbers[0] & COUNTS ? "read counts" : "versions";
}

static void describe(const uint64_t *numbers, unsigned n, char *to, size_t room)
{
	const char *half = numbers[0] & SECOND ? " (second half)" : "";

	if (n == 1)
		snprintf(to, room, "%llu writes since it last knew%s", (unsigned long long)numbers[0] >> 2, half);
	else if (n == 3)
		snprintf(to, room, "after %llu reads by each of threads %llu-%llu%s",
			 (unsigned long long)numbers[0] >> 2, (unsigned long long)numbers[1],
			 (unsigned long long)(numbers[1] + numbers[2] - 1), half);
}
#define FOR_TOOL .print = print, .entries = entries, .describe = describe,
#else
#define FOR_TOOL
#endif

/* ---- the two schemes -------------------------------------------------------------------------------------------- */

#define SCHEME(kind, ...)                                                                                         \
	{                                                                                                         \
		.version = 1, .state_size = sizeof(struct state), .thread_size = sizeof(struct own), __VA_ARGS__, \
		FOR_TOOL.record = { .open = open, .before = kind##_before, .after = kind##_after },               \
		.replay = { .open = open, .before = replay_before, .after = replay_after },                       \
	}

const struct order_scheme order_aggreplay =
	SCHEME(record, .name = "aggreplay", .guarantee = "exact",
	       .summary = "write order, the write each read saw, reads counted before each write (AggrePlay)");
const struct order_scheme order_aggreplay_published =
	SCHEME(published, .name = "aggreplay:published",
	       .guarantee = "none: as printed, a read is counted before it happens and outside the lock",
	       .summary = "AggrePlay's algorithm 1 to the letter, to be measured");

/*
 * stride: writes of a location have versions, in order; a read takes no lock and logs its value with a bound: the
 * version that it sees a moment later (Stride). Which write it read is not known; replay infers it by bounded linkage:
 * the newest write up to the bound that wrote this value.
 *
 * Entries at an event, for the first granule, then for the second (SECOND); `known` is what the thread last knew of the
 * granule's version:
 *   WRITE | step << 3           a write whose version is not known + 1, but step more
 *   READ | step << 3, value     a read; its bound is known + step. Not logged if the value is the one that this thread
 *                               last read or wrote there: the last-one value predictor.
 *   HELD | step << 3            a read within a bracket, under the lock, that saw version known + step
 *   FAULT                       a read that faults; it is made again
 *
 * 1. Record: a write counts the version, then writes, under the granule's lock. A read takes the value, then the
 *    version. So the write that it read has a version of at most the bound: the version is stored before the data
 *    (release fence), and loaded after it (acquire fence).
 * 2. Replay: writes come in the order of their versions. A logged read waits until the granule's version has reached
 *    the bound, and then returns the logged value; what it links to is the newest version up to the bound with that
 *    value. A read that was predicted returns the value that the thread knows. Neither looks at memory.
 * 3. Waits cannot be circular: the bound was reached before the read was over. Where several granules are held together
 *    that is when their writes begin, so reads wait for `begun`; other writes wait until they are done (`version`).
 *
 * What is not certain: values and write order are those of the recording, but a read may be linked to another write
 * than it saw, with the same value (AggrePlay, figure 3), so order with other locations may be lost; and reads within a
 * bracket are done in place, where nothing keeps the next write out.
 */
#include "vector.h"

#define RING 8 /* the newest values, for linkage */

/* A version's value, as far as the access tells it: not for read-modify-writes. */
struct wrote {
	uint64_t addr; /* + 1 */
	uint32_t size;
	uint64_t value;
};

struct state {
	uint32_t lock;
	uint32_t unused;
	uint64_t version;
	struct wrote *ring; /* replay: of version n, at n % RING */
	uint64_t begun;	    /* replay: the version whose write has begun */
};

struct guess {
	uint64_t addr; /* address + 1; 0: free */
	uint32_t size;
	uint64_t value;
};

struct own {
	struct known known[KNOWN_PLACES];
	struct guess guess[KNOWN_PLACES];
	struct entry_head head;
	uint64_t linked, unlinked; /* replay: reads whose write was found; or is no longer remembered */
};

enum { WRITE, READ, HELD, FAULT, KIND = 3, SECOND = 4 };

static struct pool pool;

static void open(void)
{
	pool = (struct pool){ 0 };
}

/* ---- the predictor: the same in both directions ------------------------------------------------------------------ */

/* Of each half on its own. */
static uint32_t size_of(const struct access *a)
{
	return a->size < GRANULE ? a->size : GRANULE;
}

static struct guess *guess_of(struct own *own, uint64_t addr)
{
	uint64_t n = addr / GRANULE;
	return &own->guess[(n ^ n >> 12) % KNOWN_PLACES];
}

static bool guesses(struct own *own, uint64_t addr, uint32_t size, uint64_t *value)
{
	const struct guess *g = guess_of(own, addr);
	*value = g->value;
	return g->addr == addr + 1 && g->size == size;
}

static void learn(struct own *own, uint64_t addr, uint32_t size, uint64_t value)
{
	*guess_of(own, addr) = (struct guess){ addr + 1, size, value };
}

static uint64_t cut(uint64_t value, uint32_t size)
{
	return size < GRANULE ? value & ((1ull << size * 8) - 1) : value;
}

/* After a write: a plain store leaves its value. What another one leaves is read again. */
static void learn_write(struct own *own, const struct access *a, unsigned granule)
{
	uint64_t addr = a->addr + granule * GRANULE;

	if (a->kind & ACCESS_READS)
		*guess_of(own, addr) = (struct guess){ 0 };
	else
		learn(own, addr, size_of(a), cut(a->value[granule], size_of(a)));
}

/* ---- record ------------------------------------------------------------------------------------------------------ */

static void log_version(struct order_thread *t, const struct access *a, unsigned granule, uint64_t version)
{
	struct own *own = t->own;
	uint64_t addr = a->addr + granule * GRANULE, expected = known_version(own->known, addr) + access_writes(a);

	if (version != expected)
		ORDER_LOG(t, (access_writes(a) ? WRITE : HELD) | granule * SECOND | (version - expected) << 3);
	known_set(own->known, addr, version);
}

static void record_before(struct order_thread *t, struct access *a)
{
	for (unsigned i = 0; i < a->granules; i++)
		order_lock(&STATE_OF(a, i)->lock);
	for (unsigned i = 0; i < a->granules; i++) {
		struct state *s = STATE_OF(a, i);
		if (access_writes(a))
			__atomic_store_n(&s->version, s->version + 1, __ATOMIC_RELAXED);
		log_version(t, a, i, s->version);
	}
	__atomic_thread_fence(__ATOMIC_RELEASE); /* invariant 1: versions before the data */
	order_chaos(t);
}

static void record_after(struct order_thread *t, struct access *a, bool done)
{
	(void)done; /* one that faults has its version like any other: it faults again */
	for (unsigned i = 0; i < a->granules; i++) {
		if (access_writes(a))
			learn_write(t->own, a, i);
		order_unlock(&STATE_OF(a, i)->lock);
	}
}

static bool record_read(struct order_thread *t, struct access *a)
{
	struct own *own = t->own;

	if (!access_perform(a)) {
		ORDER_LOG(t, FAULT);
		order_begun(t);
		return false;
	}
	order_chaos(t);
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* invariant 1: the data before the versions */
	for (unsigned i = 0; i < a->granules; i++) {
		uint64_t addr = a->addr + i * GRANULE, guess;
		if (likely(guesses(own, addr, size_of(a), &guess) && guess == a->old[i]))
			continue;
		uint64_t bound = __atomic_load_n(&STATE_OF(a, i)->version, __ATOMIC_RELAXED);
		ORDER_LOG(t, READ | i * SECOND | (bound - known_version(own->known, addr)) << 3, a->old[i]);
		known_set(own->known, addr, bound);
		learn(own, addr, size_of(a), a->old[i]);
	}
	order_begun(t); /* it has taken place, and its entries are there */
	return true;
}

static bool record_access(struct order_thread *t, struct access *a)
{
	if (!access_writes(a))
		return record_read(t, a);
	record_before(t, a);
	order_begun(t);
	bool done = access_perform(a);
	record_after(t, a, done);
	return done;
}

/* ---- replay ------------------------------------------------------------------------------------------------------ */

struct wanted {
	const uint64_t *is;
	uint64_t version;
};

static bool has_version(const void *arg)
{
	const struct wanted *w = arg;
	return __atomic_load_n(w->is, __ATOMIC_ACQUIRE) >= w->version;
}

static void wait_for(struct order_thread *t, const uint64_t *is, uint64_t version)
{
	order_wait(t, has_version, &(struct wanted){ is, version },
		   "the write that bounds its read, or precedes its own");
}

/* Bounded linkage: the newest version up to the bound with this value; 0: what was there at first; ORDER_NEVER: it is
   no longer remembered. Later writes may take places while we look: then the read may be linked to none. */
static uint64_t link_read(const struct state *s, uint64_t addr, uint32_t size, uint64_t value, uint64_t bound)
{
	uint64_t newest = __atomic_load_n(&s->begun, __ATOMIC_ACQUIRE), oldest = newest >= RING ? newest - RING + 1 : 1;
	const struct wrote *ring = __atomic_load_n(&s->ring, __ATOMIC_ACQUIRE);

	for (uint64_t n = bound; ring && n >= oldest; n--) {
		struct wrote w = ring[n % RING];
		if (w.addr == addr + 1 && w.size == size && w.value == value)
			return n;
	}
	return oldest == 1 ? 0 : ORDER_NEVER;
}

static void replay_value(struct order_thread *t, struct access *a, unsigned granule, uint64_t head)
{
	struct own *own = t->own;
	uint64_t addr = a->addr + granule * GRANULE, bound = known_version(own->known, addr) + (head >> 3);

	a->old[granule] = order_number(t);
	order_taken(t);
	wait_for(t, &STATE_OF(a, granule)->begun, bound);
	if (link_read(STATE_OF(a, granule), addr, size_of(a), a->old[granule], bound) == ORDER_NEVER)
		own->unlinked++;
	else
		own->linked++;
	known_set(own->known, addr, bound);
	learn(own, addr, size_of(a), a->old[granule]);
}

static bool replay_read(struct order_thread *t, struct access *a)
{
	struct own *own = t->own;

	for (unsigned i = 0; i < a->granules; i++) {
		uint64_t head;
		if (!head_take(t, &own->head, SECOND, i, &head)) {
			guesses(own, a->addr + i * GRANULE, size_of(a), &a->old[i]);
		} else if ((head & KIND) == FAULT) {
			order_taken(t);
			return access_perform(a);
		} else {
			replay_value(t, a, i, head);
		}
	}
	return true;
}

static void remember(struct state *s, const struct access *a, unsigned granule)
{
	if (!s->ring)
		__atomic_store_n(&s->ring, (struct wrote *)pool_take(&pool, RING * sizeof *s->ring), __ATOMIC_RELEASE);
	struct wrote *w = &s->ring[(s->version + 1) % RING];
	*w = (struct wrote){ a->addr + granule * GRANULE + 1, size_of(a), cut(a->value[granule], size_of(a)) };
	if (a->kind & ACCESS_READS)
		w->addr = 0; /* the value is not known before */
}

static void replay_before(struct order_thread *t, struct access *a)
{
	struct own *own = t->own;
	bool write = access_writes(a);

	for (unsigned i = 0; i < a->granules; i++) {
		struct state *s = STATE_OF(a, i);
		uint64_t addr = a->addr + i * GRANULE, version = known_version(own->known, addr) + write, head;
		if (head_take(t, &own->head, SECOND, i, &head)) {
			version += head >> 3;
			order_taken(t);
		}
		wait_for(t, &s->version, version - write);
		known_set(own->known, addr, version);
		if (!write)
			continue;
		remember(s, a, i);
		/* only the thread whose turn it is writes it; release: the ring comes first */
		__atomic_store_n(&s->begun, version, __ATOMIC_RELEASE);
	}
}

static void replay_after(struct order_thread *t, struct access *a, bool done)
{
	(void)done;
	for (unsigned i = 0; i < a->granules && access_writes(a); i++) {
		struct state *s = STATE_OF(a, i);
		learn_write(t->own, a, i);
		__atomic_store_n(&s->version, s->version + 1, __ATOMIC_RELEASE); /* the data comes first */
	}
}

static bool replay_access(struct order_thread *t, struct access *a)
{
	if (!access_writes(a))
		return replay_read(t, a);
	replay_before(t, a);
	bool done = access_perform(a);
	replay_after(t, a, done);
	return done;
}

/* ---- print ------------------------------------------------------------------------------------------------------- */

#ifdef HEDDLE_TOOL
#include "print.h"

struct location {
	struct told *writer[PRINT_EVENTS]; /* of each version */
	uint64_t writes;
};

struct candidate {
	struct told *read;
	uint64_t value, bound;
};

static void read_versions(struct told_trace *trace, struct location *locations, struct candidate *found, unsigned *n)
{
	struct own *owns = print_memory(PRINT_THREADS * sizeof *owns);

	for (unsigned i = 0; i < trace->n; i++) {
		struct told *e = &trace->event[i];
		struct own *own = &owns[e->slot];
		const struct order_entry *entry = told_entry(e);
		bool write = access_writes(e->access);
		uint64_t version =
			known_version(own->known, e->access->addr) + write + (entry ? entry->numbers[0] >> 3 : 0);
		if (write && version < PRINT_EVENTS)
			locations[e->location].writer[version] = e;
		if (write && version > locations[e->location].writes)
			locations[e->location].writes = version;
		if (!write && entry)
			found[(*n)++] = (struct candidate){ e, entry->numbers[1], version };
		known_set(own->known, e->access->addr, version);
	}
	free(owns);
}

/* As link_read(), over all versions. */
static const struct told *linked_write(const struct location *at, const struct candidate *c)
{
	for (uint64_t n = c->bound < PRINT_EVENTS ? c->bound : PRINT_EVENTS - 1; n; n--)
		if (at->writer[n] && at->writer[n]->access->value[0] == c->value)
			return at->writer[n];
	return 0;
}

static void print_location(const struct order_printer *p, const char *name, const struct location *at)
{
	struct text *text = print_memory(sizeof *text);

	for (uint64_t n = 1; n <= at->writes && n < PRINT_EVENTS; n++)
		text_add(text, "%s%s", n > 1 ? "," : "", at->writer[n] ? at->writer[n]->name : "?");
	if (text->n)
		p->line(p->to, "W%s=⟨%s⟩", name, text->at);
	free(text);
}

static void print(const struct order_printer *p)
{
	struct told_trace *trace = told_open(p);
	struct location *locations = print_memory(PRINT_LOCATIONS * sizeof *locations);
	struct candidate *found = print_memory(PRINT_EVENTS * sizeof *found);
	unsigned n = 0;

	read_versions(trace, locations, found, &n);
	for (unsigned i = 0; i < trace->locations; i++)
		print_location(p, p->location_name(trace->location[i]), &locations[i]);
	for (unsigned i = 0; i < n; i++) {
		const struct location *at = &locations[found[i].read->location];
		const struct told *bound = found[i].bound < PRINT_EVENTS ? at->writer[found[i].bound] : 0;
		const struct told *link = linked_write(at, &found[i]);
		p->line(p->to, "⟨value %llu,version %s⟩: %s→%s", (unsigned long long)found[i].value,
			bound ? bound->name : "0", link ? link->name : "first", found[i].read->name);
	}
	free(found);
	free(locations);
	told_close(trace);
}

static const char *entries(const uint64_t *numbers, unsigned n, uint64_t *count)
{
	static const char *const names[] = {
		[WRITE] = "versions of writes", [READ] = "values", [HELD] = "versions of reads", [FAULT] = "faults"
	};
	(void)count;
	return n ? names[numbers[0] & KIND] : "entries";
}

static void describe(const uint64_t *numbers, unsigned n, char *to, size_t room)
{
	unsigned long long step = (unsigned long long)numbers[0] >> 3;

	switch (numbers[0] & KIND) {
	case WRITE: snprintf(to, room, "its write has a version %llu higher than expected", step); break;
	case READ:
		snprintf(to, room, "reads %#llx; the version is at most %llu higher than known",
			 n > 1 ? (unsigned long long)numbers[1] : 0, step);
		break;
	case HELD: snprintf(to, room, "reads a version %llu higher than known", step); break;
	case FAULT: snprintf(to, room, "a read that faults"); break;
	}
}
#define FOR_TOOL .print = print, .entries = entries, .describe = describe,
#else
#define FOR_TOOL
#endif

const struct order_scheme order_stride = {
	.name = "stride",
	.summary = "write versions; reads log value and bound, without a lock (Stride)",
	.guarantee = "values: each read returns what it read; which write that was is inferred and may be another",
	.version = 1,
	.state_size = sizeof(struct state),
	.thread_size = sizeof(struct own),
	.record = { .open = open, .before = record_before, .after = record_after, .access = record_access },
	.replay = { .open = open, .before = replay_before, .after = replay_after, .access = replay_access },
	FOR_TOOL
};

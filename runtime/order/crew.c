/*
 * crew: concurrent reading, exclusive writing (InstantReplay). Every granule has a version, raised by each write, and
 * counts the reads of the present version. A reader logs the version that it read; a writer logs the version that it
 * replaced and how often that was read. Replay lets a read wait for its version, and a write for version and reads.
 *
 * Entry of a read: version. Of a write, or of a read and write in one: version, reads. 16 bytes: the same for each
 * half. It is left out when the thread knows without: a read by who has read or written this version before; a write by
 * such a thread, when nobody else has read the version. (InstantReplay logs every access.)
 *
 * 1. Record: a granule's lock is held from before to after. Reads of one granule could overlap, but they are shorter
 *    than the two atomics that would count a reader in and out.
 * 2. Replay: a read with an entry goes on when `version` is its own. One without follows a read or write of the same
 *    version by its own thread. In both cases no write can come before the read is counted, since the next one waits
 *    for the number of reads. So reads need no lock; they count themselves with an atomic add, after the access
 *    (release: the write that waits for the sum must not overtake them).
 * 3. Replay: a write with an entry goes on when version and reads are what it logged, so it is alone: what follows
 *    waits for its own version. One without has nobody to wait for but its own thread's past. It then sets reads to 0,
 *    and publishes with a release store of `version`, which comes last.
 * 4. A write sets `reads` to 0 before version is raised: a reader of the new version has waited for the version
 *    (acquire), so it adds to the 0.
 * 5. Waits cannot be circular: each is for accesses that came earlier in time.
 */
#include "order.h"

struct state {
	uint32_t lock;
	uint32_t writer;  /* record: slot + 1 of who wrote this version */
	uint64_t version; /* writes so far */
	uint64_t reads;	  /* of this version */
	uint64_t readers; /* record: bit of each slot that has read it; slots from MANY on share the last bit */
};

#define MANY 63

/* ---- record --------------------------------------------------------------------------------------------- */

struct seen {
	bool known;
	uint64_t version, reads;
};

static struct seen take(struct order_thread *t, struct state *s, bool writes)
{
	uint64_t mine = t->slot < MANY ? 1ull << t->slot : 0;

	order_lock(&s->lock);
	struct seen seen = { s->writer == t->slot + 1 || (s->readers & mine) || (!s->version && !s->reads), s->version,
			     s->reads };
	if (!writes) {
		s->reads++;
		s->readers |= mine ? mine : 1ull << MANY;
		return seen;
	}
	seen.known = seen.known && !(s->readers & ~mine);
	s->version++;
	s->reads = s->readers = 0;
	s->writer = t->slot + 1;
	return seen;
}

static void record_before(struct order_thread *t, struct access *a)
{
	uint64_t numbers[4];
	unsigned n = 0;
	bool known = true;

	for (unsigned i = 0; i < a->granules; i++) {
		struct seen seen = take(t, order_state(a->addr + i * GRANULE), access_writes(a));
		known = known && seen.known;
		numbers[n++] = seen.version;
		if (access_writes(a))
			numbers[n++] = seen.reads;
	}
	if (unlikely(!known))
		order_log(t, n, numbers);
	order_chaos(t);
}

/* An access that faulted counts, at replay too. */
static void record_after(struct order_thread *t, struct access *a, bool done)
{
	(void)t, (void)done;
	for (unsigned i = 0; i < a->granules; i++)
		order_unlock(&((struct state *)order_state(a->addr + i * GRANULE))->lock);
}

/* ---- replay --------------------------------------------------------------------------------------------- */

struct wanted {
	const struct state *state;
	uint64_t version, reads;
};

static bool version_is_there(const void *arg)
{
	const struct wanted *w = arg;

	return __atomic_load_n(&w->state->version, __ATOMIC_ACQUIRE) == w->version;
}

/* Version first: reads of an older version could have the number. */
static bool reads_are_done(const void *arg)
{
	const struct wanted *w = arg;

	return version_is_there(arg) && __atomic_load_n(&w->state->reads, __ATOMIC_ACQUIRE) == w->reads;
}

static void replay_before(struct order_thread *t, struct access *a)
{
	struct wanted wanted[2];

	if (!order_due(t))
		return;
	for (unsigned i = 0; i < a->granules; i++) {
		wanted[i].state = order_state(a->addr + i * GRANULE);
		wanted[i].version = order_number(t);
		wanted[i].reads = access_writes(a) ? order_number(t) : 0;
	}
	order_taken(t);
	for (unsigned i = 0; i < a->granules; i++)
		if (access_writes(a))
			order_wait(t, reads_are_done, &wanted[i], "the readers of a location");
		else
			order_wait(t, version_is_there, &wanted[i], "a write to a location");
}

static void replay_after(struct order_thread *t, struct access *a, bool done)
{
	(void)t, (void)done;
	for (unsigned i = 0; i < a->granules; i++) {
		struct state *s = order_state(a->addr + i * GRANULE);
		if (!access_writes(a)) {
			__atomic_fetch_add(&s->reads, 1, __ATOMIC_RELEASE);
			continue;
		}
		__atomic_store_n(&s->reads, 0, __ATOMIC_RELAXED); /* invariant 4 */
		__atomic_store_n(&s->version, s->version + 1, __ATOMIC_RELEASE);
	}
}

#ifdef HEDDLE_TOOL
/* ---- `heddle order crew`: what each thread's history holds -------------------------------------------------- */
#include "print.h"

/* A read: the version. A write: version/reads. */
static void print_numbers(struct text *text, const struct access *a, const struct order_entry *e)
{
	for (unsigned i = 0; i < e->n; i++)
		text_add(text, "%s%llu",
			 access_writes(a) && i % 2 ? "/" :
			 i			   ? "," :
						     "=",
			 (unsigned long long)e->numbers[i]);
}

static void print(const struct order_printer *p)
{
	struct told_trace *t = told_open(p);

	for (uint32_t slot = 0; slot < p->threads; slot++) {
		struct text *text = print_memory(sizeof *text);
		text_add(text, "t%u:", slot + 1);
		for (struct told *e = t->event; e < t->event + t->n; e++) {
			const struct order_entry *entry = e->slot == slot ? told_entry(e) : 0;
			if (!entry)
				continue;
			text_add(text, " %s:%s", e->name, p->location_name(e->access->addr));
			print_numbers(text, e->access, entry);
		}
		text_lines(p, text);
		free(text);
	}
	told_close(t);
}

static void describe(const uint64_t *numbers, unsigned n, char *to, size_t room)
{
	if (n == 1)
		snprintf(to, room, "reads version %llu", (unsigned long long)numbers[0]);
	else
		snprintf(to, room, "version %llu, %llu%s", (unsigned long long)numbers[0],
			 (unsigned long long)numbers[1], n == 2 ? " reads" : "; 16 bytes");
}
#endif

const struct order_scheme order_crew = {
	.name = "crew",
	.summary = "versions and numbers of their readers for each location (InstantReplay)",
	.guarantee = "exact",
	.version = 1,
	.state_size = sizeof(struct state),
	.record = { .before = record_before, .after = record_after },
	.replay = { .before = replay_before, .after = replay_after },
#ifdef HEDDLE_TOOL
	.print = print,
	.describe = describe,
#endif
};

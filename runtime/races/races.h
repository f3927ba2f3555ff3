/*
 * heddle replay --races: which accesses of the replayed run were in no order that the program itself made.
 *
 * Happens-before is what C11 says: program order, creation and join, locks (unlock to the next lock), barriers, once,
 * semaphores, and atomics (release to the acquire that reads it). What replay waits for besides, edges of the log that
 * only keep the recorded order, is no synchronisation of the program and counts for nothing here.
 *
 * Words
 *   racer   a thread as the detector sees it: its number (never a slot, which is used again), its vector clock, its
 *           locks
 *   clocks  a vector clock: for each racer how far it is known
 *   object  what threads synchronise on, by address: a lock, a barrier, an atomic
 *   record  one access of a granule that may still race with a later one
 *
 * Each kind of event is taken where replay has already waited for what came before it, and before it lets go of what
 * follows: so the events of an object come here in their recorded order.
 */
#ifndef RACES_H
#define RACES_H
#include "runtime/runtime.h"
#include "trace/watched.h"

struct clocks {
	uint32_t n, room;
	uint64_t *at;
};

#define RACER_LOCKS 8 /* held at once; more are not told */
struct racer {
	uint32_t number;
	struct clocks clocks;
	uint32_t lock_count, lockset;
	uint64_t locks[RACER_LOCKS];
	struct round *round; /* of the barrier that it is at */
	struct record *unused;
	uint8_t *room, *room_end; /* for records */
};

/* ---- clocks.c ------------------------------------------------------------------------------------------------- */

/* Memory that stays; zero. */
void *races_memory(size_t n);
struct racer *racer_of(struct thread *t);
void racer_created(struct thread *parent, struct thread *child);
/* What it does from now on is another time for others. */
void racer_next(struct racer *r);
void clocks_join(struct clocks *to, const struct clocks *from);
void clocks_copy(struct clocks *to, const struct clocks *from);

static inline uint64_t clock_of(const struct clocks *c, uint32_t number)
{
	return number < c->n ? c->at[number] : 0;
}
static inline uint64_t racer_now(const struct racer *r)
{
	return STAMP(r->number, r->clocks.at[r->number]);
}
/* Did all that is at this stamp happen before what r does now? */
static inline bool happened_before(const struct racer *r, uint64_t stamp)
{
	return clock_of(&r->clocks, STAMP_SLOT(stamp)) >= STAMP_CLOCK(stamp);
}

/* ---- objects.c: what ops and calls mean ------------------------------------------------------------------------ */

enum atomic_part { ATOMIC_ACQUIRES = 1, ATOMIC_RELEASES = 2, ATOMIC_STORES = 4 /* and does not read */ };
/* An atomic access has been performed. Before its record is taken, and once more after it with `after`. */
void races_atomic(struct racer *r, uint64_t addr, unsigned parts, bool after);

/* Processes and threads count in one place; nothing else hangs on it. */
static inline void races_count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* ---- records.c ------------------------------------------------------------------------------------------------- */

enum { RECORD_READS = 1, RECORD_WRITES = 2, RECORD_ATOMIC = 4 };
struct record {
	struct record *next;
	const struct hook_site *site; /* 0: the kernel's or libc's */
	uint64_t stamp;		      /* racer, and its clock */
	uint64_t event, value;	      /* the number of the access in its thread; what it read or wrote */
	uint8_t bytes;		      /* of the granule: a bit each */
	uint8_t flags;
	uint16_t slot;
	uint32_t lockset;
	uint8_t size; /* bytes in value; 0: it has none */
};
void races_records_start(void);
/* value: what was read or written, in `known` bytes (0: not known) */
struct touch {
	uint64_t addr, size;
	unsigned flags, known;
	uint64_t value;
	const struct hook_site *site;
};
void races_touch(struct thread *t, const struct touch *touch);

/* ---- report.c -------------------------------------------------------------------------------------------------- */

/* The number of a set of locks; 0: none. */
uint32_t lockset_of(const uint64_t *locks, uint32_t count);
void races_found(const struct record *before, const struct record *now, uint64_t addr);

/* ---- story.c: what each thread did, for `heddle report` ---------------------------------------------------------- */

void story_op(struct thread *t, long result);
void story_call(struct thread *t, unsigned nr);
/* An access, and one of another thread's before it that it conflicts with. */
void story_conflict(const struct record *before, const struct record *now, uint64_t addr, bool unordered);

/* ---- places.c: where threads are at certain accesses ------------------------------------------------------------- */

void places_start(void);
void places_look(struct thread *t);
#endif

/*
 * Sections: recorded recursive locks around what libc locks inside itself.
 *
 * libheddle.so enters the section of an object (a FILE, a group of libc's state) before
 * it calls the libc function, and leaves it afterwards. libc's own lock is then never
 * contended: it adds no system calls that would come at another place at replay.
 *
 * Each enter and each leave is one op, also the recursive ones, so that replay needs no
 * table: an enter waits for its edges, which is as good as holding the lock, and a leave
 * lets others go on. The chain of an object: a leave stamps, the next enter by another
 * thread takes an edge from it. An enter that answers EBUSY has no edge; its outcome is
 * logged.
 *
 * Recording: a table of objects by address, in the runtime's memory, since FILEs have no
 * room. `word` is a usual futex lock; who holds it alone touches depth and stamp. A place
 * is found without a lock; adding and removing places is done under `table_lock`.
 */
#include "runtime/runtime.h"
#include "runtime/sync/objects.h"
#include "runtime/sync/sync.h"

#define SECTIONS 65536 /* a power of two */
#define REMOVED	 1ul   /* `object` of a place that may be used again; groups begin at 2, below */

struct section {
	uint64_t object; /* 0: never used, and the end of a search */
	uint64_t stamp;	 /* the last leave; stays when the place is used again: an edge too many */
	uint32_t word;	 /* 0 free, 1 held, 2 held and somebody may sleep */
	uint32_t owner;	 /* 1 + slot of the holder; only compared with one's own */
	uint32_t depth;
	uint32_t unused;
};
static struct section sections[SECTIONS];
static uint32_t table_lock;

/* ---- the table --------------------------------------------------------------------- */

/* libheddle's groups are numbers from 1: they move up, away from REMOVED. */
static uint64_t key_of(uint64_t object)
{
	return object < 4096 ? object + 1 : object;
}

static uint64_t first_place(uint64_t key)
{
	return (key >> 4 ^ key >> 20 ^ key * 31) % SECTIONS;
}

static struct section *find(uint64_t key)
{
	uint64_t at = first_place(key);
	for (unsigned i = 0; i < SECTIONS; i++, at = (at + 1) % SECTIONS) {
		/* acquire: pairs with the store in add(), so that the rest of the place is seen */
		uint64_t there = __atomic_load_n(&sections[at].object, __ATOMIC_ACQUIRE);
		if (there == key)
			return &sections[at];
		if (!there)
			break;
	}
	return 0;
}

static struct section *add(uint64_t key)
{
	brief_lock(&table_lock);
	struct section *s = find(key); /* another thread may have been faster */
	uint64_t at = first_place(key);
	for (unsigned i = 0; i < SECTIONS && !s; i++, at = (at + 1) % SECTIONS) {
		uint64_t there = sections[at].object;
		if (there && there != REMOVED)
			continue;
		s = &sections[at];
		__atomic_store_n(&s->object, key, __ATOMIC_RELEASE);
	}
	brief_unlock(&table_lock);
	if (!s)
		cannot("the program has more than %d FILEs, directories and regular expressions open", (long)SECTIONS);
	return s;
}

/*
 * The object is gone (fclose). Called by the holder, with the section still held by it alone. A place at the end of a
 * search becomes an end itself, and so do removed ones before it: or searches would grow longer with every FILE.
 */
static void forget(struct section *s)
{
	brief_lock(&table_lock);
	/* Somebody sleeps for a FILE that is closed: wrong, but then the place must stay what it is. */
	if (__atomic_load_n(&s->word, __ATOMIC_RELAXED) == 1) {
		uint64_t at = (uint64_t)(s - sections);
		bool end = !sections[(at + 1) % SECTIONS].object;
		__atomic_store_n(&s->object, end ? 0 : REMOVED, __ATOMIC_RELEASE);
		while (end && sections[at = (at + SECTIONS - 1) % SECTIONS].object == REMOVED)
			__atomic_store_n(&sections[at].object, 0, __ATOMIC_RELEASE);
	}
	brief_unlock(&table_lock);
}

static struct section *section_of(uint64_t object)
{
	struct section *s = find(key_of(object));
	return s ? s : add(key_of(object));
}

/* ---- the lock, recording --------------------------------------------------------------- */

/* nanoseconds */
#define BRIEFLY	  100000000ll
#define PATIENTLY 3000000000ll

static const int64_t *until(uint64_t how, int64_t time[2])
{
	if (!(how & (SECTION_BRIEFLY | SECTION_PATIENTLY)))
		return 0;
	SYS2(__NR_clock_gettime, 1 /* monotonic */, time);
	time[1] += how & SECTION_BRIEFLY ? BRIEFLY : PATIENTLY;
	time[0] += time[1] / 1000000000;
	time[1] %= 1000000000;
	return time;
}

/* 0, EBUSY, or SYNC_INTERRUPTED before anything has happened. */
static long take(struct thread *t, struct section *s, uint64_t how)
{
	/* Relaxed: only this thread stores its own number, and it sees what it stored itself. */
	if (__atomic_load_n(&s->owner, __ATOMIC_RELAXED) == t->slot + 1) {
		s->depth++;
		return 0;
	}
	uint32_t free = 0;
	/* Acquire: pairs with the release in give(); depth, stamp and libc's state are seen. */
	if (!__atomic_compare_exchange_n(&s->word, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (how & SECTION_TRY)
			return EBUSY;
		int64_t time[2];
		const int64_t *deadline = until(how, time);
		while (__atomic_exchange_n(&s->word, 2, __ATOMIC_ACQUIRE)) {
			/* a 2 that stays when we give up costs the holder one wake too many */
			long r = sync_wait(t, &s->word, 2, 1, deadline);
			if (r == -EINTR)
				return SYNC_INTERRUPTED;
			if (r == -ETIMEDOUT)
				return EBUSY;
		}
	}
	__atomic_store_n(&s->owner, t->slot + 1, __ATOMIC_RELAXED);
	s->depth = 1;
	return 0;
}

static void give(struct section *s)
{
	__atomic_store_n(&s->owner, 0, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&s->word, 0, __ATOMIC_RELEASE) == 2)
		sync_wake(&s->word, 1);
}

/* ---- the ops ------------------------------------------------------------------------------ */

/* a: the object, b: how, or 0. */
long sync_section_enter(struct thread *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	(void)c, (void)d;
	struct section *s = 0;
	long result = 0;
	if (!replaying) {
		/* The lock comes before the op: an interrupted enter is no op, and at replay nothing interrupts. */
		for (;;) {
			s = section_of(a);
			result = take(t, s, b);
			if (result || s->object == key_of(a))
				break;
			/* The place was given to another object while we waited. */
			if (--s->depth == 0)
				give(s);
		}
		if (result == SYNC_INTERRUPTED)
			return result;
	}
	op_begin(t);
	if (!replaying && !result)
		op_edge(t, s->stamp);
	result = op_outcome(t, result);
	op_end(t);
	return result;
}

/* a: the object, b: SECTION_FORGET or 0. */
long sync_section_leave(struct thread *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	(void)c, (void)d;
	uint64_t clock = op_begin(t);
	struct section *s = replaying ? 0 : find(key_of(a));
	/* Not ours: funlockfile() without flockfile(), or an enter that a signal handler jumped out of. */
	bool ours = s && __atomic_load_n(&s->owner, __ATOMIC_RELAXED) == t->slot + 1;
	bool last = ours && s->depth == 1;
	if (last) {
		s->stamp = STAMP(t->slot, clock);
		if (b & SECTION_FORGET)
			forget(s);
	}
	/* Before the lock is given: who gets it may take an edge from this op, which must then be counted. */
	op_end(t);
	if (ours && --s->depth == 0)
		give(s);
	return 0;
}

/* In the child of fork: other threads, and what they held, are gone. */
void sections_forked(struct thread *t)
{
	table_lock = 0;
	for (unsigned i = 0; i < SECTIONS; i++) {
		struct section *s = &sections[i];
		if (!s->word || s->owner == t->slot + 1) {
			s->word = s->word ? 1 : 0;
			continue;
		}
		s->word = s->owner = s->depth = 0;
	}
}

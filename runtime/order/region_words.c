/*
 * Words: the granules of a fine page. See region.c for the invariants; model: tests/models/word.pml.
 */
#include "region.h"

/* An access of a word is short, and calls would be a good part of it. */
#define INLINED inline __attribute__((always_inline))

/*
 * The lock is the top bit of `writer`; the name stays beside it. No store of the holder's may be seen before the bit (a
 * reader would find new data under an unlocked word), and a compare-and-swap does not promise that on aarch64: hence
 * the barrier. Acquire: data and readers are read after.
 *
 * Acquire fences here, and no acquire loads: on aarch64 such a load waits until the release store that closed the
 * bracket before has left the core, a fence for loads (dmb ishld) does not.
 */
static inline bool lock_word(struct words *w, uint64_t was)
{
	if (!__atomic_compare_exchange_n(&w->writer, &was, was | WORD_LOCKED, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return false;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#ifdef __aarch64__
	__asm__ volatile("dmb ishst" ::: "memory");
#else
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* x86-64 keeps stores in order */
#endif
	return true;
}

/* Release: everything the holder did is seen by who finds the word unlocked. */
static inline void unlock_word(struct words *w, uint64_t writer)
{
	__atomic_store_n(&w->writer, writer, __ATOMIC_RELEASE);
}

/* Lets the holder of a word go on; outside the bracket, so that nobody waits for this thread meanwhile. */
static __attribute__((noinline, cold)) void wait_for_word(struct order_thread *t, unsigned *looked)
{
	struct region_thread *own = region_of(t);

	bracket_close(own);
	region_answer(own);
	hold_waits(own);
	order_relax(looked);
	bracket_open(own);
}

/*
 * A sample of the accesses of fine pages. One thread in a long row, or only reads: then claims are cheaper than words.
 * A claim costs some 5 us when it is contested, a word 10 to 80 ns an access (it is memory, too), so a page should be
 * left alone for some hundred accesses to be worth claiming. A row of 8 samples of one thread is luck once in 2^8 for
 * two equal users; one of 16 reads, where one access of ten writes, once in 5. Each time that it was wrong, the row
 * must be twice as long: threads that take turns must not pay for each. Each time that the page was used for long
 * before it was taken away again, it was right: forget_contests().
 */
#ifndef SAMPLE
#define SAMPLE	    64
#define ROW_ALONE   8
#define ROW_READS   16
#define ROW_DOUBLES 6
#endif

static unsigned wanted(const struct page *p, unsigned row)
{
	unsigned doubles = p->fine ? p->fine - 1u : 0;

	return row << (doubles < ROW_DOUBLES ? doubles : ROW_DOUBLES);
}

static __attribute__((noinline)) bool sample(struct order_thread *t, struct page *p, uint64_t addr, bool writes)
{
	struct region_thread *own = region_of(t);
	bool mine = p->user == t->slot + 1;

	own->sampled = SAMPLE;
	p->streak = mine ? p->streak + 1 : 0;
	p->reads = writes ? 0 : p->reads + 1;
	p->user = (uint16_t)(t->slot + 1);
	bool alone = p->streak >= wanted(p, ROW_ALONE);
	if (!own->claims || (!alone && p->reads < wanted(p, ROW_READS)))
		return false;
	make_coarse(t, p, addr, alone ? ACCESS_READS | ACCESS_WRITES : ACCESS_READS);
	return true;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Does the word say already that this thread reads in this region, or that it need not say so? Then a read has nothing
   to store. */
static inline bool covered(const struct region_thread *own, uint32_t me, uint64_t writer, uint64_t readers)
{
	uint64_t name = word_name(me, region_now(own));

	if (readers & WORD_MANY)
		return readers & word_bit(me) && region_follows((struct region_thread *)own, me, writer);
	return readers ? readers == name : (writer & WORD_NAME) == name || writer == own->self->mine;
}

/*
 * Among many readers the word does not say in which region this thread reads: who writes next looks at this thread's
 * count of events (invariant 5). So that must be seen to be in this region before the word is found unlocked for the
 * last time. Once per region: it is the beginning that counts. (And once more if the read was in vain: before the next
 * look the runtime may close the bracket for a signal, which takes the beginning back, and there is perhaps no handler,
 * so no cut.)
 */
static inline void show_region(struct region_thread *own)
{
	uint64_t region = region_now(own);

	if (unlikely(own->fenced != region)) {
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		own->fenced = region;
	}
}

/* Budget: 5 loads, no store. */
static INLINED enum outcome read_quickly(struct order_thread *t, struct words *w, struct access *a)
{
	struct region_thread *own = region_of(t);
	uint64_t writer = __atomic_load_n(&w->writer, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	uint64_t readers = __atomic_load_n(&w->readers, __ATOMIC_RELAXED);

	if (writer & WORD_LOCKED || !covered(own, t->slot, writer, readers))
		return LOOK_AGAIN;
	if (readers & WORD_MANY)
		show_region(own);
	order_chaos(t);
	bool done = access_perform(a);
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* the load, then the last look: a load barrier */
	if (__atomic_load_n(&w->writer, __ATOMIC_RELAXED) != writer) {
		own->fenced = 0;
		return LOOK_AGAIN;
	}
	if (!done)
		own->fenced = 0;
	return done ? DONE : FAULTS;
}

/*
 * The same over some granules, for a value that is wider than one. If no word has changed between the first look at all
 * and the last, nobody was in between, and what was read is of one moment. (A word that was written is not as it was:
 * who writes follows this thread's region, which the word names as a reader's, and that cuts its own unless it followed
 * before; and it cannot have, since this thread's region follows the name in the word.)
 */
enum outcome words_span(struct order_thread *t, struct access_span *s)
{
	struct region_thread *own = region_of(t);
	struct page *p = page_of(s->addr);
	uint64_t from = s->addr & ~7ull, last = s->addr + s->size - 1, was[SPAN_WORDS], many = 0;
	unsigned n = 0;

	if (last - from >= GRANULE * SPAN_WORDS || from >> PAGE_SHIFT != last >> PAGE_SHIFT ||
	    (own->claims && page_state(p) != PAGE_FINE) || (unlikely(!own->sampled--) && sample(t, p, s->addr, false)))
		return LOOK_AGAIN;
	for (uint64_t at = from; at <= last; at += GRANULE, n++) {
		struct words *w = order_state(at);
		was[n] = __atomic_load_n(&w->writer, __ATOMIC_ACQUIRE);
		uint64_t readers = __atomic_load_n(&w->readers, __ATOMIC_RELAXED);
		if (was[n] & WORD_LOCKED || !covered(own, t->slot, was[n], readers))
			return LOOK_AGAIN;
		many |= readers & WORD_MANY;
	}
	if (many)
		show_region(own);
	order_chaos(t);
	bool done = s->perform(s, 0, s->size);
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* as above */
	while (n--) {
		struct words *w = order_state(from + n * GRANULE);
		if (__atomic_load_n(&w->writer, __ATOMIC_RELAXED) != was[n])
			return LOOK_AGAIN;
	}
	t->event = own->self->events / 2;
	return done ? DONE : FAULTS;
}

/* ---- granules that are a thread's own ---------------------------------------------------------------------------- */

/*
 * A granule to which the same thread comes again and again becomes its own: to access it in its bracket it only needs
 * to look at the word (also in entry.S). Who else wants it locks the word, which ends that, makes the owner see it, and
 * waits for the owner's bracket, as for a claim: then the word is one like any other, with the last region that the
 * owner has begun. It costs as much as a hundred accesses of words, or a thousand if the owner does not answer; in
 * pages where that happens often, only few become somebody's own.
 */
#define DISOWNED_OFTEN 8
#define SELDOM	       63 /* of as many times, in such a page */

static inline uint64_t come_again(struct order_thread *t, uint64_t addr, uint64_t writer, uint64_t name)
{
	struct region_thread *own = region_of(t);

	if (writer & WORD_OWNED)
		return writer;
	if ((writer & WORD_STREAK_MAX) < WORD_STREAK_MAX)
		return name | ((writer & WORD_STREAK_MAX) + WORD_STREAK);
	if (!own->claims || (page_of(addr)->disowned >= DISOWNED_OFTEN && own->sampled & SELDOM))
		return name | WORD_STREAK_MAX;
	return own->self->mine;
}

/* The word is this thread's, as it was seen in the bracket: who takes it waits for the end of that. */
static enum outcome own_access(struct order_thread *t, struct access *a)
{
	uint8_t *claim = &region_of(t)->claims[page_number(a->addr)], is = __atomic_load_n(claim, __ATOMIC_RELAXED);

	if (!(is & HOOK_WORDS)) /* the page is fine, so nobody else writes this byte */
		__atomic_store_n(claim, is | HOOK_WORDS, __ATOMIC_RELAXED);
	order_chaos(t);
	bool done = access_perform(a);
	order_chaos(t);
	return done ? DONE : FAULTS;
}

/*
 * Words of [from, to), in one page, that others own become words like any other. Those that somebody holds are left.
 * True: there were some, and the bracket is closed. What this thread holds meanwhile does no harm: an owner does not
 * wait in its bracket.
 */
static bool words_disown(struct order_thread *t, uint64_t from, uint64_t to)
{
	struct region_thread *own = region_of(t);
	uint64_t held[PAGE_WORDS / 64] = { 0 };
	struct audience owners = { .n = 0 };

	for (uint64_t at = from & ~7ull; at < to; at += GRANULE) {
		struct words *w = order_state(at);
		uint64_t writer = __atomic_load_n(&w->writer, __ATOMIC_RELAXED), i = at / GRANULE % PAGE_WORDS;
		if (!(writer & WORD_OWNED) || writer & WORD_LOCKED || writer == own->self->mine ||
		    !lock_word(w, writer))
			continue;
		held[i / 64] |= 1ull << i % 64;
		audience_add(&owners, word_slot(writer));
	}
	if (!owners.n)
		return false;
	bracket_close(own);
	region_show(t, &owners);
	order_chaos(t);
	for (uint64_t at = from & ~7ull; at < to; at += GRANULE) {
		struct words *w = order_state(at);
		uint64_t i = at / GRANULE % PAGE_WORDS;
		if (!(held[i / 64] >> i % 64 & 1))
			continue;
		uint32_t slot = word_slot(w->writer);
		unlock_word(w, word_name(slot, region_left(own, slot, true)));
		page_of(at)->disowned += page_of(at)->disowned < DISOWNED_OFTEN;
	}
	return true;
}

/* One granule; in a page where that is common, all of them, for the price of one barrier. */
static bool take_from_owner(struct order_thread *t, const struct page *p, uint64_t addr)
{
	uint64_t page = addr & ~(PAGE_BYTES - 1);

	if (p->disowned < DISOWNED_OFTEN)
		return words_disown(t, addr, addr + 1);
	return words_disown(t, page, page + PAGE_BYTES);
}

/* ---- everything else: under the lock ----------------------------------------------------------------------------- */

/* Edges for a writer from those who read since the last write. */
static bool edges_from_readers(struct order_thread *t, uint64_t readers)
{
	bool logged = false;

	if (!(readers & WORD_MANY))
		return region_edge_name(t, readers);
	/* The lock must be seen before the counts are read: a reader that this misses finds the lock (see
	   show_region). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	uint32_t slots = order_slots();
	for (uint32_t slot = 0; slot < slots; slot++)
		if (slot != t->slot && readers & word_bit(slot))
			logged |= region_edge(
				t, slot, region_begun(__atomic_load_n(&order_self(slot)->events, __ATOMIC_ACQUIRE)));
	return logged;
}

static inline bool edges(struct order_thread *t, uint64_t writer, uint64_t readers, uint8_t kind)
{
	bool logged = !region_follows(region_of(t), t->slot, writer) && region_edge_name(t, writer);

	if (kind & ACCESS_WRITES && readers)
		logged |= edges_from_readers(t, readers);
	return logged;
}

/* This thread has accessed the granule: what its word says now. Returns the writer; the lock is still held. */
static inline uint64_t note(struct order_thread *t, struct words *w, uint64_t addr, uint64_t writer, uint8_t kind)
{
	uint64_t readers = w->readers, name = word_name(t->slot, region_now(region_of(t)));

	if (!readers && word_is_of(writer, t->slot))
		return come_again(t, addr, writer, name); /* its own: the one name says all */
	if (kind & ACCESS_WRITES) {
		if (readers)
			__atomic_store_n(&w->readers, 0, __ATOMIC_RELAXED);
		return name;
	}
	__atomic_store_n(&w->readers, word_add_reader(readers, t->slot, word_region(name)), __ATOMIC_RELAXED);
	return writer;
}

static INLINED enum outcome one_locked(struct order_thread *t, struct page *p, struct words *w, struct access *a,
				       uint64_t was)
{
	uint64_t writer = last_writer(p, was);

	if (edges(t, writer, w->readers, a->kind))
		bracket_open(region_of(t)); /* seen by others with the word's unlocking at the latest */
	access_begins(t);
	order_chaos(t);
	bool done = access_perform(a);
	order_chaos(t);
	/* also one that faulted: who brings the page back comes after */
	unlock_word(w, note(t, w, a->addr, writer, a->kind));
	return done ? DONE : FAULTS;
}

/* Ascending, and without waiting for one while holding another. */
static enum outcome two_locked(struct order_thread *t, struct access *a)
{
	struct region_thread *own = region_of(t);
	uint64_t end = a->addr + 16;

	bool disowned = false;
	if (!words_lock(t, a->addr, end, &disowned)) {
		if (disowned)
			bracket_open_to_look(own); /* at once: the owner may come again */
		else
			wait_for_word(t, &(unsigned){ 100 });
		return LOOK_AGAIN;
	}
	if (words_edges(t, a->addr, end, a->kind))
		bracket_open(region_of(t));
	access_begins(t);
	order_chaos(t);
	bool done = access_perform(a);
	words_unlock(t, a->addr, end, a->kind, true);
	return done ? DONE : FAULTS;
}

enum outcome words_access(struct order_thread *t, struct page *p, struct access *a)
{
	struct region_thread *own = region_of(t);
	struct words *w = order_state(a->addr);

	if (unlikely(!own->sampled--) && sample(t, p, a->addr, access_writes(a)))
		return LOOK_AGAIN;
	if (unlikely(a->granules == 2))
		return two_locked(t, a);
	for (unsigned looked = 0;;) {
		if (!access_writes(a)) {
			enum outcome outcome = read_quickly(t, w, a);
			if (likely(outcome != LOOK_AGAIN))
				return outcome;
		}
		uint64_t writer = __atomic_load_n(&w->writer, __ATOMIC_RELAXED);
		if (writer == own->self->mine)
			return own_access(t, a);
		if (writer & WORD_OWNED && take_from_owner(t, p, a->addr)) {
			bracket_open_to_look(own);
		} else {
			if (likely(!(writer & (WORD_LOCKED | WORD_OWNED))) && likely(lock_word(w, writer)))
				return one_locked(t, p, w, a, writer);
			wait_for_word(t, &looked);
		}
		if (page_state(p) != PAGE_FINE)
			return LOOK_AGAIN;
	}
}

/*
 * The state may be an old one, and needs no order with the look at the word: words of coarse pages are locked, so one
 * that is got, or that is the same in two looks, is a fine page's (region_change.c). A mark of this thread's own is
 * only taken away when it has been made to see that, or by itself.
 */
bool words_quick(struct order_thread *t, struct access *a)
{
	struct region_thread *own = region_of(t);
	struct page *p = page_of(a->addr);
	struct words *w = order_state(a->addr);

	if (__atomic_load_n(&p->state, __ATOMIC_RELAXED) != PAGE_FINE)
		return claims_quick(t, p, a);
	if (!own->sampled)
		return false;
	own->sampled--;
	if (!access_writes(a) && read_quickly(t, w, a) == DONE)
		return true;
	uint64_t was = __atomic_load_n(&w->writer, __ATOMIC_RELAXED), writer = last_writer(p, was);
	if (was == own->self->mine)
		return own_access(t, a) == DONE;
	if (was & (WORD_LOCKED | WORD_OWNED) || !region_follows(own, t->slot, writer))
		return false;
	if (!access_writes(a) && word_slot(writer) != t->slot && make_coarse_at_rest(t, p, a->addr))
		return claims_quick(t, p, a);
	if (!lock_word(w, was))
		return false;
	uint64_t readers = access_writes(a) ? w->readers : 0;
	if (readers & WORD_MANY || !region_follows(own, t->slot, readers)) {
		unlock_word(w, was);
		return false;
	}
	return one_locked(t, p, w, a, was) == DONE;
}

/* ---- several at once --------------------------------------------------------------------------------------------- */

static void unlock_as_they_were(uint64_t from, uint64_t to)
{
	for (uint64_t at = from & ~7ull; at < to; at += GRANULE) {
		struct words *w = order_state(at);
		unlock_word(w, w->writer & ~WORD_LOCKED);
	}
}

bool words_trylock(struct order_thread *t, uint64_t from, uint64_t to, bool *others)
{
	uint64_t mine = region_of(t)->self->mine;

	for (uint64_t at = from & ~7ull; at < to; at += GRANULE) {
		struct words *w = order_state(at);
		uint64_t writer = __atomic_load_n(&w->writer, __ATOMIC_RELAXED);
		*others = writer & WORD_OWNED && writer != mine;
		if (*others || writer & WORD_LOCKED || !lock_word(w, writer)) {
			unlock_as_they_were(from, at);
			return false;
		}
	}
	return true;
}

bool words_lock(struct order_thread *t, uint64_t from, uint64_t to, bool *disowned)
{
	bool others = false;

	if (words_trylock(t, from, to, &others))
		return true;
	*disowned |= others && words_disown(t, from, to);
	return false;
}

bool words_edges(struct order_thread *t, uint64_t from, uint64_t to, uint8_t kind)
{
	const struct page *p = page_of(from);
	bool logged = false;

	for (uint64_t at = from & ~7ull; at < to; at += GRANULE) {
		struct words *w = order_state(at);
		logged |= edges(t, last_writer(p, w->writer & ~WORD_LOCKED), w->readers, kind);
	}
	return logged;
}

void words_unlock(struct order_thread *t, uint64_t from, uint64_t to, uint8_t kind, bool done)
{
	const struct page *p = page_of(from);

	if (!done) {
		unlock_as_they_were(from, to);
		return;
	}
	for (uint64_t at = from & ~7ull; at < to; at += GRANULE) {
		struct words *w = order_state(at);
		unlock_word(w, note(t, w, at, last_writer(p, w->writer & ~WORD_LOCKED), kind));
	}
}

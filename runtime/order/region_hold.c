/*
 * Ranges: many bytes that a thread accesses in one event, or that code which the compiler cannot see into will access
 * before the next hold_drop(). Pages with claims are held by the open bracket, fine pages by locks of all their words
 * in the range. Nothing is waited for while something is held: it is all given back, and tried again (invariant 3).
 */
#include "region.h"

static uint32_t patience; /* a lock: one at a time among those whom others keep disturbing */
static uint32_t starving; /* threads that have waited for long for what others hold */

void hold_open(void)
{
	patience = starving = 0;
}

/*
 * Threads that hold the same words in one call after the other leave them free for some instructions in between, and
 * who comes by its locks alone may miss these moments for seconds. So who has waited for long says so, and who is about
 * to hold something lets the others have their turn first. Not for ever: who starves may wait for something else that
 * this thread has, a lock of libc's.
 */
#define LONG_WAIT 44 /* looks, of which some have yielded: where others want the processor, that is long */
#define WAY_MOST  500

void hold_waits(struct region_thread *own)
{
	if (own->waited < LONG_WAIT && ++own->waited == LONG_WAIT)
		__atomic_fetch_add(&starving, 1, __ATOMIC_RELAXED);
}

void hold_got(struct region_thread *own)
{
	if (own->waited == LONG_WAIT)
		__atomic_fetch_sub(&starving, 1, __ATOMIC_RELAXED);
	own->waited = 0;
}

static void give_way(struct region_thread *own)
{
	if (likely(!__atomic_load_n(&starving, __ATOMIC_RELAXED)))
		return;
	bracket_close(own);
	for (unsigned looked = 0; looked < WAY_MOST && __atomic_load_n(&starving, __ATOMIC_RELAXED);) {
		region_answer(own);
		order_relax(&looked);
	}
}

static uint64_t next_page(uint64_t at, uint64_t to)
{
	uint64_t next = (at | (PAGE_BYTES - 1)) + 1;

	return next < to ? next : to;
}

/* Every page of the range has this thread's claim, or is fine, with not too many of that; for now. */
static void get_claims(struct order_thread *t, const struct held *r, unsigned *fine)
{
	struct region_thread *own = region_of(t);

	for (uint64_t at = r->from; own->claims && at < r->to; at = next_page(at, r->to)) {
		struct page *p = page_of(at);
		bool many = *fine >= REGION_PIECES / 4;
		if (page_state(p) == PAGE_FINE && !many)
			++*fine;
		else if (page_state(p) == PAGE_FINE)
			make_coarse(t, p, at, HOOK_READ | (r->kind & HOOK_WRITE));
		else if ((claim_now(own, at) & r->kind) != r->kind)
			claims_take(t, p, at, r->kind);
	}
}

/* In the bracket: is all of it there? Locks the words of fine pages. */
static bool hold_all(struct order_thread *t, const struct held *r, bool *disowned)
{
	struct region_thread *own = region_of(t);

	for (uint64_t at = r->from, to; at < r->to; at = to) {
		struct page *p = page_of(at);
		to = next_page(at, r->to);
		if (own->claims && page_state(p) != PAGE_FINE) {
			if ((claim_now(own, at) & r->kind) != r->kind)
				return false;
			continue;
		}
		if (own->pieces == REGION_PIECES || !words_lock(t, at, to, disowned))
			return false;
		own->piece[own->pieces++] = (struct held){ at, to, r->kind };
	}
	return true;
}

/* After the bracket was closed for an edge: are the claims still there? */
static bool still_claimed(struct order_thread *t, const struct held *r)
{
	struct region_thread *own = region_of(t);

	for (uint64_t at = r->from; at < r->to; at = next_page(at, r->to)) {
		bool by_words = !own->claims;
		for (unsigned i = 0; i < own->pieces; i++)
			by_words |= own->piece[i].from == at && own->piece[i].kind == r->kind;
		if (!by_words && (claim_now(own, at) & r->kind) != r->kind)
			return false;
	}
	return true;
}

static void give_back(struct order_thread *t, bool done)
{
	struct region_thread *own = region_of(t);

	for (unsigned i = 0; i < own->pieces; i++)
		words_unlock(t, own->piece[i].from, own->piece[i].to, own->piece[i].kind, done);
	own->pieces = 0;
}

/* Edges for the pieces. Words stay locked while the bracket is closed, so no new edge can become due there. */
static bool take_edges(struct order_thread *t)
{
	struct region_thread *own = region_of(t);
	bool logged = false;

	for (unsigned i = 0; i < own->pieces; i++)
		logged |= words_edges(t, own->piece[i].from, own->piece[i].to, own->piece[i].kind);
	return logged;
}

static bool try(struct order_thread *t, bool *disowned)
{
	struct region_thread *own = region_of(t);

	unsigned fine = 0;
	for (unsigned i = 0; i < own->ranges; i++)
		get_claims(t, &own->range[i], &fine);
	bracket_open_to_look(own);
	order_chaos(t);
	for (unsigned i = 0; i < own->ranges; i++)
		if (!hold_all(t, &own->range[i], disowned))
			return false;
	if (!take_edges(t))
		return true;
	bracket_open_to_look(own);
	for (unsigned i = 0; i < own->ranges; i++)
		if (!still_claimed(t, &own->range[i]))
			return false;
	return true;
}

/* No granule is in two ranges: its word could be locked only once. What touches becomes one, for all that either
   wants. */
static void add_range(struct region_thread *own, struct held new)
{
	for (unsigned i = 0; i < own->ranges;) {
		const struct held *r = &own->range[i];
		if (r->from > new.to || r->to < new.from) {
			i++;
			continue;
		}
		new = (struct held){ r->from < new.from ? r->from : new.from, r->to > new.to ? r->to : new.to,
				     r->kind | new.kind };
		own->range[i] = own->range[--own->ranges];
		i = 0; /* it may touch one more now */
	}
	if (own->ranges == REGION_RANGES)
		order_cannot("more than 64 ranges are accessed at once");
	own->range[own->ranges++] = new;
}

void hold_range(struct order_thread *t, uint64_t addr, uint64_t size, uint8_t kind)
{
	struct region_thread *own = region_of(t);
	bool patient = false;
	unsigned looked = 0;

	if (!size)
		return;
	/* a tag is no other granule; nor is a wild address, which will fault */
	addr &= (1ull << ORDER_ADDRESS_BITS) - 1;
	region_answer(own);
	give_back(t, false);
	give_way(own);
	add_range(own,
		  (struct held){ addr / GRANULE * GRANULE, (addr + size + GRANULE - 1) / GRANULE * GRANULE, kind });
	bool disowned = false; /* then it is tried again at once: who owned words may come again */
	for (unsigned tries = 0; !try(t, &disowned); tries++) {
		give_back(t, false);
		bracket_close(own);
		region_answer(own);
		if (tries == 20) {
			order_lock(&patience);
			patient = true;
		}
		if (!disowned) {
			hold_waits(own);
			order_relax(&looked);
		}
		disowned = false;
	}
	if (unlikely(own->waited))
		hold_got(own);
	if (patient)
		order_unlock(&patience);
}

void hold_drop(struct order_thread *t, bool done)
{
	(void)done;	  /* one that faulted has perhaps done a part */
	access_begins(t); /* with the first word that is unlocked others may see it */
	give_back(t, true);
	region_of(t)->ranges = 0;
}

bool hold_span(struct order_thread *t, struct access_span *s)
{
	region_answer(region_of(t));
	enum outcome outcome = s->kind == ACCESS_READS ? words_span(t, s) : LOOK_AGAIN;

	if (outcome != LOOK_AGAIN)
		return outcome == DONE;
	hold_range(t, s->addr, s->size, s->kind);
	order_chaos(t);
	bool done = s->perform(s, 0, s->size);
	hold_drop(t, done);
	return done;
}

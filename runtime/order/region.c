/*
 * region: our own scheme. Accesses that hit a claim cost nothing but the hook's count; what is logged are edges between
 * regions of threads.
 *
 * Words (besides those of compiler/hooks.h and order.h)
 *   number   of an event. A thread's `events` is twice the number of its next event, plus one inside its bracket: then
 *            that event has *begun*. Numbers grow, but not always by one: see cut.
 *   region   2^REGION_SHIFT numbers of a thread, aligned. It has begun when one of its events has, or when a page or
 *            word has its name: the thread has logged all that the region follows, and will cut before it logs more.
 *   cut      the thread's number moves on to the beginning of the next region.
 *   edge     (slot, region) in the log of a thread at number n: cut; wait until that region of that thread has ended
 *            (its number has come to the next one); then the access that was number n is made, under the new number.
 *   name     (slot, region) in a word: who came last. See shadow_word.h.
 *   coarse   a page with claims. region_claims.c
 *   fine     a page whose granules have words. region_words.c; it may become coarse again: region_change.c
 *   own      a granule of a fine page that one thread comes to again and again is its own, until another wants it: a
 *            claim of a granule.
 *
 * Why it is exact
 * 1. Conflicting accesses (of a byte, by two threads, one of them a write) do not overlap. Coarse: by page claims. A
 *    hit is inside a bracket, and who takes a claim away clears it, makes its thread see that, by a question or a
 *    barrier on every core (region_show.c), and waits for the bracket: either the hit sees the claim gone, or its
 *    bracket is seen. A thread may also let go of a claim itself, outside its brackets: claims_let_go(). Fine: by the
 *    word's lock; a read without the lock counts only if the word was unlocked, and the same, before and after; and a
 *    granule of its own is taken from its owner as a claim is, with the lock for the clearing. A page is never both:
 *    a fine one has no claims left, and of a coarse one that was fine all words stay locked.
 * 2. The later one follows the region in which the earlier one was made: by program order if it is the same thread's,
 *    by an edge, or by what an edge or the lock order imply. The region is found in the page or word, where it was put
 *    under its lock; or, where only the thread is known (an owner of a page or granule, readers of a page, many readers
 *    of a word), it is the last region which that thread has begun, looked up after its claim was taken away or the
 *    word was locked for all to see.
 * 3. Nobody waits inside its bracket. So who waits for a bracket waits for a few instructions, for a loop of which the
 *    end is known, for some thousand events of a loop that holds its bracket (each miss in it stores the count, which
 *    ends the bracket, before anything is waited for), or for a held range, in which nothing waits. Page locks: their
 *    holder waits for brackets, and takes words and the locks of further pages only if they are free; a word's holder,
 *    once it has closed its bracket, takes no other lock, and waits for nothing but brackets (of who owned the
 *    granule). So no wait is circular. Who asks another thread waits for its answer with its own bracket closed,
 *    answers meanwhile, and does not wait for long. Who lets others go first before it holds a range (region_hold.c)
 *    has nothing, and does so for a while only.
 * 4. No edge is circular: replay does not deadlock. The source region of an edge began before the sink's began, since
 *    it was seen to have begun when the sink's bracket was closed and cut. A region has no wait inside it: an edge
 *    cuts, and so does `pause`, before anything else at which replay may wait. So the end of a region needs only its
 *    beginning, and all beginnings wait for earlier ones.
 * 5. A region that is looked up in another thread's count is not too old. For claims, its answer or the barrier on
 *    every core makes the count seen. A read of a word with many readers stores nothing, so its thread makes a full
 *    barrier when it does that first in a region, and who locks the word makes one before it looks: either the reader
 *    finds the word locked, or its region is seen. (A bracket that is closed for waiting may take the beginning of the
 *    region back: then the barrier is made again.)
 * 6. The count is what record and replay agree on: hits add one number each, whatever way they took; a cut is either
 *    at an entry, or at a pause, which replay has at the same place.
 * 7. Too many edges do no harm, since of an edge that is not needed 4 holds as well: reused memory, bits of `readers`
 *    that two threads share, pages that were unmapped.
 *
 * Entry: (region - the last one logged from that slot - 1) << 4 | slot, or 15 and then the slot.
 */
#include "region.h"

/* ---- regions ----------------------------------------------------------------------------------------------------- */

/* Invariant 4: the region ends here. Locks and unlocks of mutexes that need nobody else do the same in libheddle.so. */
static void cut(struct order_thread *t)
{
	const struct region_thread *own = region_of(t);

	if (unlikely(own->self->events >= REGION_LAST))
		order_cannot("a thread has begun more regions than can be told apart");
	cut_now(&t->cut);
	t->event = own->self->events / 2;
}

/* An entry stands at the number before its cut, the next one counts from the number after: else each cost a byte
   more. */
static void cut_after_entry(struct order_thread *t)
{
	cut(t);
	t->last_entry = t->event;
}

/* ---- edges ------------------------------------------------------------------------------------------------------- */

__attribute__((noinline)) bool region_edge(struct order_thread *t, uint32_t slot, uint64_t region)
{
	struct region_thread *own = region_of(t);

	if (!region || slot == t->slot || own->known[slot] >= region)
		return false;
	own->known[slot] = region;
	if (order_known(t, slot, region_end(region) - 1))
		return false;
	uint64_t further = region - own->logged[slot] - 1;
	own->logged[slot] = region;
	t->event = own->self->events / 2;
	if (slot < 15)
		ORDER_LOG(t, further << 4 | slot);
	else
		ORDER_LOG(t, further << 4 | 15, slot);
	cut_after_entry(t);
	return true;
}

/* Replay: the entry that is due. */
static __attribute__((noinline)) void await_edge(struct order_thread *t)
{
	struct region_thread *own = region_of(t);
	uint64_t number = order_number(t);
	uint32_t slot = number % 16 < 15 ? number % 16 : (uint32_t)order_number(t) % REGION_SLOTS;

	cut_after_entry(t);
	order_moved(); /* others wait for a region to end */
	order_taken(t);
	order_came_to(t); /* killed before the access itself: others may have come first */
	own->logged[slot] += (number >> 4) + 1;
	order_wait_event(t, slot, region_end(own->logged[slot]));
}

/* ---- record ------------------------------------------------------------------------------------------------------ */

static void open(void)
{
	pages_open();
	change_open();
	hold_open();
}

static void set_up(struct order_thread *t)
{
	struct region_thread *own = region_of(t);

	own->self = order_self(t->slot);
	own->self->mine = word_owned_by(t->slot);
	own->fenced = own->waited = 0;
	own->contest = CONTEST_ASKED;
	own->cut = &t->cut;
	t->cut = (struct order_cut){ .events = &own->self->events,
				     .mask = REGION_MASK,
				     .until = REGION_LAST,
				     .giving = &own->leave[LEAVE_GIVING],
				     .claims = own->claims,
				     .left_by = (char *)region_pages + offsetof(struct page, left_by),
				     .let_go = &own->let_go,
				     .name = word_name(t->slot, 0) | LEFT_GIVING,
				     .skipped = t->cut.skipped };
}

static void record_begin(struct order_thread *t)
{
	struct region_thread *own = region_of(t);

	own->claims = order_claims(t->slot);
	set_up(t);
	if (own->claims) {
		__atomic_store_n(&region_threads[t->slot], own, __ATOMIC_RELEASE); /* its claims first */
		own->self->claims = own->claims;
		own->self->mask = HOOK_PAGES - 1;
	}
}

static void record_pause(struct order_thread *t, enum order_pause why)
{
	cut(t);
	region_answer(region_of(t));
	claims_let_go(t, why);
}

static void record_end(struct order_thread *t)
{
	record_pause(t, PAUSE_WAITS);
}

static bool record_access(struct order_thread *t, struct access *a)
{
	struct region_thread *own = region_of(t);
	struct page *p = page_of(a->addr);
	enum outcome outcome;

	region_answer(own);
	do {
		if (page_state(p) == PAGE_FINE || unlikely(!own->claims))
			outcome = words_access(t, p, a);
		else
			outcome = claims_access(t, p, a);
	} while (unlikely(outcome == LOOK_AGAIN));
	if (unlikely(own->waited))
		hold_got(own);
	t->event = own->self->events / 2;
	return outcome == DONE;
}

/* The other threads are gone, and how far they had come is not the same at replay: who has their slots next begins
   anew. */
static void forget_others(struct order_thread *t)
{
	for (uint32_t slot = 0; slot < order_slots(); slot++) {
		struct region_thread *own = region_of(order_thread_of(slot));
		if (slot == t->slot || !own)
			continue;
		own->leave[LEAVE_GIVING].n = own->leave[LEAVE_WAITING].n = own->ranges = own->pieces = 0;
		for (uint32_t i = 0; i < REGION_SLOTS; i++)
			own->known[i] = own->logged[i] = 0;
	}
}

static void record_forked(struct order_thread *t)
{
	change_forked();
	hold_open(); /* whoever had that lock, or starved, is not here */
	forget_others(t);
}

/* ---- replay ------------------------------------------------------------------------------------------------------ */

/* One byte answers for all memory: whatever is not at an entry of the log goes on at once. */
static const uint8_t always[2] = { HOOK_READ | HOOK_WRITE, HOOK_READ | HOOK_WRITE };

static void replay_begin(struct order_thread *t)
{
	struct region_thread *own = region_of(t);

	set_up(t);
	own->self->claims = always;
	own->self->mask = 0;
}

static void replay_pause(struct order_thread *t, enum order_pause why)
{
	(void)why;
	cut(t);
	order_moved();
}

static void replay_entries(struct order_thread *t)
{
	while (order_due(t))
		await_edge(t);
}

static bool replay_access(struct order_thread *t, struct access *a)
{
	replay_entries(t);
	return access_perform(a);
}

static bool replay_span(struct order_thread *t, struct access_span *s)
{
	replay_entries(t);
	return s->perform(s, 0, s->size);
}

static void replay_hold(struct order_thread *t, uint64_t addr, uint64_t size, uint8_t kind)
{
	(void)addr, (void)size, (void)kind;
	replay_entries(t);
}

static void replay_drop(struct order_thread *t, bool done)
{
	(void)t, (void)done;
}

/* ---- for the tool ------------------------------------------------------------------------------------------------ */

#ifdef HEDDLE_TOOL
#include "print.h"

/* A region is one event there: REGION_SHIFT is 0. */
static void print(const struct order_printer *p)
{
	struct text *text = print_memory(sizeof *text);

	for (uint32_t slot = 0; slot < p->threads; slot++) {
		uint64_t logged[PRINT_THREADS] = { 0 };
		size_t n;
		const struct order_entry *entry = p->entries(slot, &n);
		for (size_t i = 0; i < n; i++) {
			uint64_t from = entry[i].numbers[0] % 16 < 15 ? entry[i].numbers[0] % 16 : entry[i].numbers[1];
			if (from >= PRINT_THREADS)
				continue;
			logged[from] += (entry[i].numbers[0] >> 4) + 1;
			text_add(text, "%s%s", text->n ? "," : "", p->event_name((uint32_t)from, logged[from] - 1));
			text_add(text, "→%s", p->event_name(slot, entry[i].event));
		}
	}
	p->line(p->to, "edges={%s}", text->at);
	free(text);
}

static const char *entries(const uint64_t *numbers, unsigned n, uint64_t *count)
{
	(void)numbers, (void)n, (void)count;
	return "edges";
}

static void describe(const uint64_t *numbers, unsigned n, char *to, size_t room)
{
	if (n)
		snprintf(to, room, "%llu regions further, thread %llu", (unsigned long long)(numbers[0] >> 4) + 1,
			 (unsigned long long)(numbers[0] % 16 < 15 || n < 2 ? numbers[0] % 16 : numbers[1]));
}
#endif

const struct order_scheme order_region = {
	.name = "region",
	.summary = "claims per page, words per granule where pages are contested, edges between regions",
	.guarantee = "exact",
	.version = 3,
	.state_size = sizeof(struct words),
	.thread_size = sizeof(struct region_thread),
	.claims = true,
	.tells = true,
#ifdef HEDDLE_TOOL
	.print = print,
	.entries = entries,
	.describe = describe,
#endif
	.record = {
		.open = open,
		.begin = record_begin,
		.end = record_end,
		.access = record_access,
		.quick = words_quick,
		.ahead = claims_ahead,
		.pause = record_pause,
		.hold = hold_range,
		.drop = hold_drop,
		.span = hold_span,
		.forked = record_forked,
	},
	.replay = {
		.begin = replay_begin,
		.end = cut,
		.access = replay_access,
		.pause = replay_pause,
		.hold = replay_hold,
		.drop = replay_drop,
		.span = replay_span,
		.forked = forget_others,
	},
};

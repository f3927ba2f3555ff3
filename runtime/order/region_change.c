/*
 * How a page becomes fine, and coarse again. See region.c for the invariants; model: tests/models/change.pml.
 *
 * Fine pages are used by their words, coarse ones by claims, and a thread may have looked at the page's state just
 * before that changed. A fine page has no claims left, so who comes with the old state finds none. The other way round,
 * who makes a page coarse locks all its words, and they stay locked as long as it is coarse: who comes with the old
 * state finds a word locked and looks again, and a read without the lock that was under way finds the word changed. So
 * nobody needs to be made to see the change, or waited for; it costs a compare-and-swap for each word. When the page
 * becomes fine again its words become empty, each with a release: who finds one empty, whatever it has seen of the
 * page, comes after all that was done under claims, and follows who made the page fine.
 */
#include "region.h"

/* Pages that were ever fine, for forks: a list of blocks. */
static struct fine_block {
	struct fine_block *next;
	uint64_t n;
	uint64_t page[510];
} * fine_blocks;
static uint32_t fine_lock;

void change_open(void)
{
	fine_blocks = 0;
	fine_lock = 0;
}

static uint64_t start_of(uint64_t addr)
{
	return addr & ~(PAGE_BYTES - 1);
}

/* ---- fine -------------------------------------------------------------------------------------------------------- */

static void remember_fine(uint64_t page)
{
	order_lock(&fine_lock);
	if (!fine_blocks || fine_blocks->n == sizeof fine_blocks->page / 8) {
		struct fine_block *b = order_memory(sizeof *b);
		b->next = fine_blocks;
		fine_blocks = b;
	}
	fine_blocks->page[fine_blocks->n++] = page;
	order_unlock(&fine_lock);
}

/* They are locked; somebody with an old state may take one at once. */
static void clear_words(uint64_t page)
{
	for (uint64_t at = page; at < page + PAGE_BYTES; at += GRANULE) {
		struct words *w = order_state(at);
		__atomic_store_n(&w->readers, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&w->writer, 0, __ATOMIC_RELEASE);
	}
}

/* How soon it is asked again whether a page is at rest: accesses after others. */
#define RESTLESS 16

void make_fine(struct page *p, uint64_t addr)
{
	if (p->fine)
		clear_words(start_of(addr));
	else
		remember_fine(start_of(addr));
	if (p->fine < 255)
		p->fine++;
	p->streak = p->reads = p->user = p->disowned = 0;
	p->restless = RESTLESS;
	set_state(p, PAGE_FINE);
}

/* In the child of a fork: of a fine page, locks whose holders are not here; of a coarse one that was fine, those that
   somebody was about to set or to take away. */
static void set_locks(uint64_t page)
{
	const struct page *p = page_of(page);
	uint64_t lock = p->state != PAGE_FINE && p->fine ? WORD_LOCKED : 0;

	for (uint64_t at = page; at < page + PAGE_BYTES; at += GRANULE) {
		struct words *w = order_state(at);
		w->writer = (w->writer & ~WORD_LOCKED) | lock;
	}
}

/* Page locks are broken by who finds them. */
void change_forked(void)
{
	region_process = (region_process + 1) & 0xffff;
	for (struct fine_block *b = fine_blocks; b; b = b->next)
		for (uint32_t i = 0; i < b->n; i++)
			set_locks(b->page[i]);
}

/* ---- coarse ------------------------------------------------------------------------------------------------------ */

static bool lock_all_words(struct order_thread *t, uint64_t page)
{
	bool disowned = false;

	if (words_lock(t, page, page + PAGE_BYTES, &disowned))
		return true;
	return disowned && words_lock(t, page, page + PAGE_BYTES, &disowned);
}

void make_coarse(struct order_thread *t, struct page *p, uint64_t addr, uint8_t kind)
{
	struct region_thread *own = region_of(t);
	uint64_t page = start_of(addr);

	bracket_close(own);
	lock_page(own, p);
	if (p->state == PAGE_FINE && lock_all_words(t, page)) {
		order_chaos(t);
		words_edges(t, page, page + PAGE_BYTES, ACCESS_WRITES);
		region_edge_name(t, p->writer);
		/* This region follows them all; whoever comes next follows it, whether it has an access or not. */
		bracket_open(own);
		p->writer = word_name(t->slot, region_now(own));
		p->readers = kind & HOOK_WRITE ? 0 : word_bit(t->slot);
		p->contests = 0;
		set_state(p, kind & HOOK_WRITE ? PAGE_OWNED : PAGE_SHARED);
		set_claim(own, t->slot, p, addr, kind);
	}
	unlock_page(p);
	bracket_open_to_look(own); /* also if nothing was done: the caller looks again */
}

/* ---- coarse, when nobody is there any more ----------------------------------------------------------------------- */

/*
 * Many programs write a page from several sides, meet, and then read it, perhaps one thread all of it. By its words
 * that would cost each reader a store for each granule. So who comes to read after somebody else looks now and then
 * whether the page is at rest: this thread follows the end of every region that its words name. Then no edge is due,
 * nobody can be in the middle of an access, and the page is left to who claims it first. If only few granules are used
 * there is little to gain: threads that hand a flag to each other are always past.
 */
#define USED_LEAST (PAGE_WORDS / 4)

/* What a word says (or the page for one that says nothing), as long as all of that is one thread's: its last region. */
struct last {
	uint64_t name;
	bool one;
};

static void add_name(struct last *last, uint64_t name)
{
	if (!name)
		return;
	if (last->name && word_slot(last->name) != word_slot(name))
		last->one = false;
	if (word_region(name) > word_region(last->name))
		last->name = name & WORD_NAME;
}

/* Is it free (or locked by this thread), and all that it says past? Many readers never are: nobody knows when they
   came. */
static bool is_past(struct order_thread *t, const struct page *p, const struct words *w, bool locked, struct last *last)
{
	struct region_thread *own = region_of(t);
	uint64_t writer = __atomic_load_n(&w->writer, __ATOMIC_RELAXED);
	uint64_t readers = __atomic_load_n(&w->readers, __ATOMIC_RELAXED);

	if (locked)
		writer &= ~WORD_LOCKED;
	if (writer == own->self->mine)
		writer = word_name(t->slot, region_now(own));
	if (writer & (WORD_LOCKED | WORD_OWNED) || readers & WORD_MANY)
		return false;
	add_name(last, last_writer(p, writer) & WORD_NAME);
	add_name(last, readers);
	return region_follows(own, t->slot, writer) && region_follows(own, t->slot, readers);
}

static bool all_past(struct order_thread *t, const struct page *p, uint64_t page, bool locked, struct last *last)
{
	unsigned used = 0;

	*last = (struct last){ .one = true };
	for (uint64_t at = page; at < page + PAGE_BYTES; at += GRANULE) {
		const struct words *w = order_state(at);
		if (!is_past(t, p, w, locked, last))
			return false;
		used += (__atomic_load_n(&w->writer, __ATOMIC_RELAXED) & ~WORD_LOCKED) != 0;
	}
	return used >= USED_LEAST && region_follows(region_of(t), t->slot, p->writer);
}

/* In the bracket, so nothing is waited for: what is locked, or owned by others, is not at rest. */
static bool lock_at_rest(struct order_thread *t, struct page *p, uint64_t page)
{
	struct last last;
	bool others;

	if (!all_past(t, p, page, false, &last))
		return false;
	order_chaos(t);
	if (!words_trylock(t, page, page + PAGE_BYTES, &others))
		return false;
	if (!all_past(t, p, page, true, &last)) { /* somebody came between */
		words_unlock(t, page, page + PAGE_BYTES, ACCESS_READS, false);
		return false;
	}
	p->writer = last.one ? last.name : word_name(t->slot, region_now(region_of(t)));
	return true;
}

bool make_coarse_at_rest(struct order_thread *t, struct page *p, uint64_t addr)
{
	if (likely(p->restless)) {
		p->restless--;
		return false;
	}
	p->restless = RESTLESS;
	if (!region_of(t)->claims || !trylock_page(p))
		return false;
	bool done = p->state == PAGE_FINE && lock_at_rest(t, p, start_of(addr));
	if (done) {
		p->readers = 0;
		p->contests = 0;
		set_state(p, PAGE_SHARED);
	}
	unlock_page(p);
	return done;
}

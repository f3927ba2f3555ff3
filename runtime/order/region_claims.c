/*
 * Claims: who may access a page without asking, and how that right is taken away. See region.c for the invariants;
 * model: tests/models/claims.pml.
 *
 * Who takes a page from others does not claim it: it makes its one access and leaves the page to who comes next. So a
 * single visitor costs one membarrier and not two, and a page that moves for good costs one more miss.
 */
#include "region.h"

/* A page that was taken away so often (let go does not count) becomes fine. Few: with a membarrier a revocation costs
   as much as a thousand words. */
#ifndef CONTESTS
#define CONTESTS 16
#endif

struct page *region_pages, region_any_page;
struct region_thread *region_threads[REGION_SLOTS];
uint32_t region_process;

void pages_open(void)
{
	region_pages = order_claims(0) ? order_memory(sizeof *region_pages << (ORDER_ADDRESS_BITS - PAGE_SHIFT)) : 0;
	region_any_page = (struct page){ 0 };
	region_process = 0;
	for (uint32_t i = 0; i < REGION_SLOTS; i++)
		region_threads[i] = 0;
}

/* ---- the page's lock --------------------------------------------------------------------------------------------- */

/* Waits with the bracket closed. A lock that a fork left behind names another process and is taken over: whoever held
   it is not here, and what it had not finished did not happen. */
void lock_page(struct region_thread *own, struct page *p)
{
	for (unsigned looked = 0;; order_relax(&looked)) {
		uint32_t is = __atomic_load_n(&p->lock, __ATOMIC_RELAXED);
		if (is == (LOCK_HELD | region_process)) {
			region_answer(own);
			continue;
		}
		if (__atomic_compare_exchange_n(&p->lock, &is, LOCK_HELD | region_process, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return;
	}
}

/* ---- revocation -------------------------------------------------------------------------------------------------- */

/* The claim of a thread; 0: the slot has had none that made an access. */
static uint8_t *claim_of(uint32_t slot, uint64_t addr)
{
	const struct region_thread *own = __atomic_load_n(&region_threads[slot], __ATOMIC_ACQUIRE);

	return own ? &own->claims[page_number(addr)] : 0;
}

void set_claim(struct region_thread *own, uint32_t me, struct page *p, uint64_t addr, uint8_t kind)
{
	uint64_t left = __atomic_load_n(&p->left_by, __ATOMIC_RELAXED);

	if (word_is_of(left, me)) /* if another one lets go at this moment, its name is lost */
		__atomic_store_n(&p->left_by, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&own->claims[page_number(addr)], kind, __ATOMIC_RELAXED);
	struct cut_leaves *leave = &own->leave[p->given ? LEAVE_GIVING : LEAVE_WAITING];
	if (kind && (p->given || p->moves) && leave->n < CUT_LEAVES)
		leave->page[leave->n++] = page_number(addr);
}

/* Clears bits of a claim. True: it had some of them. In one step, since its thread may just let go of it. */
static bool clear_claim(uint32_t slot, uint64_t addr, uint8_t bits)
{
	uint8_t *claim = claim_of(slot, addr);

	return claim && __atomic_load_n(claim, __ATOMIC_RELAXED) & bits &&
	       __atomic_fetch_and(claim, (uint8_t)~bits, __ATOMIC_ACQUIRE) & bits;
}

/* ---- letting go -------------------------------------------------------------------------------------------------- */

/*
 * To take a claim away costs some microseconds, to let go of it nothing but the next miss. So where a thread hands
 * something on to others or waits for them, which is where data that is not raced for changes hands, it lets go of the
 * pages that have moved before. Who comes next finds CLAIM_LET_GO and needs no barrier; and the last region is one that
 * the lock order mostly implies, so nothing is logged.
 *
 * Exact: byte and name are stored after everything that the thread did with its claim (release), and who finds one of
 * them (acquire, with the page's lock) comes after that. The thread itself can use the page again only by a miss, which
 * takes the page's lock, stores another byte and removes the name: so a name that is found says that its thread has no
 * claim, whatever of its byte is seen. A name may be lost, if another thread lets go at the same time or later; then
 * the byte tells, and the region is that which the thread stored before, for all its pages. That may be a later one:
 * then the edge is from a later region that has begun, too.
 *
 * The name lies in the page, since who takes the page has that cache line already: the other's byte and a table of
 * names would be two more to fetch from another core.
 *
 * A page moves as long as somebody else than the last one comes for it: for LET_GO_AGAIN times that the same thread
 * came back it was in vain. That many misses cost as much as taking it away once. Some pages move with locks, others
 * only from one barrier to the next, and those would be let go of in vain at each unlock: so that is counted twice.
 * And who has so many that it has not used the oldest for long (a sort that fills hundreds of places) lets go of these
 * without waiting for anything.
 */
#define LET_GO_AGAIN 32
#define LEAVE_MOST   1024
_Static_assert(LEAVE_MOST < CUT_LEAVES, "there is room until the next miss");

/* Of the first n. as: what the claims become. libheddle.so does the same at an unlock that needs nobody else. */
static void let_go_of(struct order_thread *t, struct cut_leaves *leave, uint32_t n, uint8_t as)
{
	struct region_thread *own = region_of(t);

	if (n)
		cut_let_go(own->cut, leave, n, region_begun(own->self->events), as,
			   word_name(t->slot, 0) | (as & CLAIM_GIVEN ? LEFT_GIVING : 0));
}

void claims_let_go(struct order_thread *t, enum order_pause why)
{
	struct cut_leaves *giving = &region_of(t)->leave[LEAVE_GIVING], *waiting = &region_of(t)->leave[LEAVE_WAITING];

	if (why == PAUSE_GIVES)
		let_go_of(t, giving, giving->n, CLAIM_LET_GO | CLAIM_GIVEN);
	if (why == PAUSE_WAITS) {
		let_go_of(t, giving, giving->n, CLAIM_LET_GO);
		let_go_of(t, waiting, waiting->n, CLAIM_LET_GO);
	}
}

static bool has_many(const struct region_thread *own)
{
	return own->leave[LEAVE_GIVING].n >= LEAVE_MOST || own->leave[LEAVE_WAITING].n >= LEAVE_MOST;
}

/* Outside its bracket, and without a cut: the region in which it last used them goes on. */
static void let_go_oldest(struct order_thread *t)
{
	for (unsigned i = 0; i < LEAVES; i++) {
		struct cut_leaves *leave = &region_of(t)->leave[i];
		if (leave->n >= LEAVE_MOST)
			let_go_of(t, leave, LEAVE_MOST / 2, CLAIM_LET_GO);
	}
}

/* Has `slot` let go of it? Its name and its last region with the page then, and LEFT_GIVING; else 0. Mostly the page
   says so, and the other's claim, a cache line more, need not be looked at. */
static uint64_t left_by(const struct page *p, uint32_t slot, uint64_t addr)
{
	uint64_t name = __atomic_load_n(&p->left_by, __ATOMIC_ACQUIRE);
	const uint8_t *claim;

	if (word_is_of(name, slot))
		return name;
	claim = claim_of(slot, addr);
	uint8_t is = claim ? __atomic_load_n(claim, __ATOMIC_ACQUIRE) : 0;
	if (!(is & CLAIM_LET_GO))
		return 0;
	return word_name(slot, __atomic_load_n(&region_threads[slot]->let_go, __ATOMIC_RELAXED)) |
	       (is & CLAIM_GIVEN ? LEFT_GIVING : 0);
}

/* This thread comes for the page. */
static void count_return(const struct region_thread *own, struct page *p, uint64_t addr)
{
	uint8_t claim = claim_now(own, addr), *moves = claim & CLAIM_GIVEN ? &p->given : &p->moves;

	if (claim & CLAIM_LET_GO && *moves)
		--*moves;
}

/* Another one comes for the page. left: of left_by(). If none has let go of it, nobody knows where one should have. */
static void count_move(struct page *p, uint64_t left)
{
	if (!left || left & LEFT_GIVING)
		p->given = LET_GO_AGAIN;
	if (!(left & LEFT_GIVING))
		p->moves = LET_GO_AGAIN;
}

/*
 * The last region of `slot` that may have an access of a page in it, whose claim has been cleared for all to see. If it
 * is in a bracket, there may be accesses of this page in it that found the claim: it is waited for, and since a loop in
 * one bracket has events of many regions, what counts is how far the thread has come then. Acquire: what it did is
 * seen. This thread's own bracket is closed, so two that wait for each other do not.
 */
uint64_t region_left(struct region_thread *own, uint32_t slot, bool had)
{
	const uint64_t *events = &order_self(slot)->events;
	uint64_t seen = __atomic_load_n(events, __ATOMIC_ACQUIRE), now = seen;

	if (had && seen & 1)
		for (unsigned looked = 0; (now = __atomic_load_n(events, __ATOMIC_ACQUIRE)) == seen;) {
			region_answer(own);
			order_relax(&looked);
		}
	return region_begun(now > seen ? now : seen);
}

static void show(struct order_thread *t, const struct audience *a)
{
	region_of(t)->contest = region_show(t, a) ? CONTEST_ASKED : CONTEST_BARRIER;
}

#define BLOCK_BYTES 2048

/*
 * To ask another thread costs half a microsecond and a membarrier many, whatever it is for; and who takes pages of
 * others one after the other mostly needs the next ones, too. So claims of pages that follow are taken away at the
 * same time, under their locks: the more, the longer that goes on. Who needs one of them again claims it without
 * another barrier, since nobody else has a claim. Locks that are held are not waited for.
 */
#ifndef AHEAD
#define AHEAD 128
#endif
struct ahead {
	struct page *page[AHEAD + BLOCK_BYTES / PAGE_BYTES];
	unsigned n, most;
};

static struct page *lock_next(struct ahead *ahead, uint64_t addr)
{
	struct page *q = page_of(addr + (ahead->n + 1) * PAGE_BYTES);

	return region_pages && ahead->n < ahead->most && trylock_page(q) ? q : 0;
}

/* The rest of the block, and twice as many as last time after that if this is the page after those. */
static unsigned how_many(struct region_thread *own, uint64_t addr)
{
	bool goes_on = addr >> PAGE_SHIFT == own->page_after;

	unsigned block = (unsigned)((BLOCK_BYTES - 1 - addr % BLOCK_BYTES) / PAGE_BYTES);

	own->ahead = !goes_on ? 0 : own->ahead ? 2 * own->ahead : BLOCK_BYTES / PAGE_BYTES;
	own->ahead = own->ahead < AHEAD ? own->ahead : AHEAD;
	return block + own->ahead;
}

static void note_taken(struct region_thread *own, uint64_t addr, const struct ahead *ahead)
{
	own->page_after = (addr >> PAGE_SHIFT) + ahead->n + 1;
}

/* What the owner of `p` owns next to it. */
static void clear_owned_ahead(struct ahead *ahead, const struct page *p, uint64_t addr, uint8_t bits)
{
	for (struct page *q; (q = lock_next(ahead, addr)); ahead->page[ahead->n++] = q)
		if (q->state != PAGE_OWNED || word_slot(q->writer) != word_slot(p->writer) ||
		    !clear_claim(word_slot(p->writer), addr + (ahead->n + 1) * PAGE_BYTES, bits)) {
			unlock_page(q);
			return;
		}
}

/* Its last region with the page: at least the one in which it got the page, and which follows all before. (It may have
   closed its bracket again to wait for another page, and then that region does not seem to have begun.) */
static void set_left(struct page *p, uint32_t owner, uint64_t region, uint8_t left)
{
	uint64_t got = word_region(p->writer);

	p->writer = word_name(owner, region > got ? region : got);
	p->readers = left ? word_bit(owner) : 0;
	set_state(p, PAGE_SHARED);
}

/* Takes the page from its owner, and those that follow; leaves it `left`. False: the owner had let go of it. */
static bool revoke_owner(struct order_thread *t, struct page *p, uint64_t addr, uint8_t left)
{
	struct region_thread *own = region_of(t);
	uint32_t slot = word_slot(p->writer);
	uint8_t bits = (uint8_t)((HOOK_READ | HOOK_WRITE) & ~left);
	uint64_t left_it = left_by(p, slot, addr);
	bool had = !left_it && clear_claim(slot, addr, bits);

	if (!left_it && !had)
		left_it = left_by(p, slot, addr); /* it may have done that meanwhile */
	count_move(p, left_it);
	if (left_it) {
		set_left(p, slot, word_region(left_it), 0);
		return false;
	}
	struct ahead ahead;
	ahead.n = 0;
	ahead.most = had ? how_many(own, addr) : 0;

	own->contest = CONTEST_ASKED;
	if (had) {
		clear_owned_ahead(&ahead, p, addr, bits);
		show(t, &(struct audience){ .slot = { slot }, .n = 1 });
		note_taken(own, addr, &ahead);
	}
	uint64_t region = region_left(own, slot, had);
	set_left(p, slot, region, left);
	for (unsigned i = 0; i < ahead.n; i++) {
		set_left(ahead.page[i], slot, region, left);
		ahead.page[i]->moves = ahead.page[i]->given = LET_GO_AGAIN;
		unlock_page(ahead.page[i]);
	}
	return true;
}

/* Of readers but this thread; who had a claim is to be told. True: somebody. */
static bool clear_readers(const struct order_thread *t, const struct page *p, uint64_t addr, struct audience *told)
{
	uint32_t slots = order_slots();
	bool some = false;

	uint64_t name = __atomic_load_n(&p->left_by, __ATOMIC_ACQUIRE);

	for (uint32_t slot = 0; slot < slots; slot++)
		if (slot != t->slot && p->readers & word_bit(slot) && !word_is_of(name, slot))
			if (clear_claim(slot, addr, HOOK_READ)) {
				audience_add(told, slot);
				some = true;
			}
	return some;
}

/* What others read next to it, too. Returns who. */
static uint64_t clear_shared_ahead(struct ahead *ahead, const struct order_thread *t, uint64_t addr,
				   struct audience *told)
{
	uint64_t who = 0;

	for (struct page *q; (q = lock_next(ahead, addr)); ahead->page[ahead->n++] = q) {
		if (q->state != PAGE_SHARED || !clear_readers(t, q, addr + (ahead->n + 1) * PAGE_BYTES, told)) {
			unlock_page(q);
			break;
		}
		who |= q->readers;
	}
	return who;
}

/* Takes the page from all its readers but this thread, with an edge from each, and those that follow: who writes them
   will find the readers without claims, and nobody in the middle of a read. True: somebody had a claim. */
static bool revoke_readers(struct order_thread *t, struct page *p, uint64_t addr)
{
	struct region_thread *own = region_of(t);
	struct audience told = { .n = 0 };
	bool some = clear_readers(t, p, addr, &told);
	struct ahead ahead;
	ahead.n = 0;
	ahead.most = some ? how_many(own, addr) : 0;
	uint64_t who = some ? clear_shared_ahead(&ahead, t, addr, &told) : 0;

	if (some) {
		show(t, &told);
		note_taken(own, addr, &ahead);
	}
	order_chaos(t);
	uint32_t slots = order_slots(); /* after the pages are locked: their readers are among them */
	for (uint32_t slot = 0; slot < slots; slot++)
		if (slot != t->slot && who & word_bit(slot))
			region_left(own, slot, true);
	for (unsigned i = 0; i < ahead.n; i++)
		unlock_page(ahead.page[i]);
	for (uint32_t slot = 0; slot < slots; slot++)
		if (slot != t->slot && p->readers & word_bit(slot)) {
			uint64_t left_it = left_by(p, slot, addr);
			region_edge(t, slot, left_it ? word_region(left_it) : region_left(own, slot, some));
			count_move(p, left_it);
		}
	return some;
}

/* ---- an access that misses --------------------------------------------------------------------------------------- */

/*
 * A thread that seldom takes pages from others loses little by it, and contests that are past do not count: what moves
 * now and then shall stay coarse. It is the thread that is asked and not the page: where many pages are contested at
 * once, each of them is seldom taken. Accesses are counted, since a cut moves the numbers on. A revocation costs about
 * as much as a thousand hits, and some thousands with a membarrier.
 */
#ifndef LONG_USE
#define LONG_USE 512 /* accesses, for each that a contest counts */
#endif
static void forget_contests(struct region_thread *own, struct page *p)
{
	if (own->self->events / 2 - own->cut->skipped < own->took + LONG_USE * own->contest)
		return;
	p->contests = 0;
	if (p->fine) /* nor do the times that it became fine: to make it coarse again was worth it */
		p->fine = 1;
}

/* Edges for this thread's access, and who may access the page from now on. True: it was taken from somebody. */
static bool get_ready(struct order_thread *t, struct page *p, uint64_t addr, uint8_t kind)
{
	uint32_t owner = word_slot(p->writer);
	bool taken = false;

	count_return(region_of(t), p, addr);
	if (p->state == PAGE_OWNED && owner == t->slot)
		return false;
	if (p->state == PAGE_OWNED)
		taken = revoke_owner(t, p, addr, kind & HOOK_WRITE ? 0 : HOOK_READ);
	region_edge_name(t, p->writer);
	if (kind & HOOK_WRITE && p->readers)
		taken |= revoke_readers(t, p, addr);
	return taken;
}

/* The bracket is open. Who may access the page after this thread's access? */
static void settle(struct order_thread *t, struct page *p, uint64_t addr, uint8_t kind, bool taken)
{
	struct region_thread *own = region_of(t);

	if (p->state == PAGE_OWNED) { /* this thread's, which may have let go of it */
		p->writer = word_name(t->slot, region_now(own));
		set_claim(own, t->slot, p, addr, HOOK_READ | HOOK_WRITE);
		return;
	}
	if (kind & HOOK_WRITE) {
		p->writer = word_name(t->slot, region_now(own));
		p->readers = 0;
	} else {
		p->readers |= word_bit(t->slot);
	}
	/* in this order: a fork between them leaves no claim that the state does not tell of */
	set_state(p, kind & HOOK_WRITE && !taken ? PAGE_OWNED : PAGE_SHARED);
	set_claim(own, t->slot, p, addr, taken ? 0 : kind | HOOK_READ);
}

/*
 * Pages are small, and most memory is used in larger pieces: with a page that a thread gets in peace it also gets those
 * that follow in its block, if they have the same past, and nobody needs to be asked or waited for. What threads use
 * side by side has not, so each gets its own.
 */
/* Has it let go of the page, in a region that this thread follows? */
static uint64_t has_left(const struct region_thread *own, const struct page *p, uint32_t slot, uint64_t addr)
{
	uint64_t left_it = left_by(p, slot, addr);

	return left_it && own->known[slot] >= word_region(left_it) ? left_it : 0;
}

static bool readers_have_left(const struct order_thread *t, struct page *q, uint64_t addr)
{
	uint32_t slots = order_slots();

	for (uint32_t slot = 0; slot < slots; slot++) {
		if (slot == t->slot || !(q->readers & word_bit(slot)))
			continue;
		uint64_t left_it = has_left(region_of(t), q, slot, addr);
		if (!left_it)
			return false;
		count_move(q, left_it);
	}
	return true;
}

/* May this thread have it at once: is nobody's claim in the way, and all edges implied? */
static bool comes_free(struct order_thread *t, struct page *q, uint64_t addr, uint8_t kind)
{
	struct region_thread *own = region_of(t);
	uint32_t owner = word_slot(q->writer);

	if (q->state == PAGE_FINE || !region_follows(own, t->slot, q->writer))
		return false;
	if (q->state == PAGE_OWNED && owner != t->slot) {
		uint64_t left_it = has_left(own, q, owner, addr);
		if (!left_it)
			return false;
		set_left(q, owner, word_region(left_it), 0);
		count_move(q, left_it);
		return true;
	}
	return !(kind & HOOK_WRITE) || !q->readers || readers_have_left(t, q, addr);
}

static void claim_block(struct order_thread *t, const struct page *was, uint64_t addr, uint8_t kind)
{
	if (was->left_by & LEFT_GIVING) /* it goes with a lock, which says little about those beside it */
		return;
	uint64_t end = (addr | (BLOCK_BYTES - 1)) + 1;

	for (uint64_t at = (addr | (PAGE_BYTES - 1)) + 1; at < end; at += PAGE_BYTES) {
		struct page *q = page_of(at);
		if ((claim_now(region_of(t), at) & kind) == kind)
			continue;
		if (!trylock_page(q))
			return;
		bool free = q->state == was->state && q->readers == was->readers &&
			    word_slot(q->writer) == word_slot(was->writer) && !q->writer == !was->writer &&
			    comes_free(t, q, at, kind);
		if (free) {
			count_return(region_of(t), q, at);
			settle(t, q, at, kind, false);
		}
		unlock_page(q);
		if (!free)
			return;
	}
}

/* Shall the page be fine if it has to be taken away once more? */
static bool is_contested(const struct page *p)
{
	return p->contests + CONTEST_BARRIER >= CONTESTS;
}

enum outcome claims_access(struct order_thread *t, struct page *p, struct access *a)
{
	struct region_thread *own = region_of(t);
	uint8_t kind = a->kind;

	bracket_close(own);
	let_go_oldest(t);
	order_chaos(
		t); /* here others may come between two accesses of this thread: below they would wait for the page */
	lock_page(own, p);
	if (p->state == PAGE_FINE) {
		unlock_page(p);
		bracket_open(own);
		return LOOK_AGAIN;
	}
	forget_contests(own, p);
	if (p->state == PAGE_OWNED && is_contested(p))
		kind |= HOOK_WRITE; /* a fine page has no reader with a claim left */
	struct page was = *p;
	bool taken = get_ready(t, p, a->addr, kind);
	/* Seen with the page's unlocking at the latest: who takes the page from us must count this event. */
	bracket_open(own);
	access_begins(t);
	order_chaos(t);
	bool done = access_perform(a);
	settle(t, p, a->addr, kind, taken);
	if (taken && kind & HOOK_WRITE && is_contested(p))
		make_fine(p, a->addr);
	else if (taken)
		p->contests += own->contest;
	if (taken)
		own->took = own->self->events / 2 - own->cut->skipped;
	else
		claim_block(t, &was, a->addr, kind);
	order_chaos(t);
	unlock_page(p);
	return done ? DONE : FAULTS;
}

/*
 * The same in the bracket that is open, where the page comes free: its lock is, no claim of another thread is in the
 * way, and all edges are implied. That is how most pages change hands that locks protect: who had one has let go of it.
 * Waiting for nothing, this may stay in its bracket (invariant 3). False: nothing has happened, or the access faults.
 */
bool claims_quick(struct order_thread *t, struct page *p, struct access *a)
{
	struct region_thread *own = region_of(t);
	uint8_t kind = a->kind;

	if (unlikely(!own->claims) || has_many(own) || !trylock_page(p))
		return false;
	struct page was = *p;
	bool done = comes_free(t, p, a->addr, kind);
	if (done) {
		count_return(own, p, a->addr);
		access_begins(t);
		order_chaos(t);
		done = access_perform(a);
		settle(t, p, a->addr, kind, false);
		claim_block(t, &was, a->addr, kind);
	}
	order_chaos(t);
	unlock_page(p);
	return done;
}

/*
 * Before loops that will access all of it: else the first access that misses would have the whole loop run with its
 * hooks. As above, but there is no access. Its region may be named too early, since the count in memory is older than
 * the one in the program's registers; but whoever takes the page looks up how far this thread has come.
 */
bool claims_ahead(struct order_thread *t, uint64_t addr, uint64_t size, uint8_t kind)
{
	struct region_thread *own = region_of(t);
	bool free = own->claims && !has_many(own);

	for (uint64_t done = 0; free && done < size; done += PAGE_BYTES) {
		uint64_t at = addr + done;
		struct page *p = page_of(at);
		if ((claim_now(own, at) & kind) == kind)
			continue;
		if (!trylock_page(p))
			return false;
		free = comes_free(t, p, at, kind);
		order_chaos(t);
		if (free) {
			count_return(own, p, at);
			settle(t, p, at, kind, false);
		}
		unlock_page(p);
	}
	return free;
}

/* As claims_access(), but keeps the page although it was taken from somebody, for a range that needs it. */
enum outcome claims_take(struct order_thread *t, struct page *p, uint64_t addr, uint8_t kind)
{
	struct region_thread *own = region_of(t);

	bracket_close(own);
	lock_page(own, p);
	bool fine = p->state == PAGE_FINE;
	if (!fine) {
		struct page was = *p;
		get_ready(t, p, addr, kind);
		bracket_open(own);
		settle(t, p, addr, kind, false);
		claim_block(t, &was, addr, kind);
	}
	unlock_page(p);
	return fine ? LOOK_AGAIN : DONE;
}

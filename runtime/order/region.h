/*
 * Inside `region`: what region.c (the scheme, its regions and edges), region_claims.c (pages), region_words.c (granules
 * of fine pages), region_change.c (from one to the other) and region_hold.c (ranges) share. The words and the
 * invariants are explained in region.c.
 */
#ifndef REGION_H
#define REGION_H
#include "order.h"
#include "shadow_word.h"
#include "compiler/hooks.h"

/* Numbers of a region: 1 << REGION_SHIFT. 0 makes every event a region of its own: so that papers' examples can be
   read. */
#ifdef HEDDLE_TOOL
#define REGION_SHIFT 0
#elif !defined(REGION_SHIFT)
#define REGION_SHIFT 8
#endif
#define REGION_MASK ((2ull << REGION_SHIFT) - 1)	       /* of a count of events, which is twice their number */
#define REGION_LAST ((WORD_REGIONS - 2) << (REGION_SHIFT + 1)) /* of a count: there are no more names */
#define PAGE_SHIFT  HOOK_PAGE_SHIFT
#define PAGE_BYTES  (1ull << PAGE_SHIFT)

_Static_assert(HOOK_PAGES << PAGE_SHIFT == 1ull << ORDER_ADDRESS_BITS, "claims for all that the program has");
_Static_assert((int)ACCESS_READS == (int)HOOK_READ && (int)ACCESS_WRITES == (int)HOOK_WRITE,
	       "kinds are the bits of a claim");

/* What is known about a page, in one cache line. All but `state` and `left_by` is read and changed under its lock. */
enum page_state {
	PAGE_NEW,    /* nobody has touched it */
	PAGE_OWNED,  /* `owner` may read and write it */
	PAGE_SHARED, /* threads of `readers` may read it, or have read it; perhaps there are none */
	PAGE_FINE,   /* no claims: its granules have words */
};
struct page {
	uint32_t lock;	  /* 0, or LOCK_HELD | region_process */
	uint8_t state;	  /* enum page_state; changed under the lock, looked at without */
	uint8_t contests; /* how often it was taken from somebody since it was last coarse, by what that cost */
	uint8_t fine;	  /* how often it has become fine; more than 0: its words are not all zero */
	uint8_t moves;	  /* as long as it is not 0, threads let go of it where they wait */
	uint64_t writer;  /* name: the owner's slot; who wrote last; of a fine page: who made it fine */
	uint64_t readers; /* shared: bit slot % 63 */
	/* fine: a sample of who uses it; see region_words.c. Torn or lost values do no harm. */
	uint16_t user, streak, reads;
	uint8_t disowned; /* fine: how often granules were taken from who owned them */
	uint8_t given;	  /* as `moves`: where they give locks back */
	uint8_t restless; /* fine: how often nobody needs to ask whether it is at rest */
	/* The name of who let go of it last, with LEFT_GIVING if that was at an unlock; or 0. Stored without the lock,
	   removed under it. */
	uint64_t left_by;
} __attribute__((aligned(64)));
#define LEFT_GIVING WORD_STREAK
_Static_assert(sizeof(struct page) == CUT_APART, "cut.h finds them");

/* The words of a granule. */
struct words {
	uint64_t writer;  /* changed by who has set its lock bit */
	uint64_t readers; /* changed under the lock */
};

_Static_assert(sizeof(struct words) == 16 && PAGE_SHIFT == 9, "entry.S knows them");
#define PAGE_WORDS (PAGE_BYTES / GRANULE)

#define CONTEST_ASKED	1
#define CONTEST_BARRIER 4

#define REGION_SLOTS  8192
#define REGION_RANGES 64  /* held at once */
#define REGION_PIECES 512 /* of fine pages among them */

struct held {
	uint64_t from, to;
	uint8_t kind;
};

/* Where a thread will let go of pages. */
enum { LEAVE_GIVING, LEAVE_WAITING, LEAVES };

struct region_thread {
	uint64_t page_after; /* the last that it has taken from others, with how many more */
	unsigned ahead;
	struct order_cut *cut;
	/* Raised by who asks this thread, stored by itself; how likely others answer it: region_show.c */
	uint32_t asked, answered;
	uint8_t hope, unasked;
	uint8_t contest; /* what the last revocation counts for its page: CONTEST_... */
	uint64_t took;	 /* how many accesses it had made when it took a page from somebody last */
	struct hook_self *self;
	uint8_t *claims;  /* per page; 0: no claims, all pages are fine (the tool) */
	uint64_t fenced;  /* region whose beginning every thread can see */
	uint32_t sampled; /* accesses of fine pages until the next sample */
	uint32_t waited;  /* looks at words that others held, for the access under way: region_hold.c */
	uint64_t let_go;  /* its last region that used the pages which it has let go of */
	uint32_t ranges, pieces;
	struct held range[REGION_RANGES]; /* that are held */
	struct held piece[REGION_PIECES]; /* of them, in fine pages: their words are locked */
	struct cut_leaves leave[LEAVES];
	uint64_t known[REGION_SLOTS];  /* record: end of a region of that thread that this one follows */
	uint64_t logged[REGION_SLOTS]; /* region of the last edge from that thread; both directions */
};

extern uint32_t region_process; /* how many forks led to this process, in 16 bits */

static inline struct region_thread *region_of(const struct order_thread *t)
{
	return t->own;
}

/* Of a page, by any address in it: see compiler/hooks.h on claims. */
static inline uint32_t page_number(uint64_t addr)
{
	return addr >> PAGE_SHIFT & (HOOK_PAGES - 1);
}
static inline uint8_t claim_now(const struct region_thread *own, uint64_t addr)
{
	return __atomic_load_n(&own->claims[page_number(addr)], __ATOMIC_RELAXED);
}

/* ---- region.c: brackets, regions, edges -------------------------------------------------------------------------- */

/* Opens the bracket of the event that is under way. Plain: what shows it to others is said at each use. */
static inline void bracket_open(struct region_thread *own)
{
	__atomic_store_n(&own->self->events, own->self->events | 1, __ATOMIC_RELAXED);
}

/* The same, where claims or the state of a page are looked at next: in this order, as in compiler/fast.c. */
static inline void bracket_open_to_look(struct region_thread *own)
{
	bracket_open(own);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* The event is under way, but nobody needs to wait for it, and nothing that it does is seen: for waiting. If it is the
   first of its region, the region has not begun any more, so the fence that showed it does not count. */
static inline void bracket_close(struct region_thread *own)
{
	own->fenced = 0;
	__atomic_store_n(&own->self->events, own->self->events & ~1ull, __ATOMIC_RELEASE);
}

/* The region of the event under way. */
static inline uint64_t region_now(const struct region_thread *own)
{
	return (own->self->events >> (REGION_SHIFT + 1)) + 1;
}

/* The last region that a thread with this count of events has begun; 0: none. */
static inline uint64_t region_begun(uint64_t events)
{
	return ((events + 1) / 2 + (1ull << REGION_SHIFT) - 1) >> REGION_SHIFT;
}

/* Where a region ends: the number of the first event after it. */
static inline uint64_t region_end(uint64_t region)
{
	return region << REGION_SHIFT;
}

/* My next access follows `region` of thread `slot`: logs that, unless it is implied. If it logs, my bracket is closed
   and a new region of mine will begin. True: it has logged. */
bool region_edge(struct order_thread *t, uint32_t slot, uint64_t region);
static inline bool region_edge_name(struct order_thread *t, uint64_t name)
{
	return name && region_edge(t, word_slot(name), word_region(name));
}
/* Is that edge implied, as far as can be told quickly? */
static inline bool region_follows(struct region_thread *own, uint32_t me, uint64_t name)
{
	return !name || word_slot(name) == me || own->known[word_slot(name)] >= word_region(name);
}

/* ---- region_show.c ----------------------------------------------------------------------------------------------- */

/* Threads that are to see what this one has stored. */
#define AUDIENCE 4
struct audience {
	uint32_t slot[AUDIENCE];
	unsigned n;
	bool many; /* more than that */
};
void audience_add(struct audience *a, uint32_t slot);
/* Each of these threads has run something like a full barrier between the call and the return. This one's bracket is
   closed: two may ask each other. True: it was enough to ask them, which is cheap. */
bool region_show(struct order_thread *t, const struct audience *a);
/* On the thread itself, wherever it comes by. */
static inline void region_answer(struct region_thread *own)
{
	uint32_t asked = __atomic_load_n(&own->asked, __ATOMIC_ACQUIRE);

	if (unlikely(asked != own->answered))
		__atomic_store_n(&own->answered, asked, __ATOMIC_RELEASE);
}

/* ---- region_claims.c --------------------------------------------------------------------------------------------- */

enum outcome { DONE, FAULTS, LOOK_AGAIN };

extern struct page
	*region_pages; /* by number of the page; filled by the kernel as they are touched. 0: no claims (the tool) */
extern struct page region_any_page; /* then there is nothing to know about pages: one stands for all */
static inline struct page *page_of(uint64_t addr)
{
	if (unlikely(!region_pages))
		return &region_any_page;
	return &region_pages[page_number(addr)];
}
static inline uint8_t page_state(const struct page *p)
{
	return __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);
}

/* Its lock. Taken with the bracket closed, since it waits. */
void lock_page(struct region_thread *own, struct page *p);
#define LOCK_HELD (1u << 31)
/* Without waiting: for who holds another one, or is in its bracket. */
static inline bool trylock_page(struct page *p)
{
	uint32_t free = 0;

	return __atomic_compare_exchange_n(&p->lock, &free, LOCK_HELD | region_process, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}
/* Release: the page, the claims' bytes, and the access made meanwhile. */
static inline void unlock_page(struct page *p)
{
	__atomic_store_n(&p->lock, 0, __ATOMIC_RELEASE);
}
static inline void set_state(struct page *p, enum page_state state)
{
	__atomic_store_n(&p->state, (uint8_t)state, __ATOMIC_RELEASE);
}

/* Of each slot, once it has claims: set by its thread before the first. Release and acquire: who shares a bit of
   `readers` with it looks, too. */
extern struct region_thread *region_threads[REGION_SLOTS];
void pages_open(void);
/* The claim of this thread; only it gives itself more. */
void set_claim(struct region_thread *own, uint32_t me, struct page *p, uint64_t addr, uint8_t kind);
/* Before the thread waits, and after a cut: others get the pages that move for nothing. */
void claims_let_go(struct order_thread *t, enum order_pause why);
/* The access, on a page that is not fine: gets the claim, if that can be had in peace. */
enum outcome claims_access(struct order_thread *t, struct page *p, struct access *a);
/* A load or store of a page that is not fine, if that can be had at once. False: it has not been made. */
bool claims_quick(struct order_thread *t, struct page *p, struct access *a);
/* Claims of a range that will be accessed in the bracket that is open, as far as they can be had at once. True: all. */
bool claims_ahead(struct order_thread *t, uint64_t addr, uint64_t size, uint8_t kind);
/* Gets a claim to the page that addr lies in, for later: it may be gone at once. LOOK_AGAIN: the page is fine. */
enum outcome claims_take(struct order_thread *t, struct page *p, uint64_t addr, uint8_t kind);
/* The last region of a thread that may have an access under a claim (or in a granule that it owned) which is gone for
   all to see; had: else nobody needs to wait for its bracket. */
uint64_t region_left(struct region_thread *own, uint32_t slot, bool had);

/* ---- region_change.c --------------------------------------------------------------------------------------------- */

void change_open(void);
void change_forked(void);
/* Nobody has a claim of the page, which is locked; this thread's access is the last. */
void make_fine(struct page *p, uint64_t addr);
/* A fine page becomes this thread's, or its to read, unless somebody is just using it. Leaves the bracket open. */
void make_coarse(struct order_thread *t, struct page *p, uint64_t addr, uint8_t kind);
/* The same, in the bracket, for who reads a fine page at which nobody is any more: it is nobody's. False: nothing has
   happened. */
bool make_coarse_at_rest(struct order_thread *t, struct page *p, uint64_t addr);

/* ---- region_words.c ---------------------------------------------------------------------------------------------- */

enum outcome words_access(struct order_thread *t, struct page *p, struct access *a);
/* A load or store, if the page is fine, the word free, and no edge needed. False: nothing has happened. */
bool words_quick(struct order_thread *t, struct access *a);
/* A read of at most SPAN_WORDS granules, if that can be had without a lock; else LOOK_AGAIN. */
#define SPAN_WORDS 8
enum outcome words_span(struct order_thread *t, struct access_span *s);
/* Locks the words of [from, to), all in one fine page, without waiting. False: somebody holds or (others) owns one;
   none is locked. */
bool words_trylock(struct order_thread *t, uint64_t from, uint64_t to, bool *others);
/* The same; disowned: those that others owned are nobody's now, and the bracket is closed. */
bool words_lock(struct order_thread *t, uint64_t from, uint64_t to, bool *disowned);
/* Takes the edges for `kind`; the words are locked. True: some were logged. */
bool words_edges(struct order_thread *t, uint64_t from, uint64_t to, uint8_t kind);
/* Unlocks them; done: this thread has accessed them. */
void words_unlock(struct order_thread *t, uint64_t from, uint64_t to, uint8_t kind, bool done);
/* A granule that nobody has touched since its page became fine follows who made it so. */
static inline uint64_t last_writer(const struct page *p, uint64_t writer)
{
	return likely(writer) ? writer : p->writer;
}

/* ---- region_hold.c ----------------------------------------------------------------------------------------------- */

void hold_open(void);
/* This thread waits for words, one look more; it has got them, if waited is not 0. */
void hold_waits(struct region_thread *own);
void hold_got(struct region_thread *own);
/* Keeps others away from the range, too, until hold_drop(). Leaves the bracket open. */
void hold_range(struct order_thread *t, uint64_t addr, uint64_t size, uint8_t kind);
void hold_drop(struct order_thread *t, bool done);
bool hold_span(struct order_thread *t, struct access_span *s);

/* The word or page is held, and the access comes next: see order_begun(). */
static inline void access_begins(struct order_thread *t)
{
	struct hook_self *self = region_of(t)->self;

	t->event = self->events / 2;
	order_begun_as(self, t->event);
}
#endif

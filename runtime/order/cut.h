/*
 * Where a thread's region ends (region.c explains the words), as libheddle.so does it, too: an op on a mutex that needs
 * nobody else is done there, and must leave what order_op_begins() leaves.
 */
#ifndef ORDER_CUT_H
#define ORDER_CUT_H
#include <stdbool.h>
#include <stdint.h>

/* How many accesses were finished when an op began. For the last OP_EVENTS ops of a thread: who follows one of them
   knows that these are done. Many: a lock may have been left long ago. */
#define OP_EVENTS 1024
struct op_events {
	uint64_t op, events;
};

/* Pages whose claims a thread will let go of, by number; some may be gone. */
#define CUT_LEAVES 2048
struct cut_leaves {
	uint32_t n, page[CUT_LEAVES];
};
#define CUT_FEW 16 /* that libheddle.so lets go of itself */
/* Of a claim, besides the bits of compiler/hooks.h: its thread has let go of the page itself; that was where it gave a
   lock back. */
enum { CLAIM_LET_GO = 4, CLAIM_GIVEN = 16 };

/* Only the thread itself, and who has stopped it, uses its cut. */
struct order_cut {
	uint64_t *events;	   /* hook_self's */
	uint64_t mask;		   /* the count moves on to the next multiple of mask + 1 */
	uint64_t until;		   /* from this count on, the scheme itself must be asked */
	struct cut_leaves *giving; /* at an op that gives a lock back */
	uint8_t *claims;	   /* the thread's */
	char *left_by;		   /* the names of who let go of pages, CUT_APART bytes apart */
	uint64_t *let_go;	   /* the region in which this thread did so last, for all to see */
	uint64_t name;		   /* its own, without a region, for where it gives a lock back */
	uint64_t skipped;	   /* numbers that cuts left out so far */
	struct op_events *noted;   /* of the thread's ops */
};

/* Release: replay takes it as the end of all accesses before; and so do others that see the new count, while
   recording. */
static inline void cut_now(struct order_cut *c)
{
	uint64_t events = (*c->events | c->mask) + 1;

	c->skipped += (events - *c->events) / 2;
	__atomic_store_n(c->events, events, __ATOMIC_RELEASE);
}

/*
 * Lets go of the first n; `as` is what the claims become, `region` the last that the thread has begun. Release: names
 * and claims are seen after all that it did with the pages. See region_claims.c.
 */
#define CUT_APART 64
static inline void cut_let_go(struct order_cut *c, struct cut_leaves *leaves, uint32_t n, uint64_t region, uint8_t as,
			      uint64_t name)
{
	__atomic_store_n(c->let_go, region, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t page = leaves->page[i];
		__atomic_store_n(&c->claims[page], as, __ATOMIC_RELAXED);
		__atomic_store_n((uint64_t *)(c->left_by + page * CUT_APART), name | region, __ATOMIC_RELAXED);
	}
	leaves->n -= n;
	for (uint32_t i = 0; i < leaves->n; i++)
		leaves->page[i] = leaves->page[i + n];
}

/* Right after a cut: the last region that the thread has begun is the one before its count. A shift, since a division
   would take longer than the rest of an unlock. */
static inline void cut_give(struct order_cut *c)
{
	if (c->giving->n)
		cut_let_go(c, c->giving, c->giving->n, *c->events >> __builtin_ctzll(c->mask + 1),
			   CLAIM_LET_GO | CLAIM_GIVEN, c->name);
}

/* Before others can see the op's stamp. They look at its number, at `events`, and at the number again: so that is 0
   meanwhile. */
static inline void cut_note(struct op_events *noted, uint64_t op, uint64_t events)
{
	struct op_events *e = &noted[op % OP_EVENTS];

	__atomic_store_n(&e->op, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&e->events, events, __ATOMIC_RELAXED);
	__atomic_store_n(&e->op, op, __ATOMIC_RELEASE);
}
#endif

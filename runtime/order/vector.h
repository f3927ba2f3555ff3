/*
 * Small containers that several schemes share: a vector with a number per slot, which grows as slots come into use, and
 * a thread's table of what it last knew about a location; and the first number of an entry about one of two granules.
 */
#ifndef ORDER_VECTOR_H
#define ORDER_VECTOR_H
#include "order.h"

/* ---- memory in small pieces; it stays ----------------------------------------------------------------------- */

/* `at` and `left` are true at every moment, or room is wasted: a fork may leave a thread behind in the middle. */
struct pool {
	uint32_t lock;
	uint8_t *at;
	size_t left;
};

__attribute__((unused)) static void *pool_take(struct pool *p, size_t n)
{
	n = (n + 15) & ~15ul;
	order_lock(&p->lock);
	if (n > p->left) {
		size_t room = n > 1 << 16 ? n : 1 << 16;
		__atomic_store_n(&p->at, order_memory(room), __ATOMIC_RELEASE);
		__atomic_store_n(&p->left, room, __ATOMIC_RELEASE);
	}
	void *got = p->at;
	__atomic_store_n(&p->left, p->left - n, __ATOMIC_RELEASE);
	__atomic_store_n(&p->at, p->at + n, __ATOMIC_RELEASE);
	order_unlock(&p->lock);
	return got;
}

/* ---- a number per slot, 0 at first ------------------------------------------------------------------------- */

struct vector {
	uint64_t *at;
	uint32_t room;
};

static inline uint64_t vector_get(const struct vector *v, uint32_t slot)
{
	return likely(slot < v->room) ? v->at[slot] : 0;
}

/* What it had before stays behind: at most as much again in all, since it doubles. */
__attribute__((noinline, unused)) static void vector_grow(struct pool *pool, struct vector *v, uint32_t slot)
{
	uint32_t room = v->room ? v->room : 8;
	while (room <= slot)
		room *= 2;
	uint64_t *to = pool_take(pool, room * sizeof *to);
	for (uint32_t i = 0; i < v->room; i++)
		to[i] = v->at[i];
	v->at = to;
	v->room = room;
}

static inline uint64_t *vector_of(struct pool *pool, struct vector *v, uint32_t slot)
{
	if (unlikely(slot >= v->room))
		vector_grow(pool, v, slot);
	return &v->at[slot];
}

/* ---- what a thread last knew of a granule ------------------------------------------------------------------- */

/* Direct mapped: who falls out costs an entry in the log. Record and replay do the same to it, so a hit is a hit in
   both. */
#define KNOWN_PLACES 4096

struct known {
	uint64_t granule; /* address + 1; 0: free */
	uint64_t version;
};

static inline struct known *known_place(struct known *table, uint64_t addr)
{
	uint64_t n = addr / GRANULE;
	return &table[(n ^ n >> 12) % KNOWN_PLACES];
}

/* The version this thread knows; 0 if it has forgotten, or never touched it. */
static inline uint64_t known_version(struct known *table, uint64_t addr)
{
	const struct known *k = known_place(table, addr);
	return k->granule == (addr & ~7ull) + 1 ? k->version : 0;
}

static inline void known_set(struct known *table, uint64_t addr, uint64_t version)
{
	*known_place(table, addr) = (struct known){ (addr & ~7ull) + 1, version };
}

/* Numbers that may go back are logged so that small steps stay small. */
static inline uint64_t zigzag(uint64_t step)
{
	return step << 1 ^ (uint64_t)((int64_t)step >> 63);
}

static inline uint64_t unzigzag(uint64_t n)
{
	return n >> 1 ^ -(n & 1);
}

/* ---- entries about one of the two granules of an access ------------------------------------------------------ */

/* The state of a granule of an access; a scheme calls its own struct so. */
#define STATE_OF(a, granule) ((struct state *)order_state((a)->addr + (granule)*GRANULE))

/* Replay: the first number + 1 of an entry that was looked at, and is about the other granule; 0: none was. */
struct entry_head {
	uint64_t number;
};

/* The first number of the entry that is due for this granule, which the bit `second` tells; false: there is none. */
__attribute__((unused)) static bool head_take(struct order_thread *t, struct entry_head *h, uint64_t second,
					      unsigned granule, uint64_t *head)
{
	if (!h->number && order_due(t))
		h->number = order_number(t) + 1;
	*head = h->number - 1;
	if (!h->number || (*head & second) != granule * second)
		return false;
	h->number = 0;
	return true;
}
#endif

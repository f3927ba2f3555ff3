/*
 * tplay's transactions, as its two directions (tplay.c) and its printer (tplay_print.c) see them.
 */
#ifndef ORDER_TPLAY_H
#define ORDER_TPLAY_H
#include "vector.h"

/* What a thread follows of another one. */
struct follows {
	uint64_t transaction, since; /* the other's; from which of its own on */
};

struct own {
	uint64_t transaction, stamp; /* the current one */
	uint64_t told;		     /* record: those that have been told of where a thread ended */
	bool open;		     /* there is one */
	bool untouched;		     /* no access of it has been finished: nobody can know it */
	bool last_was_read;	     /* the paper's Ψ */
	struct vector waited;	     /* for each slot: the newest transaction that this thread has waited for */
	struct vector counted;	     /* for each slot: the reads that it has waited for */
	struct vector seen;	     /* record: for each slot, its reads as this event found them */
	struct follows *clock;	     /* under the graph's lock */
	uint32_t clock_room;
	uint64_t head;		     /* replay: first number + 1 of the entry that has been looked at */
	_Alignas(64) uint64_t reads; /* of this thread; release */
	uint64_t read_stamp;	     /* of the transaction of the last of them, stored before it */
	uint64_t ended;		     /* replay: its transactions up to this one have ended; release */
};

enum { SPLIT, VIOLATION, EDGE, COUNTS, KIND = 3 }; /* of an entry */

/* The rule that begins a transaction: the same in both directions. */
static inline bool begins_one(const struct own *own, const struct access *a)
{
	return !own->open || (access_writes(a) && own->last_was_read);
}

static inline void begin_one(struct own *own)
{
	own->transaction++;
	own->open = own->untouched = true;
}

/* tplay_print.c, tool only */
void tplay_print(const struct order_printer *p);
const char *tplay_entries(const uint64_t *numbers, unsigned n, uint64_t *count);
void tplay_describe(const uint64_t *numbers, unsigned n, char *to, size_t room);
bool tplay_violation(const uint64_t *numbers, unsigned n, uint64_t sites[2]);
#endif

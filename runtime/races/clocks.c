/*
 * Vector clocks, and the threads that have them.
 *
 * Only its own thread changes a racer's clocks; its creator fills them before it runs, and who joins it reads them when
 * it has ended.
 */
#include "runtime/races/races.h"

#define CHUNK	   (1ul << 20)
#define RACERS_MAX 4096 /* from then on numbers of ended threads are used again, and some races are not seen */

void *races_memory(size_t n)
{
	static uint32_t lock;
	static uint8_t *at, *end;
	n = ALIGN_UP(n, 16);
	if (n > CHUNK / 4)
		return order_memory(n);
	order_lock(&lock);
	if ((size_t)(end - at) < n) {
		at = order_memory(CHUNK);
		end = at + CHUNK;
	}
	void *p = at;
	at += n;
	order_unlock(&lock);
	return p;
}

static struct racer *racers[MAP_SLOTS];
static uint32_t numbers; /* given so far */

static void clocks_room(struct clocks *c, uint32_t n)
{
	if (n <= c->room)
		return;
	uint32_t room = MAX(n, c->room * 2);
	uint64_t *at = races_memory(room * sizeof *at);
	memcpy(at, c->at, c->n * sizeof *at);
	c->at = at; /* the old ones stay: doubling wastes no more than is used */
	c->room = room;
}

void clocks_join(struct clocks *to, const struct clocks *from)
{
	clocks_room(to, from->n);
	for (uint32_t i = 0; i < from->n; i++)
		if (i >= to->n || to->at[i] < from->at[i])
			to->at[i] = from->at[i];
	to->n = MAX(to->n, from->n);
}

void clocks_copy(struct clocks *to, const struct clocks *from)
{
	clocks_room(to, from->n);
	memcpy(to->at, from->at, from->n * sizeof *to->at);
	to->n = from->n;
}

void racer_next(struct racer *r)
{
	r->clocks.at[r->number]++;
}

static void set_number(struct racer *r, uint32_t number, uint64_t clock)
{
	clocks_room(&r->clocks, number + 1);
	for (uint32_t i = r->clocks.n; i <= number; i++)
		r->clocks.at[i] = 0;
	r->clocks.n = MAX(r->clocks.n, number + 1);
	r->number = number;
	r->clocks.at[number] = clock;
}

struct racer *racer_of(struct thread *t)
{
	struct racer *r = racers[t->slot];
	if (likely(r))
		return r;
	/* the first thread, or one that a handler of the loader's brought here: nobody created it */
	r = racers[t->slot] = races_memory(sizeof *r);
	set_number(r, __atomic_fetch_add(&numbers, 1, __ATOMIC_RELAXED), 1);
	return r;
}

/*
 * The thread that had the slot before has ended. If its creator knows all of its life, the new thread can go on with
 * its number; otherwise the two are in no order, and must not look as if they were.
 */
void racer_created(struct thread *parent, struct thread *child)
{
	struct racer *p = racer_of(parent), *old = racers[child->slot], *r = old;
	uint64_t clock = 1;
	uint32_t number;
	if (!r)
		r = racers[child->slot] = races_memory(sizeof *r);
	if (old && (happened_before(p, racer_now(old)) || numbers >= RACERS_MAX)) {
		number = old->number;
		clock = old->clocks.at[number] + 1;
	} else {
		number = __atomic_fetch_add(&numbers, 1, __ATOMIC_RELAXED);
	}
	r->clocks.n = 0;
	r->lock_count = r->lockset = 0;
	clocks_join(&r->clocks, &p->clocks);
	set_number(r, number, clock);
	racer_next(p);
}

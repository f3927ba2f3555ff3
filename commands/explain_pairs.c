/*
 * Which orders of two threads could have been the other way round: two accesses of the same bytes, at least one of
 * which writes, two ops on the same lock or condition, two system calls with the same descriptor.
 *
 * Very many pairs are of the same two places in the program. Those are a group, of which only some are kept, spread
 * over the run: the first, the last, the one in the middle, ...
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include "explain.h"

enum { KEPT = 32, GROUPS = 4096, LOOK_AHEAD = 16, GRANULE_BYTES = 8, GRANULES_MAX = 64, TIMES = 8, SECTION = 1000 };

struct key {
	uint64_t key;
	uint32_t at;	/* in the log */
	uint32_t other; /* the next of the same key and another thread; 0: none */
};

struct group {
	uint64_t places[2];
	unsigned seen, stride, count;
	uint32_t at;		    /* of the first b */
	struct pair kept[KEPT + 1]; /* the last is the last */
};

struct pairs {
	const struct turns_file *file;
	struct key *keys;
	size_t key_count, key_room;
	struct group *table[GROUPS], **groups;
	size_t group_count;
};

bool entries_conflict(const struct turns_entry *a, const struct turns_entry *b)
{
	return a->kind == b->kind && a->flags && b->flags && (a->flags | b->flags) & TURNS_WRITES &&
	       a->object < b->object + b->size && b->object < a->object + a->size;
}

/* ---- who touches the same ---------------------------------------------------------------------------------------- */

static void add_key(struct pairs *p, uint64_t key, uint32_t at)
{
	if (p->key_count == p->key_room) {
		p->key_room = p->key_room ? 2 * p->key_room : 1024;
		p->keys = reallocarray(p->keys, p->key_room, sizeof *p->keys);
		if (!p->keys)
			die("not enough memory");
	}
	p->keys[p->key_count++] = (struct key){ .key = key, .at = at };
}

static void add_keys(struct pairs *p, uint32_t at)
{
	const struct turns_entry *e = &p->file->log[at];
	uint64_t first = e->object / GRANULE_BYTES, last = (e->object + e->size - 1) / GRANULE_BYTES;

	if (!e->flags || !e->size)
		return;
	if (e->kind != TURNS_ACCESS) {
		add_key(p, e->object | (uint64_t)e->kind << 60, at);
		return;
	}
	if (last - first >= GRANULES_MAX)
		last = first + GRANULES_MAX - 1;
	for (uint64_t g = first; g <= last; g++)
		add_key(p, g, at);
}

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static uint32_t slot_of(const struct pairs *p, size_t i)
{
	return p->file->log[p->keys[i].at].slot;
}

static void link_others(struct pairs *p)
{
	qsort(p->keys, p->key_count, sizeof *p->keys, by_key);
	for (size_t i = p->key_count; i-- > 0;) {
		struct key *k = &p->keys[i];
		if (i + 1 == p->key_count || p->keys[i + 1].key != k->key)
			continue;
		k->other = slot_of(p, i + 1) != slot_of(p, i) ? (uint32_t)(i + 1) : p->keys[i + 1].other;
	}
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* The same number for the same place in the program. */
static uint64_t place_of(const struct turns_entry *e)
{
	uint64_t place = e->kind == TURNS_ACCESS ? e->site * 4 + e->flags : e->what;

	for (unsigned i = 1; e->kind != TURNS_ACCESS && i < TURNS_FRAMES; i++)
		place = (place ^ e->frames[i]) * 0x9e3779b97f4a7c15ull;
	return place;
}

static struct group *group_of(struct pairs *p, uint64_t first, uint64_t second)
{
	uint64_t h = (first * 31 + second) * 0x9e3779b97f4a7c15ull >> 52;

	for (unsigned n = 0; n < GROUPS; n++, h = (h + 1) % GROUPS) {
		struct group *g = p->table[h];
		if (g && g->places[0] == first && g->places[1] == second)
			return g;
		if (g)
			continue;
		if (p->group_count == GROUPS / 2 || !(g = calloc(1, sizeof *g)))
			return NULL;
		*g = (struct group){ .places = { first, second }, .stride = 1 };
		p->groups[p->group_count++] = p->table[h] = g;
		return g;
	}
	return NULL;
}

/* When there are too many, every second one goes. */
static void keep(struct group *g, const struct pair *pair)
{
	g->kept[KEPT] = *pair;
	if (g->seen++ % g->stride)
		return;
	if (g->count == KEPT) {
		for (unsigned i = 0; i < KEPT / 2; i++)
			g->kept[i] = g->kept[2 * i];
		g->count = KEPT / 2;
		g->stride *= 2;
		if ((g->seen - 1) % g->stride)
			return;
	}
	g->kept[g->count++] = *pair;
}

/* The point at which what begins there is over: a lock is given back by the thread's next op on it. */
static uint32_t end_of(const struct pairs *p, uint32_t at)
{
	const struct turns_entry *e = &p->file->log[at];

	for (uint32_t i = at + 1; e->kind == TURNS_OP && i < p->file->entries && i < at + SECTION; i++) {
		const struct turns_entry *next = &p->file->log[i];
		if (next->slot == e->slot && next->kind == TURNS_OP && next->object == e->object)
			return next->point;
	}
	return e->point;
}

static void find_of(struct pairs *p, size_t i)
{
	const struct turns_entry *b = &p->file->log[p->keys[i].at];
	size_t j = p->keys[i].other;

	for (unsigned n = 0; j && n < LOOK_AHEAD && j < p->key_count && p->keys[j].key == p->keys[i].key; n++, j++) {
		const struct turns_entry *a = &p->file->log[p->keys[j].at];
		if (a->slot == b->slot || !entries_conflict(a, b))
			continue;
		struct group *g = group_of(p, place_of(b), place_of(a));
		if (g && !g->seen)
			g->at = p->keys[i].at;
		if (g)
			keep(g, &(struct pair){ .b = *b, .a = *a, .until = end_of(p, p->keys[j].at) + 1 });
	}
}

static int by_first(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

	return x->at < y->at ? -1 : x->at > y->at;
}

struct pairs *pairs_find(const struct turns_file *file, uint32_t from)
{
	struct pairs *p = calloc(1, sizeof *p);

	if (!p || !(p->groups = calloc(GROUPS / 2, sizeof *p->groups)))
		die("not enough memory");
	p->file = file;
	for (uint32_t at = from; at < file->entries; at++)
		add_keys(p, at);
	link_others(p);
	for (size_t i = 0; i < p->key_count; i++)
		find_of(p, i);
	if (from)
		qsort(p->groups, p->group_count, sizeof *p->groups, by_first);
	return p;
}

void pairs_free(struct pairs *p)
{
	for (size_t i = 0; i < p->group_count; i++)
		free(p->groups[i]);
	free(p->groups);
	free(p->keys);
	free(p);
}

unsigned pairs_places(const struct pairs *p)
{
	return (unsigned)p->group_count;
}

bool pairs_get(const struct pairs *p, unsigned n, struct pair *pair)
{
	/* in 32ths of the run; 32: the last */
	static const unsigned char when[TIMES] = { 0, 32, 16, 8, 24, 4, 20, 28 };

	if (!p->group_count || n / p->group_count >= TIMES)
		return false;
	const struct group *g = p->groups[n % p->group_count];
	unsigned at = when[n / p->group_count];
	*pair = at == KEPT ? g->kept[KEPT] : g->kept[at * g->count / KEPT];
	return true;
}

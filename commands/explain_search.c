/*
 * The search of heddle explain.
 *
 * 1. A rerun in which every thread runs on until it waits passes, mostly. If it does not, the other direction is tried.
 * 2. What it did tells which orders of two threads could be the other way round (explain_pairs.c). Each is turned round
 *    by a rerun: b's thread stands before b while a's thread goes on up to a. If none alone fails, two are.
 * 3. What fails is made small. For each pair of switches: as few events of a's thread as possible (its last one is A),
 *    as many of b's thread as possible (its next one is B): A before B fails, and if B comes first it passes. Then it
 *    is asked whether what b's thread had done before must come before, too.
 * 4. It is confirmed by once more of both. If that, or a step before it, comes out otherwise, the search goes on.
 */
#include <stdlib.h>
#include <string.h>
#include "explain.h"

static void add_switch(struct schedule *s, uint32_t slot, uint32_t point, uint32_t next)
{
	s->list[s->count++] = (struct turns_switch){ .slot = slot, .point = point, .next = next };
}

static struct schedule with_pair(const struct schedule *s, const struct pair *pair)
{
	struct schedule new = *s;

	add_switch(&new, pair->b.slot, pair->b.point, pair->a.slot);
	add_switch(&new, pair->a.slot, pair->until, pair->b.slot);
	return new;
}

/* The last rerun made this switch; all of them. */
static bool was_made(unsigned i)
{
	return runs_file()->list[i].made && runs_file()->list[i].made != ~0u;
}

static bool made_all(void)
{
	unsigned i = 0;

	while (i < runs_file()->switches && was_made(i))
		i++;
	return i == runs_file()->switches;
}

/* ---- making it small --------------------------------------------------------------------------------------------- */

static void drop_pairs(struct schedule *s)
{
	for (unsigned k = 0; k < s->count && s->count > 2;) {
		struct schedule new = *s;
		memmove(new.list + k, new.list + k + 2, (s->count - k - 2) * sizeof *new.list);
		new.count -= 2;
		if (runs_fails(&new))
			*s = new;
		else
			k += 2;
	}
}

/* The point of switch i that still fails and is the neighbour of one that passes; `passes` does. */
static uint32_t find_edge(struct schedule *s, unsigned i, uint32_t passes)
{
	uint32_t fails = s->list[i].point;

	while (fails > passes ? fails - passes > 1 : passes - fails > 1) {
		uint32_t middle = passes + (fails - passes) / 2;
		if (fails < passes)
			middle = fails + (passes - fails) / 2;
		struct schedule new = *s;
		new.list[i].point = middle;
		if (runs_fails(&new))
			fails = middle;
		else
			passes = middle;
	}
	s->list[i].point = fails;
	return fails;
}

/* The first entry of the thread from `from` on; NULL: none. */
static const struct turns_entry *entry_of(uint32_t from, uint32_t slot, uint32_t point)
{
	const struct turns_file *file = runs_file();

	for (uint32_t i = from; i < file->entries; i++)
		if (file->log[i].slot == slot && file->log[i].point >= point)
			return &file->log[i];
	return NULL;
}

/* The last point to which the thread comes before another one runs. */
static uint32_t last_of_turn(uint32_t from, uint32_t slot)
{
	const struct turns_file *file = runs_file();
	uint32_t point = 0;

	for (uint32_t i = from; i < file->entries && file->log[i].slot == slot; i++)
		point = file->log[i].point;
	return point;
}

static uint32_t points_of(uint32_t slot)
{
	const struct turns_file *file = runs_file();
	uint32_t points = 0;

	for (uint32_t i = 0; i < file->entries; i++)
		if (file->log[i].slot == slot && file->log[i].point >= points)
			points = file->log[i].point + 1;
	return points;
}

static void add_order(struct explanation *e, const struct turns_entry *first, const struct turns_entry *second)
{
	if (e->count < ORDERS_MAX)
		e->orders[e->count++] = (struct order_needed){ *first, *second };
}

/* What ends there has begun when the lock was taken. */
static const struct turns_entry *begin_of(const struct turns_entry *end)
{
	const struct turns_entry *e = end;

	while (end->kind == TURNS_OP && !end->flags && e-- > runs_file()->log)
		if (e->slot == end->slot && e->kind == TURNS_OP && e->object == end->object)
			return e->flags ? e : end;
	return end;
}

/*
 * A pair whose first switch was not made, but whose second was: a's thread was not where it was expected, and what
 * failed is that it stood there itself. So it is b's, and the other goes on as far as it did.
 */
static bool as_made(struct schedule *s)
{
	if (!runs_fails(s))
		return false;
	for (unsigned k = 0; k < s->count; k += 2) {
		if (was_made(k) || !was_made(k + 1))
			continue;
		uint32_t from = runs_file()->list[k + 1].made - 1, slot = s->list[k + 1].slot,
			 other = s->list[k + 1].next;
		const struct turns_entry *stood = entry_of(from, slot, 0);
		s->list[k] = (struct turns_switch){ .slot = slot,
						    .point = stood ? stood->point : points_of(slot),
						    .next = other };
		s->list[k + 1] =
			(struct turns_switch){ .slot = other, .point = last_of_turn(from, other) + 1, .next = slot };
	}
	return true;
}

/* As few events of a's thread as possible. */
static bool shorten(struct schedule *s, unsigned k)
{
	struct turns_switch *a = &s->list[k + 1];
	struct schedule without = *s;

	if (!runs_fails(s) || !was_made(k))
		return false;
	uint32_t from = runs_file()->list[k].made - 1;
	const struct turns_entry *first = entry_of(from, a->slot, 0);
	if (!first)
		return false;
	without.list[k + 1].point = first->point;
	if (!was_made(k + 1)) /* it waits before it comes there, perhaps for ever: so far, and no further */
		a->point = last_of_turn(from, a->slot);
	if (runs_fails(&without))
		return false;
	find_edge(s, k + 1, without.list[k + 1].point);
	return true;
}

/* As many of b's. */
static bool lengthen(struct schedule *s, unsigned k)
{
	struct schedule later = *s;

	if (!runs_fails(s))
		return false;
	later.list[k].point = points_of(s->list[k].slot) + 1;
	while (runs_fails(&later)) {
		if (runs_over())
			return false; /* it fails without this switch, now */
		s->list[k].point = later.list[k].point;
		later.list[k].point += later.list[k].point / 2;
	}
	find_edge(s, k, later.list[k].point);
	return true;
}

enum { ROUNDS = 4 };

/* A before B, for the pair of switches k. False: a rerun did not do what it did before. */
static bool make_small(struct explanation *e, unsigned k)
{
	struct schedule *s = &e->schedule;
	struct turns_switch *b = &s->list[k], *a = &s->list[k + 1];

	for (unsigned n = 0; n < ROUNDS; n++) {
		if (!shorten(s, k) || !lengthen(s, k) || !runs_fails(s) || !was_made(k))
			return false;
		if (was_made(k + 1))
			break;
	}
	const struct turns_entry *last = entry_of(0, a->slot, a->point - 1), *next = entry_of(0, b->slot, b->point);
	if (!last || !next || !was_made(k + 1))
		return false;
	add_order(e, begin_of(last), next);
	return true;
}

/* ---- what must come before the switch, too ----------------------------------------------------------------------- */

enum { BEFORE_MAX = 4 };

/* The entries of b's thread before the switch which conflict with one that a's thread made behind it, from the last
   back on, of which each is at another point. */
static unsigned find_before(const struct schedule *s, unsigned k, struct order_needed found[BEFORE_MAX])
{
	const struct turns_file *file = runs_file();
	uint32_t from = file->list[k].made - 1, to = file->list[k + 1].made - 1;
	unsigned n = 0;

	for (uint32_t i = from; i-- > 0 && n < BEFORE_MAX;)
		for (uint32_t j = from; j < to && file->log[i].slot == s->list[k].slot; j++)
			if (file->log[j].slot == s->list[k + 1].slot &&
			    entries_conflict(&file->log[i], &file->log[j])) {
				found[n++] = (struct order_needed){ file->log[i], file->log[j] };
				break;
			}
	return n;
}

static void ask_before(struct explanation *e, unsigned k)
{
	struct order_needed found[BEFORE_MAX];

	if (!runs_fails(&e->schedule) || !made_all())
		return;
	for (unsigned i = 0, n = find_before(&e->schedule, k, found); i < n; i++) {
		struct schedule new = e->schedule;
		new.list[k].point = found[i].first.point;
		if (!runs_fails(&new) && made_all()) {
			add_order(e, &found[i].first, &found[i].second);
			return;
		}
	}
}

/* Once more: it fails, and with B first it does not. */
static bool confirm(const struct schedule *s)
{
	for (unsigned k = 0; k < s->count; k += 2) {
		struct schedule new = *s;
		new.list[k].point++;
		if (runs_fails(&new))
			return false;
	}
	return runs_fails(s);
}

/* False: a rerun of it did not do what it did before, as one may that looks at the clock. */
static bool need(struct explanation *e, const struct schedule *failing)
{
	struct schedule *s = &e->schedule;

	*e = (struct explanation){ .schedule = *failing };
	drop_pairs(s);
	if (!as_made(s))
		return false;
	for (unsigned k = 0; k < s->count; k += 2)
		if (!make_small(e, k))
			return false;
	for (unsigned k = 0; k < s->count; k += 2)
		ask_before(e, k);
	e->confirmed = confirm(s);
	return true;
}

/* So many schedules that fail are looked into. */
enum { SETTLES = 8 };
static unsigned settles;
static struct explanation not_confirmed; /* the first; better than none */

/* What a schedule that failed needs. False: that could not be confirmed, and another one is looked for. */
static bool settle(struct explanation *e, const struct schedule *failing)
{
	settles++;
	if (!need(e, failing))
		return false;
	if (!e->confirmed && !not_confirmed.count)
		not_confirmed = *e;
	return e->confirmed;
}

static bool is_over(void)
{
	return runs_over() || settles == SETTLES;
}

/* ---- finding one ------------------------------------------------------------------------------------------------- */

/* Two changes: SECOND pairs of places that come next after each pair of places at its first time. TIMES: at how many
   times each pair of places is tried before that, and in all. */
enum { PARENTS = 128, SECOND = 14, TIMES_BEFORE = 3, TIMES = 8 };

/* Schedules that passed, and made their switches. */
static struct schedule parents[PARENTS];
static unsigned parent_count;

static bool try_pairs(struct explanation *e, const struct schedule *s, const struct pairs *p, unsigned from,
		      unsigned to, unsigned keep_parents)
{
	struct pair pair;

	for (unsigned n = from; n < to && !is_over() && pairs_get(p, n, &pair); n++) {
		struct schedule new = with_pair(s, &pair);
		if (runs_fails(&new)) {
			if (settle(e, &new))
				return true;
		} else if (n < keep_parents && parent_count < PARENTS && made_all())
			parents[parent_count++] = new;
	}
	return false;
}

static bool try_second(struct explanation *e)
{
	for (unsigned i = 0; i < parent_count && !is_over(); i++) {
		if (runs_fails(&parents[i])) {
			if (settle(e, &parents[i]))
				return true;
			continue;
		}
		if (!made_all())
			continue;
		struct pairs *p = pairs_find(runs_file(), runs_file()->list[1].made - 1);
		bool found = try_pairs(e, &parents[i], p, 0, SECOND, 0);
		pairs_free(p);
		if (found)
			return true;
	}
	return false;
}

/* With threads that take turns in this direction, or in the other. */
struct direction {
	struct schedule base;
	struct pairs *pairs; /* NULL: it fails anyway */
};

static bool find(struct explanation *e, struct direction d[2])
{
	for (unsigned i = 0; i < 2 && !is_over(); i++) {
		d[i].base = (struct schedule){ .backwards = i };
		if (runs_fails(&d[i].base))
			continue;
		d[i].pairs = pairs_find(runs_file(), 0);
		unsigned places = pairs_places(d[i].pairs);
		if (try_pairs(e, &d[i].base, d[i].pairs, 0, TIMES_BEFORE * places, places))
			return true;
	}
	if (try_second(e))
		return true;
	for (unsigned i = 0; i < 2; i++) {
		unsigned places = d[i].pairs ? pairs_places(d[i].pairs) : 0;
		if (places && try_pairs(e, &d[i].base, d[i].pairs, TIMES_BEFORE * places, TIMES * places, 0))
			return true;
	}
	return false;
}

bool explain_search(struct explanation *e)
{
	struct direction d[2] = { 0 };

	bool found = find(e, d);
	if (!found) {
		*e = not_confirmed;
		found = e->count && runs_fails(&e->schedule); /* its recording is the last one again */
	}
	e->never_passes = !d[0].pairs && !d[1].pairs;
	for (unsigned i = 0; i < 2; i++)
		if (d[i].pairs)
			pairs_free(d[i].pairs);
	return found;
}

/*
 * The edges of a timeline, and its time.
 *
 * Counts of ops and accesses never fall along a lane. A node made at access k (or after k of them) has `access` k, and
 * the access itself is the last such node.
 */
#include <stdlib.h>
#include <string.h>
#include "timeline.h"

/* ---- sources of accesses ----------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return x->access < y->access ? -1 : x->access > y->access;
}

static bool is_access(const struct node *n)
{
	return n->kind == NODE_ACCESS || n->kind == NODE_RACE;
}

static void put_in(struct lane *lane, const struct source *s, size_t count)
{
	struct lane merged = { .image = lane->image, .slot = lane->slot };
	struct node before = { 0 };

	for (size_t i = 0, k = 0; i < lane->count || k < count;) {
		if (k == count || (i < lane->count && lane->nodes[i].access <= s[k].access)) {
			before = *timeline_add(&merged, &lane->nodes[i++]);
			continue;
		}
		bool there = merged.count && is_access(&before) && before.access == s[k].access;
		if (!there) {
			struct node n = { .op = before.op,
					  .access = s[k].access,
					  .kind = NODE_ACCESS,
					  .text = s[k].text,
					  .object = s[k].object,
					  .stack = s[k].stack,
					  .does = s[k].does };
			before = *timeline_add(&merged, &n);
		}
		k++;
	}
	free(lane->nodes);
	*lane = merged;
}

/* ---- where edges begin ------------------------------------------------------------------------------------------- */

static size_t first_after(const struct lane *lane, uint64_t value, bool access)
{
	size_t low = 0, high = lane->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct node *n = &lane->nodes[middle];
		if ((access ? n->access : n->op) > value)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* An op is the first node with its number: those that follow it have done as many. */
static void find_source(struct timeline *t, struct node *n)
{
	const struct lane *lane = &t->lanes[n->from_lane - 1];
	size_t at = n->by_access ? first_after(lane, n->from_at, true) :
				   first_after(lane, n->from_at ? n->from_at - 1 : 0, false) + 1;

	if (at > lane->count)
		at = lane->count;
	n->from_lane = at ? n->from_lane : 0;
	n->from_at = at ? at - 1 : 0;
}

/* From the call that creates a thread to its first node. */
static void find_birth(struct timeline *t, size_t lane, size_t index)
{
	struct node *parent = &t->lanes[lane].nodes[index];
	struct lane *child = &t->lanes[parent->from_at];

	for (size_t i = 0; i < child->count; i++)
		if (child->nodes[i].begins == parent->creates && !child->nodes[i].from_lane) {
			child->nodes[i].from_lane = (uint32_t)lane + 1;
			child->nodes[i].from_at = index;
			break;
		}
	parent->from_at = 0;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

/* Gives times as far as the sources have theirs; true: some were given. */
static bool go_on(struct timeline *t, size_t *at, size_t which, bool regardless)
{
	struct lane *lane = &t->lanes[which];
	bool any = false;

	for (; at[which] < lane->count; at[which]++, any = true, regardless = false) {
		struct node *n = &lane->nodes[at[which]];
		uint64_t before = at[which] ? lane->nodes[at[which] - 1].time : 0, source = 0;
		if (n->from_lane && at[n->from_lane - 1] <= n->from_at) {
			if (!regardless)
				return any;
			n->from_lane = 0; /* the source was only near: better no edge than a wrong one */
		}
		if (n->from_lane)
			source = t->lanes[n->from_lane - 1].nodes[n->from_at].time;
		n->time = (source > before ? source : before) + 1;
	}
	return any;
}

static void give_times(struct timeline *t)
{
	size_t *at = calloc(t->count + 1, sizeof *at), left;

	if (!at)
		die("not enough memory");
	do {
		bool any = false;
		left = t->count;
		for (size_t i = 0; i < t->count; i++) {
			any |= go_on(t, at, i, false);
			left -= at[i] == t->lanes[i].count;
		}
		for (size_t i = 0; i < t->count && !any && left; i++)
			any = go_on(t, at, i, true);
	} while (left);
	free(at);
}

void timeline_link(struct timeline *t, struct source *sources, size_t count)
{
	if (count)
		qsort(sources, count, sizeof *sources, by_place);
	for (size_t i = 0, n; i < count; i += n) {
		for (n = 1; i + n < count && sources[i + n].lane == sources[i].lane; n++)
			;
		put_in(&t->lanes[sources[i].lane], sources + i, n);
	}
	for (size_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < t->lanes[i].count; k++) {
			struct node *n = &t->lanes[i].nodes[k];
			if (n->from_lane && !n->begins)
				find_source(t, n);
			if (n->creates)
				find_birth(t, i, k);
		}
	give_times(t);
}

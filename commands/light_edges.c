/*
 * From light's schedule to the log that replay reads: each read follows its write, each write the reads of the write
 * before it.
 */
#include <string.h>
#include "commands/light.h"

struct edge {
	uint32_t slot, source_slot;
	uint64_t event, source;
};

struct edges {
	struct edge *at;
	size_t n, room;
};

static void add_edge(struct edges *e, const struct node *from, const struct node *to)
{
	if (from->slot == to->slot)
		return;
	e->at = grown(e->at, e->n, &e->room, sizeof *e->at);
	e->at[e->n++] = (struct edge){ to->slot, from->slot, to->event, from->event };
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->source_slot != y->source_slot)
		return x->source_slot < y->source_slot ? -1 : 1;
	return x->source > y->source ? -1 : x->source < y->source;
}

/* What a write overwrites for the first time was there at first: the reads of that come before it. */
static void edges_from_first_readers(const struct problem *p, int64_t x, int64_t granule, struct edges *edges)
{
	int64_t f;

	for
		EACH(f, p->of_granule, granule)
		{
			if (p->flow[f].write != NONE)
				break; /* they are sorted by the place of their write: see walk_open() */
			if (p->flow[f].last != x)
				add_edge(edges, &p->node[p->flow[f].last], &p->node[x]);
		}
}

/* Node x writes the granule: after the write before it, and after the reads of that. */
static void edges_of_write(const struct problem *p, int64_t x, int64_t granule, int64_t *memory, struct edges *edges)
{
	int64_t before = memory[granule] - 1, f;

	memory[granule] = x + 1;
	if (before == NONE) {
		edges_from_first_readers(p, x, granule, edges);
		return;
	}
	add_edge(edges, &p->node[before], &p->node[x]);
	for
		EACH(f, p->from, before)
	if (p->flow[f].granule == granule && p->flow[f].last != x)
		add_edge(edges, &p->node[p->flow[f].last], &p->node[x]);
}

static void gather_edges(const struct problem *p, const int64_t *schedule, struct edges *edges)
{
	int64_t *memory = zeroed(p->granules, sizeof *memory), f; /* node + 1 */

	for (size_t i = 0; i < p->nodes; i++) {
		const struct node *n = &p->node[schedule[i]];
		for
			EACH(f, p->into, schedule[i])
		if (p->flow[f].write != NONE)
			add_edge(edges, &p->node[p->flow[f].write], n);
		for (unsigned k = 0; k < 2; k++)
			if (n->granule[k] != NONE)
				edges_of_write(p, schedule[i], n->granule[k], memory, edges);
	}
	free(memory);
	if (edges->n)
		qsort(edges->at, edges->n, sizeof *edges->at, compare_edges);
}

/* An edge at the end of a thread's new log. last: the event logged last, per source slot. */
static void log_edge(struct order_log_text *to, const struct edge *e, uint64_t *last)
{
	to->entry = grown(to->entry, to->n, &to->room, sizeof *to->entry);
	to->entry[to->n++] = (struct order_entry){
		.event = e->event, .n = 2, .numbers = { e->source_slot, zigzag(e->source - last[e->source_slot]) }
	};
	last[e->source_slot] = e->source;
}

void write_edges(const struct problem *p, const int64_t *schedule, struct order_log_text *logs)
{
	uint64_t *known = zeroed(p->threads, sizeof *known), *last = zeroed(p->threads, sizeof *last);
	struct edges edges = { 0 };

	gather_edges(p, schedule, &edges);
	for (uint32_t i = 0; i < p->threads; i++)
		logs[i].n = 0;
	for (size_t i = 0; i < edges.n; i++) {
		const struct edge *e = &edges.at[i];
		if (!i || edges.at[i - 1].slot != e->slot) {
			memset(known, 0, p->threads * sizeof *known);
			memset(last, 0, p->threads * sizeof *last);
		}
		if (known[e->source_slot] > e->source)
			continue;
		known[e->source_slot] = e->source + 1;
		log_edge(&logs[e->slot], e, last);
	}
	free(edges.at);
	free(known);
	free(last);
}

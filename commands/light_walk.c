/*
 * An order of light's nodes that is found without looking back: the threads in turn, and a write is held back while
 * others still have to read what it would overwrite. Where all threads are held back one write comes all the same,
 * which may be wrong. Between such places the walk is a schedule:
 *
 * 1. A node comes after those before it in its thread, and after the writes of the flows into it.
 * 2. `pending` counts, for a granule, the flows whose write has come and whose last read has not. A write that finds it
 *    above 0 (what ends at itself aside) is held back: so a flow's reads see its write.
 */
#include "commands/light.h"

struct walker {
	const struct problem *p;
	struct walk *to;
	size_t n;
	bool *done;
	size_t *next;	 /* of each thread, in of_thread */
	size_t *pending; /* of each granule */
};

static bool flows_have_come(const struct walker *w, int64_t node)
{
	int64_t f;

	for
		EACH(f, w->p->into, node)
	if (w->p->flow[f].write != NONE && !w->done[w->p->flow[f].write])
		return false;
	return true;
}

static bool would_overwrite(const struct walker *w, int64_t node)
{
	const struct node *n = &w->p->node[node];
	size_t others = 0;
	int64_t f;

	for (unsigned i = 0; i < 2; i++)
		others += n->granule[i] == NONE ? 0 : w->pending[n->granule[i]];
	for
		EACH(f, w->p->until, node)
	others -= node_writes(n, w->p->flow[f].granule) &&
		  (w->p->flow[f].write == NONE || w->done[w->p->flow[f].write]);
	return others;
}

static void count_pending(struct walker *w, int64_t flow, size_t change)
{
	if (w->p->flow[flow].granule != NONE)
		w->pending[w->p->flow[flow].granule] += change;
}

static void take(struct walker *w, uint32_t thread, int64_t node)
{
	int64_t f;

	w->done[node] = true;
	for
		EACH(f, w->p->until, node)
	count_pending(w, f, (size_t)-1);
	for
		EACH(f, w->p->from, node)
	count_pending(w, f, 1);
	w->to->place[node] = w->n;
	w->to->order[w->n++] = node;
	w->next[thread]++;
}

/* The threads in turn, one node each; `forced`: one that overwrites is taken if there is no other. */
static bool walk_round(struct walker *w, bool forced)
{
	size_t before = w->n;

	for (uint32_t t = 0; t < w->p->threads && !(forced && w->n > before); t++) {
		if (w->next[t] == w->p->of_thread.from[t + 1])
			continue;
		int64_t node = w->p->of_thread.item[w->next[t]];
		if (!flows_have_come(w, node) || (!forced && would_overwrite(w, node)))
			continue;
		if (forced)
			w->to->wrong[w->to->wrongs++] = w->n;
		take(w, t, node);
	}
	return w->n > before;
}

/* ---- lists by place ---------------------------------------------------------------------------------------------- */

struct placed {
	size_t place;
	int64_t item;
};

static int compare_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	return x->place < y->place ? -1 : x->place > y->place;
}

static void sort_lists(struct lists *l, size_t keys,
		       size_t (*place)(const struct problem *, const struct walk *, int64_t), const struct problem *p,
		       const struct walk *w)
{
	for (size_t k = 0; k < keys; k++) {
		size_t n = l->from[k + 1] - l->from[k];
		struct placed *list = zeroed(n, sizeof *list);
		for (size_t i = 0; i < n; i++) {
			int64_t item = l->item[l->from[k] + i];
			list[i] = (struct placed){ place(p, w, item), item };
		}
		qsort(list, n, sizeof *list, compare_placed);
		for (size_t i = 0; i < n; i++)
			l->item[l->from[k] + i] = list[i].item;
		free(list);
	}
}

static size_t place_of_node(const struct problem *p, const struct walk *w, int64_t node)
{
	(void)p;
	return w->place[node];
}

/* What was there at first comes first. */
static size_t place_of_flow(const struct problem *p, const struct walk *w, int64_t f)
{
	return p->flow[f].write == NONE ? 0 : 1 + w->place[p->flow[f].write];
}

static void find_latest(struct walk *w, const struct problem *p)
{
	w->latest = zeroed(p->flows, sizeof *w->latest);
	for (size_t k = 0; k < p->granules; k++)
		for (size_t i = p->of_granule.from[k]; i < p->of_granule.from[k + 1]; i++) {
			size_t place = w->place[p->flow[p->of_granule.item[i]].last];
			bool first = i == p->of_granule.from[k];
			w->latest[i] = first || place > w->latest[i - 1] ? place : w->latest[i - 1];
		}
}

bool walk_open(struct walk *w, struct problem *p)
{
	struct walker walker = { .p = p,
				 .to = w,
				 .done = zeroed(p->nodes, 1),
				 .next = zeroed(p->threads, sizeof(size_t)),
				 .pending = zeroed(p->granules, sizeof(size_t)) };

	*w = (struct walk){ .order = zeroed(p->nodes, sizeof *w->order),
			    .place = zeroed(p->nodes, sizeof *w->place),
			    .wrong = zeroed(p->nodes, sizeof *w->wrong) };
	for (uint32_t t = 0; t < p->threads; t++)
		walker.next[t] = p->of_thread.from[t];
	for (size_t f = 0; f < p->flows; f++)
		count_pending(&walker, (int64_t)f, p->flow[f].write == NONE);
	while (walk_round(&walker, false) || walk_round(&walker, true))
		;
	free(walker.done);
	free(walker.next);
	free(walker.pending);
	if (walker.n != p->nodes)
		return false;
	sort_lists(&p->writes, p->granules, place_of_node, p, w);
	sort_lists(&p->of_granule, p->granules, place_of_flow, p, w);
	find_latest(w, p);
	return true;
}

void walk_close(struct walk *w)
{
	free(w->order);
	free(w->place);
	free(w->wrong);
	free(w->latest);
}

/* ---- is it one? -------------------------------------------------------------------------------------------------- */

static bool sees_its_write(const struct flow *f, const int64_t *memory, const bool *done)
{
	if (f->granule != NONE)
		return memory[f->granule] == f->write + 1;
	return f->write == NONE || done[f->write];
}

bool is_schedule(const struct problem *p, const int64_t *order)
{
	int64_t *memory = zeroed(p->granules, sizeof *memory), f; /* node + 1 */
	uint64_t *next = zeroed(p->threads, sizeof *next);
	bool *done = zeroed(p->nodes, 1), fine = true;

	for (size_t i = 0; i < p->nodes && fine; i++) {
		const struct node *n = &p->node[order[i]];
		fine = n->event >= next[n->slot];
		next[n->slot] = n->event + 1;
		for
			EACH(f, p->into, order[i])
		fine = fine && sees_its_write(&p->flow[f], memory, done);
		for
			EACH(f, p->until, order[i])
		fine = fine && sees_its_write(&p->flow[f], memory, done);
		for (unsigned k = 0; k < 2; k++)
			if (n->granule[k] != NONE)
				memory[n->granule[k]] = order[i] + 1;
		done[order[i]] = true;
	}
	free(memory);
	free(next);
	free(done);
	return fine;
}

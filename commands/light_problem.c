/*
 * From light's log to nodes and flows: see commands/light.h. What the entries say is told in runtime/order/light.c.
 */
#include <string.h>
#include "commands/light.h"

/* ---- the log ----------------------------------------------------------------------------------------------------- */

static struct light_flow *new_flow(struct light_flows *to)
{
	to->at = grown(to->at, to->n, &to->room, sizeof *to->at);
	return &to->at[to->n++];
}

/* The newest flow of this thread into that granule. */
struct newest {
	uint64_t granule;
	size_t flow; /* + 1 */
};

static struct newest *newest_of(struct newest *table, size_t room, uint64_t granule)
{
	size_t i = granule * 0x9e3779b97f4a7c15ull >> 20;

	for (i %= room; table[i].flow && table[i].granule != granule; i = (i + 1) % room)
		;
	table[i].granule = granule;
	return &table[i];
}

static void add_flow(struct light_flows *to, uint32_t slot, uint64_t granule, uint64_t writer, uint64_t write,
		     uint64_t event)
{
	*new_flow(to) = (struct light_flow){ .granule = granule,
					     .writer = (int64_t)writer - 1,
					     .write = write,
					     .reader = slot,
					     .first = event,
					     .last = event };
}

bool light_flows_of(uint32_t slot, const struct order_entry *entries, size_t n, struct light_flows *to)
{
	size_t room = 2 * n + 16;
	struct newest *table = zeroed(room, sizeof *table);
	uint64_t granule = 0, op = 0;
	bool fine = true;

	for (const struct order_entry *e = entries; fine && e < entries + n; e++) {
		bool ends = e->n == 3 && e->numbers[0] == 1;
		if (e->n == 2) {
			op += unzigzag(e->numbers[1]);
			add_flow(to, slot, LIGHT_OPS, e->numbers[0], op, e->event);
			continue;
		}
		fine = ends || (e->n == 4 && !(e->numbers[0] & 1));
		granule += unzigzag(e->numbers[1]);
		struct newest *newest = newest_of(table, room, granule);
		uint64_t back = ends ? e->numbers[2] : e->numbers[3];
		if (back && newest->flow)
			to->at[newest->flow - 1].last = e->event - back;
		if (ends || !fine)
			continue;
		add_flow(to, slot, granule * GRANULE, e->numbers[0] >> 1, e->numbers[2], e->event);
		newest->flow = to->n;
	}
	free(table);
	return fine;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static int compare_nodes(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static int64_t find_node(const struct problem *p, uint32_t slot, uint64_t event)
{
	struct node key = { slot, event, { 0 } }, *found = bsearch(&key, p->node, p->nodes, sizeof key, compare_nodes);
	return found ? found - p->node : NONE;
}

static size_t without_doubles(void *base, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	char *at = base;
	size_t kept = 0;

	qsort(base, n, size, compare);
	for (size_t i = 0; i < n; i++)
		if (!kept || compare(at + (kept - 1) * size, at + i * size))
			memmove(at + kept++ * size, at + i * size, size);
	return kept;
}

static void make_nodes(struct problem *p, const struct light_flows *flows, const uint64_t *events)
{
	size_t n = 0;

	for (uint32_t i = 0; events && i < p->threads; i++)
		n += events[i];
	p->node = zeroed(3 * flows->n + n, sizeof *p->node);
	for (size_t i = 0; i < flows->n; i++) {
		const struct light_flow *f = &flows->at[i];
		if (f->writer >= 0)
			p->node[p->nodes++] = (struct node){ (uint32_t)f->writer, f->write, { NONE, NONE } };
		p->node[p->nodes++] = (struct node){ f->reader, f->first, { NONE, NONE } };
		p->node[p->nodes++] = (struct node){ f->reader, f->last, { NONE, NONE } };
	}
	for (uint32_t i = 0; events && i < p->threads; i++)
		for (uint64_t e = 0; e < events[i]; e++)
			p->node[p->nodes++] = (struct node){ i, e, { NONE, NONE } };
	p->nodes = without_doubles(p->node, p->nodes, sizeof *p->node, compare_nodes);
}

/* ---- flows ------------------------------------------------------------------------------------------------------- */

/* One, or two if it is 16 bytes wide. */
static void writes_granule(struct node *n, int64_t granule)
{
	if (granule == NONE)
		return;
	if (n->granule[0] == NONE)
		n->granule[0] = granule;
	else if (n->granule[0] != granule)
		n->granule[1] = granule;
}

static void make_flows(struct problem *p, const struct light_flows *flows)
{
	uint64_t *granules = zeroed(flows->n, sizeof *granules);

	for (size_t i = 0; i < flows->n; i++)
		if (flows->at[i].granule != LIGHT_OPS)
			granules[p->granules++] = flows->at[i].granule;
	p->granules = without_doubles(granules, p->granules, sizeof *granules, compare_numbers);
	p->flow = zeroed(flows->n, sizeof *p->flow);
	p->flows = flows->n;
	for (size_t i = 0; i < flows->n; i++) {
		const struct light_flow *f = &flows->at[i];
		uint64_t *granule = bsearch(&f->granule, granules, p->granules, sizeof *granules, compare_numbers);
		p->flow[i] = (struct flow){ f->writer < 0 ? NONE : find_node(p, (uint32_t)f->writer, f->write),
					    find_node(p, f->reader, f->first), find_node(p, f->reader, f->last),
					    granule ? granule - granules : NONE };
		if (p->flow[i].write != NONE)
			writes_granule(&p->node[p->flow[i].write], p->flow[i].granule);
	}
	free(granules);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* Sorts n things by key into lists; key(p, i) = NONE: in none of them. */
static struct lists make_lists(const struct problem *p, size_t keys, size_t n,
			       int64_t (*key)(const struct problem *, size_t))
{
	struct lists l = { zeroed(keys + 2, sizeof *l.from), zeroed(n, sizeof *l.item) };

	for (size_t i = 0; i < n; i++)
		if (key(p, i) != NONE)
			l.from[key(p, i) + 2]++;
	for (size_t i = 2; i < keys + 2; i++)
		l.from[i] += l.from[i - 1];
	for (size_t i = 0; i < n; i++)
		if (key(p, i) != NONE)
			l.item[l.from[key(p, i) + 1]++] = (int64_t)i;
	return l;
}

static int64_t slot_of(const struct problem *p, size_t i)
{
	return p->node[i].slot;
}

static int64_t written_by(const struct problem *p, size_t i)
{
	return p->node[i / 2].granule[i % 2];
}

static int64_t granule_of(const struct problem *p, size_t i)
{
	return p->flow[i].granule;
}

static int64_t write_of(const struct problem *p, size_t i)
{
	return p->flow[i].write;
}

static int64_t first_of(const struct problem *p, size_t i)
{
	return p->flow[i].first;
}

static int64_t last_of(const struct problem *p, size_t i)
{
	return p->flow[i].last;
}

void problem_open(struct problem *p, const struct light_flows *flows, const uint64_t *events, uint32_t threads)
{
	*p = (struct problem){ .threads = threads };
	make_nodes(p, flows, events);
	make_flows(p, flows);
	p->of_thread = make_lists(p, threads, p->nodes, slot_of);
	p->writes = make_lists(p, p->granules, 2 * p->nodes, written_by);
	for (size_t i = 0; i < 2 * p->nodes; i++)
		p->writes.item[i] /= 2;
	p->of_granule = make_lists(p, p->granules, p->flows, granule_of);
	p->from = make_lists(p, p->nodes, p->flows, write_of);
	p->into = make_lists(p, p->nodes, p->flows, first_of);
	p->until = make_lists(p, p->nodes, p->flows, last_of);
}

void problem_close(struct problem *p)
{
	struct lists *lists[] = { &p->of_thread, &p->writes, &p->of_granule, &p->from, &p->into, &p->until };

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		free(lists[i]->from);
		free(lists[i]->item);
	}
	free(p->node);
	free(p->flow);
}

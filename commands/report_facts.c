/*
 * The facts of a run as plain HTML: what it was, its threads, races, locks, signals. They are on the page also where no
 * script runs.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "report.h"
#include "commands/sites.h"

#define SHOWN 40 /* of each kind; the picture has all */

void report_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		const char *at = strchr("<>&\"", *text);
		static const char *const names[] = { "&lt;", "&gt;", "&amp;", "&quot;" };
		if (at)
			fputs(names[at - "<>&\""], out);
		else
			putc(*text, out);
	}
}

static const char *place_of(const struct timeline *t, uint32_t stack)
{
	unsigned place = 0;

	sscanf(t->stacks.all[stack], "%u", &place);
	return place ? t->places.all[place] : SITES_NONE ", or a place that is not known";
}

static void cell(FILE *out, const char *text)
{
	fputs("<td>", out);
	report_escaped(out, text);
}

/* ---- things that are counted ------------------------------------------------------------------------------------- */

struct tally {
	struct texts keys;
	struct counted {
		const struct node *node, *source;
		const struct lane *lane, *from;
		uint64_t count, handed; /* handed: with a source */
	} * all;
	size_t room;
};

static struct counted *counted(struct tally *y, const char *key)
{
	uint32_t i = texts_number(&y->keys, key);

	if (i >= y->room) {
		size_t room = 2 * (size_t)i + 16;
		if (!(y->all = realloc(y->all, room * sizeof *y->all)))
			die("not enough memory");
		memset(y->all + y->room, 0, (room - y->room) * sizeof *y->all);
		y->room = room;
	}
	return &y->all[i];
}

static int more_often(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;

	return x->count > y->count ? -1 : x->count < y->count;
}

/* Sorted, the first at 0; how many there are. */
static size_t tally_end(struct tally *y)
{
	size_t n = y->keys.count ? y->keys.count - 1 : 0;

	if (n) {
		memmove(y->all, y->all + 1, n * sizeof *y->all);
		qsort(y->all, n, sizeof *y->all, more_often);
	}
	return n;
}

static void tally_free(struct tally *y)
{
	texts_free(&y->keys);
	free(y->all);
}

static void count_nodes(const struct timeline *t, struct tally *y, bool (*wanted)(const struct node *),
			void (*key)(const struct node *, const struct node *, char *, size_t))
{
	char text[100];

	for (size_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < t->lanes[i].count; k++) {
			const struct node *n = &t->lanes[i].nodes[k];
			const struct lane *from = n->from_lane ? &t->lanes[n->from_lane - 1] : NULL;
			const struct node *source = from ? &from->nodes[n->from_at] : NULL;
			if (!wanted(n))
				continue;
			key(n, source, text, sizeof text);
			struct counted *c = counted(y, text);
			if (!c->count++)
				*c = (struct counted){ n, source, &t->lanes[i], from, 1, 0 };
			c->handed += !!source;
		}
}

static void more(FILE *out, size_t all)
{
	if (all > SHOWN)
		fprintf(out, "<p>and %zu more", all - SHOWN);
}

/* ---- conflicts --------------------------------------------------------------------------------------------------- */

static bool is_race(const struct node *n)
{
	return n->kind == NODE_RACE && n->from_lane;
}

static bool is_ordered_access(const struct node *n)
{
	return n->kind == NODE_ACCESS && n->from_lane;
}

static void pair_key(const struct node *n, const struct node *source, char *text, size_t room)
{
	snprintf(text, room, "%u.%u", source->stack, n->stack);
}

static void put_pairs(const struct timeline *t, FILE *out, bool (*wanted)(const struct node *), const char *title,
		      const char *none)
{
	struct tally y = { 0 };

	count_nodes(t, &y, wanted, pair_key);
	size_t n = tally_end(&y);
	fprintf(out, "<h2>%s</h2>\n", title);
	if (!n)
		fprintf(out, "<p>%s\n", none);
	else
		fputs("<table><tr><th>times<th>variable<th>first<th>then\n", out);
	for (size_t i = 0; i < n && i < SHOWN; i++) {
		const struct counted *c = &y.all[i];
		fprintf(out, "<tr><td class=n>%" PRIu64, c->count);
		cell(out, t->objects.all[c->node->object]);
		for (int side = 0; side < 2; side++) {
			fprintf(out, "<td>thread %u ", side ? c->lane->slot : c->from->slot);
			report_escaped(out, t->texts.all[side ? c->node->text : c->source->text]);
			fputs("<br>", out);
			report_escaped(out, place_of(t, side ? c->node->stack : c->source->stack));
		}
		fputs("\n", out);
	}
	fputs(n ? "</table>\n" : "", out);
	more(out, n);
	tally_free(&y);
}

/* ---- locks ------------------------------------------------------------------------------------------------------- */

static bool is_lock(const struct node *n)
{
	return n->kind == NODE_GETS;
}

static void object_key(const struct node *n, const struct node *source, char *text, size_t room)
{
	(void)source;
	snprintf(text, room, "%u", n->object);
}

static void put_locks(const struct timeline *t, FILE *out)
{
	struct tally y = { 0 };

	count_nodes(t, &y, is_lock, object_key);
	size_t n = tally_end(&y);
	fputs("<h2>Locks</h2>\n", out);
	fputs(n ? "<table><tr><th>lock<th>taken<th>from another thread<th>first at\n" : "<p>none were taken\n", out);
	for (size_t i = 0; i < n && i < SHOWN; i++) {
		fputs("<tr>", out);
		cell(out, t->objects.all[y.all[i].node->object]);
		fprintf(out, "<td class=n>%" PRIu64 "<td class=n>%" PRIu64, y.all[i].count, y.all[i].handed);
		cell(out, place_of(t, y.all[i].node->stack));
		fputs("\n", out);
	}
	fputs(n ? "</table>\n" : "", out);
	more(out, n);
	tally_free(&y);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

static void put_outcome(const struct timeline *t, FILE *out)
{
	const struct meta *m = t->meta;

	fputs("<p class=outcome>", out);
	report_escaped(out, m->status == STATUS_UNKNOWN ? "the recording has no end" : status_text((int)m->status));
	fprintf(out, "; recorded %s",
		meta_is_hooked(m) ? "with its races, order " : "without its accesses (not built by heddle-cc)");
	report_escaped(out, meta_is_hooked(m) ? m->order : "");
	fputs(" in ", out);
	report_escaped(out, m->dir);
	fputs("\n", out);
}

static void put_threads(const struct timeline *t, FILE *out)
{
	fputs("<h2>Threads</h2>\n<table><tr><th>thread<th>events<th>ended\n", out);
	for (size_t i = 0; i < t->count && i < 4 * SHOWN; i++) {
		const struct lane *lane = &t->lanes[i];
		fprintf(out, "<tr><td>p%u/t%u<td class=n>%zu", lane->image, lane->slot, lane->count);
		cell(out, lane->count ? t->texts.all[lane->nodes[lane->count - 1].text] : "");
		fputs("\n", out);
	}
	fputs("</table>\n", out);
}

static void put_signals(const struct timeline *t, FILE *out)
{
	unsigned shown = 0;

	for (size_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < t->lanes[i].count && shown < SHOWN; k++) {
			const struct node *n = &t->lanes[i].nodes[k];
			if (n->kind != NODE_SIGNAL && n->kind != NODE_CRASH)
				continue;
			fputs(shown++ ? "" : "<h2>Signals and crashes</h2>\n<table><tr><th>thread<th>what<th>at\n",
			      out);
			fprintf(out, "<tr class=%s><td>p%u/t%u", n->kind == NODE_CRASH ? "crash" : "signal",
				t->lanes[i].image, t->lanes[i].slot);
			cell(out, t->texts.all[n->text]);
			cell(out, n->stack ? place_of(t, n->stack) : "");
			fputs("\n", out);
		}
	fputs(shown ? "</table>\n" : "", out);
}

void report_facts(const struct timeline *t, FILE *out)
{
	put_outcome(t, out);
	put_signals(t, out);
	put_pairs(t, out, is_race, "Races: accesses that no lock, join or the like puts in order",
		  meta_is_hooked(t->meta) ? "none in this run" : "not known: the program was not built by heddle-cc");
	put_locks(t, out);
	put_pairs(t, out, is_ordered_access, "Data that went from thread to thread in order", "none was seen");
	put_threads(t, out);
}

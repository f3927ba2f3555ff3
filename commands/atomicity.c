/*
 * heddle replay --atomicity: accesses of other threads that came between two of one thread's that make sense only
 * together.
 *
 * Looked at are two accesses of a variable by one thread, the second its first one after the other thread's came
 * between. If no order of the two threads, one after the other, gives the same values, the pair was not atomic:
 *
 *   here   between  here
 *   read   write    read     two different values of one thing
 *   write  write    read     not what it has just written
 *   read   write    write    an update is lost
 *   write  read     write    the other saw a half-made change
 *
 * A recording with --order=tplay has also what that order's own checker found: transactions over several variables.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "findings.h"
#include "commands/sites.h"
#include "runtime/order/order.h"
#include "sarif.h"
#include "timeline.h"
#include "trace/watched.h"

#define BACK_MOST    4096 /* events of another thread that are gone through */
#define THREADS_MOST 16

struct found {
	const struct lane *lane, *other;
	const struct node *nodes[3];
	uint64_t count;
};

struct all {
	struct texts keys;
	struct found *found;
	size_t room;
};

static bool is_unserializable(const struct node *const n[3])
{
	bool w[3];

	for (int i = 0; i < 3; i++)
		w[i] = n[i]->does & STORY_WRITES;
	return w[1] ? !w[0] || !w[2] : w[0] && w[2];
}

static void add(struct all *all, const struct found *f)
{
	char key[80];

	snprintf(key, sizeof key, "%u.%u.%u.%u", f->nodes[0]->stack, f->nodes[1]->stack, f->nodes[2]->stack,
		 f->lane->image);
	uint32_t i = texts_number(&all->keys, key);
	if (i >= all->room) {
		size_t room = 2 * (size_t)i + 16;
		if (!(all->found = realloc(all->found, room * sizeof *all->found)))
			die("not enough memory");
		memset(all->found + all->room, 0, (room - all->room) * sizeof *all->found);
		all->room = room;
	}
	if (!all->found[i].count)
		all->found[i] = *f;
	all->found[i].count++;
}

static const struct node *source_of(const struct timeline *t, const struct node *n)
{
	return n->from_lane && n->by_access ? &t->lanes[n->from_lane - 1].nodes[n->from_at] : NULL;
}

static size_t lane_of(const struct timeline *t, const struct node *n)
{
	size_t i = 0;

	while (n < t->lanes[i].nodes || n >= t->lanes[i].nodes + t->lanes[i].count)
		i++;
	return i;
}

/* The node at or before n, in its lane, that came to the variable from another one. */
static const struct node *arrival(const struct timeline *t, const struct node *n)
{
	const struct lane *lane = &t->lanes[lane_of(t, n)];

	for (const struct node *x = n; x >= lane->nodes && n - x < BACK_MOST; x--)
		if (x->object == n->object && source_of(t, x))
			return x;
	return NULL;
}

/* From the last access of another thread back to the first since the lane had the variable: that one has its source
   there. Others may have had it between. */
static const struct node *first_between(const struct timeline *t, const struct node *last, size_t lane)
{
	for (int threads = 0; last && threads < THREADS_MOST; threads++) {
		const struct node *n = arrival(t, last);
		if (!n || n->from_lane == lane + 1)
			return n;
		last = source_of(t, n);
	}
	return NULL;
}

static void look_at(const struct timeline *t, size_t lane, const struct node *n, struct all *all)
{
	const struct node *last = source_of(t, n);
	struct found f = { .lane = &t->lanes[lane], .nodes = { NULL, NULL, n } };

	if (!last)
		return;
	f.nodes[1] = first_between(t, last, lane);
	f.nodes[0] = f.nodes[1] ? source_of(t, f.nodes[1]) : NULL;
	if (!f.nodes[0] || f.nodes[0]->object != n->object)
		return;
	if (!is_unserializable(f.nodes))
		f.nodes[1] = last;
	f.other = &t->lanes[lane_of(t, f.nodes[1])];
	if (is_unserializable(f.nodes))
		add(all, &f);
}

static void look(const struct timeline *t, struct all *all)
{
	for (size_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < t->lanes[i].count; k++)
			look_at(t, i, &t->lanes[i].nodes[k], all);
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

static const char *place_text(const struct timeline *t, const struct node *n)
{
	unsigned place = 0;

	sscanf(t->stacks.all[n->stack], "%u", &place);
	return place ? t->places.all[place] : SITES_NONE;
}

static void print_found(const struct timeline *t, const struct found *f)
{
	note("atomicity of %s violated, %" PRIu64 " time%s:", t->objects.all[f->nodes[0]->object], f->count,
	     f->count == 1 ? "" : "s");
	for (int i = 0; i < 3; i++)
		note("  %s thread %u %s at %s",
		     i == 1 ? "between them" :
		     i	    ? "and then" :
			      "first",
		     i == 1 ? f->other->slot : f->lane->slot, t->texts.all[f->nodes[i]->text],
		     place_text(t, f->nodes[i]));
}

static json_t *found_json(const struct timeline *t, const struct found *f)
{
	static const char *const names[] = { "first", "between", "then" };
	const char *object = t->objects.all[f->nodes[0]->object];
	json_t *o = json_pack("{si sI}", "image", (int)f->lane->image, "count", (json_int_t)f->count);

	json_object_set_new(o, "object", text_to_json(object, strlen(object)));
	for (int i = 0; i < 3; i++) {
		const char *place = place_text(t, f->nodes[i]);
		json_object_set_new(o, names[i],
				    json_pack("{si ss so}", "thread", (int)(i == 1 ? f->other->slot : f->lane->slot),
					      "access", t->texts.all[f->nodes[i]->text], "at",
					      text_to_json(place, strlen(place))));
	}
	return o;
}

static void found_sarif(const struct timeline *t, const struct found *f, json_t *results)
{
	char files[3][PATH_ROOM], texts[3][600], message[1024];
	struct sarif_place places[3];

	for (int i = 0; i < 3; i++) {
		snprintf(texts[i], sizeof texts[i], "thread %u %s", i == 1 ? f->other->slot : f->lane->slot,
			 t->texts.all[f->nodes[i]->text]);
		places[i] = (struct sarif_place){ .text = texts[i], .file = files[i] };
		if (!place_parse(place_text(t, f->nodes[i]), files[i], &places[i].line, &places[i].column))
			*files[i] = 0;
	}
	snprintf(message, sizeof message,
		 "Atomicity of %s violated: thread %u's access came between two of thread %u's.",
		 t->objects.all[f->nodes[0]->object], f->other->slot, f->lane->slot);
	sarif_add(results, "atomicity", message, places, 3);
}

/* What the order's own checker has logged. */
static json_t *recorded(const struct meta *meta)
{
	const struct order_scheme *scheme = order_find(meta->order);
	struct trace_problem problem;
	struct trace_reader reader;
	const struct entry *e;

	for (size_t i = 0; scheme && scheme->violation && i < meta->list.nstreams; i++) {
		const struct trace_stream *s = &meta->list.streams[i];
		if (trace_reader_open(&reader, meta->dir, s->image, s->slot, &problem))
			continue;
		while (trace_read(&reader, &e, &problem) > 0)
			if (e->kind == ENTRY_ORDER)
				violations_see(scheme, s->image, e);
		trace_reader_close(&reader);
	}
	return violations_json(meta);
}

static void print_recorded(const json_t *list)
{
	size_t i;
	json_t *v;

	json_array_foreach (list, i, v)
		note("transaction violated (--order=tplay), %lld times: %s, after %s",
		     (long long)json_integer_value(json_object_get(v, "count")),
		     json_string_value(json_object_get(v, "at")), json_string_value(json_object_get(v, "after")));
}

size_t atomicity_print(const struct meta *meta, const char *work_dir, enum findings_format format)
{
	struct all all = { 0 };
	struct timeline t;
	json_t *list = json_array(), *own = recorded(meta);

	timeline_read_from(&t, meta, work_dir);
	texts_number(&all.keys, "");
	look(&t, &all);
	size_t count = all.keys.count - 1 + json_array_size(own);
	for (size_t i = 1; i < all.keys.count; i++)
		switch (format) {
		case FINDINGS_TEXT: print_found(&t, &all.found[i]); break;
		case FINDINGS_JSON: json_array_append_new(list, found_json(&t, &all.found[i])); break;
		case FINDINGS_SARIF: found_sarif(&t, &all.found[i], list); break;
		}
	if (format == FINDINGS_TEXT) {
		print_recorded(own);
		note("%zu place%s where atomicity was violated in this run", count, count == 1 ? "" : "s");
	} else if (format == FINDINGS_SARIF) {
		sarif_print(json_incref(list));
	} else {
		json_t *o = json_pack("{si sO sO}", "version", 1, "violations", list, "recorded", own);
		json_dumpf(o, stdout, JSON_INDENT(1));
		putchar('\n');
		json_decref(o);
	}
	json_decref(list);
	json_decref(own);
	texts_free(&all.keys);
	free(all.found);
	timeline_free(&t);
	return count;
}

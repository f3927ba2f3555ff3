/*
 * heddle dump --format=chrome: a timeline for Perfetto and chrome://tracing. A microsecond there is a step of logical
 * time.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <string.h>
#include "timeline.h"

static const char *const kinds[NODE_KINDS] = {
	[NODE_BEGINS] = "thread", [NODE_GETS] = "lock",	    [NODE_GIVES] = "lock",
	[NODE_WAITS] = "sync",	  [NODE_CALL] = "call",	    [NODE_ACCESS] = "access",
	[NODE_RACE] = "race",	  [NODE_SIGNAL] = "signal", [NODE_CRASH] = "crash",
};

static void print(FILE *out, json_t *o, bool *first)
{
	fputs(*first ? "" : ",\n", out);
	*first = false;
	json_dumpf(o, out, JSON_COMPACT);
	json_decref(o);
}

static json_t *place_json(const struct timeline *t, const struct node *n)
{
	unsigned place = 0;

	sscanf(t->stacks.all[n->stack], "%u", &place);
	return text_to_json(t->places.all[place], strlen(t->places.all[place]));
}

static json_t *base(const struct lane *lane, const struct node *n, const char *phase)
{
	return json_pack("{ss si si sI}", "ph", phase, "pid", (int)lane->image, "tid", (int)lane->slot, "ts",
			 (json_int_t)n->time);
}

static void print_node(const struct timeline *t, const struct lane *lane, const struct node *n, FILE *out, bool *first)
{
	json_t *o = base(lane, n, "X");
	const char *text = t->texts.all[n->text], *object = t->objects.all[n->object];

	json_object_set_new(o, "dur", json_integer(1));
	json_object_set_new(o, "name", text_to_json(text, strlen(text)));
	json_object_set_new(o, "cat", json_string(kinds[n->kind]));
	json_object_set_new(
		o, "args",
		json_pack("{so so}", "object", text_to_json(object, strlen(object)), "at", place_json(t, n)));
	print(out, o, first);
}

static void print_edge(const struct timeline *t, const struct lane *lane, const struct node *n, uint64_t id, FILE *out,
		       bool *first)
{
	const struct lane *from = &t->lanes[n->from_lane - 1];
	json_t *start = base(from, &from->nodes[n->from_at], "s"), *end = base(lane, n, "f");

	json_object_set_new(end, "bp", json_string("e"));
	for (json_t *both[] = { start, end }, **o = both; o < both + 2; o++) {
		json_object_set_new(*o, "id", json_integer((json_int_t)id));
		json_object_set_new(*o, "name", json_string("before"));
		json_object_set_new(*o, "cat", json_string(kinds[n->kind]));
		print(out, *o, first);
	}
}

void chrome_print(const struct timeline *t, FILE *out)
{
	bool first = true;
	uint64_t edges = 0;
	char name[32];

	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", out);
	for (size_t i = 0; i < t->count; i++) {
		const struct lane *lane = &t->lanes[i];
		snprintf(name, sizeof name, "thread %u", lane->slot);
		print(out,
		      json_pack("{ss si si ss s{ss}}", "ph", "M", "pid", (int)lane->image, "tid", (int)lane->slot,
				"name", "thread_name", "args", "name", name),
		      &first);
		for (size_t k = 0; k < lane->count; k++) {
			print_node(t, lane, &lane->nodes[k], out, &first);
			if (lane->nodes[k].from_lane)
				print_edge(t, lane, &lane->nodes[k], ++edges, out, &first);
		}
	}
	fputs("\n]}\n", out);
}

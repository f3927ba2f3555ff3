/*
 * What `heddle replay --races` has found: the runtime leaves a struct race for each in the work directory, with
 * everything that the binary tells about the places; names of variables come from its symbols.
 *
 * That an access races is known when the other one is made, too late to look at the first one's stack. So the run is
 * replayed once more, and every access of a race leaves its place (runtime/races/places.c).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "findings.h"
#include "sarif.h"
#include "commands/sites.h"
#include "trace/watched.h"

struct found {
	struct race *races;
	size_t count;
};

static void read_all(struct found *f, const char *work_dir)
{
	char path[PATH_ROOM];
	struct race race;

	snprintf(path, sizeof path, "%s/races", work_dir);
	FILE *file = fopen(path, "re");
	while (file && fread(&race, sizeof race, 1, file) == 1) {
		if (!(f->count & (f->count - 1)))
			f->races = realloc(f->races, (f->count ? f->count * 2 : 1) * sizeof race);
		if (!f->races)
			die("out of memory");
		f->races[f->count++] = race;
	}
	if (file)
		fclose(file);
}

/* The variable at an address, "?" if no symbol tells. */
static void name_of(struct where *w, uint64_t addr, char *text, size_t room)
{
	char *end;

	if (!where_describe(w, addr, text, room))
		snprintf(text, room, "%#" PRIx64, addr);
	else if ((end = strstr(text, "+0")) && !end[2])
		*end = 0;
}

static const char *access_text(const struct race_side *s)
{
	static const char *const texts[2][4] = { { "nothing", "read", "write", "read and write" },
						 { "nothing", "atomic read", "atomic write",
						   "atomic read and write" } };

	return texts[!!s->atomic][!!s->reads + 2 * !!s->writes];
}

/* ---- stacks ----------------------------------------------------------------------------------------------------- */

#define FRAMES 12
struct left {
	struct point point;
	struct place place;
};
static struct left *left_places;
static size_t left_count;

static void get_stacks(const struct meta *meta, const struct found *f)
{
	char dir[PATH_ROOM], path[PATH_ROOM + 16];
	size_t size;

	rerun_prepare(dir);
	snprintf(path, sizeof path, "%s/points", dir);
	FILE *file = fopen(path, "we");
	for (size_t i = 0; file && i < 2 * f->count; i++) {
		const struct race *r = &f->races[i / 2];
		const struct race_side *s = &r->side[i % 2];
		struct point p = { r->image, s->slot, s->event };
		if (s->known && fwrite(&p, sizeof p, 1, file) != 1)
			break;
	}
	if (!file || fclose(file))
		die("%s: %s", path, strerror(errno));
	rerun(meta, "places", dir);
	left_places = rerun_read(dir, "places", &size);
	left_count = size / sizeof *left_places;
	rerun_done();
}

/* One access may be in several races, and in its thread it is there once. */
static const struct place *place_of(const struct race *r, const struct race_side *s)
{
	for (size_t i = 0; i < left_count; i++) {
		const struct point *p = &left_places[i].point;
		if (s->known && p->image == r->image && p->slot == s->slot && p->event == s->event)
			return &left_places[i].place;
	}
	return NULL;
}

static char frames[FRAMES][512];
static unsigned frame_count;

static void keep_frame(const char *text)
{
	if (frame_count < FRAMES)
		snprintf(frames[frame_count++], sizeof *frames, "%s", text);
}

/* The first frame is the access itself, which its site tells better. */
static void find_frames(struct where *w, const struct race *r, const struct race_side *s)
{
	const struct place *p = place_of(r, s);

	frame_count = 0;
	if (p)
		where_frames(w, p, keep_frame);
}

/* ---- for people ------------------------------------------------------------------------------------------------ */

static const char *value_text(const struct race_side *s, char *text, size_t room)
{
	*text = 0;
	if (s->size)
		snprintf(text, room, s->value > 0xffffff ? " of %#" PRIx64 : " of %" PRIu64, s->value);
	return text;
}

static void print_side(struct where *w, const struct race *r, const struct race_side *s)
{
	char text[1024], lock[256], value[40];
	int n = 0;

	for (int i = 0; i < RACE_LOCKS && s->locks[i]; i++) {
		name_of(w, s->locks[i], lock, sizeof lock);
		n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", n ? ", " : "; holds ", lock);
	}
	if (!n)
		*text = 0;
	if (!s->known)
		note("  %s by " SITES_NONE ", thread %u%s", access_text(s), s->slot, text);
	else if (!*s->file || !s->line)
		note("  %s in %s (no line: compile with -g), thread %u%s", access_text(s), s->function, s->slot, text);
	else
		note("  %s%s at %s:%u:%u in %s, thread %u%s", access_text(s), value_text(s, value, sizeof value),
		     s->file, s->line, s->column, s->function, s->slot, text);
	find_frames(w, r, s);
	for (unsigned i = 1; i < frame_count; i++)
		note("    by %s", frames[i]);
}

static void print_text(struct where *w, const struct race *r)
{
	char name[256];

	name_of(w, r->addr, name, sizeof name);
	note("race on %s:", name);
	print_side(w, r, &r->side[0]);
	print_side(w, r, &r->side[1]);
}

/* ---- for machines ---------------------------------------------------------------------------------------------- */

static json_t *side_json(struct where *w, const struct race *r, const struct race_side *s)
{
	json_t *locks = json_array(), *stack = json_array();
	char lock[256];

	for (int i = 0; i < RACE_LOCKS && s->locks[i]; i++) {
		name_of(w, s->locks[i], lock, sizeof lock);
		json_array_append_new(locks, text_to_json(lock, strlen(lock)));
	}
	json_t *o = json_pack("{si ss si si ss so}", "thread", (int)s->slot, "access", access_text(s), "line",
			      (int)s->line, "column", (int)s->column, "kind",
			      s->known ? sites_kind(s->kind) : "system call", "locks", locks);
	find_frames(w, r, s);
	for (unsigned i = 1; i < frame_count; i++)
		json_array_append_new(stack, text_to_json(frames[i], strlen(frames[i])));
	json_object_set_new(o, "stack", stack);
	json_object_set_new(o, "event", json_integer((json_int_t)s->event));
	json_object_set_new(o, "value", s->size ? json_integer((json_int_t)s->value) : json_null());
	json_object_set_new(o, "file", text_to_json(s->file, strnlen(s->file, sizeof s->file)));
	json_object_set_new(o, "function", text_to_json(s->function, strnlen(s->function, sizeof s->function)));
	return o;
}

static json_t *race_json(struct where *w, const struct race *r)
{
	char name[256], addr[32];

	name_of(w, r->addr, name, sizeof name);
	snprintf(addr, sizeof addr, "%#" PRIx64, r->addr);
	json_t *o = json_pack("{ss si so so}", "address", addr, "image", (int)r->image, "a",
			      side_json(w, r, &r->side[0]), "b", side_json(w, r, &r->side[1]));
	json_object_set_new(o, "object", text_to_json(name, strlen(name)));
	return o;
}

static void race_sarif(struct where *w, const struct race *r, json_t *results)
{
	char name[256], message[600], texts[2][200];
	struct sarif_place places[2];

	name_of(w, r->addr, name, sizeof name);
	snprintf(message, sizeof message, "Race on %s between threads %u and %u.", name, r->side[0].slot,
		 r->side[1].slot);
	for (int i = 0; i < 2; i++) {
		const struct race_side *s = &r->side[i];
		snprintf(texts[i], sizeof texts[i], "%s in %s, thread %u", access_text(s),
			 s->known ? s->function : SITES_NONE, s->slot);
		places[i] = (struct sarif_place){ texts[i], s->file, s->line, s->column };
	}
	sarif_add(results, "race", message, places, 2);
}

static void print_list(json_t *list, enum findings_format format, const struct looked_at *looked_at)
{
	if (format == FINDINGS_SARIF) {
		sarif_print(list);
		return;
	}
	json_t *all = json_pack("{si s{sI sI sI} so}", "version", 1, "looked_at", "reads", (json_int_t)looked_at->reads,
				"writes", (json_int_t)looked_at->writes, "locks", (json_int_t)looked_at->locks, "races",
				list);
	json_dumpf(all, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(all);
}

size_t found_races_print(const struct meta *meta, const char *work_dir, enum findings_format format,
			 const struct looked_at *looked_at)
{
	struct found f = { 0 };
	struct where *w = NULL;
	json_t *list = json_array();

	read_all(&f, work_dir);
	if (f.count && format != FINDINGS_SARIF)
		get_stacks(meta, &f);
	for (size_t i = 0; i < f.count; i++) {
		const struct race *r = &f.races[i];
		if (!i || r->image != f.races[i - 1].image) {
			where_close(w);
			w = where_open(meta, r->image, 0, UINT64_MAX);
		}
		switch (format) {
		case FINDINGS_TEXT: print_text(w, r); break;
		case FINDINGS_JSON: json_array_append_new(list, race_json(w, r)); break;
		case FINDINGS_SARIF: race_sarif(w, r, list); break;
		}
	}
	where_close(w);
	if (format == FINDINGS_TEXT)
		note("%zu race%s in this run; looked at %" PRIu64 " reads and %" PRIu64 " writes at hooked sites",
		     f.count, f.count == 1 ? "" : "s", looked_at->reads, looked_at->writes);
	else
		print_list(json_incref(list), format, looked_at);
	json_decref(list);
	if (f.count && f.races[f.count - 1].full)
		warn("there may be more races, which were not kept");
	free(left_places);
	free(f.races);
	return f.count;
}

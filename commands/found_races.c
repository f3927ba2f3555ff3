/*
 * What `heddle replay --races` has found: the runtime leaves a struct race for each in the work directory, with everything
 * that the binary tells about the places; names of variables come from its symbols.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "meta.h"
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

/* ---- for people ------------------------------------------------------------------------------------------------ */

static void print_side(struct where *w, const struct race_side *s)
{
	char text[1024], lock[256];
	int n = 0;

	for (int i = 0; i < RACE_LOCKS && s->locks[i]; i++) {
		name_of(w, s->locks[i], lock, sizeof lock);
		n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", n ? ", " : "; holds ", lock);
	}
	if (!n)
		*text = 0;
	if (!s->known)
		note("  %s by a system call, thread %u%s", access_text(s), s->slot, text);
	else if (!*s->file || !s->line)
		note("  %s in %s (no line: compile with -g), thread %u%s", access_text(s), s->function, s->slot, text);
	else
		note("  %s at %s:%u:%u in %s, thread %u%s", access_text(s), s->file, s->line, s->column, s->function,
		     s->slot, text);
}

static void print_text(struct where *w, const struct race *r)
{
	char name[256];

	name_of(w, r->addr, name, sizeof name);
	note("race on %s:", name);
	print_side(w, &r->side[0]);
	print_side(w, &r->side[1]);
}

/* ---- for machines ---------------------------------------------------------------------------------------------- */

static json_t *side_json(struct where *w, const struct race_side *s)
{
	json_t *locks = json_array();
	char lock[256];

	for (int i = 0; i < RACE_LOCKS && s->locks[i]; i++) {
		name_of(w, s->locks[i], lock, sizeof lock);
		json_array_append_new(locks, text_to_json(lock, strlen(lock)));
	}
	json_t *o = json_pack("{si ss si si ss so}", "thread", (int)s->slot, "access", access_text(s), "line",
			      (int)s->line, "column", (int)s->column, "kind",
			      s->known ? sites_kind(s->kind) : "system call", "locks", locks);
	json_object_set_new(o, "file", text_to_json(s->file, strnlen(s->file, sizeof s->file)));
	json_object_set_new(o, "function", text_to_json(s->function, strnlen(s->function, sizeof s->function)));
	return o;
}

static json_t *race_json(struct where *w, const struct race *r)
{
	char name[256], addr[32];

	name_of(w, r->addr, name, sizeof name);
	snprintf(addr, sizeof addr, "%#" PRIx64, r->addr);
	json_t *o = json_pack("{ss si so so}", "address", addr, "image", (int)r->image, "a", side_json(w, &r->side[0]),
			      "b", side_json(w, &r->side[1]));
	json_object_set_new(o, "object", text_to_json(name, strlen(name)));
	return o;
}

size_t found_races_print(const struct meta *meta, const char *work_dir, bool json)
{
	struct found f = { 0 };
	struct where *w = NULL;
	json_t *list = json ? json_array() : NULL;

	read_all(&f, work_dir);
	for (size_t i = 0; i < f.count; i++) {
		const struct race *r = &f.races[i];
		if (!i || r->image != f.races[i - 1].image) {
			where_close(w);
			w = where_open(meta, r->image, 0, UINT64_MAX);
		}
		if (json)
			json_array_append_new(list, race_json(w, r));
		else
			print_text(w, r);
	}
	where_close(w);
	if (json) {
		json_t *all = json_pack("{si so}", "version", 1, "races", list);
		json_dumpf(all, stdout, JSON_INDENT(1));
		putchar('\n');
		json_decref(all);
	} else {
		note("%zu race%s in this run", f.count, f.count == 1 ? "" : "s");
	}
	if (f.count && f.races[f.count - 1].full)
		warn("there may be more races, which were not kept");
	free(f.races);
	return f.count;
}

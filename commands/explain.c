/*
 * heddle explain: why a recorded failure happens: which of two threads was first, where.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include "explain.h"
#include "findings.h"
#include "sites.h"
#include "runtime/syscalls/describe.h"

static const char help[] =
	"usage: heddle explain [OPTIONS] [TRACE]\n"
	"\n"
	"Runs the recorded program again and again, one thread at a time, until it is known which orders\n"
	"of two threads make it fail as it did in the recording: with A before B it fails, with B before A\n"
	"it does not.\n"
	"\n"
	"      --runs=N        give up after N reruns (1000)\n"
	"      --timeout=S     a rerun that takes longer than S seconds hangs (60; 20 if the recorded one did)\n"
	"      --expect=TEXT   a rerun fails if it does not print TEXT, whatever its exit status is\n"
	"      --refuse=TEXT   a rerun fails if it prints TEXT, whatever its exit status is\n"
	"  -o, --output=DIR    keep the recording of the smallest rerun that fails in the new directory DIR\n"
	"      --json          print for a program to read\n"
	"  -q, --quiet         no progress, only the result\n"
	"\n"
	"Exit status: 0 an explanation was found, 1 none was.\n";

enum { NOT_FOUND = 1 };
static struct explain_options o = { .runs = 1000 };

/* ---- places --------------------------------------------------------------------------------------------------- */

struct told_place {
	char text[512]; /* "function (file:12)" */
	char file[PATH_ROOM];
	unsigned line;
	const char *what;
	char object[256];
};

static bool is_program(struct where *w, uint64_t pc)
{
	const char *object = where_object(w, pc);

	return strncmp(object, "libc.so.", 8) && strncmp(object, "ld-linux", 8) && strcmp(object, "libheddle.so");
}

/* Code that the compiler has put together from several places has no line; what follows has. */
static bool describe_line(struct where *w, uint64_t pc, char *text, size_t room)
{
	return (where_describe(w, pc, text, room) && !strstr(text, ":0)")) || where_describe(w, pc + 1, text, room);
}

/* Of the frames, the first that is the program's. */
static void find_caller(struct where *w, const struct turns_entry *e, char *text, size_t room)
{
	for (unsigned i = 0; i < TURNS_FRAMES && e->frames[i]; i++) {
		uint64_t pc = i ? e->frames[i] - 1 : e->frames[i];
		if (describe_line(w, pc, text, room) && is_program(w, pc))
			return;
	}
}

static const char *what_text(const struct turns_entry *e)
{
	static const char *const accesses[] = { "access", "read", "write", "read and write" };
	static const char *const ops[] = { "operation", "lock", "lock", "wait", "wake", "take", "give" };

	if (e->kind == TURNS_ACCESS)
		return accesses[e->flags & 3];
	if (e->kind == TURNS_OP)
		return ops[e->what];
	const struct sys_row *row = sys_find(e->what);
	return row ? row->name : "system call";
}

static void tell_place(struct where *w, const struct turns_entry *e, struct told_place *p)
{
	char path[PATH_ROOM], *end;
	uint64_t address;
	unsigned column;

	strcpy(p->text, "an unknown place");
	if (e->kind == TURNS_ACCESS && where_file(w, e->site, path, sizeof path, &address))
		sites_place(path, address, p->text, sizeof p->text);
	else if (e->kind != TURNS_ACCESS)
		find_caller(w, e, p->text, sizeof p->text);
	if (!place_parse(p->text, p->file, &p->line, &column))
		*p->file = 0;
	p->what = what_text(e);
	*p->object = 0;
	if (e->kind != TURNS_CALL && where_describe(w, e->object, p->object, sizeof p->object) &&
	    (end = strstr(p->object, "+0")) && !end[2])
		*end = 0;
}

/* ---- for people -------------------------------------------------------------------------------------------------- */

static void add_place(char *to, size_t room, const struct turns_entry *e, const struct told_place *p)
{
	size_t n = strlen(to);

	if (*p->file)
		snprintf(to + n, room - n, "%s%s%s (%s:%u, thread %u)", p->what, *p->object ? " of " : "", p->object,
			 p->file, p->line, e->slot);
	else
		snprintf(to + n, room - n, "%s%s%s (%s, thread %u)", p->what, *p->object ? " of " : "", p->object,
			 p->text, e->slot);
}

static void print_text(struct where *w, const struct explanation *e)
{
	struct told_place first, second;
	char text[2 * PATH_ROOM + 2048];

	for (unsigned i = 0; i < e->count; i++) {
		const struct order_needed *n = &e->orders[i];
		tell_place(w, &n->first, &first);
		tell_place(w, &n->second, &second);
		strcpy(text, i ? "and because " : "fails because ");
		add_place(text, sizeof text, &n->first, &first);
		strcat(text, " ran before ");
		add_place(text, sizeof text, &n->second, &second);
		note("%s", text);
	}
	note("%u reruns; %s", runs_made(),
	     e->confirmed ? "with any of these the other way round it passes" :
			    "not confirmed: the same switches of threads did not always end the same way");
}

/* ---- for machines ------------------------------------------------------------------------------------------------ */

static json_t *side_json(struct where *w, const struct turns_entry *e)
{
	struct told_place p;

	tell_place(w, e, &p);
	json_t *side = json_pack("{si si ss si}", "thread", (int)e->slot, "point", (int)e->point, "what", p.what,
				 "line", (int)p.line);
	json_object_set_new(side, "file", text_to_json(p.file, strlen(p.file)));
	json_object_set_new(side, "place", text_to_json(p.text, strlen(p.text)));
	json_object_set_new(side, "object", text_to_json(p.object, strlen(p.object)));
	return side;
}

static void print_json(struct where *w, const struct explanation *e)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < e->count; i++)
		json_array_append_new(list, json_pack("{so so}", "first", side_json(w, &e->orders[i].first), "second",
						      side_json(w, &e->orders[i].second)));
	json_t *all = json_pack("{si sb si so}", "version", 1, "confirmed", (int)e->confirmed, "reruns",
				(int)runs_made(), "orders", list);
	json_dumpf(all, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(all);
}

/* ---- the verb ---------------------------------------------------------------------------------------------------- */

static void check(const struct meta *meta)
{
	char *end;

	o.timeout = o.timeout_text ? strtod(o.timeout_text, &end) : runs_hung(meta->status) ? 20 : 60;
	if (o.timeout_text && (end == o.timeout_text || *end || !(o.timeout > 0)))
		usage("--timeout wants a number greater than 0, not '%s'", o.timeout_text);
	if (o.runs < 1)
		usage("--runs wants a number from 1 on");
	if (o.expect && o.refuse)
		usage("--expect and --refuse exclude each other");
	if (!meta->status && !o.expect && !o.refuse)
		die("%s ended well (exit status 0): there is nothing to explain\n"
		    "heddle: if it printed something wrong, say what: --expect=TEXT or --refuse=TEXT",
		    meta->dir);
}

static void not_found(const struct explanation *e)
{
	if (o.json)
		puts("{\"version\": 1, \"orders\": []}");
	else if (e->never_passes)
		note("it fails although every thread runs on until it waits, in either order: no explanation by two "
		     "threads was looked for");
	else
		note("no explanation found in %u reruns%s", runs_made(),
		     runs_over() ? "; more --runs may help" :
				   "; `heddle replay --races` and `heddle report` show what the threads did");
}

static int run(int argc, char **argv)
{
	const struct option_row options[] = {
		{ "runs", 0, OPTION_NUMBER, &o.runs },	   { "timeout", 0, OPTION_TEXT, &o.timeout_text },
		{ "expect", 0, OPTION_TEXT, &o.expect },   { "refuse", 0, OPTION_TEXT, &o.refuse },
		{ "output", 'o', OPTION_TEXT, &o.output }, { "json", 0, OPTION_FLAG, &o.json },
		{ "quiet", 'q', OPTION_FLAG, &o.quiet },   OPTIONS_END,
	};
	struct explanation e;
	struct meta meta, rerun;

	argc = read_options(argc, argv, options, false);
	if (argc > 1)
		usage("one trace at a time, not '%s' too", argv[1]);
	open_trace(&meta, argc ? argv[0] : NULL);
	meta_need_same_machine(&meta);
	check(&meta);
	runs_open(&meta, &o);
	bool found = explain_search(&e);
	progress_end();
	if (found) {
		meta_load(&rerun, runs_trace());
		struct where *w = where_open(&rerun, 0, 0, UINT64_MAX);
		o.json ? print_json(w, &e) : print_text(w, &e);
		where_close(w);
		meta_free(&rerun);
	} else {
		not_found(&e);
	}
	runs_close(found ? o.output : NULL);
	meta_free(&meta);
	return found ? 0 : NOT_FOUND;
}

const struct command command_explain = { "explain", run, "say which order of threads a failure needs", help };

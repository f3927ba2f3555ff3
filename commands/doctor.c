/* heddle doctor: what this machine allows (doctor_checks.c), and how a program was built. */
#define _GNU_SOURCE
#include <string.h>
#include "doctor.h"
#include "meta.h"
#include "commands/sites.h"
#include "compiler/hooks.h"

static const char help[] =
	"usage: heddle doctor [--json] [PROGRAM]\n"
	"\n"
	"Tries out what heddle needs and says, a line each, what this machine allows and what to do\n"
	"where it does not. Exits with 122 if something is missing that heddle cannot do without.\n"
	"\n"
	"With a program or library: tells how it was built, and so what a recording of it will hold.\n";

static void print_finding(const char *name, const struct finding *f)
{
	static const char *const words[] = { "ok", "limited", "MISSING" };
	static const char *const codes[] = { "\33[32m", "\33[33m", "\33[1;31m" };

	printf("%s%-8s%s %-16s %s", colour(stdout, codes[f->verdict]), words[f->verdict], colour(stdout, "\33[m"), name,
	       f->text);
	if (*f->advice)
		printf(": %s", f->advice);
	putchar('\n');
	fflush(stdout); /* a probe's own message must come after the lines before it */
}

static json_t *finding_json(const char *name, const struct finding *f)
{
	static const char *const words[] = { "ok", "limited", "missing" };

	return json_pack("{ss ss so ss}", "check", name, "verdict", words[f->verdict], "text",
			 text_to_json(f->text, strlen(f->text)), "advice", f->advice);
}

/* ---- how a binary was built ------------------------------------------------------------------------------- */

static void print_foreign(const char *list)
{
	char copy[sizeof(struct sites_note){ 0 }.foreign], *next = copy;

	snprintf(copy, sizeof copy, "%s", list);
	for (char *name; (name = strsep(&next, ":"));)
		if (*name)
			printf("  not instrumented: %s\n", name);
}

static json_t *foreign_json(const char *list)
{
	char copy[sizeof(struct sites_note){ 0 }.foreign], *next = copy;
	json_t *names = json_array();

	snprintf(copy, sizeof copy, "%s", list);
	for (char *name; (name = strsep(&next, ":"));)
		if (*name)
			json_array_append_new(names, text_to_json(name, strlen(name)));
	return names;
}

static int examine(const char *path, bool json)
{
	struct sites_note n;
	bool ours = sites_read_note(path, &n);

	if (json) {
		json_t *o = json_pack("{sb}", "heddle-cc", ours);
		if (ours)
			json_object_update_new(o, json_pack("{si ss ss sI sI so}", "version", n.version, "select",
							    n.select, "mode", n.mode, "sites", (json_int_t)n.sites,
							    "hooked", (json_int_t)n.hooked, "foreign",
							    foreign_json(n.foreign)));
		json_dumpf(o, stdout, JSON_INDENT(1));
		putchar('\n');
		json_decref(o);
	} else if (!ours)
		printf("%s: not built by heddle-cc: locks and system calls are recorded, a data race is not\n", path);
	else {
		printf("%s: built by heddle-cc, hooks version %d\n  select=%s, %s\n  %zu accesses seen, %zu hooked\n",
		       path, n.version, n.select,
		       strcmp(n.mode, "lto") ? "each file by itself (--per-file)" : "whole program (LTO)", n.sites,
		       n.hooked);
		if (n.version != HOOK_VERSION)
			printf("  this heddle has hooks of version %d and refuses to record it: rebuild it with this "
			       "heddle-cc\n",
			       HOOK_VERSION);
		print_foreign(n.foreign);
	}
	return 0;
}

static int run_doctor(int argc, char **argv)
{
	bool json = false, missing = false;
	const struct option_row options[] = { { "json", 0, OPTION_FLAG, &json }, OPTIONS_END };
	json_t *list = json_array();

	argc = read_options(argc, argv, options, false);
	if (argc > 1)
		usage("one program at a time: %s or %s?", argv[0], argv[1]);
	if (argc) {
		json_decref(list);
		return examine(argv[0], json);
	}
	for (const struct check *check = doctor_checks; check->name; check++) {
		struct finding f = { FINE, "", "" };
		check->run(&f);
		missing |= f.verdict == MISSING;
		if (json)
			json_array_append_new(list, finding_json(check->name, &f));
		else
			print_finding(check->name, &f);
	}
	if (json) {
		json_dumpf(list, stdout, JSON_INDENT(1));
		putchar('\n');
	}
	json_decref(list);
	return missing ? EXIT_CANNOT : 0;
}

const struct command command_doctor = { "doctor", run_doctor, "what this machine allows, and what to do", help };

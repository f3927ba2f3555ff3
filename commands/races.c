/*
 * heddle races: what --select=races found in a program when it was linked. The text is in the binary
 * (compiler/races/report.c); here it is only told: as text, as it is, or as SARIF 2.1.0.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "commands/commands.h"
#include "commands/sarif.h"
#include "commands/sites.h"

static const char help[] =
	"usage: heddle races [--json | --sarif] [--why=FILE:LINE] PROGRAM\n"
	"\n"
	"Prints the pairs of accesses of a program built with `heddle-cc --select=races` that may race, and how many "
	"were\n"
	"ruled out by which step of the analysis. Only these accesses are recorded. Nothing is run.\n"
	"\n"
	"      --why=FILE:LINE  instead, what is known of the accesses there: with whom they may race, or why they "
	"cannot\n"
	"      --json           as JSON, with the reasons of all that was left out\n"
	"      --sarif          as SARIF 2.1.0, for editors and code review\n";

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static long long number_of(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void print_list(const char *before, const json_t *list)
{
	size_t i;
	json_t *one;

	json_array_foreach (list, i, one)
		printf("%s%s", i ? ", " : before, json_string_value(one) ? json_string_value(one) : "?");
}

static void print_end(const json_t *w, const char *end, const char *locks)
{
	const json_t *o = json_object_get(w, end);

	if (number_of(o, "line"))
		printf("  %-6s %s:%lld:%lld  %s", text_of(o, "kind"), text_of(o, "file"), number_of(o, "line"),
		       number_of(o, "column"), text_of(o, "function"));
	else
		printf("  %-6s %s", text_of(o, "kind"), text_of(o, "function"));
	print_list("  with ", json_object_get(w, locks));
	putchar('\n');
}

static void print_warning(const json_t *w)
{
	printf("%s, by ", text_of(w, "object"));
	print_list("", json_object_get(w, "threads"));
	putchar('\n');
	print_end(w, "a", "locks_a");
	print_end(w, "b", "locks_b");
}

static void print_steps(const json_t *report)
{
	size_t i;
	json_t *s;

	printf("%-28s %10s %10s %10s\n", "after", "warnings", "pairs", "sites");
	json_array_foreach (json_object_get(report, "steps"), i, s)
		printf("%-28s %10lld %10lld %10lld\n", text_of(s, "name"), number_of(s, "warnings"),
		       number_of(s, "pairs"), number_of(s, "sites"));
}

static void print_text(const json_t *report)
{
	size_t i;
	json_t *w;

	json_array_foreach (json_object_get(report, "warnings"), i, w)
		print_warning(w);
	if (json_array_size(json_object_get(report, "warnings")))
		putchar('\n');
	print_steps(report);
}

/* ---- one place --------------------------------------------------------------------------------------------------- */

/* Is this the place? The file may be given by the end of its path. */
static bool is_at(const json_t *o, const char *file, size_t len, long long line)
{
	const char *path = text_of(o, "file");
	size_t all = strlen(path);

	return number_of(o, "line") == line && all >= len && !memcmp(path + all - len, file, len) &&
	       (all == len || path[all - len - 1] == '/' || *file == '/');
}

static int explain(const json_t *report, const char *where)
{
	const char *colon = strrchr(where, ':');
	long long line = colon ? strtoll(colon + 1, NULL, 10) : 0;
	size_t len = colon ? (size_t)(colon - where) : 0, i, found = 0;
	json_t *o;

	if (!line)
		usage("--why=%s: FILE:LINE is wanted", where);
	json_array_foreach (json_object_get(report, "warnings"), i, o)
		if (is_at(json_object_get(o, "a"), where, len, line) ||
		    is_at(json_object_get(o, "b"), where, len, line)) {
			print_warning(o);
			found++;
		}
	json_array_foreach (json_object_get(report, "left_out"), i, o)
		if (is_at(o, where, len, line)) {
			printf("%s at %s:%lld:%lld in %s cannot race: %s\n", text_of(o, "kind"), text_of(o, "file"),
			       line, number_of(o, "column"), text_of(o, "function"), text_of(o, "reason"));
			found++;
		}
	if (!found)
		die("%s: no access to memory that could be shared is there; `heddle dump --sites` lists all", where);
	return 0;
}

/* ---- SARIF ------------------------------------------------------------------------------------------------------- */

static struct sarif_place place_of(const json_t *end, const char *what)
{
	return (struct sarif_place){ what, text_of(end, "file"), (unsigned)number_of(end, "line"),
				     (unsigned)number_of(end, "column") };
}

static void add_sarif(json_t *results, const json_t *w)
{
	const json_t *a = json_object_get(w, "a"), *b = json_object_get(w, "b");
	char message[600];

	if (!number_of(a, "line")) {
		const json_t *swap = a;
		a = b;
		b = swap;
	}
	snprintf(message, sizeof message, "This %s of %s may race with a %s in %s.", text_of(a, "kind"),
		 text_of(w, "object"), text_of(b, "kind"), text_of(b, "function"));
	const struct sarif_place places[] = { place_of(a, text_of(a, "function")), place_of(b, "the other access") };
	sarif_add(results, "may-race", message, places, number_of(b, "line") ? 2 : 1);
}

static void print_sarif(const json_t *report)
{
	json_t *results = json_array(), *w;
	size_t i;

	json_array_foreach (json_object_get(report, "warnings"), i, w)
		if (number_of(json_object_get(w, "a"), "line") || number_of(json_object_get(w, "b"), "line"))
			add_sarif(results, w);
	sarif_print(results);
}

/* ---- the verb ---------------------------------------------------------------------------------------------------- */

static int run(int argc, char **argv)
{
	bool json = false, sarif = false;
	const char *why = NULL;
	size_t size = 0;
	json_error_t error;

	argc = read_options(argc, argv,
			    (struct option_row[]){ { "json", 0, OPTION_FLAG, &json },
						   { "sarif", 0, OPTION_FLAG, &sarif },
						   { "why", 0, OPTION_TEXT, &why },
						   OPTIONS_END },
			    false);
	if (argc != 1)
		usage("%s", argc ? "one program at a time" : "which program?");
	char *text = sites_races(argv[0], &size);
	if (!text)
		die("%s holds no report; build it with `heddle-cc --select=races`", argv[0]);
	json_t *report = json_loads(text, 0, &error);
	if (!report)
		die("%s: its report is damaged: %s; build it again", argv[0], error.text);
	if (why)
		explain(report, why);
	else if (sarif)
		print_sarif(report);
	else if (json)
		fputs(text, stdout);
	else
		print_text(report);
	json_decref(report);
	free(text);
	return 0;
}

const struct command command_races = { "races", run, "print which accesses of a program may race", help };

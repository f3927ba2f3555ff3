/*
 * heddle report: a recording as one page for a browser. The page itself (debug/report.html with its style and script)
 * is part of this program; facts and data are put into it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "report.h"

static const char help[] =
	"usage: heddle report [-o FILE] [TRACE]\n"
	"\n"
	"Writes one HTML page that shows the run: threads as lanes over logical time, locks, edges,\n"
	"conflicting accesses, signals, the crash. Open it in a browser; it needs nothing else.\n"
	"\n"
	"  -o, --output=FILE  instead of NAME.html here; - is the standard output\n"
	"\n"
	"The recording is replayed once for it, to learn which locks, variables and source lines its\n"
	"events belong to. Conflicting accesses show if the program was built by heddle-cc.\n";

/* The page's parts, from the files themselves. */
#define PART(name, file)                                                                                \
	__asm__(".section .rodata\n.globl " #name "_text\n" #name "_text: .incbin \"debug/" file "\"\n" \
		".byte 0\n.previous\n");                                                                \
	extern const char name##_text[];
PART(page, "report.html")
PART(style, "report.css")
PART(script, "report.js")

static void put_title(const struct timeline *t, FILE *out)
{
	char command[256];

	meta_command(t->meta, command, sizeof command);
	report_escaped(out, command);
}

/* The page has @WORD@ where something belongs. */
static void put_page(const struct timeline *t, FILE *out)
{
	const char *at = page_text, *mark;

	while ((mark = strchr(at, '@'))) {
		fwrite(at, 1, (size_t)(mark - at), out);
		at = strchr(mark + 1, '@') + 1;
		if (!strncmp(mark, "@TITLE@", 7))
			put_title(t, out);
		else if (!strncmp(mark, "@STYLE@", 7))
			fputs(style_text, out);
		else if (!strncmp(mark, "@SCRIPT@", 8))
			fputs(script_text, out);
		else if (!strncmp(mark, "@FACTS@", 7))
			report_facts(t, out);
		else if (!strncmp(mark, "@DATA@", 6))
			report_data(t, out);
	}
	fputs(at, out);
}

static FILE *open_output(const char *name, const char *dir, char path[PATH_ROOM])
{
	if (name && !strcmp(name, "-"))
		return stdout;
	snprintf(path, PATH_ROOM, "%s", name ? name : "");
	if (!name)
		snprintf(path, PATH_ROOM, "%s.html", basename(dir));
	FILE *out = fopen(path, "we");
	if (!out)
		die("%s: %s; -o names another file", path, strerror(errno));
	return out;
}

static int run_report(int argc, char **argv)
{
	const char *output = NULL;
	const struct option_row options[] = { { "output", 'o', OPTION_TEXT, &output }, OPTIONS_END };
	char path[PATH_ROOM];
	struct timeline t;
	struct meta meta;

	argc = read_options(argc, argv, options, false);
	if (argc > 1)
		usage("one trace at a time: %s or %s?", argv[0], argv[1]);
	open_trace(&meta, argv[0]);
	meta_need_same_machine(&meta);
	timeline_read(&t, &meta); /* before the page that was there is gone */
	FILE *out = open_output(output, meta.dir, path);
	put_page(&t, out);
	if (fflush(out) || ferror(out))
		die("%s: %s", out == stdout ? "standard output" : path, strerror(errno));
	if (out != stdout) {
		fclose(out);
		note("%s is written; open it in a browser", path);
	}
	timeline_free(&t);
	meta_free(&meta);
	return 0;
}

const struct command command_report = { "report", run_report, "write a page for a browser that shows the run", help };

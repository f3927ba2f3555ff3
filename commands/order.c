/*
 * heddle order: feeds a written trace of events to a scheme, without a program, and prints the log that it would write.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include "commands.h"
#include "runtime/order/model.h"

static const char help[] =
	"usage: heddle order NAME [--check] [--every-order] [--limit=N] < EVENTS\n"
	"       heddle order --list [--json]\n"
	"\n"
	"Feeds a written trace to the order scheme NAME and prints the log that it would write, as the\n"
	"papers do. One event a line: THREAD OP OBJECT [VALUE]. OP is one of\n"
	"\n"
	"    r w         read, write; VALUE is stored, or must be what is read\n"
	"    rv rb       a read in two steps: its value is taken, then its version\n"
	"    acq rel     lock and unlock OBJECT\n"
	"    fork join   OBJECT is a thread\n"
	"\n"
	"# begins a comment. The n-th event is called en.\n"
	"\n"
	"  --check         look at every replay that the log allows: does each read the same?\n"
	"  --every-order   the lines only say what each thread does: look at every order in which\n"
	"                  that can be recorded, and at replays of each\n"
	"  --limit=N       at most N of them in turn, then N at random (100000; 2000 with --every-order)\n"
	"  --list          the schemes, with what they promise\n";

static const struct {
	const char *word;
	enum model_op op;
} ops[] = {
	{ "r", MODEL_READ },	  { "w", MODEL_WRITE },	    { "rv", MODEL_VALUE },  { "rb", MODEL_BOUND },
	{ "acq", MODEL_ACQUIRE }, { "rel", MODEL_RELEASE }, { "fork", MODEL_FORK }, { "join", MODEL_JOIN },
};

/* A line before threads have their slots: those follow the names, so that t1 is the first even if t2 begins. */
struct words {
	char thread[32], object[32];
	enum model_op op;
	uint64_t value;
	bool has_value;
	unsigned line;
};

static struct words words[MODEL_EVENTS];
static struct model_trace trace;

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static enum model_op op_named(const char *word, unsigned line)
{
	const char *known[sizeof ops / sizeof *ops + 1] = { NULL };

	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		if (!strcmp(ops[i].word, word))
			return ops[i].op;
		known[i] = ops[i].word;
	}
	const char *close = nearest(word, known);
	die("line %u: no operation '%s'%s%s (r w rv rb acq rel fork join)", line, word, close ? "; did you mean " : "",
	    close ? close : "");
}

static uint64_t value_of(const char *word, unsigned line)
{
	char *end;

	errno = 0;
	uint64_t value = strtoull(word, &end, 0);
	if (!isdigit((unsigned char)*word) || *end || errno)
		die("line %u: '%s' is not a value: a number from 0 to 2^64 - 1", line, word);
	return value;
}

static void copy_name(char to[32], const char *word, unsigned line)
{
	if (strlen(word) > 31)
		die("line %u: '%s' is longer than 31 letters", line, word);
	strcpy(to, word);
}

static void read_line(char *text, unsigned line)
{
	char *word[5], *rest = text;
	unsigned n = 0;

	text[strcspn(text, "#")] = 0;
	while (n < 5 && (word[n] = strtok_r(n ? NULL : text, " \t\r\n", &rest)))
		n++;
	if (!n)
		return;
	if (n < 3 || n > 4)
		die("line %u has %s: it must be THREAD OP OBJECT [VALUE]", line,
		    n < 3 ? "a word missing" : "a word too many");
	if (trace.count == MODEL_EVENTS)
		die("line %u: more than %d events", line, MODEL_EVENTS);
	struct words *w = &words[trace.count++];
	w->line = line;
	w->op = op_named(word[1], line);
	copy_name(w->thread, word[0], line);
	copy_name(w->object, word[2], line);
	w->has_value = n == 4;
	if (n == 4 && w->op != MODEL_READ && w->op != MODEL_WRITE && w->op != MODEL_VALUE)
		die("line %u: %s has no value", line, word[1]);
	w->value = n == 4 ? value_of(word[3], line) : trace.count;
}

static void read_events(FILE *in)
{
	char *text = NULL;
	size_t room = 0;
	ssize_t n;

	for (unsigned line = 1; (n = getline(&text, &room, in)) >= 0; line++) {
		if (strlen(text) != (size_t)n)
			die("line %u has a zero byte", line);
		read_line(text, line);
	}
	if (ferror(in))
		die("standard input: %s", strerror(errno));
	free(text);
	if (!trace.count)
		die("no events: one a line, THREAD OP OBJECT [VALUE]");
}

/* t2 before t10. */
static int by_name(const void *a, const void *b)
{
	return strverscmp(a, b);
}

static uint32_t index_of(char names[][32], unsigned n, const char *name)
{
	unsigned i = 0;

	while (i < n && strcmp(names[i], name))
		i++;
	return i;
}

static uint32_t add_name(char names[][32], unsigned *n, unsigned most, const char *name, const char *what,
			 unsigned line)
{
	uint32_t i = index_of(names, *n, name);

	if (i < *n)
		return i;
	if (*n == most)
		die("line %u: more than %u %s", line, most, what);
	strcpy(names[(*n)++], name);
	return i;
}

static bool names_thread(enum model_op op)
{
	return op == MODEL_FORK || op == MODEL_JOIN;
}

static void number_names(void)
{
	for (size_t i = 0; i < trace.count; i++) {
		struct words *w = &words[i];
		add_name(trace.thread, &trace.threads, MODEL_THREADS, w->thread, "threads", w->line);
		if (names_thread(w->op))
			add_name(trace.thread, &trace.threads, MODEL_THREADS, w->object, "threads", w->line);
		else
			add_name(trace.object, &trace.objects, MODEL_OBJECTS, w->object, "objects", w->line);
	}
	qsort(trace.thread, trace.threads, sizeof trace.thread[0], by_name);
	for (size_t i = 0; i < trace.count; i++) {
		struct words *w = &words[i];
		trace.event[i] = (struct model_event){
			.slot = index_of(trace.thread, trace.threads, w->thread),
			.op = w->op,
			.object = names_thread(w->op) ? index_of(trace.thread, trace.threads, w->object) :
							index_of(trace.object, trace.objects, w->object),
			.value = w->value,
			.expected = w->has_value && w->op != MODEL_WRITE,
		};
	}
}

/* ---- is it a trace? ---------------------------------------------------------------------------------------------- */

/* What the model would not understand, or would wait for. */
static void check_trace(void)
{
	uint32_t holder[MODEL_OBJECTS] = { 0 }; /* slot + 1 */
	int split[MODEL_THREADS];		/* object whose read is under way */
	bool ran[MODEL_THREADS] = { false }, forked[MODEL_THREADS] = { false }, joined[MODEL_THREADS] = { false };

	memset(split, -1, sizeof split);
	for (size_t i = 0; i < trace.count; i++) {
		const struct model_event *e = &trace.event[i];
		const struct words *w = &words[i];
		if (joined[e->slot])
			die("line %u: %s has been joined, and does no more", w->line, w->thread);
		if ((split[e->slot] >= 0) != (e->op == MODEL_BOUND) ||
		    (e->op == MODEL_BOUND && split[e->slot] != (int)e->object))
			die("line %u: rv and rb of one thread and object come in pairs, with nothing of that thread "
			    "between",
			    w->line);
		split[e->slot] = e->op == MODEL_VALUE ? (int)e->object : -1;
		if (e->op == MODEL_ACQUIRE && holder[e->object])
			die("line %u: %s is held by %s", w->line, w->object, trace.thread[holder[e->object] - 1]);
		if (e->op == MODEL_RELEASE && holder[e->object] != e->slot + 1)
			die("line %u: %s does not hold %s", w->line, w->thread, w->object);
		if (e->op == MODEL_ACQUIRE || e->op == MODEL_RELEASE)
			holder[e->object] = e->op == MODEL_ACQUIRE ? e->slot + 1 : 0;
		if (names_thread(e->op) && e->object == e->slot)
			die("line %u: a thread cannot %s itself", w->line, e->op == MODEL_FORK ? "fork" : "join");
		if (e->op == MODEL_FORK && (ran[e->object] || forked[e->object]))
			die("line %u: %s is there already", w->line, w->object);
		if (e->op == MODEL_FORK)
			forked[e->object] = true;
		if (e->op == MODEL_JOIN)
			joined[e->object] = true;
		ran[e->slot] = true;
	}
	for (size_t i = 0; i < trace.count; i++)
		if (split[trace.event[i].slot] >= 0)
			die("line %u: no rb follows the rv of %s", words[i].line, words[i].thread);
}

/* ---- what is done with it ---------------------------------------------------------------------------------------- */

/* For a scheme that has no form of its own: each entry as it is. */
static void print_entries(const struct order_printer *p)
{
	for (uint32_t slot = 0; slot < p->threads; slot++) {
		size_t n;
		const struct order_entry *e = p->entries(slot, &n);
		printf("%s:", trace.thread[slot]);
		for (size_t i = 0; i < n; i++)
			for (unsigned k = 0; k < e[i].n; k++)
				printf("%s%llu", k ? "," : " ", (unsigned long long)e[i].numbers[k]);
		printf("\n");
	}
}

static void record(const struct order_scheme *scheme)
{
	size_t at = 0;
	const char *problem = model_record(scheme, &trace, &at);

	if (problem)
		die("line %u: %s", at < trace.count ? words[at].line : words[trace.count - 1].line, problem);
}

static int tell_result(const struct order_scheme *scheme, const struct model_result *r)
{
	if (r->wrong) {
		printf("%s: WRONG after %llu recordings, %llu replays: %s\n", scheme->name,
		       (unsigned long long)r->recordings, (unsigned long long)r->replays, r->text);
		return EXIT_DIVERGED;
	}
	printf("%s: %llu %s, %llu replays, every one with the same reads and the same memory%s\n", scheme->name,
	       (unsigned long long)r->recordings, r->recordings == 1 ? "recording" : "recordings",
	       (unsigned long long)r->replays, r->all ? "; these are all" : "; there are more");
	return 0;
}

static int list(bool json)
{
	json_t *all = json_array();

	for (unsigned i = 0; order_schemes[i]; i++) {
		const struct order_scheme *s = order_schemes[i];
		if (json)
			json_array_append_new(all, json_pack("{ssssss}", "name", s->name, "summary", s->summary,
							     "guarantee", s->guarantee));
		else
			printf("%-20s %s\n%-20s   %s\n", s->name, s->summary, "", s->guarantee);
	}
	if (json) {
		json_dumpf(all, stdout, JSON_INDENT(1));
		putchar('\n');
	}
	json_decref(all);
	return 0;
}

static const struct order_scheme *scheme_named(const char *name)
{
	const struct order_scheme *scheme = order_find(name);
	const char *names[64] = { NULL };

	for (unsigned i = 0; order_schemes[i] && i < 63; i++)
		names[i] = order_schemes[i]->name;
	if (scheme)
		return scheme;
	const char *close = nearest(name, names);
	usage("no order '%s'%s%s; `heddle order --list` names them", name, close ? "; did you mean " : "",
	      close ? close : "");
}

static int run_order(int argc, char **argv)
{
	bool check = false, every = false, lists = false, json = false;
	long limit = 0;
	const struct option_row options[] = {
		{ "check", 0, OPTION_FLAG, &check },   { "every-order", 0, OPTION_FLAG, &every },
		{ "limit", 0, OPTION_NUMBER, &limit }, { "list", 0, OPTION_FLAG, &lists },
		{ "json", 0, OPTION_FLAG, &json },     OPTIONS_END
	};
	struct model_result result;
	struct order_printer printer;

	argc = read_options(argc, argv, options, false);
	if (lists)
		return argc ? (usage("--list takes no name"), 0) : list(json);
	if (argc != 1)
		usage(argc ? "one order at a time; events come from standard input" :
			     "which order? `heddle order --list`");
	if (limit < 0)
		usage("--limit is a number of replays");
	const struct order_scheme *scheme = scheme_named(argv[0]);
	read_events(stdin);
	number_names();
	check_trace();
	if (every) {
		model_check_all(scheme, &trace, limit ? (uint64_t)limit : 2000, &result);
		return tell_result(scheme, &result);
	}
	record(scheme);
	if (check) {
		model_check(limit ? (uint64_t)limit : 100000, &result);
		return tell_result(scheme, &result);
	}
	model_printer(&printer, stdout);
	if (scheme->print)
		scheme->print(&printer);
	else
		print_entries(&printer);
	return 0;
}

const struct command command_order = { "order", run_order, "feed a written trace to an order scheme", help };

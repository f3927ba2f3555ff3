/*
 * heddle stat: what a trace holds, and what takes its room.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "meta.h"
#include "runtime/order/order.h"
#include "runtime/syscalls/describe.h"

static const char help[] = "usage: heddle stat [--json] [TRACE]\n"
			   "\n"
			   "Says what was recorded, how it ended, how large the trace is, which processes are in it,\n"
			   "and how many entries and bytes each system call took. Also checks the whole trace. With\n"
			   "--order=tplay also which accesses came into a transaction of another thread.\n";

enum { CALLS = 1024 }; /* numbers above are counted together in the last one */

struct count {
	uint64_t entries, bytes, errors;
};

struct process {
	unsigned image;
	uint64_t pid, ppid;
	bool forked;
	char *path;
	uint64_t events, raw, packed;
	uint64_t inexact; /* number of the first event that is not exact, plus 1 */
};

struct stat_info {
	struct meta meta;
	struct count kinds[ENTRY_KINDS], calls[CALLS];
	struct process *processes;
	size_t nprocesses;
	uint64_t events, raw, packed, files, threads;
	const struct order_scheme *scheme;
};

static const char *const kind_names[ENTRY_KINDS] = {
	[ENTRY_START] = "starts",
	[ENTRY_SYSCALL] = "system calls",
	[ENTRY_SIGNAL] = "signals",
	[ENTRY_FAULT] = "faults",
	[ENTRY_VFORK] = "vforks",
	[ENTRY_VFORK_END] = "ends of vforks",
	[ENTRY_CHECKSUM] = "checksums",
	[ENTRY_MORE] = "further pieces",
	[ENTRY_CUT] = "killed in the middle",
	[ENTRY_COUNTER] = "cycle counter reads",
	[ENTRY_EDGE] = "edges",
	[ENTRY_SYNC] = "outcomes",
	[ENTRY_LAST] = "ends",
	[ENTRY_THREAD] = "threads",
	[ENTRY_ORDER] = "pieces of order",
	[ENTRY_VERIFY] = "hashes of reads",
	[ENTRY_FUTEX] = "answers of futexes",
	[ENTRY_PAGES] = "looks at pages",
};

/* ---- counting ------------------------------------------------------------------------------ */

static void add(struct count *c, const struct entry *e)
{
	c->entries++;
	c->bytes += e->size;
	c->errors += e->kind == ENTRY_SYSCALL && e->result < 0 && e->result >= -4095;
}

static void see_start(struct process *p, const struct entry *e)
{
	const struct block *b = trace_next_block(e, NULL);
	const struct start_info *info = (const void *)(b + 1);

	p->pid = info->pid;
	p->ppid = info->ppid;
	p->forked = info->forked;
	while ((b = trace_next_block(e, b)))
		if (b->kind == BLOCK_STRING && b->arg == START_PATH && !p->path)
			p->path = strndup((const char *)(b + 1), b->len);
}

static void see_entry(struct stat_info *s, struct process *p, const struct entry *e, uint64_t event, unsigned *last_nr)
{
	if (e->kind == ENTRY_SYSCALL)
		*last_nr = e->nr < CALLS ? e->nr : CALLS - 1;
	add(&s->kinds[e->kind], e);
	if (e->kind == ENTRY_SYSCALL)
		add(&s->calls[*last_nr], e);
	if (e->kind == ENTRY_MORE)
		s->calls[*last_nr].bytes += e->size;
	if (e->kind == ENTRY_START)
		see_start(p, e);
	if (e->kind == ENTRY_ORDER)
		violations_see(s->scheme, p->image, e);
	if (e->flags & SIGNAL_INEXACT && e->kind == ENTRY_SIGNAL && !p->inexact)
		p->inexact = event + 1;
}

static struct process *process_of(struct stat_info *s, unsigned image)
{
	if (s->nprocesses && s->processes[s->nprocesses - 1].image == image)
		return &s->processes[s->nprocesses - 1];
	s->processes[s->nprocesses] = (struct process){ .image = image };
	return &s->processes[s->nprocesses++];
}

static void count_stream(struct stat_info *s, const struct trace_stream *stream)
{
	struct process *p = process_of(s, stream->image);
	struct trace_problem problem;
	struct trace_reader reader;
	const struct entry *e;
	unsigned last_nr = 0;
	int more;

	if (trace_reader_open(&reader, s->meta.dir, stream->image, stream->slot, &problem))
		die("%s", problem.text);
	while ((more = trace_read(&reader, &e, &problem)) > 0)
		see_entry(s, p, e, reader.event, &last_nr);
	if (more < 0)
		die("%s", problem.text);
	p->events += stream->events;
	p->raw += stream->raw;
	p->packed += reader.log.size;
	s->events += stream->events;
	s->raw += stream->raw;
	s->packed += reader.log.size;
	s->threads++;
	trace_reader_close(&reader);
}

static void count_all(struct stat_info *s)
{
	const struct trace_list *list = &s->meta.list;
	struct trace_problem problem;

	if (trace_check(s->meta.dir, list, NULL, NULL, NULL, &problem))
		die("%s", problem.text);
	s->processes = calloc(list->nstreams + 1, sizeof *s->processes);
	if (!s->processes)
		die("not enough memory");
	for (size_t i = 0; i < list->nstreams; i++)
		count_stream(s, &list->streams[i]);
	for (size_t i = 0; i < list->nfiles; i++)
		s->files += list->files[i].size;
}

static const char *call_name(unsigned nr)
{
	static char number[24];
	const struct sys_row *row = sys_find(nr);

	if (row && row->name)
		return row->name;
	snprintf(number, sizeof number, "syscall_%u", nr);
	return number;
}

static struct count *sorting;

static int by_bytes(const void *a, const void *b)
{
	uint64_t x = sorting[*(const unsigned *)a].bytes, y = sorting[*(const unsigned *)b].bytes;
	return x < y ? 1 : x > y ? -1 : 0;
}

/* Numbers of the calls that were made, largest share first. */
static unsigned sorted_calls(struct stat_info *s, unsigned order[CALLS])
{
	unsigned n = 0;

	for (unsigned i = 0; i < CALLS; i++)
		if (s->calls[i].entries)
			order[n++] = i;
	sorting = s->calls;
	qsort(order, n, sizeof *order, by_bytes);
	return n;
}

static double seconds(const struct meta *meta)
{
	struct tm from = { 0 }, to = { 0 };

	if (!strptime(meta_text(meta, "started"), "%Y-%m-%dT%H:%M:%SZ", &from) ||
	    !strptime(meta_text(meta, "ended"), "%Y-%m-%dT%H:%M:%SZ", &to))
		return 0;
	return difftime(timegm(&to), timegm(&from));
}

/* ---- text ------------------------------------------------------------------------------------- */

static void print_masked(const struct meta *meta)
{
	json_t *names = json_object_get(meta->json, "masked"), *name;
	size_t i;

	printf("masked    ");
	json_array_foreach (names, i, name) {
		char *text = text_from_json(name);
		printf(" %s", text ? text : "?");
		free(text);
	}
	printf("%s: a replay that uses their values leaves the recording\n", json_array_size(names) ? "" : " nothing");
}

static bool begins_at_checkpoint(const struct meta *meta)
{
	char path[PATH_ROOM + 16];

	snprintf(path, sizeof path, "%s/" CHECKPOINT, meta->dir);
	return !access(path, F_OK);
}

static void print_head(const struct stat_info *s)
{
	char command[200], futexes[PATH_ROOM];

	meta_command(&s->meta, command, sizeof command);
	printf("trace      %s\n", s->meta.dir);
	printf("command    %s\n", command);
	printf("started    %s, %.0f s\n", meta_text(&s->meta, "started"), seconds(&s->meta));
	printf("end        %s\n", meta_text(&s->meta, "end"));
	printf("level      %s\n", meta_text(&s->meta, "level"));
	printf("entries    %" PRIu64 " in %zu images, %" PRIu64 " streams\n", s->events, s->nprocesses, s->threads);
	printf("streams    %s, packed %s", size_text(s->raw), size_text(s->packed));
	if (s->packed && s->events)
		printf(" (1/%.1f; %.1f bytes an entry, packed %.1f)", (double)s->raw / (double)s->packed,
		       (double)s->raw / (double)s->events, (double)s->packed / (double)s->events);
	printf("\nfiles      %zu, %s\n", s->meta.list.nfiles, size_text(s->files));
	printf("on disk    %s\n", size_text(disk_use(s->meta.dir)));
	if (futexes_text(&s->meta, futexes, sizeof futexes))
		printf("futexes    %s: their order is not recorded\n", futexes);
	if (json_object_get(s->meta.json, "shares_memory"))
		printf("shared     processes share memory that they write to: the order of its use is not recorded\n");
	if (json_object_get(s->meta.json, "unfiltered"))
		printf("filter     the program's own seccomp filter was not in force\n");
	if (json_object_get(s->meta.json, "masked"))
		print_masked(&s->meta);
	if (json_object_get(s->meta.json, "detached"))
		printf("detached   the trace's disk was full: the program went on unrecorded\n");
	if (json_object_get(s->meta.json, "ring"))
		printf("ring       %s\n",
		       begins_at_checkpoint(&s->meta) ?
			       "recorded with --ring: its beginning was dropped, and a replay begins at a checkpoint" :
			       "recorded with --ring: all of it is there");
	if (s->meta.inexact)
		printf("inexact    %u signals; see below from which event on\n", s->meta.inexact);
}

static void print_processes(const struct stat_info *s)
{
	printf("\n  image      pid   parent    entries       raw    packed\n");
	for (size_t i = 0; i < s->nprocesses; i++) {
		const struct process *p = &s->processes[i];
		printf("  p%-6u %6" PRIu64 "   %6" PRIu64 " %10" PRIu64 " %9s %9s  %s", p->image, p->pid, p->ppid,
		       p->events, size_text(p->raw), size_text(p->packed),
		       p->path	 ? p->path :
		       p->forked ? "(fork)" :
				   "");
		if (p->inexact)
			printf("  not exact from event %" PRIu64 " on", p->inexact - 1);
		putchar('\n');
	}
}

static void print_counts(struct stat_info *s)
{
	unsigned order[CALLS], n = sorted_calls(s, order);

	printf("\n     entries     bytes  kind\n");
	for (unsigned i = 1; i < ENTRY_KINDS; i++)
		if (s->kinds[i].entries)
			printf("  %10" PRIu64 " %9s  %s\n", s->kinds[i].entries, size_text(s->kinds[i].bytes),
			       kind_names[i]);
	if (n)
		printf("\n     entries    errors     bytes  system call\n");
	for (unsigned i = 0; i < n; i++) {
		const struct count *c = &s->calls[order[i]];
		printf("  %10" PRIu64 " %9" PRIu64 " %9s  %s\n", c->entries, c->errors, size_text(c->bytes),
		       call_name(order[i]));
	}
}

/* ---- JSON --------------------------------------------------------------------------------------- */

static json_t *count_json(const char *name, const struct count *c)
{
	return json_pack("{ss sI sI sI}", "name", name, "entries", (json_int_t)c->entries, "bytes",
			 (json_int_t)c->bytes, "errors", (json_int_t)c->errors);
}

static json_t *process_json(const struct process *p)
{
	json_t *o = json_pack("{sI sI sI sb sI sI sI}", "image", (json_int_t)p->image, "pid", (json_int_t)p->pid,
			      "ppid", (json_int_t)p->ppid, "forked", p->forked, "entries", (json_int_t)p->events, "raw",
			      (json_int_t)p->raw, "packed", (json_int_t)p->packed);

	if (p->path)
		json_object_set_new(o, "program", text_to_json(p->path, strlen(p->path)));
	if (p->inexact)
		json_object_set_new(o, "inexact_from", json_integer((json_int_t)p->inexact - 1));
	return o;
}

static void print_json(struct stat_info *s)
{
	unsigned order[CALLS], n = sorted_calls(s, order);
	json_t *kinds = json_array(), *calls = json_array(), *processes = json_array();

	for (unsigned i = 1; i < ENTRY_KINDS; i++)
		if (s->kinds[i].entries)
			json_array_append_new(kinds, count_json(kind_names[i], &s->kinds[i]));
	for (unsigned i = 0; i < n; i++)
		json_array_append_new(calls, count_json(call_name(order[i]), &s->calls[order[i]]));
	for (size_t i = 0; i < s->nprocesses; i++)
		json_array_append_new(processes, process_json(&s->processes[i]));
	json_t *o = json_pack("{so sO ss ss sI sI sI sI sI sI sI so so so}", "trace",
			      text_to_json(s->meta.dir, strlen(s->meta.dir)), "argv",
			      json_object_get(s->meta.json, "argv"), "end", meta_text(&s->meta, "end"), "level",
			      meta_text(&s->meta, "level"), "seconds", (json_int_t)seconds(&s->meta), "entries",
			      (json_int_t)s->events, "raw", (json_int_t)s->raw, "packed", (json_int_t)s->packed,
			      "files", (json_int_t)s->files, "disk", (json_int_t)disk_use(s->meta.dir), "inexact",
			      (json_int_t)s->meta.inexact, "processes", processes, "kinds", kinds, "calls", calls);
	if (json_object_get(s->meta.json, "shares_memory"))
		json_object_set_new(o, "shares_memory", json_true());
	if (json_object_get(s->meta.json, "unfiltered"))
		json_object_set_new(o, "unfiltered", json_true());
	json_t *masked = json_object_get(s->meta.json, "masked");
	if (masked)
		json_object_set(o, "masked", masked);
	if (json_object_get(s->meta.json, "detached"))
		json_object_set_new(o, "detached", json_true());
	if (json_object_get(s->meta.json, "ring"))
		json_object_set_new(o, "ring", json_string(begins_at_checkpoint(&s->meta) ? "dropped" : "whole"));
	if (json_object_get(s->meta.json, "futexes"))
		json_object_set(o, "futexes", json_object_get(s->meta.json, "futexes"));
	if (s->scheme)
		json_object_set_new(o, "logged", order_entries_json());
	if (s->scheme && s->scheme->violation)
		json_object_set_new(o, "violations", violations_json(&s->meta));
	json_dumpf(o, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(o);
}

static int run_stat(int argc, char **argv)
{
	static struct stat_info s;
	bool json = false;
	const struct option_row options[] = { { "json", 0, OPTION_FLAG, &json }, OPTIONS_END };

	argc = read_options(argc, argv, options, false);
	if (argc > 1)
		usage("one trace at a time: %s or %s?", argv[0], argv[1]);
	open_trace(&s.meta, argv[0]);
	meta_need_same_machine(&s.meta);
	s.scheme = order_find(s.meta.order);
	count_all(&s);
	if (json)
		print_json(&s);
	else {
		print_head(&s);
		print_processes(&s);
		print_counts(&s);
		order_entries_print(&s.meta);
		violations_print(&s.meta);
	}
	return 0;
}

const struct command command_stat = { "stat", run_stat, "sizes, processes and counts of a trace", help };

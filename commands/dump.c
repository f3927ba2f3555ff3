/*
 * heddle dump: a trace as text, one line an entry, much like strace; or as JSON,
 * one object a line. What an argument means comes from the rows of the system
 * call table, the same that record and replay follow.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include "timeline.h"
#include "commands/sites.h"
#include "runtime/order/order.h"
#include "runtime/syscalls/describe.h"
#include "trace/numbers.h"

static const char help[] =
	"usage: heddle dump [OPTIONS] [TRACE]\n"
	"       heddle dump --sites [--why] [--json] PROGRAM\n"
	"\n"
	"Prints every entry of a trace: its number in its stream, the system call with arguments,\n"
	"result and a piece of what the kernel wrote; signals, faults, starts of processes.\n"
	"\n"
	"      --json       one JSON object a line, complete\n"
	"      --lines      where an entry holds an address of code, its function and source line\n"
	"      --image=N    only the process image p<N>\n"
	"      --thread=M   only the thread t<M> of each image\n"
	"      --format=chrome  instead, a timeline for Perfetto and chrome://tracing\n"
	"      --sites      instead, every access that heddle-cc saw in a program: number, place, kind\n"
	"      --why        with the reason where it was not hooked\n";

#define PREVIEW 32 /* bytes of data shown */

static FILE *out; /* where all of this file prints */

struct dump {
	bool json, lines;
	long image, thread;
	const struct trace_stream *stream;
	struct where *where; /* with --lines, once the stream has an address to look up */
};

static const char *const kind_names[ENTRY_KINDS] = {
	[ENTRY_START] = "start",       [ENTRY_SYSCALL] = "syscall", [ENTRY_SIGNAL] = "signal",
	[ENTRY_FAULT] = "fault",       [ENTRY_VFORK] = "vfork",	    [ENTRY_VFORK_END] = "vfork-end",
	[ENTRY_CHECKSUM] = "checksum", [ENTRY_MORE] = "more",	    [ENTRY_CUT] = "cut",
	[ENTRY_COUNTER] = "counter",   [ENTRY_EDGE] = "edge",	    [ENTRY_SYNC] = "sync",
	[ENTRY_LAST] = "last",	       [ENTRY_THREAD] = "thread",   [ENTRY_ORDER] = "order",
	[ENTRY_VERIFY] = "verify",     [ENTRY_FUTEX] = "futex",	    [ENTRY_PAGES] = "pages",
};
static const char *const block_names[BLOCK_KINDS] = {
	[BLOCK_OUT] = "out",	     [BLOCK_STRING] = "string", [BLOCK_HASH] = "hash",	     [BLOCK_CHILD] = "child",
	[BLOCK_SHOWN] = "shown",     [BLOCK_FILE] = "file",	[BLOCK_START] = "start",     [BLOCK_PATCH] = "patch",
	[BLOCK_CONTENT] = "content", [BLOCK_ACTION] = "action", [BLOCK_SEGMENT] = "segment",
};

/* The first block of a kind that belongs to an argument (-1: to any). */
static const struct block *find_block(const struct entry *e, unsigned kind, int arg)
{
	for (const struct block *b = NULL; (b = trace_next_block(e, b));)
		if (b->kind == kind && (arg < 0 || b->arg == arg))
			return b;
	return NULL;
}

/* ---- text: values ---------------------------------------------------------------------- */

static void print_data(const void *data, size_t len)
{
	const unsigned char *p = data;

	putc('"', out);
	for (size_t i = 0; i < len && i < PREVIEW; i++) {
		static const char plain[] = "\n\t\r\\\"", letter[] = "ntr\\\"";
		const char *at = p[i] ? strchr(plain, p[i]) : NULL;
		if (at)
			fprintf(out, "\\%c", letter[at - plain]);
		else if (p[i] >= ' ' && p[i] < 127)
			putc(p[i], out);
		else
			fprintf(out, "\\x%02x", p[i]);
	}
	fputs(len > PREVIEW ? "\"..." : "\"", out);
}

static void print_signal(uint64_t sig)
{
	const char *name = sig && sig < 65 ? sigabbrev_np((int)sig) : NULL;

	if (name)
		fprintf(out, "SIG%s", name);
	else
		fprintf(out, "%" PRIu64, sig);
}

/* A 32-bit number in a 64-bit register: the upper half may be zero or the sign. */
static int64_t as_signed(uint64_t value)
{
	return value >> 32 ? (int64_t)value : (int32_t)value;
}

static void print_number(char letter, uint64_t value)
{
	switch (letter) {
	case 'd': fprintf(out, "%" PRId64, as_signed(value)); break;
	case 'u': fprintf(out, "%" PRIu64, value); break;
	case 'o': fprintf(out, "%#" PRIo64, value); break;
	case 'g': print_signal(value); break;
	case 'f':
		if ((int)value == AT_FDCWD)
			fputs("AT_FDCWD", out);
		else
			fprintf(out, "%d", (int)value);
		break;
	case 'p':
		if (!value) {
			fputs("NULL", out);
			break;
		}
		/* fall through */
	default: fprintf(out, "%#" PRIx64, value);
	}
}

/* A pointer is shown by what lies there, as far as the trace knows it. */
static void print_argument(const struct entry *e, char letter, int arg)
{
	uint64_t value = trace_args(e)[arg];
	const struct block *text = find_block(e, BLOCK_STRING, arg);
	const struct block *written = find_block(e, BLOCK_OUT, arg);
	const struct block *in = find_block(e, BLOCK_HASH, arg);

	if (text)
		print_data(text + 1, text->len);
	else if (letter == 's' || letter == 'p') {
		if (written)
			print_data(written + 1, written->len);
		else
			print_number('p', value);
	} else
		print_number(letter, value);
	if (in)
		fprintf(out, "{%u bytes, hash %08" PRIx64 "}", in->len, *(const uint64_t *)(in + 1) >> 32);
}

static void print_result(int64_t result)
{
	if (result < 0 && result >= -4095) {
		/* 512 and up are the kernel's own: ERESTARTSYS and its kin */
		const char *name = strerrorname_np((int)-result);
		fprintf(out, "-1 %s", name ? name : "");
		if (!name)
			fprintf(out, "(error %d)", (int)-result);
	} else if (result > UINT32_MAX || result < 0)
		fprintf(out, "%#" PRIx64, (uint64_t)result);
	else
		fprintf(out, "%" PRId64, result);
}

/* ---- text: entries ----------------------------------------------------------------------- */

static void print_call(const struct entry *e)
{
	const struct sys_row *row = sys_find(e->nr);
	int count = ENTRY_ARGS(e->flags), known = row && row->args ? (int)sys_nargs(row) : 0;

	if (row && row->name)
		fprintf(out, "%s(", row->name);
	else
		fprintf(out, "syscall_%u(", e->nr);
	for (int i = 0; i < count; i++) {
		fputs(i ? ", " : "", out);
		print_argument(e, i < known ? row->args[i] : 'x', i);
	}
	fputs(") = ", out);
	print_result(e->result);
}

/* Did this call start a thread? Then BLOCK_CHILD is a slot, else an image. */
static bool is_thread(const struct entry *e)
{
	return e->nr == SYS_clone && ENTRY_ARGS(e->flags) && trace_args(e)[0] & CLONE_THREAD;
}

/* What is not an argument's value: children, files, tickets. */
static void print_consequences(const struct entry *e)
{
	const uint64_t *tickets = trace_tickets(e);

	for (const struct block *b = NULL; (b = trace_next_block(e, b));)
		switch (b->kind) {
		case BLOCK_CHILD: fprintf(out, "  -> %c%" PRIu64, is_thread(e) ? 't' : 'p', b->addr); break;
		case BLOCK_SHOWN:
			fprintf(out, "  [%s, %" PRIu64 ".]", b->arg == 2 ? "stderr" : "stdout", b->addr);
			break;
		case BLOCK_FILE:
			fprintf(out, "  [files/%.*s, %" PRIu64 " bytes]", (int)b->len, (const char *)(b + 1), b->addr);
			break;
		case BLOCK_CONTENT: fprintf(out, "  [a file of %u bytes]", b->len); break;
		case BLOCK_PATCH: fprintf(out, "  [changes %u bytes at %#" PRIx64 "]", b->len, b->addr); break;
		default: break;
		}
	if (tickets)
		fprintf(out, "  [tickets %" PRIu64 "..%" PRIu64 "]", tickets[0], tickets[1]);
	if (trace_is_continued(e))
		fputs("  [continued]", out);
}

static void print_start(const struct entry *e)
{
	const struct start_info *info = (const void *)(trace_next_block(e, NULL) + 1);

	fprintf(out, "%s pid %" PRIu64 ", parent %" PRIu64 ", uid %" PRIu64,
		info->forked ? "forked:" : "began:", info->pid, info->ppid, info->uid);
	for (const struct block *b = NULL; (b = trace_next_block(e, b));)
		if (b->kind == BLOCK_STRING && (b->arg == START_PATH || b->arg == START_ARG)) {
			fputs(b->arg == START_PATH ? ", program " : " ", out);
			print_data(b + 1, b->len);
		}
}

static void print_signal_entry(const struct entry *e)
{
	fputs(e->kind == ENTRY_FAULT ? "--- fault " : "--- signal ", out);
	print_signal(e->nr);
	if (e->kind == ENTRY_FAULT) {
		fprintf(out, " at address %#" PRIx64, (uint64_t)e->result);
		if (ENTRY_ARGS(e->flags))
			fprintf(out, ", pc %#" PRIx64, trace_args(e)[0]);
	}
	if (e->flags & SIGNAL_BEFORE)
		fputs(", before the next call", out);
	if (e->flags & SIGNAL_INEXACT)
		fprintf(out, ", NOT EXACT: %" PRId64 " us after the last event", e->result);
	if (e->flags & SIGNAL_FATAL)
		fputs(", fatal", out);
	fputs(" ---", out);
}

/* One line per entry of the order log: how many accesses further on, and its numbers. See runtime/hooks/log.c. */
static void print_order(const struct entry *e)
{
	const uint8_t *at = (const uint8_t *)(trace_args(e) + 1), *end = at + e->result;

	fprintf(out, "%" PRId64 " bytes of the order log", e->result);
	while (at < end) {
		uint64_t head = number_get(&at, end);
		uint64_t numbers[15] = { 0 };
		unsigned n = head & 15;
		char text[200] = "";
		fprintf(out, "\n          +%-6" PRIu64, head >> 4);
		for (unsigned i = 0; i < n; i++)
			fprintf(out, " %" PRIu64, numbers[i] = number_get(&at, end));
		if (!order_used || !order_used->describe)
			continue;
		order_used->describe(numbers, n, text, sizeof text);
		fprintf(out, "  (%s)", text);
	}
}

static void print_pages(const struct entry *e)
{
	fputs("changed:", out);
	for (const struct block *b = NULL; (b = trace_next_block(e, b));)
		fprintf(out, " %#" PRIx64, b->addr);
}

static void print_entry(const struct entry *e, uint64_t event)
{
	const struct block *written;

	fprintf(out, "%6" PRIu64 "  ", event);
	switch (e->kind) {
	case ENTRY_START: print_start(e); break;
	case ENTRY_SYSCALL: print_call(e); break;
	case ENTRY_SIGNAL:
	case ENTRY_FAULT: print_signal_entry(e); break;
	case ENTRY_VFORK: fputs("--- vfork child begins ---", out); break;
	case ENTRY_VFORK_END: fputs("--- vfork child ends ---", out); break;
	case ENTRY_CHECKSUM: fprintf(out, "memory has checksum %016" PRIx64, (uint64_t)e->result); break;
	case ENTRY_EDGE:
		fprintf(out, "op %" PRIu64 " follows op %" PRIu64 " of thread %" PRIu64, trace_args(e)[0],
			trace_args(e)[1] & (UINT64_MAX >> 16), trace_args(e)[1] >> 48);
		break;
	case ENTRY_SYNC: fprintf(out, "op %" PRIu64 " = %" PRId64, trace_args(e)[0], e->result); break;
	case ENTRY_THREAD: fprintf(out, "--- a thread begins: id %" PRId64 " ---", e->result); break;
	case ENTRY_LAST:
		fprintf(out, "%" PRId64 " ops and %" PRIu64 " accesses were done", e->result, trace_args(e)[0] / 2);
		break;
	case ENTRY_ORDER: print_order(e); break;
	case ENTRY_VERIFY:
		fprintf(out, "values read up to access %" PRIu64 " have hash %016" PRIx64, trace_args(e)[0] / 2,
			(uint64_t)e->result);
		break;
	case ENTRY_PAGES: print_pages(e); break;
	case ENTRY_FUTEX:
		fprintf(out, "after op %" PRIu64 ": futex wait = %" PRId64, trace_args(e)[0], e->result);
		break;
	case ENTRY_COUNTER: fprintf(out, "cycle counter = %" PRIu64, (uint64_t)e->result); break;
	case ENTRY_CUT: fputs("  ... killed before the rest of it", out); break;
	case ENTRY_MORE:
		fputs("  ... ", out);
		if ((written = find_block(e, BLOCK_OUT, -1)))
			print_data(written + 1, written->len);
		break;
	}
	print_consequences(e);
	putc('\n', out);
}

char *dump_line(const struct entry *e)
{
	FILE *before = out;
	char *text = NULL;
	size_t size = 0;

	if (!(out = open_memstream(&text, &size)))
		die("not enough memory");
	print_entry(e, 0);
	fclose(out);
	out = before;
	if (size < 9)
		return text;
	text[size - 1] = 0;		   /* the end of the line */
	memmove(text, text + 8, size - 8); /* its number */
	return text;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static json_t *block_json(const struct block *b)
{
	json_t *o = json_pack("{ss sI si}", "kind", block_names[b->kind], "addr", (json_int_t)b->addr, "arg", b->arg);
	uint32_t data = trace_block_data(b);

	if (b->kind == BLOCK_HASH) {
		char hash[20];
		snprintf(hash, sizeof hash, "%016" PRIx64, *(const uint64_t *)(b + 1));
		json_object_set_new(o, "hash", json_string(hash));
		json_object_set_new(o, "len", json_integer(b->len));
	} else if (data && b->kind != BLOCK_START)
		json_object_set_new(o, "data", text_to_json((const char *)(b + 1), data));
	return o;
}

static void add_start(json_t *o, const struct entry *e)
{
	const struct start_info *i = (const void *)(trace_next_block(e, NULL) + 1);

	json_object_set_new(o, "pid", json_integer((json_int_t)i->pid));
	json_object_set_new(o, "ppid", json_integer((json_int_t)i->ppid));
	json_object_set_new(o, "forked", json_boolean(i->forked));
}

static void add_call(json_t *o, const struct entry *e)
{
	const struct sys_row *row = sys_find(e->nr);

	if (row && row->name)
		json_object_set_new(o, "name", json_string(row->name));
	if (e->result < 0 && e->result >= -4095 && strerrorname_np((int)-e->result))
		json_object_set_new(o, "error", json_string(strerrorname_np((int)-e->result)));
}

/* Each entry of this piece of the order log: events since the one before, then its numbers. */
static json_t *order_json(const struct entry *e)
{
	const uint8_t *at = (const uint8_t *)(trace_args(e) + 1), *end = at + e->result;
	json_t *all = json_array();

	while (at < end) {
		uint64_t head = number_get(&at, end);
		json_t *entry = json_pack("[I]", (json_int_t)(head >> 4));
		for (unsigned i = 0; i < (head & 15); i++)
			json_array_append_new(entry, json_integer((json_int_t)number_get(&at, end)));
		json_array_append_new(all, entry);
	}
	return all;
}

static void print_json(const struct dump *d, const struct entry *e, uint64_t event)
{
	json_t *o = json_pack("{sI sI sI ss si sI si}", "image", (json_int_t)d->stream->image, "thread",
			      (json_int_t)d->stream->slot, "event", (json_int_t)event, "kind", kind_names[e->kind],
			      "nr", e->nr, "result", (json_int_t)e->result, "flags", e->flags & ~7);
	json_t *args = json_array(), *blocks = json_array();
	const uint64_t *tickets = trace_tickets(e);

	if (e->kind == ENTRY_SYSCALL)
		add_call(o, e);
	if (e->kind == ENTRY_START)
		add_start(o, e);
	for (int i = 0; i < ENTRY_ARGS(e->flags); i++)
		json_array_append_new(args, json_integer((json_int_t)trace_args(e)[i]));
	for (const struct block *b = NULL; (b = trace_next_block(e, b));)
		json_array_append_new(blocks, block_json(b));
	json_object_set_new(o, "args", args);
	if (tickets)
		json_object_set_new(o, "tickets", json_pack("[II]", (json_int_t)tickets[0], (json_int_t)tickets[1]));
	json_object_set_new(o, "blocks", blocks);
	if (e->kind == ENTRY_ORDER)
		json_object_set_new(o, "order", order_json(e));
	json_dumpf(o, out, JSON_COMPACT);
	putc('\n', out);
	json_decref(o);
}

/* ---- streams ------------------------------------------------------------------------------- */

/* Faults and readings of the cycle counter know their address; system calls do not. */
static void print_line(struct dump *d, const struct meta *meta, const struct entry *e)
{
	char text[PATH_ROOM];

	if ((e->kind != ENTRY_FAULT && e->kind != ENTRY_COUNTER) || !ENTRY_ARGS(e->flags))
		return;
	if (!d->where)
		d->where = where_open(meta, d->stream->image, d->stream->slot, UINT64_MAX);
	if (where_describe(d->where, trace_args(e)[0], text, sizeof text))
		fprintf(out, "        at %s\n", text);
}

static void dump_stream(struct dump *d, const struct meta *meta, const struct trace_stream *s)
{
	struct trace_problem problem;
	struct trace_reader reader;
	const struct entry *e;
	int more = -1;

	d->stream = s;
	if (!d->json)
		fprintf(out, "%s== p%u/t%u%s: %" PRIu64 " entries\n", colour(stdout, "\33[1m"), s->image, s->slot,
			colour(stdout, "\33[m"), s->events);
	if (trace_reader_open(&reader, meta->dir, s->image, s->slot, &problem))
		die("%s", problem.text);
	while ((more = trace_read(&reader, &e, &problem)) > 0) {
		if (d->json) {
			print_json(d, e, reader.event);
			continue;
		}
		print_entry(e, reader.event);
		if (d->lines)
			print_line(d, meta, e);
	}
	where_close(d->where);
	d->where = NULL;
	trace_reader_close(&reader);
	if (more < 0)
		die("%s", problem.text);
}

void dump_events(FILE *to_stream, const struct meta *meta, unsigned image, unsigned slot, uint64_t from, uint64_t to,
		 const char *before)
{
	struct trace_problem problem;
	struct trace_reader reader;
	const struct entry *e;

	if (trace_reader_open(&reader, meta->dir, image, slot, &problem))
		return;
	out = to_stream;
	while (trace_read(&reader, &e, &problem) > 0 && reader.event < to)
		if (reader.event >= from) {
			fputs(before, out);
			print_entry(e, reader.event);
		}
	trace_reader_close(&reader);
}

static int dump_chrome(struct meta *meta)
{
	struct timeline t;

	timeline_read(&t, meta);
	chrome_print(&t, stdout);
	timeline_free(&t);
	meta_free(meta);
	return 0;
}

static int run_dump(int argc, char **argv)
{
	struct dump d = { .image = -1, .thread = -1 };
	bool sites = false, why = false;
	const char *format = NULL;
	const struct option_row options[] = {
		{ "sites", 0, OPTION_FLAG, &sites },	   { "why", 0, OPTION_FLAG, &why },
		{ "json", 0, OPTION_FLAG, &d.json },	   { "format", 0, OPTION_TEXT, &format },
		{ "lines", 0, OPTION_FLAG, &d.lines },	   { "image", 0, OPTION_NUMBER, &d.image },
		{ "thread", 0, OPTION_NUMBER, &d.thread }, OPTIONS_END,
	};
	struct trace_problem problem;
	struct meta meta;
	bool any = false;

	out = stdout;
	argc = read_options(argc, argv, options, false);
	if (argc > 1)
		usage("one %s at a time: %s or %s?", sites ? "program" : "trace", argv[0], argv[1]);
	if (sites && !argc)
		usage("which program's sites?");
	if (sites)
		return sites_dump(argv[0], why, d.json);
	if (why)
		usage("--why belongs to --sites");
	if (format && (strcmp(format, "chrome") || d.json || d.lines || d.image >= 0 || d.thread >= 0))
		usage("--format=chrome is the only one, and stands alone");
	open_trace(&meta, argv[0]);
	order_used = order_find(meta.order);
	meta_need_same_machine(&meta);
	if (trace_check(meta.dir, &meta.list, NULL, NULL, NULL, &problem)) /* before the first line, not after some */
		die("%s", problem.text);
	if (format)
		return dump_chrome(&meta);
	for (size_t i = 0; i < meta.list.nstreams; i++) {
		const struct trace_stream *s = &meta.list.streams[i];
		if ((d.image >= 0 && d.image != s->image) || (d.thread >= 0 && d.thread != s->slot))
			continue;
		dump_stream(&d, &meta, s);
		any = true;
	}
	if (!any && (d.image >= 0 || d.thread >= 0))
		die("this recording has no such image or thread; `heddle stat` lists them");
	meta_free(&meta);
	return 0;
}

const struct command command_dump = { "dump", run_dump, "print a trace, as text or JSON", help };

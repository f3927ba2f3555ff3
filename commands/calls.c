/*
 * heddle calls: what becomes of each system call, from the table that records and replays them. doc/heddle-calls.1.md
 * has the same list, and a test compares the two.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "commands.h"
#include "runtime/syscalls/describe.h"

static const char help[] =
	"usage: heddle calls [CALL...]\n"
	"\n"
	"Lists the system calls that heddle knows on this machine, or some of them, and what it does\n"
	"with each. A recording in which a program makes another one stops, and names it.\n";

/* How it is recorded and replayed, in words. */
static void describe(const struct sys_row *row, char *to, size_t room)
{
	static const char *const how[] = {
		[SYS_FROM_LOG] = "recorded; replay takes its outcome from the log",
		[SYS_RUN_AGAIN] = "recorded, and made again at replay with the same result",
		[SYS_SPECIAL] = "recorded and replayed by code of its own",
	};

	if (row->how == SYS_REFUSED)
		snprintf(to, room, "refused with %s", strerrorname_np(row->refuse_errno));
	else
		snprintf(to, room, "%s%s%s", how[row->how], row->shape ? "; according to its arguments" : "",
			 row->flags & SYS_NOT_TO_SHOWN ? "; refused with EINVAL where it would write to the terminal" :
							 "");
}

static int compare(const void *a, const void *b)
{
	const struct sys_row *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int run_calls(int argc, char **argv)
{
	const struct sys_row *rows[1024];
	size_t count = 0;
	int left = argc = read_options(argc, argv, (struct option_row[]){ OPTIONS_END }, false);

	for (unsigned nr = 0; nr < sys_table_len && count < sizeof rows / sizeof *rows; nr++)
		if (sys_table[nr].how != SYS_UNKNOWN)
			rows[count++] = &sys_table[nr];
	qsort(rows, count, sizeof *rows, compare);
	for (size_t i = 0; i < count; i++) {
		char text[200];
		int named = 0;
		for (int n = 0; n < argc; n++)
			named += !strcmp(argv[n], rows[i]->name);
		left -= named;
		describe(rows[i], text, sizeof text);
		if (named || !argc)
			printf("%-24s %s\n", rows[i]->name, text);
	}
	if (left > 0)
		die("%d of these heddle does not know here; `heddle calls` lists all, doc/adding-a-syscall.md tells "
		    "how to add one",
		    left);
	return 0;
}

const struct command command_calls = { "calls", run_calls, "list the system calls and what is done with each", help };

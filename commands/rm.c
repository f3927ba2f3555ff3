/*
 * heddle rm: removes traces. Asks nothing, and removes nothing that is not a trace.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "meta.h"

static const char help[] =
	"usage: heddle rm TRACE...\n"
	"       heddle rm --all\n"
	"\n"
	"Removes traces, by name or directory, or all that `heddle ls` lists. Refuses a directory that\n"
	"is not a trace, and a trace that is being recorded.\n";

/* After the latest is gone, `latest` would lead nowhere. */
static void drop_dangling_latest(void)
{
	char link[PATH_ROOM + 16];
	struct stat st;

	snprintf(link, sizeof link, "%s/latest", home_directory());
	if (!lstat(link, &st) && S_ISLNK(st.st_mode) && stat(link, &st))
		unlink(link);
}

static void remove_trace(const char *path)
{
	need_nobody_writes(path);
	if (remove_all(path))
		die("%s: cannot be removed: %s", path, strerror(errno));
}

/* Traces that are being recorded stay, as do strangers. */
static void remove_every(void)
{
	const char *home = home_directory();
	DIR *dir = opendir(home);
	struct dirent *item;
	char path[PATH_ROOM + 300];
	struct stat st;

	if (!dir && errno != ENOENT)
		die("%s: %s", home, strerror(errno));
	while (dir && (item = readdir(dir))) {
		snprintf(path, sizeof path, "%s/%s", home, item->d_name);
		if (*item->d_name == '.' || lstat(path, &st) || !S_ISDIR(st.st_mode) || !is_trace(path))
			continue;
		if (recording_now(path) != NOT_RECORDING)
			warn("%s is being recorded: kept", path);
		else
			remove_trace(path);
	}
	if (dir)
		closedir(dir);
}

/* "KEY.sites" belongs to the copy KEY. */
static bool is_used(const char *folder, const char *name, const struct stat *st)
{
	char copy[PATH_ROOM + 300];
	const char *dot = strrchr(name, '.');

	if (!dot || strcmp(dot, ".sites") != 0)
		return st->st_nlink > 1;
	snprintf(copy, sizeof copy, "%s/%.*s", folder, (int)(dot - name), name);
	return !access(copy, F_OK);
}

/* Copies that no trace uses any more. */
static void drop_unused_copies(void)
{
	char folder[PATH_ROOM + 16], path[PATH_ROOM + 300];
	struct dirent *item;
	struct stat st;

	snprintf(folder, sizeof folder, "%s/" CACHE_NAME, home_directory());
	DIR *dir = opendir(folder);
	while (dir && (item = readdir(dir))) {
		snprintf(path, sizeof path, "%s/%s", folder, item->d_name);
		if (!lstat(path, &st) && S_ISREG(st.st_mode) && !is_used(folder, item->d_name, &st))
			unlink(path);
	}
	if (dir)
		closedir(dir);
}

static int run_rm(int argc, char **argv)
{
	bool all = false;
	const struct option_row options[] = { { "all", 0, OPTION_FLAG, &all }, OPTIONS_END };
	char path[PATH_ROOM];

	argc = read_options(argc, argv, options, false);
	if (all == (argc > 0))
		usage("name the traces to remove, or --all");
	if (all)
		remove_every();
	for (int i = 0; i < argc; i++) {
		home_find_trace(argv[i], path);
		remove_trace(path);
	}
	drop_dangling_latest();
	drop_unused_copies();
	return 0;
}

const struct command command_rm = { "rm", run_rm, "remove traces", help };

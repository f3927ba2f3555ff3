/*
 * heddle ls: the traces in the user's directory.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "meta.h"

static const char help[] =
	"usage: heddle ls [--json]\n"
	"\n"
	"Lists the traces in $HEDDLE_TRACE_DIR, $XDG_DATA_HOME/heddle or ~/.local/share/heddle, oldest\n"
	"first: name, start, size on disk, end, command. `*` marks the latest.\n";

struct listed {
	char *name;
	struct meta meta;
	bool loaded;
	char end[PATH_ROOM + 600];
	uint64_t size;
	struct timespec changed;
};

/* How it ended, or why that cannot be said. */
static void look(struct listed *t, const char *path)
{
	struct trace_problem problem;
	enum recording now = recording_now(path);

	t->loaded = !meta_try_load(&t->meta, path, &problem);
	t->size = disk_use(path);
	if (now != NOT_RECORDING)
		snprintf(t->end, sizeof t->end, now == BEING_FINISHED ? "being finished" : "being recorded");
	else if (!t->loaded)
		snprintf(t->end, sizeof t->end, "damaged: %s", problem.text);
	else if (!t->meta.finished)
		snprintf(t->end, sizeof t->end, "not finished");
	else
		snprintf(t->end, sizeof t->end, "%s", meta_text(&t->meta, "end"));
}

static int by_time(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;
	const char *s = x->loaded ? meta_text(&x->meta, "started") : "",
		   *t = y->loaded ? meta_text(&y->meta, "started") : "";
	int order = strcmp(s, t);

	if (order)
		return order;
	if (x->changed.tv_sec != y->changed.tv_sec)
		return x->changed.tv_sec < y->changed.tv_sec ? -1 : 1;
	return x->changed.tv_nsec < y->changed.tv_nsec ? -1 : x->changed.tv_nsec > y->changed.tv_nsec;
}

static struct listed *list_traces(const char *home, size_t *count)
{
	struct listed *all = NULL;
	DIR *dir = opendir(home);
	struct dirent *item;
	char path[PATH_ROOM + 300];
	struct stat st;

	if (!dir && errno != ENOENT)
		die("%s: %s", home, strerror(errno));
	for (*count = 0; dir && (item = readdir(dir));) {
		snprintf(path, sizeof path, "%s/%s", home, item->d_name);
		if (*item->d_name == '.' || lstat(path, &st) || !S_ISDIR(st.st_mode) || !is_trace(path))
			continue;
		all = realloc(all, (*count + 1) * sizeof *all);
		if (!all)
			die("not enough memory");
		memset(&all[*count], 0, sizeof *all);
		all[*count].name = strdup(item->d_name);
		all[*count].changed = st.st_mtim;
		look(&all[(*count)++], path);
	}
	if (dir)
		closedir(dir);
	if (*count)
		qsort(all, *count, sizeof *all, by_time);
	return all;
}

static void print_text(const struct listed *all, size_t n, const char *latest)
{
	size_t width = 4;
	char command[100];

	for (size_t i = 0; i < n; i++)
		if (strlen(all[i].name) > width)
			width = strlen(all[i].name);
	for (size_t i = 0; i < n; i++) {
		const struct listed *t = &all[i];
		*command = 0;
		if (t->loaded)
			meta_command(&t->meta, command, sizeof command);
		printf("%c %-*s  %-20s %8s  %-18s  %s\n", strcmp(t->name, latest) ? ' ' : '*', (int)width, t->name,
		       t->loaded ? meta_text(&t->meta, "started") : "", size_text(t->size), t->end, command);
	}
}

static void print_json(const struct listed *all, size_t n, const char *home, const char *latest)
{
	json_t *list = json_array();
	char path[PATH_ROOM + 300];

	for (size_t i = 0; i < n; i++) {
		const struct listed *t = &all[i];
		snprintf(path, sizeof path, "%s/%s", home, t->name);
		json_t *o = json_pack("{so so sI so sb}", "name", text_to_json(t->name, strlen(t->name)), "path",
				      text_to_json(path, strlen(path)), "disk", (json_int_t)t->size, "end",
				      text_to_json(t->end, strlen(t->end)), "latest", !strcmp(t->name, latest));
		if (t->loaded) {
			json_object_set(o, "argv", json_object_get(t->meta.json, "argv"));
			json_object_set(o, "started", json_object_get(t->meta.json, "started"));
		}
		json_array_append_new(list, o);
	}
	json_dumpf(list, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(list);
}

static int run_ls(int argc, char **argv)
{
	bool json = false;
	const struct option_row options[] = { { "json", 0, OPTION_FLAG, &json }, OPTIONS_END };
	const char *home = home_directory();
	char link[PATH_ROOM + 16], latest[PATH_ROOM] = "";
	size_t n;

	argc = read_options(argc, argv, options, false);
	if (argc)
		usage("ls takes no names; `heddle stat %s` shows one trace", argv[0]);
	struct listed *all = list_traces(home, &n);
	snprintf(link, sizeof link, "%s/latest", home);
	ssize_t len = readlink(link, latest, sizeof latest - 1);
	latest[len > 0 ? len : 0] = 0;
	if (json)
		print_json(all, n, home, latest);
	else if (n)
		print_text(all, n, latest);
	else if (person_watching())
		note("no trace is in %s; `heddle record PROGRAM` makes one", home);
	return 0;
}

const struct command command_ls = { "ls", run_ls, "list the traces", help };

/*
 * Names: which files make up a trace, and how problems with them are told.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#define XXH_STATIC_LINKING_ONLY /* the size of a state, to have it on the stack */
#include <xxhash.h>
#include "trace.h"

int trace_damaged(struct trace_problem *problem, const char *path, uint64_t offset, const char *reason, ...)
{
	char text[400];
	va_list args;

	va_start(args, reason);
	vsnprintf(text, sizeof text, reason, args);
	va_end(args);
	problem->error = 0;
	snprintf(problem->text, sizeof problem->text, "%s, byte %" PRIu64 ": %s", path, offset, text);
	return -1;
}

int trace_failed(struct trace_problem *problem, const char *path, const char *doing)
{
	problem->error = errno;
	snprintf(problem->text, sizeof problem->text, "%s: cannot %s: %s", path, doing, strerror(errno));
	return -1;
}

int trace_write_all(int fd, const void *data, size_t size, uint64_t offset)
{
	while (size) {
		ssize_t n = pwrite(fd, data, size, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n ? errno : ENOSPC;
			return -1;
		}
		data = (const char *)data + n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

void trace_path(char *path, const char *dir, unsigned image, unsigned slot)
{
	snprintf(path, PATH_ROOM + 64, "%.*s/p%u.t%u.log", PATH_ROOM - 1, dir, image, slot);
}

/* Digits as printf's %u writes them: no sign, no leading zero, no overflow. */
static const char *number(const char *text, unsigned *value)
{
	char again[16];
	char *end;

	if (*text < '0' || *text > '9')
		return NULL;
	unsigned long n = strtoul(text, &end, 10);
	if (end - text > 10 || n > UINT32_MAX)
		return NULL;
	*value = (unsigned)n;
	snprintf(again, sizeof again, "%u", *value);
	return strncmp(again, text, (size_t)(end - text)) || again[end - text] ? NULL : end;
}

bool trace_is_log(const char *name, unsigned *image, unsigned *slot)
{
	const char *rest = *name == 'p' ? number(name + 1, image) : NULL;

	rest = rest && !strncmp(rest, ".t", 2) ? number(rest + 2, slot) : NULL;
	return rest && !strcmp(rest, ".log");
}

bool trace_is_ring(const char *name, unsigned *n)
{
	const char *rest = number(name, n);

	return rest && !strcmp(rest, ".ring");
}

/* ---- reading a directory -------------------------------------------------------- */

/* Calls `each` with every name but . and .. until it fails. */
static int for_names(const char *path, int (*each)(const char *name, void *with), void *with,
		     struct trace_problem *problem)
{
	DIR *dir = opendir(path);
	struct dirent *item;
	int result = 0;

	if (!dir)
		return trace_failed(problem, path, "read this directory");
	while (!result && (errno = 0, item = readdir(dir)))
		if (strcmp(item->d_name, ".") && strcmp(item->d_name, ".."))
			result = each(item->d_name, with);
	if (!result && errno)
		result = trace_failed(problem, path, "read this directory");
	closedir(dir);
	return result;
}

struct reading {
	struct trace_list *list;
	const char *dir;
	struct trace_problem *problem;
};

/* Grows by doubling: the array has room for n members, n being zero or a power of two. */
static void *one_more(void *array, size_t n, size_t size)
{
	if (n & (n - 1))
		return array;
	array = realloc(array, (n ? 2 * n : 1) * size);
	if (!array)
		abort(); /* a list of names does not fit: nothing sensible is left to do */
	return array;
}

static int saved_name(const char *name, void *with)
{
	struct reading *r = with;
	struct trace_list *list = r->list;

	list->files = one_more(list->files, list->nfiles, sizeof *list->files);
	list->files[list->nfiles++] = (struct trace_file){ .name = strdup(name) };
	return 0;
}

static int top_name(const char *name, void *with)
{
	struct reading *r = with;
	struct trace_list *list = r->list;
	struct trace_stream found = { 0 };
	char path[PATH_ROOM + 300];

	snprintf(path, sizeof path, "%s/%s", r->dir, name);
	if (!strcmp(name, "meta.json") || !strcmp(name, "control") ||
	    !strcmp(name, CHECKPOINT)) /* control goes last of all */
		return 0;
	if (!strcmp(name, "files"))
		return for_names(path, saved_name, r, r->problem);
	if (!trace_is_log(name, &found.image, &found.slot))
		return trace_damaged(r->problem, path, 0, "this does not belong in a trace");
	list->streams = one_more(list->streams, list->nstreams, sizeof *list->streams);
	list->streams[list->nstreams++] = found;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct trace_stream *x = a, *y = b;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct trace_file *)a)->name, ((const struct trace_file *)b)->name);
}

int trace_list_read(struct trace_list *list, const char *dir, struct trace_problem *problem)
{
	struct reading r = { .list = list, .dir = dir, .problem = problem };

	*list = (struct trace_list){ 0 };
	if (for_names(dir, top_name, &r, problem)) {
		trace_list_free(list);
		return -1;
	}
	if (list->nstreams)
		qsort(list->streams, list->nstreams, sizeof *list->streams, by_number);
	if (list->nfiles)
		qsort(list->files, list->nfiles, sizeof *list->files, by_name);
	return 0;
}

void trace_list_free(struct trace_list *list)
{
	for (size_t i = 0; i < list->nfiles; i++)
		free(list->files[i].name);
	free(list->files);
	free(list->streams);
	*list = (struct trace_list){ 0 };
}

/* ---- measuring --------------------------------------------------------------------- */

/* Opens a regular file; -1 with the problem. */
static int open_regular(const char *path, struct stat *st, struct trace_problem *problem)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return trace_failed(problem, path, "open this file");
	if (!fstat(fd, st) && S_ISREG(st->st_mode))
		return fd;
	close(fd);
	return trace_damaged(problem, path, 0, "not a regular file");
}

static int hash_contents(int fd, const char *path, uint64_t *size, uint64_t *hash, struct trace_problem *problem)
{
	char piece[1 << 16];
	XXH64_state_t state;
	ssize_t n = 0;

	XXH64_reset(&state, 0);
	for (*size = 0; (n = read(fd, piece, sizeof piece)) > 0; *size += (uint64_t)n)
		XXH64_update(&state, piece, (size_t)n);
	*hash = XXH64_digest(&state);
	return n < 0 ? trace_failed(problem, path, "read this file") : 0;
}

int trace_hash_file(const char *path, uint64_t *size, uint64_t *hash, struct trace_problem *problem)
{
	struct stat st;
	int fd = open_regular(path, &st, problem);

	if (fd < 0)
		return -1;
	int result = hash_contents(fd, path, size, hash, problem);
	close(fd);
	return result;
}

/*
 * The same for a file that other traces have, too, by hard links: its hash is remembered with it, where the file system
 * has attributes. Should its contents have changed since, then who compares them with this hash notices.
 */
static int measure_file(const char *path, struct trace_file *f, struct trace_problem *problem)
{
	static const char name[] = "user.heddle.xxh64";
	struct stat st;
	int fd = open_regular(path, &st, problem), result = 0;

	if (fd < 0)
		return -1;
	f->size = (uint64_t)st.st_size;
	bool shared = st.st_nlink > 1;
	if (!shared || fgetxattr(fd, name, &f->hash, sizeof f->hash) != sizeof f->hash) {
		result = hash_contents(fd, path, &f->size, &f->hash, problem);
		if (shared && !result && fsetxattr(fd, name, &f->hash, sizeof f->hash, 0))
			errno = 0; /* it is hashed again next time */
	}
	close(fd);
	return result;
}

static int measure_stream(struct trace_stream *s, const char *dir, struct trace_problem *problem)
{
	char path[PATH_ROOM + 64];
	struct trace_log log;
	int more = 0;

	trace_path(path, dir, s->image, s->slot);
	if (trace_log_open(&log, path, s->image, s->slot, problem))
		return -1;
	while ((more = trace_log_skip(&log, problem)) > 0)
		;
	s->raw = log.position;
	s->events = log.events;
	s->packed = log.size;
	trace_log_close(&log);
	return more;
}

int trace_list_measure(struct trace_list *list, const char *dir, struct trace_problem *problem)
{
	char path[PATH_ROOM + 400];

	for (size_t i = 0; i < list->nstreams; i++)
		if (measure_stream(&list->streams[i], dir, problem))
			return -1;
	for (size_t i = 0; i < list->nfiles; i++) {
		struct trace_file *f = &list->files[i];
		snprintf(path, sizeof path, "%s/files/%s", dir, f->name);
		if (measure_file(path, f, problem))
			return -1;
	}
	return 0;
}

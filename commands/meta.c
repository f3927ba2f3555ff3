/*
 * meta.json: see meta.h. Members in the order in which they are written:
 *
 *   heddle     "trace"             what this file is
 *   version    number              TRACE_VERSION
 *   machine    object              arch, elf (ELF's machine number), kernel, hwcap, hwcap2, page_size, features
 *                                  (names in /proc/cpuinfo; need not be there)
 *   program    text                path that was run; a text that is not UTF-8 is {"hex": "..."}
 *   argv, env  lists of text
 *   cwd        text
 *   rlimits    object              name: [soft, hard], -1 for no limit
 *   settings   object              options of record that replay must know
 *   level      text                how exact the recording is
 *   started    text                ISO 8601, UTC
 *   finished   true or false       the members below are there when true
 *   ended      text
 *   end        text                "exit status 3", "killed by SIGSEGV", "unknown"
 *   status     number or null      raw wait status of the first process
 *   inexact    number              signals that could not be recorded exactly
 *   shares_memory  true            processes share memory that they write to, if they did
 *   unfiltered true                a seccomp filter of the program's own was not in force, if it had one
 *   masked     list of text        names of variables in env whose values are masked, if --mask-env was given
 *   detached   true                the disk was full, and the program went on unrecorded, if it did
 *   futexes    {calls, first}      futex calls of locks that are not pthread's, if there were any
 *   images     number              process images
 *   streams    list                {"image", "slot", "raw", "events"}
 *   files      list                {"name", "size", "hash"}
 *   checksum   text                XXH64 of the rest, dumped by jansson without spaces, as hex
 *
 * The file's bytes are exactly what dump_text() writes, so that even a changed space is noticed.
 * Sizes of logs are not listed: a chunk that somebody edited and sealed again must be found by
 * replay, as a divergence, and the log's own hashes find everything else.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>
#include "meta.h"
#include "commands/sites.h"
#include "runtime/memory/map.h"
#include "runtime/order/order.h"

#define META_MAX (64u << 20) /* arguments and environment are far smaller: 6 MiB on Linux */

extern char **environ;

/* ---- text ------------------------------------------------------------------------ */

json_t *text_to_json(const char *text, size_t len)
{
	json_t *value = json_stringn(text, len);

	if (value) /* NULL: not UTF-8 */
		return value;
	char *hex = malloc(2 * len + 1);
	if (!hex)
		abort();
	for (size_t i = 0; i < len; i++)
		sprintf(hex + 2 * i, "%02x", (unsigned char)text[i]);
	value = json_pack("{ss#}", "hex", hex, (int)(2 * len));
	free(hex);
	return value;
}

char *text_from_json(const json_t *value)
{
	const char *hex = json_string_value(json_object_get(value, "hex"));
	size_t n = hex ? strlen(hex) / 2 : 0;

	if (!hex)
		return json_is_string(value) ? strdup(json_string_value(value)) : NULL;
	char *text = calloc(1, n + 1);
	for (size_t i = 0; text && i < n; i++) {
		unsigned byte = '?';
		sscanf(hex + 2 * i, "%2x", &byte);
		text[i] = (char)byte;
	}
	return text;
}

static json_t *text_list(char **words)
{
	json_t *list = json_array();

	for (; *words; words++)
		json_array_append_new(list, text_to_json(*words, strlen(*words)));
	return list;
}

/* The environment, as far as it may be kept; the names of what may not are added to `masked`. */
static json_t *environment(const struct control *control, json_t *masked)
{
	json_t *list = json_array();

	for (char **v = environ; *v; v++) {
		char *kept = strdup(*v);
		if (!kept)
			abort();
		if (control->masks && mask_wanted(control->mask, *v)) {
			mask_copy(kept, *v);
			json_array_append_new(masked, text_to_json(*v, mask_name(*v)));
		}
		json_array_append_new(list, text_to_json(kept, strlen(kept)));
		free(kept);
	}
	return list;
}

const char *meta_text(const struct meta *meta, const char *name)
{
	const char *text = json_string_value(json_object_get(meta->json, name));

	return text ? text : "";
}

bool meta_is_hooked(const struct meta *meta)
{
	const char *level = meta_text(meta, "level");

	return level && !strncmp(level, "race-complete", 13);
}

void meta_command(const struct meta *meta, char *text, size_t room)
{
	json_t *words = json_object_get(meta->json, "argv"), *word;
	size_t i, at = 0;

	*text = 0;
	json_array_foreach (words, i, word) {
		char *one = text_from_json(word);
		int n = snprintf(text + at, room - at, "%s%s", i ? " " : "", one ? one : "?");
		free(one);
		if (n < 0 || (size_t)n >= room - at) {
			if (room > 4)
				strcpy(text + room - 4, "...");
			return;
		}
		at += (size_t)n;
	}
}

/* ---- writing ------------------------------------------------------------------------ */

static json_t *machine(void)
{
	struct utsname u;
	char *features = cpu_features();

	uname(&u);
	json_t *o = json_pack("{ss si ss sI sI sI}", "arch", u.machine, "elf", TRACE_ARCH, "kernel", u.release, "hwcap",
			      (json_int_t)getauxval(AT_HWCAP), "hwcap2", (json_int_t)getauxval(AT_HWCAP2), "page_size",
			      (json_int_t)sysconf(_SC_PAGESIZE));
	json_object_set_new(o, "features", text_to_json(features, strlen(features)));
	free(features);
	return o;
}

/* The program's: heddle has lifted one of its own. */
static json_t *limits(const struct tree *tree)
{
	static const char *const names[RLIM_NLIMITS] = {
		[RLIMIT_CPU] = "cpu",		[RLIMIT_FSIZE] = "fsize",
		[RLIMIT_DATA] = "data",		[RLIMIT_STACK] = "stack",
		[RLIMIT_CORE] = "core",		[RLIMIT_RSS] = "rss",
		[RLIMIT_NPROC] = "nproc",	[RLIMIT_NOFILE] = "nofile",
		[RLIMIT_MEMLOCK] = "memlock",	[RLIMIT_AS] = "as",
		[RLIMIT_LOCKS] = "locks",	[RLIMIT_SIGPENDING] = "sigpending",
		[RLIMIT_MSGQUEUE] = "msgqueue", [RLIMIT_NICE] = "nice",
		[RLIMIT_RTPRIO] = "rtprio",	[RLIMIT_RTTIME] = "rttime",
	};
	json_t *all = json_object();
	struct rlimit l;

	for (int i = 0; i < (int)RLIM_NLIMITS; i++) {
		if (!names[i] || getrlimit((unsigned)i, &l))
			continue;
		if (i == RLIMIT_FSIZE)
			l = tree->file_limit;
		json_object_set_new(all, names[i], json_pack("[II]", (json_int_t)l.rlim_cur, (json_int_t)l.rlim_max));
	}
	return all;
}

static json_t *time_now(void)
{
	char text[32];
	time_t now = time(NULL);

	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	return json_string(text);
}

static json_t *hex_number(uint64_t number)
{
	char text[20];

	snprintf(text, sizeof text, "%016" PRIx64, number);
	return json_string(text);
}

static char *dump_text(const json_t *json)
{
	return json_dumps(json, JSON_INDENT(1));
}

static uint64_t checksum(const json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);
	uint64_t hash = text ? XXH64(text, strlen(text), 0) : 0;

	free(text);
	return hash;
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	size_t n = strlen(text), done = 0;

	if (fd < 0)
		return -1;
	while (done < n) {
		ssize_t w = write(fd, text + done, n - done);
		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0) {
			int error = errno;
			close(fd);
			unlink(path);
			errno = error;
			return -1;
		}
		done += (size_t)w;
	}
	return close(fd);
}

/* Seals it with the checksum, then replaces the old one, if there is one, in a single step. */
static int write_meta(struct meta *meta, bool first, struct trace_problem *problem)
{
	char path[PATH_ROOM + 16], new[PATH_ROOM + 32];

	json_object_del(meta->json, "checksum");
	json_object_set_new(meta->json, "checksum", hex_number(checksum(meta->json)));
	char *text = dump_text(meta->json);
	if (!text)
		abort();
	snprintf(path, sizeof path, "%s/meta.json", meta->dir);
	snprintf(new, sizeof new, "%s%s", path, first ? "" : ".tmp");
	int result = write_file(new, text) || (!first && rename(new, path)) ?
			     trace_failed(problem, path, "write this file") :
			     0;
	free(text);
	return result;
}

static json_t *settings_of(const struct control *control)
{
	json_t *settings = json_object();

#define SETTING(name) json_object_set_new(settings, #name, json_boolean(control->name));
	SETTINGS(SETTING)
#undef SETTING
	json_object_set_new(settings, "order", json_string(control->order));
	json_object_set_new(settings, "order version", json_integer(order_find(control->order)->version));
	return settings;
}

/* A sentence with names of files in it, perhaps cut off in the middle of a letter. */
static json_t *level_of(const char *program, bool every)
{
	char level[2048];

	sites_level(program, every, level, sizeof level);
	json_t *text = json_string(level);
	for (char *p = level; !text && *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	return text ? text : json_string(level);
}

void meta_begin(struct meta *meta, const char *dir, const char *program, char **argv, const struct tree *tree)
{
	const struct control *control = tree->control;
	char cwd[PATH_ROOM];
	struct trace_problem problem;
	json_t *masked = json_array();

	memset(meta, 0, sizeof *meta);
	snprintf(meta->dir, sizeof meta->dir, "%s", dir);
	if (!getcwd(cwd, sizeof cwd))
		strcpy(cwd, "(unreachable)");
	meta->json = json_pack("{ss si so so so so so so so so so sb}", "heddle", "trace", "version", TRACE_VERSION,
			       "machine", machine(), "program", text_to_json(program, strlen(program)), "argv",
			       text_list(argv), "env", environment(control, masked), "cwd",
			       text_to_json(cwd, strlen(cwd)), "rlimits", limits(tree), "settings",
			       settings_of(control), "level", level_of(program, control->every), "started", time_now(),
			       "finished", 0);
	if (!meta->json)
		abort();
	if (control->masks)
		json_object_set(meta->json, "masked", masked);
	if (control->ring)
		json_object_set_new(meta->json, "ring", json_true());
	json_decref(masked);
	meta->status = STATUS_UNKNOWN;
	if (write_meta(meta, true, &problem))
		die("%s", problem.text);
}

static json_t *streams_json(const struct trace_list *list)
{
	json_t *all = json_array();

	for (size_t i = 0; i < list->nstreams; i++) {
		const struct trace_stream *s = &list->streams[i];
		json_array_append_new(all, json_pack("{sI sI sI sI}", "image", (json_int_t)s->image, "slot",
						     (json_int_t)s->slot, "raw", (json_int_t)s->raw, "events",
						     (json_int_t)s->events));
	}
	return all;
}

static json_t *files_json(const struct trace_list *list)
{
	json_t *all = json_array();

	for (size_t i = 0; i < list->nfiles; i++) {
		const struct trace_file *f = &list->files[i];
		json_array_append_new(all, json_pack("{so sI so}", "name", text_to_json(f->name, strlen(f->name)),
						     "size", (json_int_t)f->size, "hash", hex_number(f->hash)));
	}
	return all;
}

static unsigned count_images(const struct trace_list *list)
{
	unsigned n = 0;

	for (size_t i = 0; i < list->nstreams; i++)
		n += !i || list->streams[i].image != list->streams[i - 1].image;
	return n;
}

/* What a recording leaves besides the trace. `control` is the caller's, who holds its lock. */
static void remove_leftovers(const char *dir)
{
	char path[PATH_ROOM + 32];

	snprintf(path, sizeof path, "%s/meta.json.tmp", dir);
	unlink(path);
}

int meta_finish(struct meta *meta, uint32_t status, const struct control *control, struct trace_problem *problem)
{
	json_t *o = meta->json, *futexes;

	remove_leftovers(meta->dir);
	trace_list_free(&meta->list);
	if (trace_list_read(&meta->list, meta->dir, problem) || trace_list_measure(&meta->list, meta->dir, problem))
		return -1;
	meta->finished = true;
	meta->status = status;
	meta->inexact = control ? control->inexact : 0;
	json_object_del(o, "checksum");
	json_object_set_new(o, "finished", json_true());
	json_object_set_new(o, "ended", time_now());
	json_object_set_new(o, "end", json_string(status == STATUS_UNKNOWN ? "unknown" : status_text((int)status)));
	json_object_set_new(o, "status", status == STATUS_UNKNOWN ? json_null() : json_integer(status));
	json_object_set_new(o, "inexact", json_integer(meta->inexact));
	if (control && control->not_recorded & OWN_FILTER)
		json_object_set_new(o, "unfiltered", json_true());
	if (control && control->not_recorded & SHARED_MEMORY)
		json_object_set_new(o, "shares_memory", json_true());
	if (control && control->detached)
		json_object_set_new(o, "detached", json_true());
	if ((futexes = control ? futexes_json(meta, control) : NULL))
		json_object_set_new(o, "futexes", futexes);
	json_object_set_new(o, "images", json_integer(count_images(&meta->list)));
	json_object_set_new(o, "streams", streams_json(&meta->list));
	json_object_set_new(o, "files", files_json(&meta->list));
	return write_meta(meta, false, problem);
}

/* ---- reading ------------------------------------------------------------------------------ */

static char *read_file(const char *path, size_t *size, struct trace_problem *problem)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0) {
		trace_failed(problem, path, "open this file");
		return NULL;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > META_MAX) {
		trace_damaged(problem, path, 0, "not a file of heddle");
		close(fd);
		return NULL;
	}
	char *text = malloc((size_t)st.st_size + 1);
	ssize_t n = text ? read(fd, text, (size_t)st.st_size) : -1;
	close(fd);
	if (n < 0) {
		trace_failed(problem, path, "read this file");
		free(text);
		return NULL;
	}
	text[n] = 0;
	*size = (size_t)n;
	return text;
}

/* The version comes before all else: another version may mean other members, other checksums. */
static int check_version(struct meta *meta, const char *path, struct trace_problem *problem)
{
	json_t *version = json_object_get(meta->json, "version");

	if (strcmp(meta_text(meta, "heddle"), "trace") || !json_is_integer(version))
		return trace_damaged(problem, path, 0, "not the meta.json of a trace");
	if (json_integer_value(version) != TRACE_VERSION)
		return trace_damaged(problem, path, 0,
				     "trace of format version %lld; this heddle reads version %d: use the heddle that "
				     "recorded it",
				     (long long)json_integer_value(version), TRACE_VERSION);
	return 0;
}

static int check_text(const struct meta *meta, const char *path, const char *text, size_t size,
		      struct trace_problem *problem)
{
	char *again = dump_text(meta->json);
	size_t at = 0;

	while (again && at < size && again[at] == text[at])
		at++;
	bool same = again && at == size && !again[at];
	free(again);
	return same ? 0 : trace_damaged(problem, path, at, "not as heddle wrote it");
}

static int check_sum(struct meta *meta, const char *path, size_t size, struct trace_problem *problem)
{
	char expected[20] = "";

	snprintf(expected, sizeof expected, "%.16s", meta_text(meta, "checksum"));
	json_t *kept = json_object_get(meta->json, "checksum");
	json_incref(kept);
	json_object_del(meta->json, "checksum");
	uint64_t sum = checksum(meta->json);
	json_object_set_new(meta->json, "checksum", kept);
	char actual[20];
	snprintf(actual, sizeof actual, "%016" PRIx64, sum);
	return strcmp(actual, expected) ?
		       trace_damaged(problem, path, 0, "the checksum does not fit: one of these %zu bytes was changed",
				     size) :
		       0;
}

static int wrong_member(const char *path, const char *what, struct trace_problem *problem)
{
	return trace_damaged(problem, path, 0, "the member \"%s\" is missing or wrong", what);
}

/* Numbers that must fit what they are stored in. */
static bool get_number(const json_t *object, const char *name, uint64_t most, uint64_t *value)
{
	json_t *v = json_object_get(object, name);

	*value = (uint64_t)json_integer_value(v);
	return json_is_integer(v) && json_integer_value(v) >= 0 && *value <= most;
}

static int read_streams(struct meta *meta, const char *path, struct trace_problem *problem)
{
	json_t *all = json_object_get(meta->json, "streams"), *one;
	struct trace_list *list = &meta->list;
	uint64_t image, slot;
	size_t i;

	if (!json_is_array(all))
		return wrong_member(path, "streams", problem);
	list->streams = calloc(json_array_size(all) + 1, sizeof *list->streams);
	if (!list->streams)
		abort();
	json_array_foreach (all, i, one) {
		struct trace_stream *s = &list->streams[i];
		if (!get_number(one, "image", UINT32_MAX, &image) || !get_number(one, "slot", MAP_SLOTS - 1, &slot) ||
		    !get_number(one, "raw", INT64_MAX, &s->raw) || !get_number(one, "events", INT64_MAX, &s->events))
			return wrong_member(path, "streams", problem);
		s->image = (unsigned)image;
		s->slot = (unsigned)slot;
		list->nstreams++;
	}
	return 0;
}

static int read_files(struct meta *meta, const char *path, struct trace_problem *problem)
{
	json_t *all = json_object_get(meta->json, "files"), *one;
	struct trace_list *list = &meta->list;
	size_t i;

	if (!json_is_array(all))
		return wrong_member(path, "files", problem);
	list->files = calloc(json_array_size(all) + 1, sizeof *list->files);
	if (!list->files)
		abort();
	json_array_foreach (all, i, one) {
		struct trace_file *f = &list->files[i];
		const char *hash = json_string_value(json_object_get(one, "hash"));
		f->name = text_from_json(json_object_get(one, "name"));
		if (f->name)
			list->nfiles++;
		if (!f->name || !*f->name || strchr(f->name, '/') || !hash || strlen(hash) != 16 ||
		    sscanf(hash, "%16" SCNx64, &f->hash) != 1 || !get_number(one, "size", INT64_MAX, &f->size))
			return wrong_member(path, "files", problem);
	}
	return 0;
}

/* An order has a version of its own: its entries may change while the rest of the format stays. */
static int read_order(struct meta *meta, const json_t *settings, const char *path, struct trace_problem *problem)
{
	const char *name = json_string_value(json_object_get(settings, "order"));
	long long version = json_integer_value(json_object_get(settings, "order version"));
	const struct order_scheme *scheme = order_find(name ? name : "");

	snprintf(meta->order, sizeof meta->order, "%s", name ? name : "");
	if (*meta->order && (!scheme || version != scheme->version))
		return trace_damaged(
			problem, path, 0,
			"recorded under version %lld of --order=%s, which this heddle does not have: use the "
			"heddle that recorded it",
			version, meta->order);
	return 0;
}

static int read_members(struct meta *meta, const char *path, struct trace_problem *problem)
{
	json_t *settings = json_object_get(meta->json, "settings");
	json_t *status = json_object_get(meta->json, "status");
	json_t *finished = json_object_get(meta->json, "finished");

#define SETTING(name) meta->name = json_is_true(json_object_get(settings, #name));
	SETTINGS(SETTING)
#undef SETTING
	meta->finished = json_is_true(finished);
	meta->status = json_is_integer(status) ? (uint32_t)json_integer_value(status) : STATUS_UNKNOWN;
	meta->inexact = (uint32_t)json_integer_value(json_object_get(meta->json, "inexact"));
	if (!json_is_object(settings))
		return wrong_member(path, "settings", problem);
	if (!json_is_boolean(finished))
		return wrong_member(path, "finished", problem);
	if (read_order(meta, settings, path, problem))
		return -1;
	if (!meta->finished)
		return 0;
	return read_streams(meta, path, problem) || read_files(meta, path, problem) ? -1 : 0;
}

static int load_text(struct meta *meta, const char *path, const char *text, size_t size, struct trace_problem *problem)
{
	json_error_t error;

	meta->json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	if (!meta->json)
		return trace_damaged(problem, path, (uint64_t)(error.position > 0 ? error.position : 0), "%s",
				     error.text);
	if (check_version(meta, path, problem) || check_text(meta, path, text, size, problem) ||
	    check_sum(meta, path, size, problem))
		return -1;
	return read_members(meta, path, problem);
}

int meta_try_load(struct meta *meta, const char *dir, struct trace_problem *problem)
{
	char path[PATH_ROOM + 16];
	size_t size;

	memset(meta, 0, sizeof *meta);
	snprintf(meta->dir, sizeof meta->dir, "%s", dir);
	snprintf(path, sizeof path, "%s/meta.json", dir);
	char *text = read_file(path, &size, problem);
	int result = text ? load_text(meta, path, text, size, problem) : -1;
	free(text);
	if (result)
		meta_free(meta);
	return result;
}

void meta_load(struct meta *meta, const char *dir)
{
	struct trace_problem problem;

	if (meta_try_load(meta, dir, &problem))
		die("%s", problem.text);
}

void meta_need_same_machine(const struct meta *meta)
{
	const json_t *m = json_object_get(meta->json, "machine");
	json_int_t elf = json_integer_value(json_object_get(m, "elf"));
	json_int_t page = json_integer_value(json_object_get(m, "page_size"));
	const char *arch = json_string_value(json_object_get(m, "arch"));
	struct utsname u;

	uname(&u);
	if (elf != TRACE_ARCH)
		die("%s was recorded on %s, this is %s: replay it on a machine of the same kind", meta->dir,
		    arch ? arch : "another machine", u.machine);
	if (page != sysconf(_SC_PAGESIZE))
		die("%s was recorded with memory pages of %lld bytes, this machine has pages of %ld: replay it where "
		    "they are the same",
		    meta->dir, (long long)page, sysconf(_SC_PAGESIZE));
}

void meta_free(struct meta *meta)
{
	json_decref(meta->json);
	trace_list_free(&meta->list);
	meta->json = NULL;
}

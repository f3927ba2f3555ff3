/*
 * A checkpoint as a file, as heddle sees it (trace/checkpoint.h): writing down the memory of a replayed process that
 * stands still, and looking whether such a file is whole and belongs to the trace. The process that begins there reads
 * it: loader/checkpoint_file.c.
 *
 * Which pages of a private mapping were ever written is told by the kernel (/proc/PID/pagemap). All others are zero, or
 * what their file has there.
 */
#define _GNU_SOURCE
#define XXH_STATIC_LINKING_ONLY /* the size of a state */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include "meta.h"
#include "runtime/memory/map.h"
#include "trace/checkpoint.h"

/* What the file says of the two things that it belongs to. */
static void fill_header(struct point_header *h, const struct meta *meta, const char *loader)
{
	char path[PATH_ROOM + 16];
	struct trace_problem problem;
	uint64_t size;

	*h = (struct point_header){ .magic = POINT_MAGIC,
				    .version = TRACE_VERSION,
				    .arch = TRACE_ARCH,
				    .page = (uint64_t)sysconf(_SC_PAGESIZE) };
	snprintf(path, sizeof path, "%s/meta.json", meta->dir);
	if (trace_hash_file(path, &size, &h->trace, &problem) || trace_hash_file(loader, &size, &h->loader, &problem))
		die("%s", problem.text);
}

void checkpoint_need_no_keys(const char *instead)
{
#ifdef __aarch64__
	if (getauxval(AT_HWCAP) & 1ul << 30 /* HWCAP_PACA */)
		die("this processor signs addresses with keys that each process has for itself: none can go on with "
		    "the memory "
		    "of another; %s",
		    instead);
#endif
	(void)instead;
}

void checkpoint_need_possible(const struct meta *meta)
{
	if (meta->list.nstreams && meta->list.streams[meta->list.nstreams - 1].image)
		die("a checkpoint is of one process, and %s has several", meta->dir);
	if (meta->inexact)
		die("%s has signals that came at no event: replay has timers for them, which are not in memory",
		    meta->dir);
	if (schedule_is_wanted(meta))
		die("%s was recorded with --order=%s: each replay follows a schedule of its own, and none can go on "
		    "with the "
		    "memory of another",
		    meta->dir, meta->order);
	checkpoint_need_no_keys("--checkpoint alone works");
}

/* ---- writing ------------------------------------------------------------------------------------------------ */

struct writer {
	const char *path, *trace_files;
	FILE *out;
	int memory, pages; /* of the process */
	uint64_t page;
	XXH64_state_t hash;
};

static void fail(struct writer *w, const char *why)
{
	int error = errno;

	unlink(w->path);
	die("%s: %s: %s", w->path, why, strerror(error));
}

static void put(struct writer *w, const void *data, size_t n)
{
	XXH64_update(&w->hash, data, n);
	if (fwrite(data, 1, n, w->out) != n)
		fail(w, "the checkpoint cannot be written");
}

/* In pieces; behind the last piece of a range comes one of no bytes. */
static void put_run(struct writer *w, uint64_t from, uint64_t size)
{
	static char bytes[1 << 16];

	put(w, &(struct point_run){ from, size }, sizeof(struct point_run));
	for (uint64_t done = 0; done < size;) {
		uint64_t n = size - done < sizeof bytes ? size - done : sizeof bytes;
		if (pread(w->memory, bytes, n, (off_t)(from + done)) != (ssize_t)n)
			fail(w, "the program has mapped a file beyond its end, or heddle may not read its memory");
		put(w, bytes, n);
		done += n;
	}
}

/* Present or swapped out, and not the file's own page. */
static bool is_own_page(uint64_t entry)
{
	return entry >> 62 && !(entry >> 61 & 1);
}

/* The kernel does not count the page of zeros, which all share who have only read: that one is nobody's alone. */
static bool is_counted(uint64_t entry)
{
	return entry >> 62 & 1 || entry >> 56 & 1; /* swapped out; mapped by this process only */
}

/* So many bytes of them there are: the list of a range may be a million times as long. */
static void put_own_pages(struct writer *w, const struct point_range *r, uint64_t bytes)
{
	static uint64_t entries[8192];
	uint64_t n, own;

	for (uint64_t at = r->from; at < r->to && bytes; at += n * w->page) {
		n = (r->to - at) / w->page;
		n = n < sizeof entries / 8 ? n : sizeof entries / 8;
		if (pread(w->pages, entries, n * 8, (off_t)(at / w->page * 8)) != (ssize_t)n * 8)
			fail(w, "the list of the process's pages cannot be read");
		for (uint64_t i = 0; i < n; i += own + 1) {
			for (own = 0; i + own < n && is_own_page(entries[i + own]); own++)
				bytes -= is_counted(entries[i + own]) && bytes ? w->page : 0;
			if (own)
				put_run(w, at + i * w->page, own * w->page);
		}
	}
}

static bool is_within(const struct point_range *r, uint64_t from, uint64_t to)
{
	return r->from >= from && r->to <= to;
}

/* By the file behind the mapping, if it will be there again. */
static uint32_t kind_of(const struct writer *w, struct point_range *r, const char *path)
{
	const char *name = strrchr(path, '/');
	bool stream = is_within(r, MAP_STREAMS_BASE, MAP_STREAMS_END);

	if (is_within(r, MAP_LOADER_BASE, MAP_LOADER_END))
		return POINT_LOADER;
	if (!name || strlen(name + 1) >= POINT_NAME || (r->flags & POINT_SHARED))
		return POINT_MEMORY;
	size_t n = (size_t)(name - path);
	if (!stream && (n != strlen(w->trace_files) || strncmp(path, w->trace_files, n)))
		return POINT_MEMORY;
	strcpy(r->name, name + 1);
	return stream ? POINT_STREAM : POINT_FILE;
}

/* The loader's code is the same in every process, and `control` is another. */
static bool is_wanted(const struct point_range *r)
{
	if (r->from >= MAP_OURS_END || is_within(r, MAP_CONTROL_BASE, MAP_CONTROL_BASE + CONTROL_SIZE))
		return false;
	return r->kind != POINT_LOADER || r->flags & POINT_WRITE;
}

struct mapping {
	struct point_range r;
	bool whole;	/* what others may have written, and what lies in a file that will be gone */
	uint64_t bytes; /* that the kernel keeps for it, of whatever kind */
};

static void put_range(struct writer *w, const struct mapping *m)
{
	if (!m->r.kind || !is_wanted(&m->r))
		return;
	put(w, &m->r, sizeof m->r);
	if (m->whole)
		put_run(w, m->r.from, m->r.to - m->r.from);
	else
		put_own_pages(w, &m->r, m->bytes);
	put_run(w, 0, 0);
}

/* A line of the kernel's list: true: a mapping begins with it. */
static bool read_mapping(const struct writer *w, struct mapping *m, const char *line)
{
	struct point_range r = { 0 };
	uint64_t inode = 0;
	char rights[8];
	int name = 0;

	if (sscanf(line, "%lx-%lx %7s %lx %*s %lu %n", &r.from, &r.to, rights, &r.offset, &inode, &name) < 5)
		return false;
	r.flags = (rights[0] == 'r' ? POINT_READ : 0) | (rights[1] == 'w' ? POINT_WRITE : 0) |
		  (rights[2] == 'x' ? POINT_EXECUTE : 0) | (rights[3] == 's' ? POINT_SHARED : 0);
	r.kind = kind_of(w, &r, line + name);
	bool again = r.kind == POINT_FILE || r.kind == POINT_STREAM;
	*m = (struct mapping){ .r = r, .whole = !again && (inode || r.flags & POINT_SHARED) };
	return true;
}

/* ... or more is told of it. */
static void read_more(struct mapping *m, const char *line)
{
	uint64_t kilobytes;

	if (sscanf(line, "Rss: %lu", &kilobytes) == 1 || sscanf(line, "Swap: %lu", &kilobytes) == 1)
		m->bytes += kilobytes * 1024;
	if (!strncmp(line, "VmFlags:", 8) && strstr(line, " gd"))
		m->r.flags |= POINT_GROWS;
}

static int open_of(struct writer *w, pid_t thread, const char *what)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)thread, what);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail(w, path);
	return fd;
}

static void put_memory(struct writer *w, pid_t thread)
{
	char line[PATH_MAX + 200];
	struct mapping now = { 0 }, next;
	FILE *maps = fdopen(open_of(w, thread, "smaps"), "r");

	w->memory = open_of(w, thread, "mem");
	w->pages = open_of(w, thread, "pagemap");
	while (maps && fgets(line, sizeof line, maps)) {
		line[strcspn(line, "\n")] = 0;
		if (read_mapping(w, &next, line)) {
			put_range(w, &now);
			now = next;
		} else {
			read_more(&now, line);
		}
	}
	put_range(w, &now);
	if (!maps || fclose(maps))
		fail(w, "the list of the process's memory cannot be read");
	put(w, &(struct point_range){ 0 }, sizeof(struct point_range));
	close(w->memory);
	close(w->pages);
}

FILE *checkpoint_create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* memory may hold secrets */
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (!out)
		die("%s: %s; --save wants the name of a new file", path, strerror(errno));
	return out;
}

void checkpoint_save(FILE *out, const char *path, const struct meta *meta, const struct control *c)
{
	char files[PATH_ROOM + 16];
	struct writer w = { .path = path, .trace_files = files, .out = out };
	struct point_header h;

	snprintf(files, sizeof files, "%s/files", meta->dir);
	fill_header(&h, meta, c->loader);
	h.shown = c->shown;
	if (c->follow) /* its meta.json is not there yet */
		h.trace = 0;
	w.page = h.page;
	XXH64_reset(&w.hash, 0);
	put(&w, &h, sizeof h);
	put_memory(&w, (pid_t)c->stopped);
	uint64_t hash = XXH64_digest(&w.hash);
	put(&w, &hash, sizeof hash);
	if (fclose(w.out))
		fail(&w, "the checkpoint cannot be written");
}

/* ---- reading -------------------------------------------------------------------------------------------------- */

struct bytes {
	const char *path;
	const uint8_t *data;
	uint64_t at, size; /* without the hash */
};

static const void *get(struct bytes *b, uint64_t n)
{
	if (n > b->size - b->at)
		die("%s is damaged at byte %lu", b->path, b->at);
	b->at += n;
	return b->data + b->at - n;
}

/* Nothing of it may replace what the loader stands on. */
static bool is_possible(const struct point_range *r, uint64_t page)
{
	bool loaders = r->to > MAP_LOADER_BASE && r->from < MAP_LOADER_END;
	bool controls = r->to > MAP_CONTROL_BASE && r->from < MAP_CONTROL_BASE + CONTROL_SIZE;

	return r->from < r->to && r->to <= MAP_OURS_END && !(r->from % page) && !(r->to % page) &&
	       r->kind >= POINT_MEMORY && r->kind <= POINT_LOADER && loaders == (r->kind == POINT_LOADER) &&
	       !controls && memchr(r->name, 0, sizeof r->name) && !strchr(r->name, '/');
}

/* False: it is behind the last. */
static bool check_range(struct bytes *b, uint64_t page)
{
	struct point_range r;
	struct point_run run;

	memcpy(&r, get(b, sizeof r), sizeof r);
	if (!r.kind)
		return false;
	if (!is_possible(&r, page))
		die("%s is damaged at byte %lu: no such memory can be", b->path, b->at - sizeof r);
	while (memcpy(&run, get(b, sizeof run), sizeof run), run.size) {
		if (run.from < r.from || run.from > r.to || run.size > r.to - run.from)
			die("%s is damaged at byte %lu: it leaves its memory", b->path, b->at - sizeof run);
		get(b, run.size);
	}
	return true;
}

static void check_header(const struct bytes *b, const struct point_header *h, const struct point_header *expected)
{
	uint64_t hash;

	memcpy(&hash, b->data + b->size, sizeof hash);
	if (h->magic != POINT_MAGIC)
		die("%s is no checkpoint of heddle's", b->path);
	if (h->version != expected->version || h->arch != expected->arch || h->loader != expected->loader ||
	    h->page != expected->page)
		die("%s was saved by another build of heddle, or on another machine; save it again", b->path);
	if (h->trace != expected->trace && h->trace)
		die("%s is a checkpoint of another recording", b->path);
	if (XXH64(b->data, b->size, 0) != hash)
		die("%s is damaged: it does not fit its checksum", b->path);
}

uint64_t checkpoint_check(const char *path, const struct meta *meta, const char *loader)
{
	struct point_header h, expected;
	struct bytes b = { .path = path };
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || (size_t)st.st_size < sizeof h + 8)
		die("%s is no checkpoint of heddle's", path);
	b.size = (uint64_t)st.st_size - 8;
	b.data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (b.data == MAP_FAILED)
		die("%s: %s", path, strerror(errno));
	fill_header(&expected, meta, loader);
	memcpy(&h, get(&b, sizeof h), sizeof h);
	check_header(&b, &h, &expected);
	while (check_range(&b, h.page))
		;
	munmap((void *)b.data, (size_t)st.st_size);
	close(fd);
	return h.shown;
}

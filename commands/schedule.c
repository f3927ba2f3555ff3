/*
 * Before a replay, for an order that logs no schedule but what one must satisfy (light): the order logs of an image, in
 * their unpacked streams, are read, solved, and replaced by what replay follows.
 *
 * The old pieces stay where they are, so that entries keep their numbers, with no bytes in them; the new log is put at
 * the end of the stream, before its ENTRY_LAST. Replay finds it there: runtime/hooks/log.c reads pieces wherever they
 * are.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "meta.h"
#include "runtime/order/order.h"
#include "trace/numbers.h"

#define PIECE_MOST (ENTRY_MAX / 2) /* bytes of the new log in one entry */

struct last_entry {
	struct entry e;
	uint64_t events;
};

/* ---- a stream, mapped -------------------------------------------------------------------------------------------- */

struct stream {
	char path[PATH_ROOM + 64];
	int fd;
	uint8_t *data;
	uint64_t size;
	struct last_entry last;
};

static void stream_fails(const struct stream *s)
{
	die("%s: %s", s->path, strerror(errno));
}

static void stream_open(struct stream *s, const char *dir, const struct trace_stream *from)
{
	struct stat st;

	snprintf(s->path, sizeof s->path, "%s/p%u.t%u.raw", dir, from->image, from->slot);
	s->fd = open(s->path, O_RDWR | O_CLOEXEC);
	if (s->fd < 0 || fstat(s->fd, &st))
		stream_fails(s);
	s->size = (uint64_t)st.st_size;
	s->last = (struct last_entry){ 0 };
	s->data = s->size ? mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0) : NULL;
	if (s->data == MAP_FAILED)
		stream_fails(s);
	if (s->size >= sizeof s->last)
		memcpy(&s->last, s->data + s->size - sizeof s->last, sizeof s->last);
	if (s->last.e.kind != ENTRY_LAST || s->last.e.size != sizeof s->last)
		s->last = (struct last_entry){ 0 };
}

static void stream_close(struct stream *s)
{
	if (s->data)
		munmap(s->data, s->size);
	close(s->fd);
}

/* The next piece of the order log at or after *at; NULL: there is none. The trace has been checked. */
static struct entry *next_piece(const struct stream *s, uint64_t *at)
{
	while (*at < s->size) {
		struct entry *e = (struct entry *)(s->data + *at);
		*at += e->size;
		if (e->kind == ENTRY_ORDER)
			return e;
	}
	return NULL;
}

/* ---- a log, both directions: what runtime/hooks/log.c writes and reads ------------------------------------------- */

static struct order_entry *new_entry(struct order_log_text *log)
{
	if (log->n == log->room) {
		log->room = log->room ? 2 * log->room : 256;
		log->entry = realloc(log->entry, log->room * sizeof *log->entry);
		if (!log->entry)
			die("no memory for %zu entries of the order log; record with --order=light:ww", log->room);
	}
	return &log->entry[log->n++];
}

static void read_piece(struct order_log_text *to, const uint8_t *at, const uint8_t *end, uint64_t *event)
{
	while (at < end) {
		struct order_entry *e = new_entry(to);
		uint64_t head = number_get(&at, end);
		*event += head >> 4;
		*e = (struct order_entry){ .event = *event, .n = head & 15 };
		for (unsigned i = 0; i < e->n; i++)
			e->numbers[i] = number_get(&at, end);
	}
}

/* first: where the events of this process begin. A piece that was written twice is seen by its position. */
static void read_log(struct order_log_text *to, const struct stream *s, uint64_t first)
{
	uint64_t bytes = 0, event = first, at = 0;
	struct entry *e;

	while ((e = next_piece(s, &at))) {
		const uint64_t *position = trace_args(e);
		if (*position >= bytes) {
			const uint8_t *data = (const uint8_t *)(position + 1);
			read_piece(to, data, data + e->result, &event);
			bytes += (uint64_t)e->result;
		}
	}
}

struct writing {
	const struct stream *s;
	uint8_t piece[PIECE_MOST + 16 * NUMBER_MAX];
	size_t used;
	uint64_t bytes;
};

static void append(const struct stream *s, const void *data, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t wrote = write(s->fd, (const char *)data + done, n - done);
		if (wrote < 0)
			die("%s: %s; set TMPDIR to a directory with more room", s->path, strerror(errno));
		done += (size_t)wrote;
	}
}

static void put_piece(struct writing *w)
{
	static const uint64_t padding;
	size_t pad = -w->used & 7;
	struct {
		struct entry e;
		uint64_t position;
	} head = { { .size = (uint32_t)(sizeof head + w->used + pad),
		     .kind = ENTRY_ORDER,
		     .flags = 1,
		     .result = (int64_t)w->used },
		   w->bytes };

	if (!w->used)
		return;
	append(w->s, &head, sizeof head);
	append(w->s, w->piece, w->used);
	append(w->s, &padding, pad);
	w->bytes += w->used;
	w->used = 0;
}

static void empty_pieces(const struct stream *s)
{
	uint64_t at = 0;
	struct entry *e;

	while ((e = next_piece(s, &at)))
		e->result = 0;
}

static void write_log(const struct order_log_text *log, const struct stream *s, uint64_t first)
{
	struct writing *w = calloc(1, sizeof *w);
	uint64_t before = first;

	if (!w)
		die("no memory");
	w->s = s;
	empty_pieces(s);
	if (lseek(s->fd, (off_t)(s->size - s->last.e.size), SEEK_SET) < 0)
		stream_fails(s);
	for (size_t i = 0; i < log->n; i++) {
		const struct order_entry *e = &log->entry[i];
		uint8_t *at = number_put(w->piece + w->used, (e->event - before) << 4 | e->n);
		for (unsigned k = 0; k < e->n; k++)
			at = number_put(at, e->numbers[k]);
		w->used = (size_t)(at - w->piece);
		before = e->event;
		if (w->used >= PIECE_MOST)
			put_piece(w);
	}
	put_piece(w);
	append(s, &s->last, s->last.e.size);
	free(w);
}

/* ---- an image ---------------------------------------------------------------------------------------------------- */

static void show_solving(size_t done, size_t all, double seconds)
{
	(void)seconds;
	progress("finding a schedule", done, all);
}

static void cannot_solve(const struct meta *meta, const char *problem, size_t entries, unsigned seconds)
{
	progress_end();
	if (strcmp(problem, SCHEDULE_TIME_IS_UP) == 0)
		die("no schedule was found in %u s for the %zu flows that --order=%s logged: this grows fast with the "
		    "log\n"
		    "heddle: give it more time (--solve-time=SECONDS, 0: no limit), or record with --order=light:ww,\n"
		    "heddle: which also logs the order of writes and needs no schedule",
		    seconds, entries, meta->order);
	die("no schedule for this recording: %s", problem);
}

/* Of a process that began by fork: see FORK_SHIFT. */
static uint64_t first_event(const struct stream *s)
{
	return s->last.events / 2 >> FORK_SHIFT << FORK_SHIFT;
}

static size_t stream_count(const struct meta *meta, unsigned image)
{
	size_t n = 0;

	for (size_t i = 0; i < meta->list.nstreams; i++)
		if (meta->list.streams[i].image == image && meta->list.streams[i].slot >= n)
			n = meta->list.streams[i].slot + 1;
	return n;
}

static void solve_image(const struct meta *meta, const struct order_scheme *scheme, const char *dir, unsigned image,
			unsigned seconds)
{
	size_t threads = stream_count(meta, image), entries = 0;
	struct order_log_text *logs = calloc(threads + 1, sizeof *logs);
	uint64_t first = 0;
	struct stream s;

	if (!logs)
		die("no memory");
	for (size_t i = 0; i < meta->list.nstreams; i++) {
		const struct trace_stream *from = &meta->list.streams[i];
		if (from->image != image)
			continue;
		stream_open(&s, dir, from);
		first = first_event(&s) > first ? first_event(&s) : first;
		read_log(&logs[from->slot], &s, first_event(&s));
		entries += logs[from->slot].n;
		stream_close(&s);
	}
	const char *problem = scheme->solve(logs, (uint32_t)threads, first, seconds, show_solving);
	if (problem)
		cannot_solve(meta, problem, entries, seconds);
	for (size_t i = 0; i < meta->list.nstreams; i++) {
		const struct trace_stream *from = &meta->list.streams[i];
		if (from->image != image)
			continue;
		stream_open(&s, dir, from);
		write_log(&logs[from->slot], &s, first);
		stream_close(&s);
	}
	for (size_t i = 0; i < threads; i++)
		free(logs[i].entry);
	free(logs);
}

static const struct order_scheme *scheme_of(const struct meta *meta)
{
	return *meta->order ? order_find(meta->order) : NULL;
}

bool schedule_is_wanted(const struct meta *meta)
{
	const struct order_scheme *scheme = scheme_of(meta);

	return scheme && scheme->solve;
}

void schedule_find(const struct meta *meta, const char *dir, unsigned seconds)
{
	const struct order_scheme *scheme = scheme_of(meta);

	if (!schedule_is_wanted(meta))
		return;
	order_used = scheme;
	for (size_t i = 0; i < meta->list.nstreams; i++)
		if (!i || meta->list.streams[i].image != meta->list.streams[i - 1].image)
			solve_image(meta, scheme, dir, meta->list.streams[i].image, seconds);
	progress_end();
}

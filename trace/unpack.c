/*
 * From log to entries: the only way into a packed stream.
 *
 * A chunk is believed only after its hash, position, sizes and entries were
 * checked, and nothing is allocated by a number from the file: both buffers have
 * the largest size that a chunk may have.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_STATIC_LINKING_ONLY /* the size of a state, to have it on the stack */
#include <xxhash.h>
#include <zstd.h>
#include "trace.h"

uint64_t trace_chunk_hash(const struct chunk_header *header, const void *packed)
{
	XXH64_state_t state;

	XXH64_reset(&state, 0);
	XXH64_update(&state, header, offsetof(struct chunk_header, hash));
	XXH64_update(&state, packed, header->packed);
	return XXH64_digest(&state);
}

void trace_log_header(struct log_header *header, unsigned image, unsigned slot)
{
	*header = (struct log_header){
		.magic = LOG_MAGIC, .version = TRACE_VERSION, .arch = TRACE_ARCH, .image = image, .slot = slot
	};
	header->hash = XXH64(header, offsetof(struct log_header, hash), 0);
}

/* 0: all of it was there. */
static int read_all(int fd, void *data, size_t size, uint64_t offset)
{
	while (size) {
		ssize_t n = pread(fd, data, size, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n ? errno : EIO;
			return -1;
		}
		data = (char *)data + n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

/* ---- the file --------------------------------------------------------------------- */

static int check_cut_header(struct trace_log *log, struct trace_problem *problem)
{
	struct log_cut_header h;

	if (log->size < sizeof h)
		return trace_damaged(problem, log->path, log->size, "cut inside the log's header");
	if (read_all(log->fd, &h, sizeof h, 0))
		return trace_failed(problem, log->path, "read this log");
	if (h.hash != XXH64(&h, offsetof(struct log_cut_header, hash), 0))
		return trace_damaged(problem, log->path, offsetof(struct log_cut_header, hash),
				     "the header does not fit its checksum");
	if (h.kept >= h.position)
		return trace_damaged(problem, log->path, offsetof(struct log_cut_header, kept), "nothing was dropped");
	log->cut = true;
	log->kept = h.kept;
	log->gap_end = h.position;
	log->gap_events = h.events;
	log->offset = sizeof h;
	return 0;
}

void trace_log_pass_gap(struct trace_log *log)
{
	if (!log->cut || log->position != log->kept)
		return;
	log->position = log->complete = log->gap_end;
	log->events = log->gap_events;
	/* the first chunk may have ended inside an event */
	log->state.begun = true;
	log->state.continued = false;
	log->state.place = 0;
	log->state.vforks = 0;
}

static int check_log_header(struct trace_log *log, unsigned image, unsigned slot, struct trace_problem *problem)
{
	struct log_header h;

	if (log->size < sizeof h)
		return trace_damaged(problem, log->path, log->size, "cut inside the log's header");
	if (read_all(log->fd, &h, sizeof h, 0))
		return trace_failed(problem, log->path, "read this log");
	if (h.magic != LOG_MAGIC && h.magic != LOG_CUT_MAGIC)
		return trace_damaged(problem, log->path, 0, "not a log of heddle");
	log->offset = sizeof h;
	if (h.magic == LOG_CUT_MAGIC && check_cut_header(log, problem))
		return -1;
	if (!log->cut && h.hash != XXH64(&h, offsetof(struct log_header, hash), 0))
		return trace_damaged(problem, log->path, offsetof(struct log_header, hash),
				     "the header does not fit its checksum");
	if (h.version != TRACE_VERSION || h.arch != TRACE_ARCH)
		return trace_damaged(problem, log->path, offsetof(struct log_header, version),
				     "version %u of machine %u; this heddle reads version %d of machine %d", h.version,
				     h.arch, TRACE_VERSION, TRACE_ARCH);
	if (h.image != image || h.slot != slot)
		return trace_damaged(problem, log->path, offsetof(struct log_header, image),
				     "this is the log of p%u.t%u", h.image, h.slot);
	return 0;
}

static int open_file(struct trace_log *log, struct trace_problem *problem)
{
	struct stat st;

	/* O_NONBLOCK: a fifo under this name must not make us wait */
	log->fd = open(log->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (log->fd < 0)
		return trace_failed(problem, log->path, "open this log");
	if (fstat(log->fd, &st))
		return trace_failed(problem, log->path, "look at this log");
	if (!S_ISREG(st.st_mode))
		return trace_damaged(problem, log->path, 0, "not a regular file");
	log->size = (uint64_t)st.st_size;
	return 0;
}

int trace_log_open(struct trace_log *log, const char *path, unsigned image, unsigned slot,
		   struct trace_problem *problem)
{
	memset(log, 0, sizeof *log);
	snprintf(log->path, sizeof log->path, "%s", path);
	log->state.first_slot = slot == 0;
	if (open_file(log, problem) || check_log_header(log, image, slot, problem)) {
		trace_log_close(log);
		return -1;
	}
	return 0;
}

void trace_log_close(struct trace_log *log)
{
	if (log->fd >= 0)
		close(log->fd);
	ZSTD_freeDCtx(log->unpacker);
	free(log->packed);
	if (!log->lent)
		free(log->raw);
	log->fd = -1;
	log->unpacker = log->packed = log->raw = NULL;
}

/* ---- chunks ---------------------------------------------------------------------------- */

/* Everything a header can tell; the hash needs the packed bytes. 0 at the end of the file. */
static int read_chunk_header(struct trace_log *log, struct chunk_header *h, struct trace_problem *problem)
{
	uint64_t at = log->offset, left = log->size - at;

	trace_log_pass_gap(log);
	if (!left)
		return 0;
	if (left < sizeof *h)
		return trace_damaged(problem, log->path, at, "cut inside a chunk's header");
	if (read_all(log->fd, h, sizeof *h, at))
		return trace_failed(problem, log->path, "read this log");
	if (h->magic != CHUNK_MAGIC)
		return trace_damaged(problem, log->path, at, "no chunk begins here");
	if (h->position != log->position)
		return trace_damaged(problem, log->path, at + offsetof(struct chunk_header, position),
				     "chunk for position %" PRIu64 ", expected %" PRIu64, h->position, log->position);
	if (!h->raw || h->raw > CHUNK_MAX || h->raw % 8 || !h->events || h->events > h->raw / sizeof(struct entry))
		return trace_damaged(problem, log->path, at + offsetof(struct chunk_header, raw),
				     "impossible chunk: %u entries in %u bytes", h->events, h->raw);
	if (!h->packed || h->packed > ZSTD_compressBound(CHUNK_MAX))
		return trace_damaged(problem, log->path, at + offsetof(struct chunk_header, packed),
				     "impossible chunk: %u packed bytes", h->packed);
	if (h->packed > left - sizeof *h)
		return trace_damaged(problem, log->path, at, "cut: this chunk has %u bytes, %" PRIu64 " are there",
				     h->packed, left - sizeof *h);
	return 1;
}

static void get_buffers(struct trace_log *log)
{
	if (log->packed)
		return;
	log->packed = malloc(ZSTD_compressBound(CHUNK_MAX));
	if (!log->raw)
		log->raw = malloc(CHUNK_MAX);
	log->unpacker = ZSTD_createDCtx();
	if (!log->packed || !log->raw || !log->unpacker)
		abort(); /* three megabytes are not to be had */
}

static int unpack_chunk(struct trace_log *log, const struct chunk_header *h, struct trace_problem *problem)
{
	get_buffers(log);
	if (read_all(log->fd, log->packed, h->packed, log->offset + sizeof *h))
		return trace_failed(problem, log->path, "read this log");
	if (trace_chunk_hash(h, log->packed) != h->hash)
		return trace_damaged(problem, log->path, log->offset,
				     "the chunk that begins here does not fit its checksum");
	size_t raw = ZSTD_decompressDCtx(log->unpacker, log->raw, CHUNK_MAX, log->packed, h->packed);
	if (ZSTD_isError(raw))
		return trace_damaged(problem, log->path, log->offset + sizeof *h, "cannot be unpacked: %s",
				     ZSTD_getErrorName(raw));
	if (raw != h->raw)
		return trace_damaged(problem, log->path, log->offset + sizeof *h, "unpacks to %zu bytes, not to %u",
				     raw, h->raw);
	return 0;
}

static int check_entries(struct trace_log *log, const struct chunk_header *h, struct trace_problem *problem)
{
	uint32_t at = 0, events = 0;

	for (; at < h->raw; events++) {
		const struct entry *e = (const void *)(log->raw + at);
		const char *flaw = trace_entry_flaw(e, h->raw - at, &log->state);
		if (flaw)
			return trace_damaged(problem, log->path, log->offset, "entry at position %" PRIu64 ": %s",
					     h->position + at, flaw);
		at += e->size;
		if (!log->state.continued)
			log->complete = h->position + at;
	}
	if (events != h->events)
		return trace_damaged(problem, log->path, log->offset + offsetof(struct chunk_header, events),
				     "%u entries, not %u", events, h->events);
	return 0;
}

static void step(struct trace_log *log, const struct chunk_header *h)
{
	log->chunk = log->offset;
	log->offset += sizeof *h + h->packed;
	log->position += h->raw;
	log->events += h->events;
	log->raw_len = h->raw;
}

int trace_log_next(struct trace_log *log, struct trace_problem *problem)
{
	struct chunk_header h;
	int more = read_chunk_header(log, &h, problem);

	if (more <= 0)
		return more;
	if (unpack_chunk(log, &h, problem) || check_entries(log, &h, problem))
		return -1;
	step(log, &h);
	return 1;
}

const struct entry *trace_log_last(const struct trace_log *log)
{
	const struct entry *e = NULL;

	for (uint32_t at = 0; at < log->raw_len; at += e->size) {
		e = (const void *)(log->raw + at);
		if (log->raw_len - at < sizeof *e || e->size < sizeof *e || e->size > log->raw_len - at)
			return NULL; /* a later chunk, which was no good, is unpacked over it */
	}
	return e;
}

int trace_log_skip(struct trace_log *log, struct trace_problem *problem)
{
	struct chunk_header h;
	int more = read_chunk_header(log, &h, problem);

	if (more > 0)
		step(log, &h);
	return more;
}

/* ---- a whole stream --------------------------------------------------------------------- */

static int write_raw(int fd, const char *path, const struct trace_log *log, struct trace_problem *problem)
{
	for (uint32_t done = 0; done < log->raw_len;) {
		ssize_t n = write(fd, log->raw + done, log->raw_len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return trace_failed(problem, path, "write the unpacked stream");
		done += (uint32_t)n;
	}
	return 0;
}

static int unpack_log(struct trace_log *log, int fd, const char *raw_path, trace_progress progress,
		      struct trace_problem *problem)
{
	int more;

	while ((more = trace_log_next(log, problem)) > 0) {
		/* what was dropped is a hole */
		if (fd >= 0 && lseek(fd, (off_t)(log->position - log->raw_len), SEEK_SET) < 0)
			return trace_failed(problem, raw_path, "write the unpacked stream");
		if (fd >= 0 && write_raw(fd, raw_path, log, problem))
			return -1;
		if (progress)
			progress(log->offset, log->size);
	}
	/* The last event may have been cut by the thread's death, between an entry and its
	   ENTRY_MORE: then it did not happen. */
	if (!more && fd >= 0 && log->complete < log->position && ftruncate(fd, (off_t)log->complete))
		return trace_failed(problem, raw_path, "cut the unpacked stream");
	return more;
}

static void note_late(struct trace_stream *s, const struct trace_log *log)
{
	const struct entry *last = trace_log_last(log);

	s->complete = log->complete;
	s->order = log->state.order;
	s->ops = s->accesses = 0;
	if (!last || last->kind != ENTRY_LAST || last->size != sizeof *last + 8 || log->complete != log->position)
		return;
	s->complete -= last->size;
	s->ops = (uint64_t)last->result;
	memcpy(&s->accesses, last + 1, sizeof s->accesses);
}

int trace_unpack(const char *dir, struct trace_stream *expected, const char *raw_path, trace_progress progress,
		 struct trace_shown *shown, struct trace_problem *problem)
{
	char path[PATH_ROOM + 64];
	struct trace_log log;
	int fd = -1;

	trace_path(path, dir, expected->image, expected->slot);
	if (trace_log_open(&log, path, expected->image, expected->slot, problem))
		return -1;
	log.state.shown = shown;
	if (raw_path && (fd = open(raw_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0) {
		trace_log_close(&log);
		return trace_failed(problem, raw_path, "write the unpacked stream");
	}
	int result = unpack_log(&log, fd, raw_path, progress, problem);
	if (!result && (log.position != expected->raw || log.events != expected->events))
		result = trace_damaged(problem, path, log.size,
				       "ends after %" PRIu64 " entries (%" PRIu64 " bytes); meta.json says %" PRIu64
				       " (%" PRIu64 ")",
				       log.events, log.position, expected->events, expected->raw);
	if (!result && expected->late)
		note_late(expected, &log);
	trace_log_close(&log);
	if (fd >= 0 && close(fd) && !result)
		result = trace_failed(problem, raw_path, "write the unpacked stream");
	return result;
}

/* ---- entry by entry ------------------------------------------------------------------------ */

int trace_reader_open(struct trace_reader *reader, const char *dir, unsigned image, unsigned slot,
		      struct trace_problem *problem)
{
	char path[PATH_ROOM + 64];

	trace_path(path, dir, image, slot);
	reader->at = 0;
	reader->event = UINT64_MAX; /* the first trace_read makes it 0 */
	return trace_log_open(&reader->log, path, image, slot, problem);
}

int trace_read(struct trace_reader *reader, const struct entry **e, struct trace_problem *problem)
{
	if (reader->at == reader->log.raw_len) {
		trace_log_pass_gap(&reader->log);
		reader->event = reader->log.events - 1;
		int more = trace_log_next(&reader->log, problem);
		if (more <= 0)
			return more;
		reader->at = 0;
	}
	*e = (const void *)(reader->log.raw + reader->at);
	reader->at += (*e)->size;
	reader->event++;
	return 1;
}

void trace_reader_close(struct trace_reader *reader)
{
	trace_log_close(&reader->log);
}

const struct block *trace_next_block(const struct entry *e, const struct block *before)
{
	const char *next;

	if (e->kind == ENTRY_ORDER)
		return NULL; /* it has bytes of the order log instead */
	if (before)
		next = (const char *)(before + 1) + ((trace_block_data(before) + 7u) & ~7u);
	else
		next = (const char *)(trace_args(e) + ENTRY_ARGS(e->flags) + (e->flags & ENTRY_TICKETS ? 2 : 0));
	return next < (const char *)e + e->size ? (const struct block *)next : NULL;
}

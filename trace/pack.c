/*
 * From ring to log: moves entries out of the files that recorded threads write
 * into the compressed stream that replay reads.
 *
 * Invariants:
 *  1. A chunk is in the log, whole, before the ring's tail passes it. So at every
 *     moment each byte of the stream is in the log or in the ring.
 *  2. Only this code stores `tail`, only the recorded thread stores `head`.
 *  3. A chunk holds whole entries, so a log that is cut after any chunk is a stream.
 *
 * A crash between writing a chunk and moving the tail leaves a piece of the stream
 * in both files, a crash while writing leaves a torn last chunk. Both are seen by
 * positions when the ring is opened again: see join_log().
 *
 * The ring lies in the recorded program's memory, so a wild store may have hit it:
 * every number from there is checked before it is used, and read only once.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zstd.h>
#include "trace.h"

struct trace_packer {
	ZSTD_CCtx *zstd;
	size_t room;
	uint8_t *packed; /* chunk header, then room bytes */
	uint8_t raw[RING_SIZE];
};

struct trace_ring {
	char ring_path[PATH_ROOM + 64], log_path[PATH_ROOM + 64];
	struct ring_header *header; /* shared with the recorded thread */
	unsigned image, slot;
	uint64_t log_end; /* offset of the next chunk */
	uint64_t tail;	  /* what we stored last; the shared copy is never trusted */
};

struct trace_packer *trace_packer_new(void)
{
	struct trace_packer *packer = malloc(sizeof *packer);

	if (!packer)
		return NULL;
	packer->zstd = ZSTD_createCCtx();
	packer->room = ZSTD_compressBound(CHUNK_MAX);
	packer->packed = malloc(sizeof(struct chunk_header) + packer->room);
	if (!packer->zstd || !packer->packed) {
		trace_packer_free(packer);
		return NULL;
	}
	return packer;
}

void trace_packer_free(struct trace_packer *packer)
{
	ZSTD_freeCCtx(packer->zstd);
	free(packer->packed);
	free(packer);
}

/* ---- writing -------------------------------------------------------------------- */

static int write_all(int fd, const void *data, size_t size, uint64_t offset)
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

/* The log is opened for each chunk, so that heddle needs no descriptor per thread: a tree of
   thousands would exceed RLIMIT_NOFILE, which the program must see as it was. */
static int append(struct trace_ring *ring, const void *data, size_t size, struct trace_problem *problem)
{
	int fd = open(ring->log_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return trace_failed(problem, ring->log_path, "write this log");
	if (write_all(fd, data, size, ring->log_end)) {
		trace_failed(problem, ring->log_path, "write this log");
		int cut = ftruncate(fd, (off_t)ring->log_end);
		(void)cut; /* if not, the torn chunk is cut when the trace is next opened */
		close(fd);
		return -1;
	}
	if (close(fd)) /* network file systems report a full disk only here */
		return trace_failed(problem, ring->log_path, "write this log");
	ring->log_end += size;
	return 0;
}

static int begin_log(struct trace_ring *ring, struct trace_problem *problem)
{
	struct log_header header;

	trace_log_header(&header, ring->image, ring->slot);
	ring->log_end = 0;
	return append(ring, &header, sizeof header, problem);
}

/* ---- opening ---------------------------------------------------------------------- */

static int cut_log(struct trace_ring *ring, struct trace_problem *problem)
{
	return truncate(ring->log_path, (off_t)ring->log_end) ?
		       trace_failed(problem, ring->log_path, "cut the unfinished end of this log") :
		       0;
}

/*
 * Finds where the log ends that an earlier packer wrote. Whatever follows the last good chunk
 * is cut, but only if the ring still holds those bytes (invariant 1): if it does not, the log
 * is damaged, not torn. If the log goes beyond the ring's tail, the packer died between its
 * two steps, and the tail is moved now.
 */
static int join_log(struct trace_ring *ring, struct trace_problem *problem)
{
	struct trace_log log;
	struct stat st;
	int more;

	if (stat(ring->log_path, &st) || (size_t)st.st_size < sizeof(struct log_header)) {
		if (ring->tail)
			return trace_damaged(problem, ring->log_path, 0,
					     "missing or cut, but the ring expects %" PRIu64 " bytes of stream in it",
					     ring->tail);
		return begin_log(ring, problem);
	}
	if (trace_log_open(&log, ring->log_path, ring->image, ring->slot, problem))
		return -1;
	do
		ring->log_end = log.offset;
	while ((more = trace_log_next(&log, problem)) > 0);
	uint64_t position = log.position;
	trace_log_close(&log);
	uint64_t head = __atomic_load_n(&ring->header->head, __ATOMIC_ACQUIRE);
	if (position < ring->tail) {
		if (!more) /* whole chunks are missing; else the problem found stands */
			trace_damaged(problem, ring->log_path, ring->log_end,
				      "cut: the stream ends at %" PRIu64 ", the ring goes on from %" PRIu64, position,
				      ring->tail);
		return -1;
	}
	if (position > head)
		return trace_damaged(problem, ring->ring_path, offsetof(struct ring_header, head),
				     "ends at %" PRIu64 ", before the log does (%" PRIu64 ")", head, position);
	ring->tail = position;
	__atomic_store_n(&ring->header->tail, position, __ATOMIC_RELEASE);
	return more ? cut_log(ring, problem) : 0;
}

/* 1: it is a ring. 0: not yet. */
static int look_at_header(struct trace_ring *ring, struct trace_problem *problem)
{
	const struct ring_header *h = ring->header;
	uint64_t magic = __atomic_load_n(&h->magic, __ATOMIC_ACQUIRE); /* the thread stores it last */

	if (!magic)
		return 0;
	if (magic != RING_MAGIC)
		return trace_damaged(problem, ring->ring_path, 0, "not a ring");
	if (h->version != TRACE_VERSION || h->arch != TRACE_ARCH)
		return trace_damaged(problem, ring->ring_path, offsetof(struct ring_header, version),
				     "version %u of machine %u; this heddle reads version %d of machine %d", h->version,
				     h->arch, TRACE_VERSION, TRACE_ARCH);
	if (h->image != ring->image || h->slot != ring->slot)
		return trace_damaged(problem, ring->ring_path, offsetof(struct ring_header, image),
				     "belongs to p%u/t%u", h->image, h->slot);
	ring->tail = h->tail;
	uint64_t head = __atomic_load_n(&h->head, __ATOMIC_ACQUIRE);
	if (ring->tail % 8 || head < ring->tail || head - ring->tail > RING_SIZE)
		return trace_damaged(problem, ring->ring_path, offsetof(struct ring_header, head),
				     "impossible positions: head %" PRIu64 ", tail %" PRIu64, head, ring->tail);
	return 1;
}

static int map_ring(struct trace_ring *ring, struct trace_problem *problem)
{
	int fd = open(ring->ring_path, O_RDWR | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return trace_failed(problem, ring->ring_path, "open this ring");
	if (fstat(fd, &st) || st.st_size < RING_HEADER + RING_SIZE) {
		uint64_t magic = 0; /* the thread gives the file its size before it writes anything */
		bool cut = pread(fd, &magic, sizeof magic, 0) > 0 && magic;
		close(fd);
		return cut ? trace_damaged(problem, ring->ring_path, (uint64_t)st.st_size, "cut here") : 0;
	}
	void *map = mmap(NULL, RING_HEADER + RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return trace_failed(problem, ring->ring_path, "map this ring");
	ring->header = map;
	return look_at_header(ring, problem);
}

int trace_ring_open(struct trace_ring **out, const char *dir, unsigned image, unsigned slot,
		    struct trace_problem *problem)
{
	struct trace_ring *ring = calloc(1, sizeof *ring);

	if (!ring)
		abort();
	ring->image = image;
	ring->slot = slot;
	trace_path(ring->ring_path, dir, image, slot, TRACE_RING);
	trace_path(ring->log_path, dir, image, slot, TRACE_LOG);
	int result = map_ring(ring, problem);
	if (result == 1 && join_log(ring, problem))
		result = -1;
	if (result == 1)
		*out = ring;
	else
		trace_ring_close(ring);
	return result;
}

void trace_ring_close(struct trace_ring *ring)
{
	if (ring->header)
		munmap(ring->header, RING_HEADER + RING_SIZE);
	free(ring);
}

/* ---- packing ------------------------------------------------------------------------ */

bool trace_ring_done(const struct trace_ring *ring)
{
	return __atomic_load_n(&ring->header->done, __ATOMIC_ACQUIRE);
}

bool trace_ring_wants(const struct trace_ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->header->head, __ATOMIC_RELAXED);

	return head - ring->tail >= RING_SIZE / 4 || trace_ring_done(ring) ||
	       __atomic_load_n(&ring->header->waiting, __ATOMIC_RELAXED);
}

bool trace_ring_finished(const struct trace_ring *ring)
{
	/* done is stored after the last head: in this order nothing is missed */
	return trace_ring_done(ring) && __atomic_load_n(&ring->header->head, __ATOMIC_ACQUIRE) == ring->tail;
}

uint64_t trace_ring_pid(const struct trace_ring *ring)
{
	return ring->header->pid;
}

/* Copies what lies between tail and head, in one piece. */
static int copy_out(struct trace_ring *ring, uint8_t *raw, uint32_t *len, struct trace_problem *problem)
{
	const uint8_t *data = (const uint8_t *)ring->header + RING_HEADER;
	uint64_t head = __atomic_load_n(&ring->header->head, __ATOMIC_ACQUIRE); /* with the thread's release */
	uint32_t from = (uint32_t)(ring->tail % RING_SIZE);

	if (head < ring->tail || head - ring->tail > RING_SIZE)
		return trace_damaged(problem, ring->ring_path, offsetof(struct ring_header, head),
				     "the program overwrote it: head %" PRIu64 ", tail %" PRIu64, head, ring->tail);
	*len = (uint32_t)(head - ring->tail);
	uint32_t first = *len < RING_SIZE - from ? *len : RING_SIZE - from;
	memcpy(raw, data + from, first);
	memcpy(raw + first, data, *len - first);
	return 0;
}

/* Counts the entries; they must end where the piece ends (invariant 3). */
static int count_entries(struct trace_ring *ring, const uint8_t *raw, uint32_t len, uint32_t *events,
			 struct trace_problem *problem)
{
	uint32_t at = 0;

	for (*events = 0; at < len; ++*events) {
		const struct entry *e = (const void *)(raw + at);
		if (len - at < sizeof *e || e->size < sizeof *e || e->size % 8 || e->size > len - at ||
		    e->size > ENTRY_MAX)
			return trace_damaged(problem, ring->ring_path, RING_HEADER + (ring->tail + at) % RING_SIZE,
					     "no entry begins at position %" PRIu64 " of the stream", ring->tail + at);
		at += e->size;
	}
	return 0;
}

static int write_chunk(struct trace_ring *ring, struct trace_packer *packer, uint32_t len, uint32_t events, int level,
		       struct trace_problem *problem)
{
	struct chunk_header *header = (void *)packer->packed;
	size_t packed = ZSTD_compressCCtx(packer->zstd, header + 1, packer->room, packer->raw, len, level);

	if (ZSTD_isError(packed)) {
		errno = ENOMEM;
		return trace_failed(problem, ring->log_path, ZSTD_getErrorName(packed));
	}
	*header = (struct chunk_header){
		.magic = CHUNK_MAGIC, .packed = (uint32_t)packed, .position = ring->tail, .raw = len, .events = events
	};
	header->hash = trace_chunk_hash(header, header + 1);
	return append(ring, header, sizeof *header + packed, problem);
}

/* The thread stores waiting = 1, looks at tail once more, then waits while it is 1. */
static void wake(struct ring_header *header)
{
	if (__atomic_exchange_n(&header->waiting, 0, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &header->waiting, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

int trace_ring_pack(struct trace_ring *ring, struct trace_packer *packer, int level, struct trace_problem *problem)
{
	uint32_t len = 0, events = 0;

	if (copy_out(ring, packer->raw, &len, problem))
		return -1;
	if (len) {
		if (count_entries(ring, packer->raw, len, &events, problem) ||
		    write_chunk(ring, packer, len, events, level, problem))
			return -1;
		ring->tail += len;
		__atomic_store_n(&ring->header->tail, ring->tail, __ATOMIC_SEQ_CST); /* invariant 1 */
	}
	wake(ring->header);
	return 0;
}

/* How far a thread had come with its synchronisation, which leaves no entries of its own. */
static int add_last(struct trace_ring *ring, struct trace_packer *packer, int level, struct trace_problem *problem)
{
	struct entry last = { .size = sizeof last, .kind = ENTRY_LAST, .result = (int64_t)ring->header->front[0] };

	if (!last.result)
		return 0;
	memcpy(packer->raw, &last, sizeof last);
	return write_chunk(ring, packer, sizeof last, 1, level, problem);
}

int trace_ring_finish(struct trace_ring *ring, struct trace_packer *packer, int level, struct trace_problem *problem)
{
	if (trace_ring_pack(ring, packer, level, problem) || add_last(ring, packer, level, problem))
		return -1;
	return unlink(ring->ring_path) ? trace_failed(problem, ring->ring_path, "remove this ring") : 0;
}

/* ---- all rings of a trace --------------------------------------------------------------- */

/* A ring that was never made ready held nothing; its log begins and ends with the header, so
   that the stream exists (its process died before its first event). */
static int drop_unready(const char *dir, unsigned image, unsigned slot, struct trace_problem *problem)
{
	struct trace_ring ring = { .image = image, .slot = slot };
	struct stat st;

	trace_path(ring.ring_path, dir, image, slot, TRACE_RING);
	trace_path(ring.log_path, dir, image, slot, TRACE_LOG);
	if (stat(ring.log_path, &st) && begin_log(&ring, problem))
		return -1;
	return unlink(ring.ring_path) ? trace_failed(problem, ring.ring_path, "remove this ring") : 0;
}

static int finish_one(const char *dir, unsigned image, unsigned slot, struct trace_packer *packer, int level,
		      struct trace_problem *problem)
{
	struct trace_ring *ring;
	int ready = trace_ring_open(&ring, dir, image, slot, problem);

	if (ready <= 0)
		return ready ? -1 : drop_unready(dir, image, slot, problem);
	int result = trace_ring_finish(ring, packer, level, problem);
	trace_ring_close(ring);
	return result;
}

static int finish_image(const char *dir, unsigned image, struct trace_packer *packer, int level,
			struct trace_problem *problem)
{
	char path[PATH_ROOM + 64];
	struct dirent *item;
	unsigned slot;
	int result = 0;

	snprintf(path, sizeof path, "%.*s/p%u", PATH_ROOM - 1, dir, image);
	DIR *names = opendir(path);
	if (!names)
		return trace_failed(problem, path, "read this directory");
	while (!result && (item = readdir(names)))
		if (trace_slot_of(item->d_name, ".ring", &slot))
			result = finish_one(dir, image, slot, packer, level, problem);
	closedir(names);
	if (!result)
		rmdir(path); /* an image that never began; fails, rightly, where there is a log */
	return result;
}

int trace_finish_rings(const char *dir, struct trace_packer *packer, int level, struct trace_problem *problem)
{
	DIR *names = opendir(dir);
	struct dirent *item;
	unsigned image;
	int result = 0;

	if (!names)
		return trace_failed(problem, dir, "read this directory");
	while (!result && (item = readdir(names)))
		if (trace_image_of(item->d_name, &image))
			result = finish_image(dir, image, packer, level, problem);
	closedir(names);
	return result;
}

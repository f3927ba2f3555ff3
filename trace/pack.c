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
#define _GNU_SOURCE
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

/*
 * Entries of so many bytes hold what a program reads in large pieces: code, pictures, packed data. The quick levels
 * take long over them and gain little (python3 importing its library: 11 ms for 4.9 MB at level -5, 3.3 ms at -50, and
 * the log is 2.7 or 4.2 MB).
 */
enum { BULK = 4096, BULK_LEVEL = -50 };

/* Where not even a sixteenth is gained (words in random order, packed data), so many of a ring's next bulks are not
   tried: zstd's quickest level keeps them as they are. 100 MB of words cost 24 ms at BULK_LEVEL, 11 ms so; to copy
   them, 4 ms. */
enum { BULK_UNTRIED = 15 };

struct trace_packer {
	ZSTD_CCtx *zstd;
	size_t room;
	uint8_t *packed;  /* log header (used for a log's first chunk), chunk header, then room bytes */
	uint64_t written; /* bytes of logs, all in all */
	uint8_t raw[RING_SIZE];
};

struct trace_ring {
	const char *dir;
	unsigned number;
	char ring_path[PATH_ROOM + 64], log_path[PATH_ROOM + 64];
	struct ring_header *header; /* shared with the recorded thread */
	bool ready;		    /* a thread has it: image, slot and log_path are known */
	bool ended;		    /* the log holds all of it, ENTRY_LAST included */
	bool dropped;		    /* the recording is over: what it gets is thrown away */
	bool continued;		    /* the last entry that was taken out is: its event goes on */
	unsigned image, slot;
	unsigned untried;    /* bulks to come that are not tried */
	uint64_t log_end;    /* offset of the next chunk; 0: there is no log yet */
	uint64_t tail;	     /* what we stored last; the shared copy is never trusted */
	const char *raw_dir; /* or NULL: trace_ring_follow() */
};

struct trace_packer *trace_packer_new(void)
{
	struct trace_packer *packer = malloc(sizeof *packer);

	if (!packer)
		return NULL;
	packer->written = 0;
	packer->zstd = ZSTD_createCCtx();
	packer->room = ZSTD_compressBound(CHUNK_MAX);
	packer->packed = malloc(sizeof(struct log_header) + sizeof(struct chunk_header) + packer->room);
	if (!packer->zstd || !packer->packed) {
		trace_packer_free(packer);
		return NULL;
	}
	return packer;
}

uint64_t trace_packer_written(const struct trace_packer *packer)
{
	return packer->written;
}

void trace_packer_free(struct trace_packer *packer)
{
	ZSTD_freeCCtx(packer->zstd);
	free(packer->packed);
	free(packer);
}

/* ---- writing -------------------------------------------------------------------- */

/* The log is opened for each chunk, so that heddle needs no descriptor per thread: a tree of
   thousands would exceed RLIMIT_NOFILE, which the program must see as it was. */
static int append(struct trace_ring *ring, const void *data, size_t size, struct trace_problem *problem)
{
	int fd = open(ring->log_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return trace_failed(problem, ring->log_path, "write this log");
	if (trace_write_all(fd, data, size, ring->log_end)) {
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
		ring->log_end = 0;
		return 0;
	}
	if (trace_log_open(&log, ring->log_path, ring->image, ring->slot, problem))
		return -1;
	do
		ring->log_end = log.offset;
	while ((more = trace_log_next(&log, problem)) > 0);
	uint64_t position = log.position, head = __atomic_load_n(&ring->header->head, __ATOMIC_ACQUIRE);
	/* ENTRY_LAST is in no ring: it is written with the last of the ring's entries, before the ring is removed */
	const struct entry *last = trace_log_last(&log);
	ring->ended = position > head && last && last->kind == ENTRY_LAST;
	ring->continued = last && trace_is_continued(last);
	trace_log_close(&log);
	if (ring->ended)
		return 0;
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

/* The thread stores the magic last: whose ring it is stands there before. */
static int look_at_header(struct trace_ring *ring, struct trace_problem *problem)
{
	const struct ring_header *h = ring->header;

	if (h->magic != RING_MAGIC)
		return trace_damaged(problem, ring->ring_path, 0, "not a ring");
	if (h->version != TRACE_VERSION || h->arch != TRACE_ARCH)
		return trace_damaged(problem, ring->ring_path, offsetof(struct ring_header, version),
				     "version %u of machine %u; this heddle reads version %d of machine %d", h->version,
				     h->arch, TRACE_VERSION, TRACE_ARCH);
	ring->image = h->image;
	ring->slot = h->slot;
	trace_path(ring->log_path, ring->dir, ring->image, ring->slot);
	ring->tail = h->tail;
	uint64_t head = __atomic_load_n(&h->head, __ATOMIC_ACQUIRE);
	if (ring->tail % 8 || head < ring->tail || head - ring->tail > RING_SIZE)
		return trace_damaged(problem, ring->ring_path, offsetof(struct ring_header, head),
				     "impossible positions: head %" PRIu64 ", tail %" PRIu64, head, ring->tail);
	return 0;
}

int trace_ring_ready(struct trace_ring *ring, struct trace_problem *problem)
{
	if (!ring->ready && __atomic_load_n(&ring->header->magic, __ATOMIC_ACQUIRE)) {
		if (look_at_header(ring, problem) || join_log(ring, problem))
			return -1;
		ring->ready = true;
	}
	return ring->ready;
}

static int map_ring(struct trace_ring *ring, int fd, struct trace_problem *problem)
{
	void *map = mmap(NULL, RING_HEADER + RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return trace_failed(problem, ring->ring_path, "map this ring");
	/* or the first touch of each page would read ahead in a file that is all hole */
	madvise(map, RING_HEADER + RING_SIZE, MADV_RANDOM);
	ring->header = map;
	return 0;
}

/* -1, and errno. whole: the disk has room for all of it from now on, so that no thread dies of SIGBUS there. */
static int set_size(int fd, bool whole)
{
	if (!whole)
		return ftruncate(fd, RING_HEADER + RING_SIZE);
	errno = posix_fallocate(fd, 0, RING_HEADER + RING_SIZE);
	return errno ? -1 : 0;
}

static int make_file(struct trace_ring *ring, bool whole, struct trace_problem *problem)
{
	int fd = open(ring->ring_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return trace_failed(problem, ring->ring_path, "make this ring");
	int result = set_size(fd, whole) ? trace_failed(problem, ring->ring_path, "make this ring") :
					   map_ring(ring, fd, problem);
	if (result)
		unlink(ring->ring_path);
	close(fd);
	return result;
}

static int open_file_again(struct trace_ring *ring, struct trace_problem *problem)
{
	int fd = open(ring->ring_path, O_RDWR | O_CLOEXEC);
	struct stat st;
	int result;

	if (fd < 0)
		return trace_failed(problem, ring->ring_path, "open this ring");
	if (fstat(fd, &st))
		result = trace_failed(problem, ring->ring_path, "look at this ring");
	else if (st.st_size && st.st_size < RING_HEADER + RING_SIZE)
		result = trace_damaged(problem, ring->ring_path, (uint64_t)st.st_size, "cut here");
	else /* empty: heddle was killed while it made it */
		result = st.st_size ? map_ring(ring, fd, problem) : 0;
	close(fd);
	return result;
}

static struct trace_ring *new_ring(const char *dir, unsigned number)
{
	struct trace_ring *ring = calloc(1, sizeof *ring);

	if (!ring)
		abort();
	ring->dir = dir;
	ring->number = number;
	snprintf(ring->ring_path, sizeof ring->ring_path, "%.*s/%u.ring", PATH_ROOM - 1, dir, number);
	return ring;
}

struct trace_ring *trace_ring_make(const char *dir, unsigned number, bool whole, struct trace_problem *problem)
{
	struct trace_ring *ring = new_ring(dir, number);

	if (!make_file(ring, whole, problem))
		return ring;
	trace_ring_close(ring);
	return NULL;
}

struct trace_ring *trace_ring_make_nameless(struct trace_problem *problem)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);
	struct trace_ring *ring = new_ring("", RING_NAMELESS | (unsigned)fd);

	ring->dropped = true;
	if (fd < 0 || set_size(fd, false) || map_ring(ring, fd, problem)) {
		trace_failed(problem, "memory", "make a ring");
		ring->number = fd < 0 ? 0 : ring->number;
		trace_ring_close(ring);
		return NULL;
	}
	return ring;
}

struct trace_ring *trace_ring_open(const char *dir, unsigned number, struct trace_problem *problem)
{
	struct trace_ring *ring = new_ring(dir, number);

	if (!open_file_again(ring, problem) && (!ring->header || trace_ring_ready(ring, problem) >= 0))
		return ring;
	trace_ring_close(ring);
	return NULL;
}

void trace_ring_close(struct trace_ring *ring)
{
	if (ring->header)
		munmap(ring->header, RING_HEADER + RING_SIZE);
	if (ring->number & RING_NAMELESS)
		close((int)(ring->number & ~RING_NAMELESS));
	free(ring);
}

/* ---- packing ------------------------------------------------------------------------ */

unsigned trace_ring_image(const struct trace_ring *ring)
{
	return ring->dropped ? ring->header->image : ring->image;
}

unsigned trace_ring_number(const struct trace_ring *ring)
{
	return ring->number;
}

enum ring_done trace_ring_done(const struct trace_ring *ring)
{
	return __atomic_load_n(&ring->header->done, __ATOMIC_ACQUIRE);
}

void trace_ring_set_left(struct trace_ring *ring)
{
	__atomic_store_n(&ring->header->done, RING_LEFT, __ATOMIC_RELEASE);
}

bool trace_ring_wants(const struct trace_ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->header->head, __ATOMIC_RELAXED);

	return ring->dropped || head - ring->tail >= RING_SIZE / 4 || trace_ring_done(ring) ||
	       __atomic_load_n(&ring->header->waiting, __ATOMIC_RELAXED);
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

struct piece {
	uint32_t len, events, bulk; /* bytes, entries, bytes of the large ones */
};

/* Counts the entries; they must end where the piece ends (invariant 3). */
static int count_entries(struct trace_ring *ring, const uint8_t *raw, struct piece *p, struct trace_problem *problem)
{
	uint32_t at = 0, len = p->len;

	for (; at < len; p->events++) {
		const struct entry *e = (const void *)(raw + at);
		if (len - at < sizeof *e || e->size < sizeof *e || e->size % 8 || e->size > len - at ||
		    e->size > ENTRY_MAX)
			return trace_damaged(problem, ring->ring_path, RING_HEADER + (ring->tail + at) % RING_SIZE,
					     "no entry begins at position %" PRIu64 " of the stream", ring->tail + at);
		at += e->size;
		p->bulk += e->size >= BULK ? e->size : 0;
		ring->continued = trace_is_continued(e);
	}
	return 0;
}

/* One frame of the piece; its size, or zstd's error. */
static size_t make_frame(struct trace_ring *ring, struct trace_packer *packer, const struct piece *p, int level,
			 void *to)
{
	bool bulk = p->bulk > p->len / 2;

	bool untried = bulk && ring->untried;

	if (bulk)
		level = untried ? ZSTD_minCLevel() : BULK_LEVEL;
	size_t packed = ZSTD_compressCCtx(packer->zstd, to, packer->room, packer->raw, p->len, level);
	if (untried)
		ring->untried--;
	else if (bulk && packed > p->len - p->len / 16)
		ring->untried = BULK_UNTRIED;
	return packed;
}

/* A log begins with its first chunk. */
static int write_chunk(struct trace_ring *ring, struct trace_packer *packer, const struct piece *p, int level,
		       struct trace_problem *problem)
{
	struct log_header *first = (void *)packer->packed;
	struct chunk_header *header = (void *)(first + 1);
	size_t packed = make_frame(ring, packer, p, level, header + 1);

	if (ZSTD_isError(packed)) {
		errno = ENOMEM;
		return trace_failed(problem, ring->log_path, ZSTD_getErrorName(packed));
	}
	*header = (struct chunk_header){ .magic = CHUNK_MAGIC,
					 .packed = (uint32_t)packed,
					 .position = ring->tail,
					 .raw = p->len,
					 .events = p->events };
	header->hash = trace_chunk_hash(header, header + 1);
	if (ring->log_end)
		return append(ring, header, sizeof *header + packed, problem);
	trace_log_header(first, ring->image, ring->slot);
	return append(ring, first, sizeof *first + sizeof *header + packed, problem);
}

/* The thread stores waiting = 1, looks at tail once more, then waits while it is 1. */
static void wake(struct ring_header *header)
{
	if (__atomic_exchange_n(&header->waiting, 0, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &header->waiting, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* A process that follows the recording reads it. */
static int write_unpacked(const struct trace_ring *ring, const void *data, uint32_t n, struct trace_problem *problem)
{
	char path[PATH_ROOM + 64];

	snprintf(path, sizeof path, "%s/p%u.t%u.raw", ring->raw_dir, ring->image, ring->slot);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	int result = fd < 0 || trace_write_all(fd, data, n, ring->tail) ?
			     trace_failed(problem, path, "write this stream") :
			     0;
	if (fd >= 0)
		close(fd);
	return result;
}

static int pack(struct trace_ring *ring, struct trace_packer *packer, const struct piece *p, int level,
		struct trace_problem *problem)
{
	if (ring->raw_dir && write_unpacked(ring, packer->raw, p->len, problem))
		return -1;
	uint64_t before = ring->log_end;
	if (write_chunk(ring, packer, p, level, problem))
		return -1;
	packer->written += ring->log_end - before;
	ring->tail += p->len;
	__atomic_store_n(&ring->header->tail, ring->tail, __ATOMIC_SEQ_CST); /* invariant 1 */
	return 0;
}

int trace_ring_pack(struct trace_ring *ring, struct trace_packer *packer, int level, struct trace_problem *problem)
{
	struct piece p = { 0 };

	if (copy_out(ring, packer->raw, &p.len, problem) || count_entries(ring, packer->raw, &p, problem) ||
	    (p.len && pack(ring, packer, &p, level, problem)))
		return -1;
	wake(ring->header);
	return 0;
}

bool trace_ring_waited_for(const struct trace_ring *ring)
{
	return __atomic_load_n(&ring->header->waiting, __ATOMIC_RELAXED);
}

/* ---- for who follows ------------------------------------------------------------------- */

void trace_ring_follow(struct trace_ring *ring, const char *raw_dir)
{
	ring->raw_dir = raw_dir;
}

unsigned trace_ring_slot(const struct trace_ring *ring)
{
	return ring->slot;
}

uint64_t trace_ring_packed(const struct trace_ring *ring)
{
	return ring->tail;
}

void trace_ring_limits(const struct trace_ring *ring, struct follow_tail *tail)
{
	const uint64_t *self = (const uint64_t *)((const uint8_t *)ring->header + RING_SELF_AT);
	uint64_t ops = __atomic_load_n(&ring->header->front[FRONT_FINISHED], __ATOMIC_RELAXED);

	tail->ops = ops;
	tail->accesses = __atomic_load_n(&self[SELF_EVENTS], __ATOMIC_RELAXED) & ~1ull;
	tail->polls = __atomic_load_n(&self[SELF_POLLS], __ATOMIC_RELAXED);
	tail->call = __atomic_load_n(&ring->header->call, __ATOMIC_RELAXED);
}

/* As with a seqlock whose number is `base`: bytes are added until the room is emptied, and then base moves on. */
int trace_ring_room(const struct trace_ring *ring, struct follow_tail *tail)
{
	const struct order_room *room = (const void *)((const uint8_t *)ring->header + ORDER_ROOM_AT);

	/* A signal that comes with the last op may not be logged yet. The op was seen before the barrier, so this is
	   what was told before it or after; acquire: if after, what was logged is seen, too. */
	if (tail->ops && __atomic_load_n(&ring->header->unsettled, __ATOMIC_ACQUIRE))
		tail->ops--;
	for (int tries = 0; tries < 1000; tries++) {
		tail->room.base = __atomic_load_n(&room->base, __ATOMIC_ACQUIRE);
		tail->room.used = __atomic_load_n(&room->used, __ATOMIC_ACQUIRE);
		if (tail->room.used > sizeof room->data)
			return -1;
		memcpy(tail->room.data, room->data, tail->room.used);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&room->base, __ATOMIC_RELAXED) == tail->room.base)
			return 0;
	}
	return -1;
}

int trace_ring_cut(struct trace_ring *ring, uint64_t position, struct trace_problem *problem)
{
	return ring->log_end ?
		       trace_log_cut(ring->log_path, ring->image, ring->slot, position, &ring->log_end, problem) :
		       0;
}

#define LAST_ENTRIES_MAX (sizeof(struct order_room) + 128)

/* The newest part of the order log, which the thread had not yet made an entry; its size. */
static size_t last_order(const struct trace_ring *ring, uint8_t *to)
{
	const struct order_room *room = (const void *)((const uint8_t *)ring->header + ORDER_ROOM_AT);
	struct entry *e = (struct entry *)to;
	uint32_t used = room->used;

	if (!used || used > sizeof room->data)
		return 0;
	*e = (struct entry){
		.size = (uint32_t)(sizeof *e + 8 + (used + 7) / 8 * 8), .kind = ENTRY_ORDER, .flags = 1, .result = used
	};
	memset(e + 1, 0, e->size - sizeof *e);
	memcpy(e + 1, &room->base, 8);
	memcpy((uint8_t *)(e + 1) + 8, room->data, used);
	return e->size;
}

/* The thread was killed in the middle of an event. */
static size_t cut_entry(const struct trace_ring *ring, void *to)
{
	struct entry cut = { .size = sizeof cut, .kind = ENTRY_CUT };

	if (!ring->continued)
		return 0;
	memcpy(to, &cut, sizeof cut);
	return sizeof cut;
}

/* What the ring's header tells of the thread's end, as entries: the rest of the order log, and how far the thread had
   come with its synchronisation and its accesses, which leave no entries of their own. Returns their size. */
static size_t last_entries(const struct trace_ring *ring, uint8_t *to, uint32_t *events)
{
	struct {
		struct entry e;
		uint64_t events;
	} last = { { .size = sizeof last, .kind = ENTRY_LAST, .flags = 1 }, 0 };
	/* the second: an op that was under way, and that others have seen */
	const uint64_t *ops = ring->header->front;
	last.e.result = (int64_t)(ops[FRONT_FINISHED] > ops[FRONT_SHOWN] ? ops[FRONT_FINISHED] : ops[FRONT_SHOWN]);
	size_t cut = cut_entry(ring, to), order = last_order(ring, to + cut);

	uint64_t self[SELF_READ];
	memcpy(self, (const uint8_t *)ring->header + RING_SELF_AT, sizeof self);
	/* an access that was under way: others may have seen it, so replay makes it */
	last.events = self[SELF_BEGUN] * 2 > self[SELF_EVENTS] ? self[SELF_BEGUN] * 2 : self[SELF_EVENTS];
	if (!last.e.result && !last.events && !order && !cut)
		return 0;
	memcpy(to + cut + order, &last, sizeof last);
	*events += 1 + (order != 0) + (cut != 0);
	return cut + order + sizeof last;
}

/* What is left, and the last entries in the same chunk, if they fit. */
static int pack_rest(struct trace_ring *ring, struct trace_packer *packer, int level, struct trace_problem *problem)
{
	struct piece p = { 0 };

	if (copy_out(ring, packer->raw, &p.len, problem) || count_entries(ring, packer->raw, &p, problem))
		return -1;
	if (p.len + LAST_ENTRIES_MAX > CHUNK_MAX) {
		if (pack(ring, packer, &p, level, problem))
			return -1;
		p = (struct piece){ 0 };
	}
	p.len += (uint32_t)last_entries(ring, packer->raw + p.len, &p.events);
	return p.len ? write_chunk(ring, packer, &p, level, problem) : 0;
}

int trace_ring_finish(struct trace_ring *ring, struct trace_packer *packer, int level, struct trace_problem *problem)
{
	if (!ring->ready || ring->ended)
		return 0;
	if (pack_rest(ring, packer, level, problem))
		return -1;
	ring->ended = true;
	return 0;
}

void trace_ring_drop(struct trace_ring *ring)
{
	struct ring_header *h = ring->header;

	ring->dropped = true;
	/* whoever finishes this trace one day must not take it for a part of it */
	if (__atomic_load_n(&h->magic, __ATOMIC_ACQUIRE) && !(ring->number & RING_NAMELESS))
		h->magic = 0;
	/* seq_cst: against the thread's store of `waiting` and its second look, as in pack() */
	__atomic_store_n(&h->tail, __atomic_load_n(&h->head, __ATOMIC_ACQUIRE), __ATOMIC_SEQ_CST);
	wake(h);
}

int trace_ring_remove(struct trace_ring *ring, struct trace_problem *problem)
{
	if (ring->number & RING_NAMELESS)
		return 0;
	return unlink(ring->ring_path) ? trace_failed(problem, ring->ring_path, "remove this ring") : 0;
}

bool trace_ring_reuse(struct trace_ring *ring)
{
	struct ring_header *h = ring->header;
	enum ring_done done = trace_ring_done(ring);

	if (ring->dropped && !(ring->number & RING_NAMELESS))
		return false;
	/* acquire: what the last child has read of it, it has read before it let go */
	if ((done != RING_LEFT && done != RING_IMAGE_OVER) || __atomic_load_n(&h->forks, __ATOMIC_ACQUIRE))
		return false;
	__atomic_store_n(&h->magic, 0, __ATOMIC_RELEASE); /* first: without it the rest means nothing */
	memset(h, 0, sizeof *h);
	struct order_room *room = (struct order_room *)((uint8_t *)h + ORDER_ROOM_AT);
	if (room->used || room->base) /* a look costs less than a page of its own */
		room->used = 0, room->base = 0;
	ring->ready = ring->ended = ring->continued = false;
	return true;
}

/* ---- all rings of a trace --------------------------------------------------------------- */

static int finish_one(const char *dir, unsigned number, struct trace_packer *packer, int level,
		      struct trace_problem *problem)
{
	struct trace_ring *ring = trace_ring_open(dir, number, problem);

	if (!ring)
		return -1;
	int result = trace_ring_finish(ring, packer, level, problem) || trace_ring_remove(ring, problem) ? -1 : 0;
	trace_ring_close(ring);
	return result;
}

int trace_finish_rings(const char *dir, struct trace_packer *packer, int level, struct trace_problem *problem)
{
	DIR *names = opendir(dir);
	struct dirent *item;
	unsigned number;
	int result = 0;

	if (!names)
		return trace_failed(problem, dir, "read this directory");
	while (!result && (item = readdir(names)))
		if (trace_is_ring(item->d_name, &number))
			result = finish_one(dir, number, packer, level, problem);
	closedir(names);
	return result;
}

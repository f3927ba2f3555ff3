/*
 * The tool's side of a trace: what `heddle` itself does with the files of format.h.
 *
 * While a program is recorded, pack.c moves entries from rings into logs. Whoever
 * reads a trace later (replay, dump, stat) goes through unpack.c, which verifies
 * every byte before it hands one out, and through check.c, which compares the
 * directory with the list that meta.json holds. list.c knows the names of files.
 *
 * Words: a *stream* is all entries of one thread slot of one image; an *event* is
 * an entry together with the ENTRY_MORE entries that belong to it; a *position* is
 * a byte offset in a stream (unpacked), an *offset* one in a file.
 *
 * Functions return 0 (or what their comment says), or -1 with the problem filled
 * in: a text that names file and offset, without a final newline. Nothing here
 * prints or exits.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "format.h"

struct trace_problem {
	int error; /* errno, if a system call failed; 0 if the trace is damaged */
	char text[PATH_ROOM + 512];
};

/* Both fill in the problem and return -1. The second adds strerror(errno) itself. */
int trace_damaged(struct trace_problem *problem, const char *path, uint64_t offset, const char *reason, ...)
	__attribute__((format(printf, 4, 5)));
int trace_failed(struct trace_problem *problem, const char *path, const char *doing);
/* 0: all of it is written, from that offset on; else -1 and errno. */
int trace_write_all(int fd, const void *data, size_t size, uint64_t offset);

/* In a recording whose beginning was dropped (--ring): the process at which it now begins, as trace/checkpoint.h has
   it. */
#define CHECKPOINT "checkpoint"

/* ---- list.c: which files a trace has ------------------------------------------ */

struct trace_stream {
	unsigned image, slot;
	uint64_t raw;	 /* bytes of entries */
	uint64_t events; /* entries */
	uint64_t packed; /* bytes of the log; measured, never stored in meta.json */
	/* Not to be unpacked as a whole, but later, piece by piece: trace_check() fills in what must be known
	   before. */
	bool late;
	uint64_t complete, ops, accesses; /* bytes of whole events; what ENTRY_LAST says */
	uint64_t order;			  /* bytes of ENTRY_ORDER entries */
};

struct trace_file {
	char *name; /* in files/ */
	uint64_t size, hash;
};

struct trace_list {
	struct trace_stream *streams;
	struct trace_file *files;
	size_t nstreams, nfiles;
};

/* The log of a stream. */
void trace_path(char *path, const char *dir, unsigned image, unsigned slot);
/* Is it the name of a log, of a ring? Only the spelling that we write is accepted. */
bool trace_is_log(const char *name, unsigned *image, unsigned *slot);
bool trace_is_ring(const char *name, unsigned *number);

/* What lies in the directory, sorted; sizes and hashes are not filled in. A name that has
   no place in a finished trace is a problem. */
int trace_list_read(struct trace_list *list, const char *dir, struct trace_problem *problem);
/* Fills in the sizes, from chunk headers and file contents. */
int trace_list_measure(struct trace_list *list, const char *dir, struct trace_problem *problem);
void trace_list_free(struct trace_list *list);
int trace_hash_file(const char *path, uint64_t *size, uint64_t *hash, struct trace_problem *problem);

/* ---- pack.c: from ring to log -------------------------------------------------- */

struct trace_packer; /* work space, used by one thread at a time */
struct trace_ring;   /* one ring that is being packed */

/*
 * zstd's levels. While the program runs, the packer competes with it for the cores. Entries shrink to a fifth or less
 * at the fast levels below 0, and -3 is quick with those of a server (68 MB of redis: 55 ms and 7.8 MB, at -5 71 ms and
 * 8.9 MB). Large contents have a level of their own: trace/pack.c.
 */
enum { WHILE_RUNNING = -3, AT_THE_END = 1 };

struct trace_packer *trace_packer_new(void);
void trace_packer_free(struct trace_packer *packer);
/* Bytes of logs that it has written. */
uint64_t trace_packer_written(const struct trace_packer *packer);

/* A new ring, which waits for a thread. whole: its room on the disk is taken at once. */
struct trace_ring *trace_ring_make(const char *dir, unsigned number, bool whole, struct trace_problem *problem);
/* One in memory, for a thread that is no longer recorded. */
struct trace_ring *trace_ring_make_nameless(struct trace_problem *problem);
/* One that an earlier heddle left. */
struct trace_ring *trace_ring_open(const char *dir, unsigned number, struct trace_problem *problem);
void trace_ring_close(struct trace_ring *ring);
/* 1: a thread has it. Before, only trace_ring_finish(), _remove() and _close() make sense. */
int trace_ring_ready(struct trace_ring *ring, struct trace_problem *problem);
unsigned trace_ring_image(const struct trace_ring *ring);
unsigned trace_ring_number(const struct trace_ring *ring);
/* Worth packing: a quarter full, done, or its thread waits for room. */
bool trace_ring_wants(const struct trace_ring *ring);
enum ring_done trace_ring_done(const struct trace_ring *ring);
/* For a thread that ended without being able to say so, and nobody looks at its ring any more. */
void trace_ring_set_left(struct trace_ring *ring);
/* Moves all entries that are there into the log, and wakes the thread if it waits. */
int trace_ring_pack(struct trace_ring *ring, struct trace_packer *packer, int level, struct trace_problem *problem);
/* Its thread waits for room. */
bool trace_ring_waited_for(const struct trace_ring *ring);
/* Whatever is packed from now on is also written, as it is, to p<N>.t<M>.raw there. */
void trace_ring_follow(struct trace_ring *ring, const char *raw_dir);
unsigned trace_ring_slot(const struct trace_ring *ring);
/* Position of the first byte that is not in the log. */
uint64_t trace_ring_packed(const struct trace_ring *ring);
/* How far its thread has certainly come, with all that was logged on the way by a later look at the ring, if a memory
   barrier of all processors is between both. */
void trace_ring_limits(const struct trace_ring *ring, struct follow_tail *tail);
/* That look, for the order log; then trace_ring_pack(), which brings `size`. -1: the thread writes too fast. */
int trace_ring_room(const struct trace_ring *ring, struct follow_tail *tail);
/* cut.c, for its log. */
int trace_ring_cut(struct trace_ring *ring, uint64_t position, struct trace_problem *problem);

/* Packs what is left, for ever. Nobody may write it any more. */
int trace_ring_finish(struct trace_ring *ring, struct trace_packer *packer, int level, struct trace_problem *problem);
/* The recording is over, but not the thread: throws away what it has written. Never part of the trace again. */
void trace_ring_drop(struct trace_ring *ring);
/* After that: removes the file, or makes the ring a new one, if nobody has the old one in sight any more. */
int trace_ring_remove(struct trace_ring *ring, struct trace_problem *problem);
bool trace_ring_reuse(struct trace_ring *ring);
/* Finishes every ring that lies in the directory. */
int trace_finish_rings(const char *dir, struct trace_packer *packer, int level, struct trace_problem *problem);

/* ---- check.c: is this whole? ---------------------------------------------------- */

/* The places of all writes that were shown (BLOCK_SHOWN), a bit each. Starts as zeros; `seen` is malloc's. */
struct trace_shown {
	uint64_t *seen, end; /* end: one more than the highest */
	uint64_t bound;	     /* no entry can have this place or a higher one */
	size_t words;
};

/* Places from `from` on and below `end` that no entry has: a killed process had taken them. At most `room`; returns how
   many there are. */
size_t trace_shown_missing(const struct trace_shown *shown, uint64_t from, uint64_t *missing, size_t room);

/* What must be known of the entries before, to judge the next one. Starts as zeros. */
struct trace_state {
	bool first_slot; /* stream of slot 0: it begins with ENTRY_START */
	bool begun;
	bool continued; /* the entry before has ENTRY_CONTINUED */
	unsigned vforks;
	uint64_t order;		   /* bytes of ENTRY_ORDER entries so far */
	struct trace_shown *shown; /* NULL: nobody wants to know */
	uint64_t place;		   /* 1 + that of an entry which is continued */
};

/* Does an ENTRY_MORE or ENTRY_CUT follow? */
static inline bool trace_is_continued(const struct entry *e)
{
	return e->kind != ENTRY_SIGNAL && e->kind != ENTRY_FAULT && e->flags & ENTRY_CONTINUED;
}
/* What is wrong with the entry at e, of which at most room bytes are there; NULL: nothing. */
const char *trace_entry_flaw(const struct entry *e, size_t room, struct trace_state *state);

/* Called now and then with bytes done and bytes in all. May be NULL. */
typedef void (*trace_progress)(uint64_t done, uint64_t all);

/* Compares the whole directory with the list that was written at its end. With raw_dir, streams
   that are not late are unpacked into raw_dir/p<N>.t<M>.raw on the way: whole events only. shown: filled, unless it
   is NULL. */
int trace_check(const char *dir, const struct trace_list *expected, const char *raw_dir, trace_progress progress,
		struct trace_shown *shown, struct trace_problem *problem);

/* ---- cut.c: the middle of a log is dropped ---- */
/* All chunks after the first and before a position, but never the rest of an event. The log ends at *end, before and
   after. */
int trace_log_cut(const char *log_path, unsigned image, unsigned slot, uint64_t position, uint64_t *end,
		  struct trace_problem *problem);

/* ---- unpack.c: from log to entries ------------------------------------------------ */

/* A log, chunk by chunk: verified, unpacked, its entries well-formed. */
struct trace_log {
	char path[PATH_ROOM + 64];
	int fd;
	uint64_t offset, size;	   /* of the next chunk; of the file */
	uint64_t position, events; /* of the next chunk */
	uint64_t complete;	   /* position after the last whole event */
	bool cut; /* there is no chunk from `kept` up to `gap_end`: so many entries are before the latter */
	uint64_t kept, gap_end, gap_events;
	struct trace_state state;
	uint8_t *raw; /* the newest chunk */
	bool lent;    /* whoever reads has set raw, to CHUNK_MAX bytes of his own */
	uint32_t raw_len;
	uint64_t chunk; /* its offset */
	void *packed, *unpacker;
};

int trace_log_open(struct trace_log *log, const char *path, unsigned image, unsigned slot,
		   struct trace_problem *problem);
/* 1: log->raw holds the next chunk. 0: end of file, at a chunk's end. */
int trace_log_next(struct trace_log *log, struct trace_problem *problem);
/* The last entry of the newest chunk, or NULL. */
const struct entry *trace_log_last(const struct trace_log *log);
/* Like trace_log_next, but looks at headers only: for sizes. */
int trace_log_skip(struct trace_log *log, struct trace_problem *problem);
/* If what comes next was dropped (--ring), goes on after it. trace_log_next() and trace_log_skip() do that. */
void trace_log_pass_gap(struct trace_log *log);
void trace_log_close(struct trace_log *log);
void trace_log_header(struct log_header *header, unsigned image, unsigned slot);
uint64_t trace_chunk_hash(const struct chunk_header *header, const void *packed);

/* Writes a stream's whole events to raw_path (NULL: only verifies). */
int trace_unpack(const char *dir, struct trace_stream *expected, const char *raw_path, trace_progress progress,
		 struct trace_shown *shown, struct trace_problem *problem);

/* An iterator over entries. */
struct trace_reader {
	struct trace_log log;
	uint32_t at;
	uint64_t event; /* number of the entry that trace_read gave last; the first has 0 */
};
int trace_reader_open(struct trace_reader *reader, const char *dir, unsigned image, unsigned slot,
		      struct trace_problem *problem);
/* 1: *e is the next entry, valid until the next call. 0: end. */
int trace_read(struct trace_reader *reader, const struct entry **e, struct trace_problem *problem);
void trace_reader_close(struct trace_reader *reader);

/* Parts of an entry that trace_read gave. */
static inline const uint64_t *trace_args(const struct entry *e)
{
	return (const uint64_t *)(e + 1);
}
static inline const uint64_t *trace_tickets(const struct entry *e)
{
	return e->flags & ENTRY_TICKETS ? trace_args(e) + ENTRY_ARGS(e->flags) : NULL;
}
/* Bytes of data that follow a block's header, without padding. */
static inline uint32_t trace_block_data(const struct block *b)
{
	switch (b->kind) {
	case BLOCK_HASH: return 8;
	case BLOCK_CHILD:
	case BLOCK_SHOWN: return 0;
	default: return b->len;
	}
}
/* The block after `before` (NULL: the first one), or NULL at the entry's end. */
const struct block *trace_next_block(const struct entry *e, const struct block *before);

#endif

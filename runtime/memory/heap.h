/*
 * The allocator: what its two halves share.
 *
 * Every address that malloc returns must be the same at replay, without a log entry for each call.
 * So a thread allocates and frees on lists of its own (interpose/malloc.c, inlined, no atomics), whose
 * content depends on nothing but this thread's history and on what it got from the pool. The pool
 * (heap.c) is common to all threads. Each use of it is an op (sync.h), and all its ops form one chain:
 * at replay they happen in the recorded order, and the pool's content, a function of that order,
 * is the recorded one. Nothing of it is logged but edges, growth, and failures.
 *
 * Words
 *   slice   64 KiB of address space, aligned; the unit in which the pool thinks
 *   run     consecutive slices that are used, or free, together
 *   span    a run that is cut into blocks of one class
 *   class   number of a block size, from 1
 *   large   a block of more than HEAP_SMALL bytes: a run of its own
 *   fresh   the end of a span that was never cut: only arithmetic, its pages are not touched
 *
 * The rules for shared memory
 *   struct heap         only its thread uses it; the runtime does so on that thread, in its ops.
 *   heap_class_table    a byte is written in the op that gives a run its purpose. Who frees a block got
 *                       its address from who allocated it, after that op; the byte keeps its value
 *                       while any block of the run is in the program's hands or on a thread's list.
 *   struct span         only read and written in ops, except `slices` of a large block: constant while
 *                       the block is the program's, and only realloc changes it.
 *   free blocks         belong to the list they are on: a thread's, or the pool's.
 *
 * The layout, from MAP_ARENAS_BASE: struct heap by slot (4 GiB), the class table, the spans, the slices, the links.
 */
#ifndef MEMORY_HEAP_H
#define MEMORY_HEAP_H
#include "runtime/memory/map.h"
#include <stdbool.h>
#include <stdint.h>

#define HEAP_SMALL	 32768 /* largest size that has a class */
#define HEAP_CLASS_COUNT 40
#define HEAP_CLASS_LARGE 255 /* in the class table: the first slice of a large block */

#define HEAP_SLICE_SHIFT 16 /* also the largest page size of aarch64 */
#define HEAP_SLICE	 (1ul << HEAP_SLICE_SHIFT)

#define HEAP_STATES  MAP_ARENAS_BASE
#define HEAP_CLASSES (MAP_ARENAS_BASE + 0x100000000ul)
#define HEAP_SPANS   (MAP_ARENAS_BASE + 0x110000000ul)
#define HEAP_SLICES  (MAP_ARENAS_BASE + 0x200000000ul)
#define HEAP_BYTES   0x3900000000ul
#define HEAP_LINKS   (HEAP_SLICES + HEAP_BYTES)
_Static_assert(HEAP_LINKS + HEAP_BYTES / 2 <= MAP_ARENAS_END, "there is room for the links");
#define HEAP_COUNT (HEAP_BYTES >> HEAP_SLICE_SHIFT)

/*
 * Free blocks are linked outside of themselves: a word for every 16 bytes holds, for a free block that begins there,
 * the next one of its list with HEAP_FREED, else 0. So the allocator neither reads nor writes what is the program's. A
 * program that still uses a block after free() finds there, at replay too, what it left there itself, and cannot break
 * a list.
 */
struct heap_block;
#define HEAP_FREED 1ul
static inline uint64_t *heap_link(const void *block)
{
	return (uint64_t *)(HEAP_LINKS + ((uint64_t)block - HEAP_SLICES) / 2);
}
static inline struct heap_block *heap_next(const struct heap_block *b)
{
	return (struct heap_block *)(*heap_link(b) & ~HEAP_FREED);
}
static inline void heap_set_next(struct heap_block *b, const struct heap_block *next)
{
	*heap_link(b) = (uint64_t)next | HEAP_FREED;
}

struct heap_list {
	struct heap_block *head;
	uint32_t count, limit; /* more than limit blocks: some go to the pool */
	uint8_t *fresh, *fresh_end;
};

/* front->heap of a thread. lists[0] is always empty: malloc(0) finds it so, and goes the slow way to class 1. */
#define HEAP_KEPT 4
struct heap {
	struct heap_list lists[HEAP_CLASS_COUNT + 1];
	/* large blocks that this thread freed last, the oldest first; to the pool they are still in use */
	void *kept[HEAP_KEPT];
	uint32_t kept_count, kept_slices, kept_room;
	bool ordered; /* the thread makes hooked accesses: what realloc copies and calloc clears are such, too */
};

struct span {
	uint32_t slices; /* length of the run; also in the last slice of a free run */
	uint32_t first;	 /* in every slice of a span, and in the last of a free run: its first slice */
	uint32_t next, prev;
	union {
		struct heap_block *blocks; /* span: free blocks that the pool has */
		uint64_t dirty;		   /* free run: at most so many of its slices are not zero */
	};
	uint16_t fresh; /* span: number of its first block that the pool could cut, total: none */
	uint16_t free;	/* span: blocks that the pool has, fresh ones included */
	uint16_t total;
	uint8_t class;
	uint8_t use; /* enum span_use */
};
enum span_use { SPAN_NONE, SPAN_FREE, SPAN_UNMAPPED, SPAN_BLOCKS, SPAN_LARGE };
_Static_assert(sizeof(struct span) == 32 && HEAP_COUNT * 32 <= HEAP_SLICES - HEAP_SPANS, "the spans have room");

#define heap_class_table ((uint8_t *)HEAP_CLASSES)
#define heap_spans	 ((struct span *)HEAP_SPANS)

/* Steps of 16 to 128 bytes, then four to each doubling: 0 for 0 bytes, at most 25 % of a block are lost. */
static inline unsigned heap_class(uint64_t n)
{
	if (n <= 128)
		return (unsigned)(n + 15) >> 4;
	unsigned e = 63 - (unsigned)__builtin_clzl(n - 1); /* 2^e < n <= 2^(e+1) */
	return 4 * e - 23 + (unsigned)((n - 1) >> (e - 2));
}
static inline uint32_t heap_class_size(unsigned c)
{
	return c <= 8 ? 16 * c : (5 + (c - 1) % 4) << ((c - 1) / 4 + 3);
}

/* The result of sync_heap_large: an address of whole slices, with this bit if all its bytes are zero. */
#define HEAP_ZERO 1

/* Runs of at least so many slices are moved by realloc without copying. For shorter ones, the pages that the move costs
   are dearer than the copy. */
#define HEAP_MOVE_SLICES 64
/* Of a thread whose accesses are ordered only longer ones: pages that move have no place among accesses. */
#define HEAP_MOVE_ORDERED 1024
static inline bool heap_moves(const struct heap *h, uint64_t slices)
{
	return slices >= (h->ordered ? HEAP_MOVE_ORDERED : HEAP_MOVE_SLICES);
}

/* ---- heap.c: what the runtime calls --------------------------------------------------------- */

struct thread;
/* The thread in t's slot begins: sets front->heap. Before its first instruction, by whoever likes. */
void heap_thread_started(struct thread *t);
/* It ends: its lists go to the pool. One op: not inside another. What it still frees waits in the slot for the next. */
void heap_thread_ended(struct thread *t);
/* Its accesses are ordered from here on. */
void heap_hooked(struct thread *t);
/* Around fork, by the thread that forks, inside an op of its own (space_enter): so the child's pool is whole, and the
   same at replay. */
void heap_before_fork(struct thread *t);
void heap_after_fork(struct thread *t, bool child);
#endif

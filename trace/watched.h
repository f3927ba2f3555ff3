/*
 * What a replay that is watched leaves for heddle in its work directory. Nothing of it is ever in a trace: heddle and
 * the loader that it starts are of one build.
 *
 *   races             a struct race for each that was found (WATCH_RACES)
 *   story.p<N>.t<M>   windows of STORY_WINDOW bytes, in each struct story_events up to one whose kind is 0
 *                     (WATCH_STORY)
 *   points            a struct point for each access at which a thread is to leave its place; from heddle
 *                     (WATCH_PLACES)
 *   places            those: the point, then a struct place
 */
#ifndef TRACE_WATCHED_H
#define TRACE_WATCHED_H
#include "trace/format.h"

enum watch { WATCH_RACES = 1, WATCH_STORY = 2, WATCH_PLACES = 4 };

/* One race: two accesses of the same bytes, at least one a write, in no order that the program made. */
#define RACE_LOCKS 4
struct race_side {
	uint32_t slot, line;
	uint16_t column;
	uint8_t known, kind; /* known: 0: a system call; kind: enum hook_kind */
	uint8_t reads, writes, atomic, unused;
	uint8_t size;		    /* bytes in `value`; 0: it has none */
	uint64_t event;		    /* the number of the access in its thread */
	uint64_t value;		    /* what was read, or written */
	uint64_t locks[RACE_LOCKS]; /* that the thread held; 0: no more */
	char file[232], function[128];
};
struct race {
	uint32_t image, full;	  /* full: there may be more, which were not kept */
	uint64_t addr;		  /* the first byte of both */
	struct race_side side[2]; /* in the order of the replay */
};

/* ---- the story of a run ------------------------------------------------------------------------------------------ */

enum story_kind { STORY_OP = 1, STORY_CALL, STORY_ACCESS };
enum { STORY_READS = 1, STORY_WRITES = 2, STORY_ATOMIC = 4, STORY_UNORDERED = 8 /* a race with its source */ };
/* Ops that are told, by their functions in runtime/sync/. */
enum story_op {
	STORY_mutex_lock,
	STORY_mutex_unlock,
	STORY_rwlock_lock,
	STORY_rwlock_unlock,
	STORY_spin_lock,
	STORY_spin_unlock,
	STORY_cond_enter,
	STORY_cond_wake,
	STORY_cond_leave,
	STORY_barrier_arrive,
	STORY_barrier_leave,
	STORY_sem_take,
	STORY_sem_give,
	STORY_once_begin,
	STORY_once_end,
	STORY_guard_acquire,
	STORY_guard_release,
	STORY_thread_joined,
	STORY_OPS
};
#define STORY_FRAMES 5
#define STORY_WINDOW 1048576ul

struct story_event {
	uint8_t kind;		    /* enum story_kind */
	uint8_t what;		    /* OP: enum story_op; ACCESS: STORY_READS ... */
	uint8_t from_what;	    /* ACCESS: the same of its source */
	uint8_t size;		    /* ACCESS: bytes in `value` */
	uint32_t from;		    /* 1 + slot of the thread whose event came before and led here; 0: none */
	uint64_t event, op, access; /* entries, ops and hooked accesses that the thread had done */
	uint64_t from_at;	    /* of the source: its op, or the number of its access */
	uint64_t object;	    /* address of the lock or variable; CALL: the number; join: the slot */
	int64_t value;		    /* OP: its outcome; ACCESS: what was read or written */
	uint64_t from_value;
	uint64_t site, from_site;      /* ACCESS: struct hook_site of both; 0: a system call */
	uint64_t frames[STORY_FRAMES]; /* pc, then return addresses; 0: no more */
};

/* ---- places ------------------------------------------------------------------------------------------------------ */

struct point {
	uint32_t image, slot;
	uint64_t event; /* the number of the access */
};
#endif

/*
 * The file between `heddle explain` and a recording that it directs (runtime/turns.c): DIR/turns, while the recording
 * runs. Never part of a trace: heddle and the loader that it starts are of one build.
 *
 *   point   an access, an op, or a system call of a thread, before it is made. Each thread counts its own from 0.
 *   switch  "when thread `slot` comes to its point `point`, thread `next` runs instead". They are made in their order:
 *           one that has not come yet keeps those behind it waiting.
 */
#ifndef TRACE_TURNS_H
#define TRACE_TURNS_H
#include <stdint.h>

#define TURNS_SWITCHES 64
#define TURNS_FRAMES   4
#define TURNS_LOG      (1u << 20) /* points that are kept; what comes later is not */

struct turns_switch {
	uint32_t slot, point, next,
		made; /* made: 1 + points of all threads before, 0: it did not come; 2^32-1: next could not run */
};

enum turns_kind { TURNS_ACCESS = 1, TURNS_OP, TURNS_CALL };
enum { TURNS_READS = 1, TURNS_WRITES = 2 };
/* What ops do, as far as their order matters to others. */
enum turns_op { TURNS_OTHER, TURNS_LOCK, TURNS_READ_LOCK, TURNS_WAIT, TURNS_WAKE, TURNS_TAKE, TURNS_GIVE };

/* In the order in which they were made. */
struct turns_entry {
	uint32_t slot, point;
	uint8_t kind, flags;
	uint16_t what; /* OP: enum turns_op; CALL: its number */
	uint32_t size;
	uint64_t object;	       /* address of the variable or lock; CALL: its first argument */
	uint64_t site;		       /* ACCESS: struct hook_site */
	uint64_t frames[TURNS_FRAMES]; /* else: pc, then return addresses; 0: no more */
};

struct turns_file {
	uint32_t switches; /* how many */
	uint32_t
		backwards; /* when a thread waits, the next lower slot that can run has its turn, not the next higher */
	uint32_t made;	   /* switches that came */
	uint32_t entries;
	uint32_t stuck; /* 1: every thread waits for another one */
	uint32_t unused;
	struct turns_switch list[TURNS_SWITCHES];
	struct turns_entry log[];
};
#define TURNS_SIZE (sizeof(struct turns_file) + TURNS_LOG * sizeof(struct turns_entry))
#endif

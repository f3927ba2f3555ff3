/*
 * A recording as a picture needs it: one lane per thread, its events as nodes in their order, each with a logical time,
 * and edges between nodes of different lanes.
 *
 * Words
 *   node    something that a thread did and that others may care for: an op on a lock, a system call, a signal, an
 *           access that conflicts with one of another thread
 *   edge    from the node that came before to the one that it led to; kept at the latter
 *   time    Lamport's: later than the node before in the same lane, and than the source of the edge. Not seconds
 *   stack   places from the innermost on, as text "3,17,4" of their numbers
 */
#ifndef COMMANDS_TIMELINE_H
#define COMMANDS_TIMELINE_H
#include "meta.h"

enum node_kind {
	NODE_BEGINS,
	NODE_GETS,
	NODE_GIVES,
	NODE_WAITS, /* other ops */
	NODE_CALL,
	NODE_ACCESS,
	NODE_RACE, /* an access without order to the one it follows */
	NODE_SIGNAL,
	NODE_CRASH,
	NODE_KINDS
};

struct node {
	uint64_t time;
	uint64_t op, access;	      /* that the thread had done */
	uint32_t text, object, stack; /* numbers in the tables; 0: none */
	uint8_t kind;
	uint8_t does;		  /* of an access: STORY_READS, STORY_WRITES, STORY_ATOMIC */
	uint8_t by_access;	  /* the source is an access, else an op */
	uint32_t from_lane;	  /* 1 + lane of its source; 0: none */
	uint64_t from_at;	  /* before linking: the source's op or access; then its index in the lane */
	uint32_t begins, creates; /* thread ids: this is the thread's first node; this is the call that creates it */
};

struct lane {
	unsigned image, slot;
	struct node *nodes;
	size_t count, room;
};

/* Texts, each once. Number 0 is the empty one. */
struct texts {
	char **all;
	uint32_t *table;
	size_t count, room; /* room: of the table, twice that of `all` */
};

struct timeline {
	const struct meta *meta;
	struct lane *lanes;
	size_t count;
	struct texts texts, objects, places, stacks;
};

/* ---- timeline.c ---- */
/* Replays the recording to learn what it did. */
void timeline_read(struct timeline *t, const struct meta *meta);
/* The same from what a replay, watched for the story, has left in its directory. */
void timeline_read_from(struct timeline *t, const struct meta *meta, const char *dir);
void timeline_free(struct timeline *t);
struct node *timeline_add(struct lane *lane, const struct node *node);
struct lane *timeline_lane(struct timeline *t, unsigned image, unsigned slot);

/* ---- timeline_link.c ---- */
struct source {
	uint32_t lane;
	uint64_t access;
	uint32_t text, object, stack;
	uint8_t does;
};
/* Puts in the sources of accesses that are no nodes yet, finds where edges begin, and gives every node its time. */
void timeline_link(struct timeline *t, struct source *sources, size_t count);

/* ---- texts.c ---- */
uint32_t texts_number(struct texts *t, const char *text);
void texts_free(struct texts *t);

/* ---- chrome.c ---- */
void chrome_print(const struct timeline *t, FILE *out);
#endif

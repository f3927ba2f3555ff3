/*
 * Which accesses may race? The whole program is looked at when it is linked, and an access is left out only with a
 * reason that can be printed. In this order:
 *
 *   constraints.c, solve.c   where may an address point to? (objects.h)
 *   program.c                blocks, calls and who may call whom
 *   threads.c, joins.c       which kinds of threads are there, which may run at the same time
 *   locksets.c               which locks are surely held at a place
 *   warnings.c               pairs of accesses that may conflict, and what is left of them after each step
 *   taken.c                  locks that are known by their address
 *   may_hold.c               locks that may be held, and what is done while they are
 *   prune_*.c                each step: why a pair can not race
 *   report.c                 what `heddle races` reads
 *
 * Whatever is not understood may race. Without main() nothing is decided.
 *
 * Words
 *   class   a kind of thread: the first thread, or all threads that begin with one function. Class 0 is the first
 *           thread, class 1 is everybody that code outside may call the program from (signal handlers, callbacks).
 *   alive   the classes of which a thread may exist at a place that the first thread passes.
 */
#ifndef COMPILER_RACES_RACES_H
#define COMPILER_RACES_RACES_H
#include "compiler/internal.h"
#include "compiler/races/bits.h"
#include "compiler/races/map.h"
#include "compiler/races/objects.h"

/* ---- program.c --------------------------------------------------------------------------------------------------- */

struct call {
	LLVMValueRef inst;
	uint32_t block;
	bool frees;	    /* it calls by a pointer, which may be that of free() */
	bool outside;	    /* may call code that is not seen; kind says what is known of it */
	enum external kind; /* of a function that is called by name and not seen; else EXTERNAL_UNKNOWN */
	uint32_t *callees;  /* functions of the program */
	uint32_t callee_count;
};

struct block {
	LLVMBasicBlockRef ref;
	uint32_t function, first_call, call_count;
	uint32_t *next; /* blocks */
	uint32_t next_count;
};

struct function {
	LLVMValueRef ref;
	uint32_t first_block, block_count;
	uint64_t classes; /* of threads that may run it */
	bool given;	  /* code outside may call it */
	bool constructor;
};

struct program {
	struct module *m;
	LLVMValueRef main_function;
	struct function *functions;
	struct block *blocks;
	struct call *calls;
	uint32_t function_count, block_count, call_count;
	struct map function_map, block_map, call_map; /* number + 1 */
};
extern struct program program;

void program_begin(struct module *m, LLVMValueRef main_function);
void program_end(void);
uint32_t program_function(LLVMValueRef f); /* UINT32_MAX: not seen */
/* Is this way out of the block that of an exception? */
bool program_unwinds(const struct block *b, uint32_t way);
struct block *program_block_of(LLVMValueRef inst);
struct call *program_call(LLVMValueRef inst);
bool program_is_once(LLVMValueRef inst);		     /* is this place passed at most once in a run? */
bool program_calls_itself(const struct call *c);	     /* the function that it is in, with what it says */
const struct call *program_only_call(LLVMValueRef function); /* of one that is run once by the first thread, or NULL */
bool program_comes_before(LLVMValueRef a, LLVMValueRef b);   /* in one function: on every way to b, a is passed */
bool program_function_is_once(uint32_t block);		     /* is the function around it? */
/* The only place that an address can be, in an object that exists once and that code outside does not know; or 0. */
uint32_t program_single_place(LLVMValueRef address);
bool program_may_be(LLVMValueRef address, uint32_t place);

/* ---- threads.c --------------------------------------------------------------------------------------------------- */

enum { CLASS_MAIN, CLASS_OUTSIDE, CLASS_FIRST, MOST_CLASSES = 64 };
#define BIT(n) ((uint64_t)1 << (n))

struct class
{
	LLVMValueRef entry;
	struct call *create; /* the only call that creates such threads, or NULL */
	bool many;	     /* two may exist at the same time */
	uint64_t beside;     /* classes that may exist at the same time, but for the first thread */
};
extern struct class classes[MOST_CLASSES];
extern unsigned class_count;

void threads_begin(void);
void threads_end(void);
/* Classes alive where the first thread passes this place; those that have ever been begun before. */
uint64_t threads_alive(LLVMValueRef inst);
uint64_t threads_ever(LLVMValueRef inst);
/* Classes that a call may begin on any way, also on one that unwinds. */
uint64_t threads_begun(const struct call *c);
/* May a thread of one of these classes be at a place while another of those is at another? alive_a, alive_b:
   threads_alive(). */
bool threads_parallel(uint64_t classes_a, uint64_t alive_a, uint64_t classes_b, uint64_t alive_b);
bool threads_two(uint64_t classes_a, uint64_t classes_b); /* could they be two threads at all? */
const char *threads_name(unsigned class);
bool threads_made_together(
	const struct call
		*create); /* are all that exist at the same time made by one call of the function around it? */
uint64_t threads_created(const struct call *c); /* classes that a call of pthread_create begins */

/* joins.c: what is surely over when the first thread goes from a block to the next one, or past a call. */
void joins_begin(void);
void joins_end(void);
bool joins_check(void);
uint64_t joins_at_call(const struct call *c);
uint64_t joins_at_edge(uint32_t from, uint32_t to);

/* ---- locksets.c -------------------------------------------------------------------------------------------------- */

struct held {
	uint64_t writing, reading; /* a lock held for writing is in both */
};
void locksets_begin(void);
void locksets_end(void);
struct held locksets_at(LLVMValueRef inst);
enum lock_action { LOCK_NOTHING, LOCK_TAKE, LOCK_TAKE_SHARED, LOCK_TRY, LOCK_TRY_SHARED, LOCK_RELEASE };
enum lock_action locksets_action(const struct call *c);
uint64_t locksets_bytes(const struct call *c); /* of the lock that it is about */
/* The lock that is free while the call is made, or when it is over: that of an unlock, or of a wait; or NULL. */
LLVMValueRef locksets_released(const struct call *c);
bool locksets_are_safe(void); /* is there no lock that is not held by whom it was given to? */

/* taken.c: the address of a lock that is surely held there, alone; NULL: none is known. */
void taken_begin(void);
void taken_end(void);
LLVMValueRef taken_at(LLVMValueRef inst);
uint64_t taken_bytes(LLVMValueRef address); /* how large such a lock is, at least */

/* remade.c: may the lock at this place be made anew while somebody holds it? */
bool remade_lock(uint32_t place);

const char *locksets_name(unsigned lock);
uint32_t locksets_place(unsigned lock);
/* The lock that an address is, or 0; all that it may be. */
uint64_t locksets_bit(LLVMValueRef address);
uint64_t locksets_may_be(LLVMValueRef address);

/* may_hold.c: may any lock be held there? May whoever holds this one wait for somebody? */
void may_hold_begin(void);
void may_hold_end(void);
bool may_hold_any(LLVMValueRef inst);
bool may_hold_waits(unsigned lock);

/* ---- warnings.c -------------------------------------------------------------------------------------------------- */

/* One end of an access, or what a call that is no site does to memory. */
struct party {
	LLVMValueRef inst, addr;
	uint32_t access; /* index into m->accesses; UINT32_MAX: none */
	uint64_t size;	 /* 0: not known */
	bool write, atomic, frees;
	bool unknown; /* it may be anywhere, or where code outside may be */
	bool shared, heap;
	bool constant; /* it is nowhere that anybody can write */
	uint32_t function;
	uint32_t pairs; /* that are left */
	uint64_t classes;
	uint64_t alive; /* threads_alive(), threads_ever() */
	uint64_t ever;
	struct held held;
	const char *why; /* the step that has removed its last pair */
};

struct pair {
	uint32_t a, b, object; /* parties */
	uint8_t step;	       /* 1 + the step that has removed it; 0: it is left */
};

/* A step says whether a pair cannot race; the reason is what `heddle dump --sites --why` prints, %s is the other
   place. */
struct step {
	const char *name, *option, *reason; /* option: for --without */
	void (*begin)(void);
	bool (*removes)(const struct party *a, const struct party *b, uint32_t object);
	void (*end)(void);
};

struct warnings {
	struct party *parties;
	struct pair *pairs;
	size_t party_count, pair_count, pair_room, party_room;
	struct step_count {
		const char *name;
		size_t warnings, pairs, sites;
	} steps[16];
	unsigned step_count;
	uint64_t milliseconds;
	size_t kilobytes;
};
extern struct warnings warnings;

/* stable.c: who writes what */
void stable_begin(void);
void stable_end(void);
/* fine() is asked of each access that may write there, until it says no. */
bool stable_each_writer(uint32_t place, uint64_t size, bool (*fine)(const struct party *p, void *arg), void *arg);

/* parties.c */
void parties_list(void);
void parties_fill(void);

void warnings_find(void);
void warnings_prune(void);
void warnings_end(void);
/* Names; the strings live until the next call. */
const char *warnings_object(uint32_t object);
const char *warnings_place(LLVMValueRef inst);

extern const struct step step_threads, step_phases, step_partitions, step_initialisation;
bool prune_same_time(const struct party *a, unsigned x, const struct party *b, unsigned y);

/* phases.c: can threads of these classes be there without a barrier between? */
void phases_begin(void);
void phases_end(void);
bool phases_meet(const struct party *a, unsigned x, const struct party *b, unsigned y);

/* report.c: what `heddle races` reads goes into the binary, as JSON. */
void report_write(struct module *m);

/* prepare.c: of each file, what the analysis must find again. */
bool races_prepare(LLVMModuleRef module);

/* races.c: leaves out what cannot race. */
bool races_uses(const char *step); /* is it not left out by --without? */
void races_apply(struct module *m);
#endif

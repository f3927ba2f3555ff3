/*
 * What a value of the program is, as a term of the solver (Z3): linear arithmetic over what is not known.
 *
 * A frame says where a value is looked at: in which function, called from where, by which of the two threads that are
 * compared (side 0 and 1). Frames of creation are the function that creates a thread, as it was then.
 * A number of n bits is an integer, signed, in its range. What is not understood is a new unknown of its range.
 */
#ifndef COMPILER_RACES_TERMS_H
#define COMPILER_RACES_TERMS_H
#include <z3.h>
#include "compiler/races/races.h"

struct frame {
	const struct frame *up;	    /* the caller, or who created the thread; NULL: nothing is known of the arguments */
	const struct call *call;    /* in the function of `up` */
	unsigned side;		    /* 0, 1; 2: the same for both */
	const struct call *creates; /* a frame of creation: for this call */
	unsigned id;		    /* that no other frame has; 0: what is the same for both */
};

/*
 * One question: facts are known between begin and end; terms are valid until terms_close(). It is about what one thread
 * sees (side 0 or 1), or about both: facts of a question about side 0, of one about side 1 and of one about both can be
 * put together, and are about different unknowns.
 */
enum { ABOUT_BOTH = 2 };
void terms_begin(unsigned about);
void terms_end(void);
Z3_context terms_context(void);
Z3_ast terms_of(LLVMValueRef v, const struct frame *f);
Z3_ast terms_condition(LLVMValueRef v, const struct frame *f); /* NULL: not understood */
Z3_ast terms_round(LLVMBasicBlockRef header,
		   const struct frame *f);			/* 0 is the first; the same term in all questions */
bool terms_invariant(LLVMValueRef v, LLVMBasicBlockRef header); /* the same in every round? */
void terms_assert(Z3_ast fact);
/* What must be true for the block to be run, in this frame and those above it. */
void terms_conditions(LLVMBasicBlockRef block, const struct frame *f);
/* Why the loops are over that were run before, as far as that is about values that have been asked for. */
void terms_ends(LLVMBasicBlockRef block, const struct frame *f);
/* The rounds of the loops around the two creations differ in at least one. */
void terms_differ(const struct frame *a, const struct frame *b);
/* Can this be true? Facts that have nothing to do with it are not looked at: whether they can be is another
   question. */
bool terms_may_hold(Z3_ast question);
bool terms_may_hold_simply(Z3_ast question); /* with a limit for questions that are easy, if they can be answered */
bool terms_may_be(void);		     /* can all be true that is asserted? */
/* Is this surely so? */
bool terms_surely(Z3_ast fact);
bool terms_same(Z3_ast a, Z3_ast b);
bool terms_may_touch_if(void (*suppose)(const struct frame *a, const struct frame *b), const struct frame *f,
			const struct frame *g, Z3_ast a, Z3_ast b, uint64_t size);
bool terms_is_over(void);   /* has the solver taken all the steps that it may for a program? */
void terms_have_paid(void); /* two places were found to be apart: it may go on for longer */
void terms_close(void);	    /* for good */

/* views.c: what is known of one place as one thread comes to it. Made once, and asked about for each pair. */
struct view {
	Z3_ast at, length; /* of the base; of what is accessed there, if that is no constant */
	bool anywhere;	   /* nothing at all is known of the address */
	uint32_t place;	   /* number of the block and the frame */
};
const struct view *views_of(LLVMValueRef inst, LLVMValueRef base, LLVMValueRef length, const struct frame *f);
void views_suppose(const struct view *v, const struct view *w); /* all that is known of both */
void views_end(void);

/* tickets.c: numbers that are given out, each once. */
struct ticket {
	uint32_t counter; /* a place */
	Z3_ast t;
};
enum { MOST_TICKETS = 8 };
void tickets_begin(void);
void tickets_note(LLVMValueRef v, const struct frame *f, Z3_ast t); /* perhaps this is one */
const struct ticket *tickets_noted(unsigned *count);
void tickets_differ(const struct ticket *a, unsigned count_a, const struct ticket *b, unsigned count_b);

/* Among questions.c, terms.c and term_loops.c. */
void term_loops_end(void);
void solver_begin(unsigned about);
void solver_close(void);
size_t relevant_facts(Z3_ast *facts, size_t count, Z3_ast question); /* they come to the front; how many */
void relevant_end(void);
size_t solver_facts(Z3_ast **facts); /* all that was asserted since; the caller frees them */
void rounds_begin(void);
Z3_ast terms_named(const char *kind, const void *key, unsigned bits);
Z3_ast terms_unknown(LLVMValueRef v, const struct frame *f);
unsigned terms_bits(LLVMValueRef v);
Z3_ast terms_compare(LLVMIntPredicate how, Z3_ast a, Z3_ast b, unsigned bits);
Z3_ast terms_of_phi(LLVMValueRef phi, const struct frame *f, Z3_ast *early);

/* A value of a loop: what it is in the first round, and what it becomes for the next one. */
struct loop_value {
	struct plugin_loop loop;
	LLVMValueRef init, next;
};
/* The test at the end of a round: what must be true of the value, or of the next one, for another round to come. */
struct loop_test {
	LLVMIntPredicate how;
	LLVMValueRef limit;
	bool of_next;
};
bool loops_value(LLVMValueRef phi, struct loop_value *l);
bool loops_test(LLVMValueRef phi, const struct loop_value *l, struct loop_test *t);

/* ranges.c: all values that a loop counts through, at most MOST_CHOICES; the largest that a value can be, without
   sign. */
bool ranges_values(LLVMValueRef phi, int64_t *values, unsigned *count);
uint64_t ranges_most(LLVMValueRef v);

/* stable.c: does the place that a load reads keep its value from the load on, or from the first thread on? */
bool stable_load(LLVMValueRef load, bool by_main);
/* The only store that a load of a thread's own argument can read from, made before the thread was created by `create`;
   or NULL. */
LLVMValueRef stable_argument_store(LLVMValueRef load, const struct call *create);
bool program_reaches(LLVMValueRef from, LLVMValueRef to);
/* ... on a way without an instruction that stops it, of the functions on the way back to the callers? */
bool program_reaches_past(LLVMValueRef from, LLVMValueRef to, bool (*stops)(LLVMValueRef inst, void *arg), void *arg);
/* phases.c: what is known of the rounds of loops that two threads are in at the same time. */
void phases_rounds(LLVMValueRef a, const struct frame *f, unsigned x, LLVMValueRef b, const struct frame *g,
		   unsigned y);
/* Can they be there at the same time, if they have come by these calls? */
bool phases_frames_meet(LLVMValueRef a, const struct frame *f, unsigned x, LLVMValueRef b, const struct frame *g,
			unsigned y);
#endif

/*
 * What a value of the program is, as a term of the solver (Z3): linear arithmetic over what is not known.
 *
 * A frame says where a value is looked at: in which function, called from where, by which of the two threads that are compared
 * (side 0 and 1). Frames of creation are the function that creates a thread, as it was then.
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
};

/* One question: terms are valid between begin and end. */
void terms_begin(void);
void terms_end(void);
Z3_context terms_context(void);
Z3_ast terms_of(LLVMValueRef v, const struct frame *f);
Z3_ast terms_condition(LLVMValueRef v, const struct frame *f); /* NULL: not understood */
Z3_ast terms_round(LLVMBasicBlockRef header, const struct frame *f);
bool terms_invariant(LLVMValueRef v, LLVMBasicBlockRef header); /* the same in every round? */
void terms_assert(Z3_ast fact);
/* What must be true for the block to be run, in this frame and those above it. */
void terms_conditions(LLVMBasicBlockRef block, const struct frame *f);
/* The rounds of the loops around the two creations differ in at least one. */
void terms_differ(const struct frame *a, const struct frame *b);
/* Can addresses a and b, with these sizes, touch? true: perhaps. */
bool terms_may_touch(Z3_ast a, uint64_t size_a, Z3_ast b, uint64_t size_b);
bool terms_may_meet(Z3_ast a, Z3_ast size_a, Z3_ast b, Z3_ast size_b);
/* Is this surely so? */
bool terms_surely(Z3_ast fact);
bool terms_same(Z3_ast a, Z3_ast b);
void terms_close(void); /* for good */

/* stable.c: does the place that a load reads keep its value from the load on, or from the first thread on? */
bool stable_load(LLVMValueRef load, bool by_main);
/* The only store that a load of a thread's own argument can read from, made before the thread was created by `create`; or NULL. */
LLVMValueRef stable_argument_store(LLVMValueRef load, const struct call *create);
/* fine() is asked of each access that may write there, until it says no. */
bool stable_each_writer(uint32_t place, uint64_t size, bool (*fine)(const struct party *p, void *arg), void *arg);
bool program_reaches(LLVMValueRef from, LLVMValueRef to);
/* phases.c: what is known of the rounds of loops that two threads are in at the same time. */
void phases_rounds(LLVMValueRef a, const struct frame *f, unsigned x, LLVMValueRef b, const struct frame *g,
		   unsigned y);
#endif

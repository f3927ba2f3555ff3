/*
 * Which objects may an address point to? By unification: whatever one pointer may point to is one class. Objects are
 * global variables, local variables and places of allocation; their members are not told apart.
 *
 * Everything that code outside may get at is in one class, the unknown.
 */
#ifndef COMPILER_POINTS_TO_H
#define COMPILER_POINTS_TO_H
#include "compiler/internal.h"

struct object_facts {
	bool unknown;	 /* may be accessed by code that is not seen */
	bool shared;	 /* can be reached from global variables or from what a thread is started with */
	bool by_threads; /* the rest is filled in by escape.c */
	bool written_late;
	uint64_t guards;
};

/* All mutexes are the guards of a class at first. */
void points_to_solve(struct module *m, LLVMValueRef main_function, uint64_t all_guards);
struct object_facts *points_to_class(LLVMValueRef addr);
/* The number of that class, and of what the pointers in it point to; 0: unknown. */
uint32_t points_to_number(LLVMValueRef addr);
uint32_t points_to_contents(LLVMValueRef addr);
void points_to_end(void);

/* What is called, through aliases. */
LLVMValueRef points_to_callee(LLVMValueRef call);
/* Of a function that is not seen: may it create a thread or call the program back? */
bool points_to_may_create(LLVMValueRef call);
bool points_to_function_creates(LLVMValueRef callee); /* of one that is not seen */

/* Of less than 8 bytes: may it be a part of a pointer, moved here as it is? Not what was compared or calculated: shifts
   and the like only move it. */
bool points_to_moved(LLVMValueRef v, unsigned depth);
/* Is it the difference of two addresses? And is that used for more than to decide something, such as whether two arrays
   overlap? Whoever has one of the addresses, and the way from it to the other, has both. */
bool points_to_is_way(LLVMValueRef v);
bool points_to_keeps_way(LLVMValueRef v, unsigned depth);

/* Intrinsics, by name, for every analysis of pointers: one that moves none, and one whose result is its first
   argument. */
bool intrinsic_is_harmless(const char *name);
bool intrinsic_passes_on(const char *name);
/* Does the name begin with one of the list, which NULL ends? */
bool name_begins(const char *name, const char *const *list);
#endif

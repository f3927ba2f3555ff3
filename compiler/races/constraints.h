/* What constraints.c (values, memory, instructions) and constraints_calls.c (calls) know of each other. */
#ifndef COMPILER_RACES_CONSTRAINTS_H
#define COMPILER_RACES_CONSTRAINTS_H
#include "compiler/races/objects.h"

/* constraints.c */
bool value_may_carry(LLVMTypeRef type); /* May a value of this type hold a pointer? */
node value_node(LLVMValueRef v);	/* NO_NODE if it holds none */
node value_result(LLVMValueRef function);
node value_anywhere(LLVMValueRef v); /* the same pointer, to anywhere in what it points into */
void value_copy(LLVMValueRef to, LLVMValueRef from);
void value_new_object(LLVMValueRef v, enum object_kind kind);
void value_copy_memory(LLVMValueRef to, LLVMValueRef from); /* whatever is in one may be anywhere in the other */

/* constraints_calls.c */
void calls_begin(struct module *module);
void call_visit(LLVMValueRef call);
LLVMValueRef call_callee(LLVMValueRef call); /* what it names, behind aliases */
/* A callback of the solver, for each function that a pointer comes to point to; NULL: any. */
void call_of(LLVMValueRef call, LLVMValueRef function);
#endif

/*
 * Which objects can a second thread reach? Global variables, what code outside may have, what a thread is started with
 * and what it returns, and whatever is stored in one of these.
 */
#include <stdlib.h>
#include "compiler/races/races.h"

static uint32_t *list;
static uint32_t list_count;

static void add(uint32_t object)
{
	struct object *o = solve_object_at(object);

	if (o->shared || object == UNKNOWN_OBJECT)
		return;
	o->shared = true;
	list[list_count++] = object;
}

static void add_all(const struct bits *set)
{
	if (!set)
		return;
	BITS_EACH(set, place)
	{
		add(solve_place((uint32_t)place)->object);
	}
}

static void add_arguments(LLVMValueRef function)
{
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
			LLVMValueRef callee = LLVMIsACallInst(i) || LLVMIsAInvokeInst(i) ? LLVMGetCalledValue(i) : NULL;
			if (callee && LLVMIsAFunction(callee) && LLVMIsDeclaration(callee) &&
			    external_kind(callee) == EXTERNAL_CREATES && LLVMGetNumArgOperands(i))
				add_all(objects_of(LLVMGetOperand(i, LLVMGetNumArgOperands(i) - 1)));
		}
}

void sharing_find(struct module *m)
{
	list = calloc(solve_object_count() + 1, sizeof *list);
	if (!list)
		compiler_die("out of memory");
	list_count = 0;
	for (uint32_t o = 1; o < solve_object_count(); o++)
		if (solve_object_at(o)->given || solve_object_at(o)->kind == OBJECT_GLOBAL)
			add(o);
	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f))
		add_arguments(f);
	add_all(solve_places(objects_thread_results()));
	for (uint32_t i = 0; i < list_count; i++)
		for (uint32_t p = solve_object_at(list[i])->first; p; p = solve_place(p)->next)
			add_all(solve_places(solve_place(p)->out));
	free(list);
}

/*
 * The part of constraints.c about calls: functions of the program, those that libc's list or externals.c describe, and
 * unknown ones, which may keep and write whatever they are given.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/points_to.h"
#include "compiler/races/constraints.h"

static struct module *m;

void calls_begin(struct module *module)
{
	m = module;
}

static void call_outside(LLVMValueRef call)
{
	for (unsigned n = 0; n < LLVMGetNumArgOperands(call); n++)
		solve_give(value_node(LLVMGetOperand(call, n)));
	solve_points_anywhere(value_node(call));
}

static void pass_arguments(LLVMValueRef call, LLVMValueRef function)
{
	unsigned n = 0, count = LLVMGetNumArgOperands(call);

	for (LLVMValueRef p = LLVMGetFirstParam(function); p && n < count; p = LLVMGetNextParam(p))
		value_copy(p, LLVMGetOperand(call, n++));
	for (; n < count; n++) /* found again through a va_list */
		solve_give(value_node(LLVMGetOperand(call, n)));
}

static void call_inside(LLVMValueRef call, LLVMValueRef function)
{
	pass_arguments(call, function);
	if (value_may_carry(LLVMTypeOf(call)))
		solve_copy(value_node(call), value_result(function));
}

/* ---- libc and other functions that are not seen --------------------------------------------------------------- */

static bool in_ranges(const struct access *a, LLVMValueRef addr)
{
	for (unsigned i = 0; i < a->range_count; i++)
		if (a->ranges[i].addr == addr || a->ranges[i].other == addr)
			return true;
	return false;
}

static bool is_pointer(const struct range *r)
{
	return r->form == RANGE_BYTES && LLVMIsAConstantInt(r->size) && LLVMConstIntGetZExtValue(r->size) == 8;
}

static bool holds_pointer(const struct range *r)
{
	return r->form == RANGE_BYTES && (!LLVMIsAConstantInt(r->size) || LLVMConstIntGetZExtValue(r->size) >= 8);
}

static bool allocates(LLVMValueRef call)
{
	unsigned noalias = LLVMGetEnumAttributeKindForName("noalias", 7);
	LLVMValueRef callee = LLVMGetCalledValue(call);

	return LLVMGetCallSiteEnumAttribute(call, LLVMAttributeReturnIndex, noalias) ||
	       (LLVMIsAFunction(callee) && LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeReturnIndex, noalias));
}

/* What is stored in what v points into, and everywhere in what that points into. */
static node anywhere_inside(LLVMValueRef v)
{
	node inside = solve_node(), all = solve_node();

	solve_load(inside, value_anywhere(v));
	solve_move(all, inside, 0, 1);
	return all;
}

/* Bytes of it go elsewhere, and others come: pointers may be among them, from and to another thread. */
static void exchange(LLVMValueRef v)
{
	node unknown = solve_node();

	solve_points_anywhere(unknown);
	solve_give(anywhere_inside(v));
	solve_store(value_anywhere(v), unknown);
}

/* Pointers that libc leaves behind an argument: to where the one before pointed (strsep), or, if not all is known, to
   memory of its own. */
static void leave_pointers(const struct access *after, bool exact)
{
	for (unsigned i = 0; i < after->range_count; i++) {
		LLVMValueRef v = after->ranges[i].addr;
		if (!value_node(v) || !is_pointer(&after->ranges[i]))
			continue;
		if (exact)
			solve_store(value_anywhere(v), anywhere_inside(v));
		else
			exchange(v);
	}
}

/* Does libc itself keep argument n, and use it at a later call? */
static bool keeps(LLVMValueRef call, unsigned n)
{
	LLVMValueRef callee = LLVMGetCalledValue(call);

	return !n && LLVMIsAFunction(callee) && !strcmp(external_name(callee), "strtok");
}

/* A pointer that libc's list describes is used and forgotten, but may be in the result or behind another argument. */
static void call_libc(LLVMValueRef call)
{
	struct access before = { 0 }, after = { 0 };
	bool exact = false, known = libc_ranges(m, call, &before, &after, &exact);

	for (unsigned n = 0; n < LLVMGetNumArgOperands(call); n++) {
		LLVMValueRef v = LLVMGetOperand(call, n);
		bool pointer = LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMPointerTypeKind;
		bool used = in_ranges(&before, v) || in_ranges(&after, v) || select_private(v);
		bool number = !pointer && n >= LLVMCountParamTypes(LLVMGetCalledFunctionType(call)); /* to be printed */
		if (!value_node(v) || (known && !pointer && !number))
			continue;
		if (!known || number || !used || keeps(call, n)) {
			solve_give(value_node(v));
			continue;
		}
		if (!exact || after.range_count) { /* bytes that come from elsewhere, and perhaps go there */
			node inside = solve_node();
			solve_load(inside, value_anywhere(v));
			solve_give(inside);
		}
		if (value_may_carry(LLVMTypeOf(call)))
			solve_move(value_node(call), value_node(v), 0, 1);
		if (LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMPointerTypeKind) /* strsep's token */
			solve_copy(value_node(call), anywhere_inside(v));
		for (unsigned i = 0; i < after.range_count; i++) /* strtol's end */
			if (after.ranges[i].addr != v && holds_pointer(&after.ranges[i]))
				solve_store(value_anywhere(after.ranges[i].addr), value_anywhere(v));
	}
	if (value_may_carry(LLVMTypeOf(call)) && LLVMGetTypeKind(LLVMTypeOf(call)) != LLVMPointerTypeKind)
		solve_points_anywhere(value_node(call)); /* a number that was text */
	leave_pointers(&after, exact);
	if (LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMPointerTypeKind && (!known || !exact)) {
		if (allocates(call))
			value_new_object(call, OBJECT_HEAP);
		else
			solve_points_anywhere(value_node(call));
	}
	free(before.ranges);
	free(after.ranges);
}

static void call_intrinsic(LLVMValueRef call, const char *name)
{
	static const char *const numbers[] = { "llvm.smax",   "llvm.smin",  "llvm.umax", "llvm.umin",  "llvm.abs",
					       "llvm.fsh",    "llvm.bswap", "llvm.ct",	 "llvm.uadd.", "llvm.sadd.",
					       "llvm.usub",   "llvm.ssub",  "llvm.umul", "llvm.smul",  "llvm.ptrmask",
					       "llvm.vector", NULL };

	if (intrinsic_is_harmless(name))
		return;
	if (!strncmp(name, "llvm.mem", 8))
		value_copy_memory(LLVMGetOperand(call, 0), LLVMGetOperand(call, 1));
	else if (intrinsic_passes_on(name))
		value_copy(call, LLVMGetOperand(call, 0));
	else if (name_begins(name, numbers)) {
		for (unsigned n = 0; n < LLVMGetNumArgOperands(call); n++)
			solve_move(value_node(call), value_node(LLVMGetOperand(call, n)), 0, 1);
	} else
		call_outside(call);
}

/* mempcpy and the like: the destination, or an address behind it, comes back. */
static void copy_by_libc(LLVMValueRef call)
{
	value_copy_memory(LLVMGetOperand(call, 0), LLVMGetOperand(call, 1));
	if (value_may_carry(LLVMTypeOf(call)))
		solve_move(value_node(call), value_node(LLVMGetOperand(call, 0)), 0, 1);
}

/* ---- functions by name --------------------------------------------------------------------------------------- */

/* A thread is started with an argument; what it returns is fetched by whoever joins it. */
static void start_thread(LLVMValueRef call, LLVMValueRef function)
{
	unsigned last = LLVMGetNumArgOperands(call) - 1;
	LLVMValueRef argument = LLVMGetOperand(call, last);

	if (!function || LLVMIsDeclaration(function) || !LLVMGetFirstParam(function)) {
		solve_give(value_node(argument));
		return;
	}
	value_copy(LLVMGetFirstParam(function), argument);
	solve_copy(objects_thread_results(), value_result(function));
}

/* The function compares elements of the array. */
static void start_sort(LLVMValueRef call, LLVMValueRef function)
{
	bool search = LLVMGetNumArgOperands(call) == 5;

	if (!function || LLVMIsDeclaration(function)) {
		call_outside(call);
		return;
	}
	for (LLVMValueRef p = LLVMGetFirstParam(function); p; p = LLVMGetNextParam(p)) {
		solve_copy(value_node(p), value_anywhere(LLVMGetOperand(call, 0)));
		if (search)
			solve_copy(value_node(p), value_anywhere(LLVMGetOperand(call, 1)));
	}
}

static void call_named(LLVMValueRef call, LLVMValueRef callee)
{
	unsigned count = LLVMGetNumArgOperands(call);
	LLVMValueRef first = count ? LLVMGetOperand(call, 0) : NULL;

	switch (external_kind(callee)) {
	case EXTERNAL_INTRINSIC: call_intrinsic(call, external_name(callee)); break;
	case EXTERNAL_LIBC:
		if (external_copies(callee))
			copy_by_libc(call);
		else
			call_libc(call);
		break;
	case EXTERNAL_ALLOCATES: value_new_object(call, OBJECT_HEAP); break;
	case EXTERNAL_REALLOCATES:
		value_new_object(call, OBJECT_HEAP);
		value_copy(call, first);
		break;
	case EXTERNAL_CREATES:
		if (count < 3)
			call_outside(call);
		else
			solve_call(value_node(LLVMGetOperand(call, count - 2)), call);
		break;
	case EXTERNAL_JOINS:
		if (count == 2)
			solve_store(value_node(LLVMGetOperand(call, 1)), objects_thread_results());
		break;
	case EXTERNAL_ENDS_THREAD: solve_copy(objects_thread_results(), value_node(first)); break;
	case EXTERNAL_SORTS:
		if (count == 5 && value_may_carry(LLVMTypeOf(call)))
			solve_copy(value_node(call), value_anywhere(LLVMGetOperand(call, 1)));
		if (count < 4)
			call_outside(call);
		else
			solve_call(value_node(LLVMGetOperand(call, count - 1)), call);
		break;
	case EXTERNAL_USES:
		for (unsigned n = 0; n < count; n++)
			if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, n))) == LLVMPointerTypeKind)
				exchange(LLVMGetOperand(call, n));
		/* fall through */
	case EXTERNAL_HARMLESS:
	case EXTERNAL_FREES:
	case EXTERNAL_LOCK:
		if (LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMPointerTypeKind)
			solve_points_anywhere(value_node(call));
		break;
	default:
		call_outside(call);
		if (strstr(external_name(callee), "join"))
			solve_give(objects_thread_results());
	}
}

LLVMValueRef call_callee(LLVMValueRef call)
{
	LLVMValueRef callee = LLVMGetCalledValue(call);

	while (LLVMIsAGlobalAlias(callee))
		callee = LLVMAliasGetAliasee(callee);
	return callee;
}

/* ---- wrappers of allocation ----------------------------------------------------------------------------------- */

/* A function that does nothing with what it allocates but return it: each call of it is a place of allocation. */
static bool is_wrapper(LLVMValueRef function, int depth);

static bool only_returned(LLVMValueRef v, int depth)
{
	for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef user = LLVMGetUser(u);
		if (LLVMIsAReturnInst(user) || LLVMIsAICmpInst(user))
			continue;
		if (!LLVMIsAPHINode(user) || depth > 3 || !only_returned(user, depth + 1))
			return false;
	}
	return true;
}

static bool is_fresh(LLVMValueRef v, int depth)
{
	if (LLVMIsNull(v))
		return true;
	if (LLVMIsAPHINode(v)) {
		for (unsigned i = 0; i < LLVMCountIncoming(v); i++)
			if (LLVMIsAPHINode(LLVMGetIncomingValue(v, i)) || !is_fresh(LLVMGetIncomingValue(v, i), depth))
				return false;
		return true;
	}
	if (!LLVMIsACallInst(v) || !only_returned(v, 0))
		return false;
	LLVMValueRef callee = call_callee(v);
	if (!LLVMIsAFunction(callee))
		return false;
	return LLVMIsDeclaration(callee) ? external_kind(callee) == EXTERNAL_ALLOCATES : is_wrapper(callee, depth + 1);
}

static bool is_wrapper(LLVMValueRef function, int depth)
{
	bool returns = false;

	if (depth > 3 || LLVMIsDeclaration(function) ||
	    LLVMGetTypeKind(LLVMGetReturnType(LLVMGlobalGetValueType(function))) != LLVMPointerTypeKind)
		return false;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
		LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
		if (!LLVMIsAReturnInst(end))
			continue;
		returns = true;
		if (!is_fresh(LLVMGetOperand(end, 0), depth))
			return false;
	}
	return returns;
}

/* ---- all calls ------------------------------------------------------------------------------------------------ */

/* What is known only where a function is called by its name: all that it is given may be used in any way. */
static bool by_pointer(LLVMValueRef function)
{
	switch (external_kind(function)) {
	case EXTERNAL_LOCK:
	case EXTERNAL_USES:
	case EXTERNAL_FREES:
	case EXTERNAL_REALLOCATES:
	case EXTERNAL_CREATES:
	case EXTERNAL_JOINS:
	case EXTERNAL_SORTS: return true;
	case EXTERNAL_LIBC: return external_copies(function);
	default: return false;
	}
}

void call_of(LLVMValueRef call, LLVMValueRef function)
{
	LLVMValueRef callee = call_callee(call);
	bool direct = LLVMIsAFunction(callee) && LLVMIsDeclaration(callee);

	if (direct && external_kind(callee) == EXTERNAL_CREATES)
		start_thread(call, function);
	else if (direct && external_kind(callee) == EXTERNAL_SORTS)
		start_sort(call, function);
	else if (!function)
		call_outside(call);
	else if (LLVMIsDeclaration(function) && !by_pointer(function))
		call_named(call, function);
	else if (LLVMIsDeclaration(function))
		call_outside(call);
	else
		call_inside(call, function);
}

void call_visit(LLVMValueRef call)
{
	LLVMValueRef callee = call_callee(call);

	if (LLVMIsAFunction(callee) && !LLVMIsDeclaration(callee)) {
		if (is_wrapper(callee, 0)) {
			value_new_object(call, OBJECT_HEAP);
			pass_arguments(call, callee);
		} else
			call_inside(call, callee);
	} else if (LLVMIsAFunction(callee))
		call_named(call, callee);
	else if (LLVMIsAInlineAsm(callee) || !value_node(callee))
		call_outside(call);
	else
		solve_call(value_node(callee), call);
}

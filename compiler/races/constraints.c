/*
 * From the program to the constraints of the points-to analysis (objects.h).
 *
 * A number of 64 bits may be a pointer that is copied or calculated with: it is followed, to anywhere in the object
 * once it was calculated with. What is made a pointer and did not come from one points anywhere. Pointers that are
 * copied in parts of less than 8 bytes by the program itself are not followed.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/points_to.h"
#include "compiler/races/map.h"
#include "compiler/races/objects.h"

static struct module *m;
static node thread_results; /* what threads return, which joining them gives */

/* ---- values ------------------------------------------------------------------------------------------------------ */

static struct map nodes; /* from a value, or from the result of a function (key + 1), to its node */

/* Its node; `fresh` tells whether it is new. */
static node node_of_key(uintptr_t key, bool *fresh)
{
	uint32_t *n = map_enter(&nodes, key);

	*fresh = !*n;
	if (!*n)
		*n = solve_node();
	return *n;
}

static node result_of(LLVMValueRef function)
{
	bool fresh;

	return node_of_key((uintptr_t)function + 1, &fresh);
}

/* May a value of this type hold a pointer? */
static bool may_carry(LLVMTypeRef type)
{
	switch (LLVMGetTypeKind(type)) {
	case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(type) >= 64;
	case LLVMPointerTypeKind:
	case LLVMDoubleTypeKind:
	case LLVMVectorTypeKind:
	case LLVMScalableVectorTypeKind:
	case LLVMStructTypeKind:
	case LLVMArrayTypeKind: return true;
	default: return false;
	}
}

static bool is_aggregate(LLVMTypeRef type)
{
	LLVMTypeKind kind = LLVMGetTypeKind(type);

	return kind != LLVMPointerTypeKind && kind != LLVMDoubleTypeKind &&
	       !(kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 64);
}

static enum object_kind kind_of_global(LLVMValueRef v)
{
	return LLVMIsAGlobalVariable(v) ? (LLVMIsThreadLocal(v) ? OBJECT_TLS : OBJECT_GLOBAL) : OBJECT_FUNCTION;
}

static node value(LLVMValueRef v);

/* offset + k * stride that a getelementptr adds. */
struct step {
	int64_t offset;
	uint64_t stride;
};

static uint64_t gcd(uint64_t a, uint64_t b)
{
	return b ? gcd(b, a % b) : a;
}

static void add_index(struct step *s, LLVMValueRef index, uint64_t size)
{
	if (LLVMIsAConstantInt(index))
		s->offset += LLVMConstIntGetSExtValue(index) * (int64_t)size;
	else
		s->stride = gcd(s->stride, size ? size : 1);
}

static struct step step_of(LLVMValueRef gep)
{
	struct step s = { 0, 0 };
	LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);

	for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(gep); i++) {
		LLVMValueRef index = LLVMGetOperand(gep, i);
		LLVMTypeKind kind = LLVMGetTypeKind(type);
		if (i > 1 && kind == LLVMStructTypeKind) {
			unsigned n = (unsigned)LLVMConstIntGetZExtValue(index);
			s.offset += (int64_t)LLVMOffsetOfElement(m->layout, type, n);
			type = LLVMStructGetTypeAtIndex(type, n);
			continue;
		}
		if (i > 1)
			type = LLVMGetElementType(type);
		if (LLVMGetTypeKind(type) == LLVMScalableVectorTypeKind)
			return (struct step){ 0, 1 };
		add_index(&s, index, LLVMABISizeOfType(m->layout, type));
	}
	return s;
}

/* Nothing for null and numbers; the variable behind an expression; all of the members together. */
static void build_constant(LLVMValueRef v, node n)
{
	if (LLVMIsAGlobalVariable(v) || LLVMIsAFunction(v)) {
		solve_points(n, solve_object(kind_of_global(v), v), 0);
	} else if (LLVMIsAGlobalAlias(v)) {
		solve_copy(n, value(LLVMAliasGetAliasee(v)));
	} else if (LLVMIsAGlobalIFunc(v)) {
		solve_points_anywhere(n);
	} else if (LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMGetElementPtr) {
		struct step s = step_of(v);
		solve_move(n, value(LLVMGetOperand(v, 0)), s.offset, s.stride);
	} else {
		bool number = LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) != LLVMPtrToInt &&
			      LLVMGetConstOpcode(v) != LLVMIntToPtr && LLVMGetConstOpcode(v) != LLVMAddrSpaceCast;
		if (LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMIntToPtr)
			solve_points_anywhere(n); /* a fixed address */
		for (int i = 0; i < LLVMGetNumOperands(v); i++)
			solve_move(n, value(LLVMGetOperand(v, (unsigned)i)), 0, number);
	}
}

static node value(LLVMValueRef v)
{
	bool fresh;

	if (!may_carry(LLVMTypeOf(v)) || LLVMIsNull(v) || LLVMIsUndef(v) || LLVMIsAConstantInt(v) ||
	    LLVMIsAConstantFP(v) || LLVMIsABlockAddress(v) || LLVMIsAInlineAsm(v))
		return NO_NODE;
	node n = node_of_key((uintptr_t)v, &fresh);
	if (fresh && LLVMIsAConstant(v))
		build_constant(v, n);
	return n;
}

static void copy(LLVMValueRef to, LLVMValueRef from)
{
	solve_copy(value(to), value(from));
}

/* The same pointer, to anywhere in what it points into. */
static node anywhere(LLVMValueRef v)
{
	node from = value(v), n = from ? solve_node() : NO_NODE;

	solve_move(n, from, 0, 1);
	return n;
}

static void new_object(LLVMValueRef v, enum object_kind kind)
{
	solve_points(value(v), solve_object(kind, v), 0);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void load(LLVMValueRef to, LLVMValueRef address)
{
	if (may_carry(LLVMTypeOf(to)))
		solve_load(value(to), is_aggregate(LLVMTypeOf(to)) ? anywhere(address) : value(address));
}

static void store(LLVMValueRef address, LLVMValueRef v)
{
	if (value(v))
		solve_store(is_aggregate(LLVMTypeOf(v)) ? anywhere(address) : value(address), value(v));
}

/* memcpy: whatever is in one may be anywhere in the other. */
static void copy_memory(LLVMValueRef to, LLVMValueRef from)
{
	node between = solve_node();

	solve_load(between, anywhere(from));
	solve_store(anywhere(to), between);
}

static void store_initial(node address, LLVMValueRef v, int64_t offset)
{
	LLVMTypeRef type = LLVMTypeOf(v);
	bool is_struct = LLVMGetTypeKind(type) == LLVMStructTypeKind;

	if (!value(v))
		return;
	if (!is_struct && LLVMGetTypeKind(type) != LLVMArrayTypeKind) {
		node at = solve_node();
		solve_move(at, address, offset, 0);
		solve_store(offset ? at : address, value(v));
		return;
	}
	if (LLVMIsAConstantDataSequential(v)) /* numbers */
		return;
	uint64_t size = is_struct ? 0 : LLVMABISizeOfType(m->layout, LLVMGetElementType(type));
	for (int i = 0; i < LLVMGetNumOperands(v); i++)
		store_initial(address, LLVMGetOperand(v, (unsigned)i),
			      offset + (is_struct ? (int64_t)LLVMOffsetOfElement(m->layout, type, (unsigned)i) :
						    (int64_t)size * i));
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void call_outside(LLVMValueRef call)
{
	for (unsigned n = 0; n < LLVMGetNumArgOperands(call); n++)
		solve_give(value(LLVMGetOperand(call, n)));
	solve_points_anywhere(value(call));
}

static void pass_arguments(LLVMValueRef call, LLVMValueRef function)
{
	unsigned n = 0, count = LLVMGetNumArgOperands(call);

	for (LLVMValueRef p = LLVMGetFirstParam(function); p && n < count; p = LLVMGetNextParam(p))
		copy(p, LLVMGetOperand(call, n++));
	for (; n < count; n++) /* found again through a va_list */
		solve_give(value(LLVMGetOperand(call, n)));
	if (may_carry(LLVMTypeOf(call)))
		solve_copy(value(call), result_of(function));
}

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
	return is_pointer(r) || (r->form == RANGE_BYTES && !LLVMIsAConstantInt(r->size));
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

	solve_load(inside, anywhere(v));
	solve_move(all, inside, 0, 1);
	return all;
}

/* Bytes of it go elsewhere, and others come: pointers may be among them, from and to another thread. */
static void exchange(LLVMValueRef v)
{
	node unknown = solve_node();

	solve_points_anywhere(unknown);
	solve_give(anywhere_inside(v));
	solve_store(anywhere(v), unknown);
}

/* Pointers that libc leaves behind an argument: to where the one before pointed (strsep), or, if not all is known, to
   memory of its own. */
static void leave_pointers(const struct access *after, bool exact)
{
	for (unsigned i = 0; i < after->range_count; i++) {
		LLVMValueRef v = after->ranges[i].addr;
		if (!value(v) || !is_pointer(&after->ranges[i]))
			continue;
		if (exact)
			solve_store(anywhere(v), anywhere_inside(v));
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
		if (!value(v) || (known && !pointer))
			continue;
		if (!known || !used || keeps(call, n)) {
			solve_give(value(v));
			continue;
		}
		if (!exact || after.range_count) { /* bytes that come from elsewhere, and perhaps go there */
			node inside = solve_node();
			solve_load(inside, anywhere(v));
			solve_give(inside);
		}
		if (may_carry(LLVMTypeOf(call)))
			solve_move(value(call), value(v), 0, 1);
		if (LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMPointerTypeKind) /* strsep's token */
			solve_copy(value(call), anywhere_inside(v));
		for (unsigned i = 0; i < after.range_count; i++) /* strtol's end */
			if (after.ranges[i].addr != v && holds_pointer(&after.ranges[i]))
				solve_store(anywhere(after.ranges[i].addr), anywhere(v));
	}
	if (may_carry(LLVMTypeOf(call)) && LLVMGetTypeKind(LLVMTypeOf(call)) != LLVMPointerTypeKind)
		solve_points_anywhere(value(call)); /* a number that was text */
	leave_pointers(&after, exact);
	if (LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMPointerTypeKind && (!known || !exact)) {
		if (allocates(call))
			new_object(call, OBJECT_HEAP);
		else
			solve_points_anywhere(value(call));
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
		copy_memory(LLVMGetOperand(call, 0), LLVMGetOperand(call, 1));
	else if (intrinsic_passes_on(name))
		copy(call, LLVMGetOperand(call, 0));
	else if (name_begins(name, numbers)) {
		for (unsigned n = 0; n < LLVMGetNumArgOperands(call); n++)
			solve_move(value(call), value(LLVMGetOperand(call, n)), 0, 1);
	} else
		call_outside(call);
}

/* A thread is started with an argument; what it returns is fetched by whoever joins it. */
static void start_thread(LLVMValueRef call, LLVMValueRef function)
{
	unsigned last = LLVMGetNumArgOperands(call) - 1;
	LLVMValueRef argument = LLVMGetOperand(call, last);

	if (!function || LLVMIsDeclaration(function) || !LLVMGetFirstParam(function)) {
		solve_give(value(argument));
		return;
	}
	copy(LLVMGetFirstParam(function), argument);
	solve_copy(thread_results, result_of(function));
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
		solve_copy(value(p), anywhere(LLVMGetOperand(call, 0)));
		if (search)
			solve_copy(value(p), anywhere(LLVMGetOperand(call, 1)));
	}
}

static void call_named(LLVMValueRef call, LLVMValueRef callee)
{
	unsigned count = LLVMGetNumArgOperands(call);
	LLVMValueRef first = count ? LLVMGetOperand(call, 0) : NULL;

	switch (external_kind(callee)) {
	case EXTERNAL_INTRINSIC: call_intrinsic(call, external_name(callee)); break;
	case EXTERNAL_LIBC: call_libc(call); break;
	case EXTERNAL_ALLOCATES: new_object(call, OBJECT_HEAP); break;
	case EXTERNAL_REALLOCATES:
		new_object(call, OBJECT_HEAP);
		copy(call, first);
		break;
	case EXTERNAL_CREATES:
		if (count < 3)
			call_outside(call);
		else
			solve_call(value(LLVMGetOperand(call, count - 2)), call);
		break;
	case EXTERNAL_JOINS:
		if (count == 2)
			solve_store(value(LLVMGetOperand(call, 1)), thread_results);
		break;
	case EXTERNAL_ENDS_THREAD: solve_copy(thread_results, value(first)); break;
	case EXTERNAL_SORTS:
		if (count == 5 && may_carry(LLVMTypeOf(call)))
			solve_copy(value(call), anywhere(LLVMGetOperand(call, 1)));
		if (count < 4)
			call_outside(call);
		else
			solve_call(value(LLVMGetOperand(call, count - 1)), call);
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
			solve_points_anywhere(value(call));
		break;
	default:
		call_outside(call);
		if (strstr(external_name(callee), "join"))
			solve_give(thread_results);
	}
}

static LLVMValueRef callee_of(LLVMValueRef call)
{
	LLVMValueRef callee = LLVMGetCalledValue(call);

	while (LLVMIsAGlobalAlias(callee))
		callee = LLVMAliasGetAliasee(callee);
	return callee;
}

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
	LLVMValueRef callee = callee_of(v);
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
	default: return false;
	}
}

/* Also as a callback of the solver, for each function that a pointer comes to point to; NULL: any. */
static void called(LLVMValueRef call, LLVMValueRef function)
{
	LLVMValueRef callee = callee_of(call);
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
		pass_arguments(call, function);
}

static void visit_call(LLVMValueRef call)
{
	LLVMValueRef callee = callee_of(call);

	if (LLVMIsAFunction(callee) && !LLVMIsDeclaration(callee)) {
		if (is_wrapper(callee, 0)) {
			new_object(call, OBJECT_HEAP);
			unsigned n = 0, count = LLVMGetNumArgOperands(call);
			for (LLVMValueRef p = LLVMGetFirstParam(callee); p && n < count; p = LLVMGetNextParam(p))
				copy(p, LLVMGetOperand(call, n++));
			for (; n < count; n++)
				solve_give(value(LLVMGetOperand(call, n)));
		} else
			pass_arguments(call, callee);
	} else if (LLVMIsAFunction(callee))
		call_named(call, callee);
	else if (LLVMIsAInlineAsm(callee) || !value(callee))
		call_outside(call);
	else
		solve_call(value(callee), call);
}

/* ---- instructions ------------------------------------------------------------------------------------------------ */

/* p = phi(start, p + step) goes through the object in steps: without this each round would be a place of its own. */
static bool goes_round(LLVMValueRef gep, LLVMValueRef base)
{
	if (!LLVMIsAPHINode(base))
		return false;
	for (unsigned i = 0; i < LLVMCountIncoming(base); i++) {
		LLVMValueRef v = LLVMGetIncomingValue(base, i);
		for (int depth = 0; depth < 4; depth++) {
			if (v == gep)
				return true;
			if (LLVMIsAGetElementPtrInst(v))
				v = LLVMGetOperand(v, 0);
			else if (LLVMIsAPHINode(v) && v != base && LLVMCountIncoming(v) == 1)
				v = LLVMGetIncomingValue(v, 0);
		}
	}
	return false;
}

static void visit_gep(LLVMValueRef i)
{
	LLVMValueRef base = LLVMGetOperand(i, 0);

	if (LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMPointerTypeKind) { /* a vector of them */
		solve_move(value(i), value(base), 0, 1);
		return;
	}
	struct step s = step_of(i);
	if (!s.stride && s.offset && goes_round(i, base))
		s = (struct step){ 0, (uint64_t)llabs(s.offset) };
	solve_move(value(i), value(base), s.offset, s.stride);
}

/* Calculating: the difference of two pointers is none. */
static void visit_binary(LLVMValueRef i)
{
	LLVMValueRef a = LLVMGetOperand(i, 0), b = LLVMGetOperand(i, 1);

	if (!may_carry(LLVMTypeOf(i)) || LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMDoubleTypeKind ||
	    (LLVMGetInstructionOpcode(i) == LLVMSub && LLVMIsAPtrToIntInst(a) && LLVMIsAPtrToIntInst(b)))
		return;
	solve_move(value(i), value(a), 0, 1);
	solve_move(value(i), value(b), 0, 1);
}

static void visit_inttoptr(LLVMValueRef i)
{
	LLVMValueRef from = LLVMGetOperand(i, 0);

	copy(i, from);
	if (LLVMIsABinaryOperator(from) || LLVMIsAConstantInt(from) || LLVMIsACastInst(from))
		solve_points_anywhere(value(i));
}

/* An address has a node even if nothing that may be a pointer is read or written there: accesses are compared by it. */
static void visit_addresses(LLVMValueRef i)
{
	for (int n = 0; n < LLVMGetNumOperands(i); n++) {
		LLVMValueRef v = LLVMGetOperand(i, (unsigned)n);
		if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMPointerTypeKind)
			value(v);
	}
}

static void visit(LLVMValueRef i, LLVMValueRef function)
{
	visit_addresses(i);
	switch (LLVMGetInstructionOpcode(i)) {
	case LLVMAlloca: new_object(i, OBJECT_STACK); break;
	case LLVMLoad: load(i, LLVMGetOperand(i, 0)); break;
	case LLVMStore: store(LLVMGetOperand(i, 1), LLVMGetOperand(i, 0)); break;
	case LLVMAtomicRMW:
	case LLVMAtomicCmpXchg:
		for (unsigned n = 1; n < (unsigned)LLVMGetNumOperands(i); n++)
			store(LLVMGetOperand(i, 0), LLVMGetOperand(i, n));
		load(i, LLVMGetOperand(i, 0));
		break;
	case LLVMGetElementPtr: visit_gep(i); break;
	case LLVMBitCast:
	case LLVMAddrSpaceCast:
	case LLVMFreeze:
	case LLVMPtrToInt:
	case LLVMExtractValue:
	case LLVMTrunc: /* of 128 bits, in which a pointer lies beside something else */
	case LLVMZExt:
	case LLVMSExt:
	case LLVMExtractElement: copy(i, LLVMGetOperand(i, 0)); break;
	case LLVMIntToPtr: visit_inttoptr(i); break;
	case LLVMInsertValue:
	case LLVMInsertElement:
	case LLVMShuffleVector:
		copy(i, LLVMGetOperand(i, 0));
		copy(i, LLVMGetOperand(i, 1));
		break;
	case LLVMSelect:
		copy(i, LLVMGetOperand(i, 1));
		copy(i, LLVMGetOperand(i, 2));
		break;
	case LLVMPHI:
		for (unsigned n = 0; n < LLVMCountIncoming(i); n++)
			copy(i, LLVMGetIncomingValue(i, n));
		break;
	case LLVMRet:
		if (LLVMGetNumOperands(i))
			solve_copy(result_of(function), value(LLVMGetOperand(i, 0)));
		break;
	case LLVMCall:
	case LLVMInvoke:
	case LLVMCallBr: visit_call(i); break;
	case LLVMLandingPad:
	case LLVMVAArg: solve_points_anywhere(value(i)); break;
	default:
		if (LLVMIsABinaryOperator(i))
			visit_binary(i);
	}
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static bool is_local(LLVMValueRef global)
{
	return LLVMGetLinkage(global) == LLVMInternalLinkage || LLVMGetLinkage(global) == LLVMPrivateLinkage;
}

static void open_function(LLVMValueRef f)
{
	for (LLVMValueRef p = LLVMGetFirstParam(f); p; p = LLVMGetNextParam(p))
		solve_points_anywhere(value(p));
	solve_give(result_of(f));
}

/* Destructors; what an ifunc chooses; what assembler may know. */
static void visit_hidden(void)
{
	static const char *const lists[] = { "llvm.global_dtors", "llvm.used", "llvm.compiler.used" };

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		LLVMValueRef g = LLVMGetNamedGlobal(m->module, lists[i]);
		if (g && LLVMGetInitializer(g))
			solve_give(value(LLVMGetInitializer(g)));
	}
	for (LLVMValueRef f = LLVMGetFirstGlobalIFunc(m->module); f; f = LLVMGetNextGlobalIFunc(f))
		if (LLVMIsAFunction(LLVMGetGlobalIFuncResolver(f)))
			solve_give(result_of(LLVMGetGlobalIFuncResolver(f)));
}

static void visit_globals(void)
{
	visit_hidden();
	for (LLVMValueRef g = LLVMGetFirstGlobal(m->module); g; g = LLVMGetNextGlobal(g)) {
		if (!strncmp(external_name(g), "llvm.", 5))
			continue;
		const char *section = LLVMGetSection(g);
		if (!is_local(g) || (section && *section)) /* __start_SECTION leads to it */
			solve_give(value(g));
		if (!LLVMIsDeclaration(g))
			store_initial(value(g), LLVMGetInitializer(g), 0);
	}
}

static void visit_functions(LLVMValueRef main_function)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f)) {
		if (LLVMIsDeclaration(f))
			continue;
		if (f == main_function)
			open_function(f);
		else if (!is_local(f))
			solve_give(value(f));
		for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
			for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
				visit(i, f);
	}
}

static void given(LLVMValueRef function)
{
	if (!LLVMIsDeclaration(function))
		open_function(function);
}

void objects_solve(struct module *module, LLVMValueRef main_function)
{
	m = module;
	solve_begin();
	thread_results = solve_node();
	visit_globals();
	visit_functions(main_function);
	solve_run(called, given);
}

void objects_end(void)
{
	solve_end();
	map_free(&nodes);
}

node objects_node(LLVMValueRef v)
{
	return map_find(&nodes, v);
}

const struct bits *objects_of(LLVMValueRef address)
{
	node n = objects_node(address);
	const struct bits *set = n ? solve_places(n) : NULL;

	return set && set->count ? set : NULL;
}

node objects_thread_results(void)
{
	return thread_results;
}

bool objects_functions(LLVMValueRef pointer, void (*found)(void *arg, LLVMValueRef function), void *arg)
{
	const struct bits *set = objects_of(pointer);
	bool outside = !set;

	if (!set)
		return true;
	BITS_EACH(set, place)
	{
		struct object *o = solve_object_at(solve_place((uint32_t)place)->object);
		if (o->kind == OBJECT_FUNCTION && !LLVMIsDeclaration(o->value))
			found(arg, o->value);
		else
			outside = true;
	}
	return outside;
}

bool objects_callees(LLVMValueRef call, void (*found)(void *arg, LLVMValueRef function), void *arg)
{
	LLVMValueRef callee = callee_of(call);

	if (LLVMIsAInlineAsm(callee))
		return true;
	if (!LLVMIsAFunction(callee))
		return objects_functions(callee, found, arg);
	if (!LLVMIsDeclaration(callee))
		found(arg, callee);
	return LLVMIsDeclaration(callee);
}

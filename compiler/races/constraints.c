/*
 * From the program to the constraints of the points-to analysis (objects.h). Calls: constraints_calls.c.
 *
 * A number of 64 bits may be a pointer that is copied or calculated with: it is followed, to anywhere in the object
 * once it was calculated with. What is made a pointer and did not come from one points anywhere. Of less than 8 bytes
 * nobody knows where they come together again: who may see a part of a pointer has given it to code outside.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/points_to.h"
#include "compiler/races/constraints.h"
#include "compiler/races/map.h"

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

node value_result(LLVMValueRef function)
{
	bool fresh;

	return node_of_key((uintptr_t)function + 1, &fresh);
}

bool value_may_carry(LLVMTypeRef type)
{
	switch (LLVMGetTypeKind(type)) {
	case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(type) >= 64;
	case LLVMPointerTypeKind:
	case LLVMDoubleTypeKind:
	case LLVMX86_FP80TypeKind:
	case LLVMFP128TypeKind:
	case LLVMPPC_FP128TypeKind:
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
		solve_copy(n, value_node(LLVMAliasGetAliasee(v)));
	} else if (LLVMIsAGlobalIFunc(v)) {
		solve_points_anywhere(n);
	} else if (LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMGetElementPtr) {
		struct step s = step_of(v);
		solve_move(n, value_node(LLVMGetOperand(v, 0)), s.offset, s.stride);
	} else {
		bool number = LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) != LLVMPtrToInt &&
			      LLVMGetConstOpcode(v) != LLVMIntToPtr && LLVMGetConstOpcode(v) != LLVMAddrSpaceCast;
		if (LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMIntToPtr)
			solve_points_anywhere(n); /* a fixed address */
		for (int i = 0; i < LLVMGetNumOperands(v); i++)
			solve_move(n, value_node(LLVMGetOperand(v, (unsigned)i)), 0, number);
	}
}

node value_node(LLVMValueRef v)
{
	bool fresh;

	if (!value_may_carry(LLVMTypeOf(v)) || LLVMIsNull(v) || LLVMIsUndef(v) || LLVMIsAConstantInt(v) ||
	    LLVMIsAConstantFP(v) || LLVMIsABlockAddress(v) || LLVMIsAInlineAsm(v))
		return NO_NODE;
	node n = node_of_key((uintptr_t)v, &fresh);
	if (fresh && LLVMIsAConstant(v))
		build_constant(v, n);
	return n;
}

void value_copy(LLVMValueRef to, LLVMValueRef from)
{
	solve_copy(value_node(to), value_node(from));
}

node value_anywhere(LLVMValueRef v)
{
	node from = value_node(v), n = from ? solve_node() : NO_NODE;

	solve_move(n, from, 0, 1);
	return n;
}

void value_new_object(LLVMValueRef v, enum object_kind kind)
{
	solve_points(value_node(v), solve_object(kind, v), 0);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static bool is_part(LLVMTypeRef type)
{
	LLVMTypeKind kind = LLVMGetTypeKind(type);

	return (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) < 64) || kind == LLVMFloatTypeKind ||
	       kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind;
}

static void load(LLVMValueRef to, LLVMValueRef address)
{
	if (value_may_carry(LLVMTypeOf(to))) {
		solve_load(value_node(to),
			   is_aggregate(LLVMTypeOf(to)) ? value_anywhere(address) : value_node(address));
	} else if (is_part(LLVMTypeOf(to)) && value_node(address)) {
		node whole = solve_node();
		solve_load(whole, value_node(address));
		solve_give(whole);
	}
}

static void store(LLVMValueRef address, LLVMValueRef v)
{
	if (value_node(v))
		solve_store(is_aggregate(LLVMTypeOf(v)) ? value_anywhere(address) : value_node(address), value_node(v));
	else if (is_part(LLVMTypeOf(v)) && points_to_moved(v, 0))
		solve_store_part(value_node(address), (uint32_t)LLVMStoreSizeOfType(m->layout, LLVMTypeOf(v)));
}

void value_copy_memory(LLVMValueRef to, LLVMValueRef from)
{
	node between = solve_node();

	solve_load(between, value_anywhere(from));
	solve_store(value_anywhere(to), between);
}

static void store_initial(node address, LLVMValueRef v, int64_t offset)
{
	LLVMTypeRef type = LLVMTypeOf(v);
	bool is_struct = LLVMGetTypeKind(type) == LLVMStructTypeKind;

	if (!value_node(v))
		return;
	if (!is_struct && LLVMGetTypeKind(type) != LLVMArrayTypeKind) {
		node at = solve_node();
		solve_move(at, address, offset, 0);
		solve_store(offset ? at : address, value_node(v));
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

/* Some bits of an address choose a byte, such as a digit of it: from all of them it can be put together again. */
static bool chooses_byte(LLVMValueRef gep, LLVMValueRef index)
{
	LLVMValueRef mask = LLVMIsABinaryOperator(index) && LLVMGetInstructionOpcode(index) == LLVMAnd ?
				    LLVMGetOperand(index, 1) :
				    NULL;

	return mask && LLVMIsAConstantInt(mask) && LLVMConstIntGetZExtValue(mask) <= UINT8_MAX &&
	       step_of(gep).stride == 1;
}

static void visit_gep(LLVMValueRef i)
{
	LLVMValueRef base = LLVMGetOperand(i, 0), index = LLVMGetOperand(i, (unsigned)LLVMGetNumOperands(i) - 1);

	if (chooses_byte(i, index))
		solve_give(value_node(index));
	if (LLVMIsNull(base)) /* the way from there is the address */
		solve_move(value_node(i), value_node(index), 0, 1);

	if (LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMPointerTypeKind) { /* a vector of them */
		solve_move(value_node(i), value_node(base), 0, 1);
		return;
	}
	struct step s = step_of(i);
	if (!s.stride && s.offset && goes_round(i, base))
		s = (struct step){ 0, (uint64_t)llabs(s.offset) };
	solve_move(value_node(i), value_node(base), s.offset, s.stride);
}

/* Calculating: the difference of two pointers is none, but may lead from one to the other. */
static void visit_binary(LLVMValueRef i)
{
	LLVMValueRef a = LLVMGetOperand(i, 0), b = LLVMGetOperand(i, 1);

	if (!value_may_carry(LLVMTypeOf(i)) || LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMDoubleTypeKind)
		return;
	if (points_to_is_way(i)) {
		if (points_to_keeps_way(i, 0))
			solve_difference(value_node(a), value_node(b));
		return;
	}
	solve_move(value_node(i), value_node(a), 0, 1);
	solve_move(value_node(i), value_node(b), 0, 1);
}

static bool is_calculated(LLVMValueRef v, unsigned depth)
{
	enum { DEEPEST = 8 };

	if (LLVMIsABinaryOperator(v) || LLVMIsAConstantInt(v) || LLVMIsACastInst(v))
		return !LLVMIsAPtrToIntInst(v) && !LLVMIsNull(v);
	if (!LLVMIsAPHINode(v) && !LLVMIsASelectInst(v) && !LLVMIsAFreezeInst(v))
		return false;
	for (unsigned n = LLVMIsASelectInst(v) ? 1 : 0; n < (unsigned)LLVMGetNumOperands(v); n++)
		if (depth == DEEPEST || is_calculated(LLVMGetOperand(v, n), depth + 1))
			return true;
	return false;
}

static void visit_inttoptr(LLVMValueRef i)
{
	LLVMValueRef from = LLVMGetOperand(i, 0);

	value_copy(i, from);
	solve_number(value_node(i));
	if (is_calculated(from, 0))
		solve_points_anywhere(value_node(i));
}

/* An address has a node even if nothing that may be a pointer is read or written there: accesses are compared by it. */
static void visit_addresses(LLVMValueRef i)
{
	for (int n = 0; n < LLVMGetNumOperands(i); n++) {
		LLVMValueRef v = LLVMGetOperand(i, (unsigned)n);
		if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMPointerTypeKind)
			value_node(v);
	}
}

static void visit(LLVMValueRef i, LLVMValueRef function)
{
	visit_addresses(i);
	switch (LLVMGetInstructionOpcode(i)) {
	case LLVMAlloca: value_new_object(i, OBJECT_STACK); break;
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
	case LLVMTrunc: /* also of 128 bits, in which a pointer lies beside something else */
		if (is_part(LLVMTypeOf(i)))
			solve_give(value_node(LLVMGetOperand(i, 0)));
		/* fall through */
	case LLVMExtractValue:
	case LLVMZExt:
	case LLVMSExt:
	case LLVMExtractElement: value_copy(i, LLVMGetOperand(i, 0)); break;
	case LLVMUIToFP: /* 53 bits are enough for an address */
	case LLVMSIToFP:
	case LLVMFPToUI:
	case LLVMFPToSI:
	case LLVMFPExt:
	case LLVMFPTrunc: solve_move(value_node(i), value_node(LLVMGetOperand(i, 0)), 0, 1); break;
	case LLVMIntToPtr: visit_inttoptr(i); break;
	case LLVMInsertValue:
	case LLVMInsertElement:
	case LLVMShuffleVector:
		value_copy(i, LLVMGetOperand(i, 0));
		value_copy(i, LLVMGetOperand(i, 1));
		break;
	case LLVMSelect:
		value_copy(i, LLVMGetOperand(i, 1));
		value_copy(i, LLVMGetOperand(i, 2));
		break;
	case LLVMPHI:
		for (unsigned n = 0; n < LLVMCountIncoming(i); n++)
			value_copy(i, LLVMGetIncomingValue(i, n));
		break;
	case LLVMRet:
		if (LLVMGetNumOperands(i))
			solve_copy(value_result(function), value_node(LLVMGetOperand(i, 0)));
		break;
	case LLVMCall:
	case LLVMInvoke:
	case LLVMCallBr: call_visit(i); break;
	case LLVMLandingPad:
	case LLVMVAArg: solve_points_anywhere(value_node(i)); break;
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
		solve_points_anywhere(value_node(p));
	solve_give(value_result(f));
}

/* Destructors; what an ifunc chooses; what assembler may know; what others know by another name. */
static void visit_hidden(void)
{
	static const char *const lists[] = { "llvm.global_dtors", "llvm.used", "llvm.compiler.used" };

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		LLVMValueRef g = LLVMGetNamedGlobal(m->module, lists[i]);
		if (g && LLVMGetInitializer(g))
			solve_give(value_node(LLVMGetInitializer(g)));
	}
	for (LLVMValueRef a = LLVMGetFirstGlobalAlias(m->module); a; a = LLVMGetNextGlobalAlias(a))
		if (!is_local(a))
			solve_give(value_node(LLVMAliasGetAliasee(a)));
	for (LLVMValueRef f = LLVMGetFirstGlobalIFunc(m->module); f; f = LLVMGetNextGlobalIFunc(f))
		if (LLVMIsAFunction(LLVMGetGlobalIFuncResolver(f)))
			solve_give(value_result(LLVMGetGlobalIFuncResolver(f)));
}

static void visit_globals(void)
{
	visit_hidden();
	for (LLVMValueRef g = LLVMGetFirstGlobal(m->module); g; g = LLVMGetNextGlobal(g)) {
		if (!strncmp(external_name(g), "llvm.", 5))
			continue;
		const char *section = LLVMGetSection(g);
		if (!is_local(g) || (section && *section)) /* __start_SECTION leads to it */
			solve_give(value_node(g));
		if (!LLVMIsDeclaration(g))
			store_initial(value_node(g), LLVMGetInitializer(g), 0);
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
			solve_give(value_node(f));
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
	calls_begin(module);
	solve_begin();
	thread_results = solve_node();
	visit_globals();
	visit_functions(main_function);
	solve_run(call_of, given);
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
	LLVMValueRef callee = call_callee(call);

	if (LLVMIsAInlineAsm(callee))
		return true;
	if (!LLVMIsAFunction(callee))
		return objects_functions(callee, found, arg);
	if (!LLVMIsDeclaration(callee))
		found(arg, callee);
	return LLVMIsDeclaration(callee);
}

/*
 * Points-to analysis by unification (Steensgaard): one pass over the program, classes are joined and never split.
 *
 * A node stands for a value or for a class of objects, and has at most one arrow: for a value, to the class of what it
 * points to; for a class, to the class of what the pointers in it point to. p = q joins the two values; p = *q joins
 * the arrow of p with the arrow of the arrow of q.
 *
 * A number of 64 bits may be a pointer that is copied, since memcpy becomes loads and stores of numbers; one that is
 * calculated with is not followed: a pointer that was made a number for more than comparing is known to everybody.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/points_to.h"
#include "compiler/races/objects.h"

typedef uint32_t node;
enum { NONE, UNKNOWN, FIRST }; /* 0 is no node */

struct node_row {
	node parent, arrow;
	uint32_t rank;
	struct object_facts facts;
};
static struct node_row *nodes;
static size_t node_count, node_room;
static struct module *m;
static uint64_t guards_at_first;

/* ---- classes ----------------------------------------------------------------------------------------------------- */

static node new_node(void)
{
	if (node_count == node_room) {
		node_room = node_room ? node_room * 2 : 4096;
		nodes = realloc(nodes, node_room * sizeof *nodes);
		if (!nodes)
			compiler_die("out of memory");
	}
	nodes[node_count] = (struct node_row){ .parent = (node)node_count, .facts = { .guards = guards_at_first } };
	return (node)node_count++;
}

static node find(node n)
{
	while (nodes[n].parent != n)
		n = nodes[n].parent = nodes[nodes[n].parent].parent;
	return n;
}

static node arrow(node n)
{
	n = find(n);
	if (!nodes[n].arrow) {
		node to = new_node(); /* moves the nodes */
		nodes[n].arrow = to;
	}
	return find(nodes[n].arrow);
}

static void join(node a, node b)
{
	while (a && b && (a = find(a)) != (b = find(b))) {
		if (nodes[a].rank < nodes[b].rank) {
			node swap = a;
			a = b;
			b = swap;
		}
		node next_a = nodes[a].arrow, next_b = nodes[b].arrow;
		nodes[b].parent = a;
		nodes[a].rank += nodes[a].rank == nodes[b].rank;
		nodes[a].facts.unknown |= nodes[b].facts.unknown;
		nodes[a].facts.shared |= nodes[b].facts.shared;
		nodes[a].arrow = next_a ? next_a : next_b;
		a = next_a; /* the arrows are joined next; each join leaves one node less, so this ends */
		b = next_b;
	}
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* From a value, or from the result of a function (key + 1), to its node. */
struct entry {
	uintptr_t key;
	node node;
};
static struct entry *table;
static size_t table_count, table_room;

static struct entry *slot(uintptr_t key)
{
	size_t i = (size_t)(key * 0x9e3779b97f4a7c15u >> 20);

	while (table[i & (table_room - 1)].key && table[i & (table_room - 1)].key != key)
		i++;
	return &table[i & (table_room - 1)];
}

static void grow(void)
{
	struct entry *old = table;
	size_t room = table_room;

	table_room = room ? room * 2 : 8192;
	table = calloc(table_room, sizeof *table);
	if (!table)
		compiler_die("out of memory");
	for (size_t i = 0; i < room; i++)
		if (old[i].key)
			*slot(old[i].key) = old[i];
	free(old);
}

static node node_of_key(uintptr_t key)
{
	if (table_count * 2 >= table_room)
		grow();
	struct entry *e = slot(key);
	if (!e->key) {
		*e = (struct entry){ key, new_node() };
		table_count++;
	}
	return e->node;
}

static node result_of(LLVMValueRef function)
{
	return node_of_key((uintptr_t)function + 1);
}

/* May a value of this type hold a pointer? */
static bool may_carry(LLVMTypeRef type)
{
	switch (LLVMGetTypeKind(type)) {
	case LLVMPointerTypeKind: return true;
	case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(type) >= 64;
	case LLVMVectorTypeKind:
	case LLVMScalableVectorTypeKind:
	case LLVMStructTypeKind:
	case LLVMArrayTypeKind: return true;
	default: return false;
	}
}

static node constant_node(LLVMValueRef v);

static node value(LLVMValueRef v)
{
	if (!may_carry(LLVMTypeOf(v)))
		return NONE;
	return LLVMIsAConstant(v) ? constant_node(v) : node_of_key((uintptr_t)v);
}

/* Nothing for null and numbers; the variable behind an expression; all of the members together. */
static node constant_node(LLVMValueRef v)
{
	node all = NONE;

	if (LLVMIsAGlobalAlias(v))
		return value(LLVMAliasGetAliasee(v));
	if (LLVMIsAGlobalVariable(v) || LLVMIsAFunction(v) || LLVMIsAGlobalIFunc(v))
		return node_of_key((uintptr_t)v);
	for (int i = 0; i < LLVMGetNumOperands(v); i++) {
		node part = value(LLVMGetOperand(v, (unsigned)i));
		if (part && all)
			join(all, part);
		all = part ? part : all;
	}
	return all;
}

static void copy(LLVMValueRef to, LLVMValueRef from)
{
	join(value(to), value(from));
}

/* Everybody may know what this points to. */
static void give_away(LLVMValueRef v)
{
	node n = value(v);

	if (n)
		join(arrow(n), UNKNOWN);
}

static void give_away_contents(LLVMValueRef v)
{
	node n = value(v);

	if (n)
		join(arrow(arrow(n)), UNKNOWN);
}

static void share(LLVMValueRef v)
{
	node n = value(v);

	if (n)
		nodes[arrow(n)].facts.shared = true;
}

static void comes_from_outside(LLVMValueRef v)
{
	node n = value(v);

	if (n)
		join(arrow(n), UNKNOWN);
}

static void new_object(LLVMValueRef v)
{
	arrow(value(v));
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static const char *const libc_names[] = {
#include "compiler/libc_names.h"
};

static int compare_name(const void *name, const void *row)
{
	return strcmp(name, *(const char *const *)row);
}

static const char *name_of(LLVMValueRef function)
{
	size_t len;

	return LLVMGetValueName2(function, &len);
}

bool name_begins(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strncmp(name, *list, strlen(*list)))
			return true;
	return false;
}

/* Functions for locks and the like: they keep nothing and call nobody. */
static bool only_locks(LLVMValueRef function)
{
	return external_kind(function) == EXTERNAL_LOCK;
}

/* The C++ language itself, and what frees. Whole names: _Unwind_Backtrace calls back, and libraries have names that
   begin with free. */
static bool keeps_nothing(LLVMValueRef function)
{
	static const char *const list[] = { "__clang_call_terminate",  "__cxa_begin_catch",
					    "__cxa_end_catch",	       "__cxa_rethrow",
					    "__errno_location",	       "__gxx_personality_v0",
					    "_Unwind_DeleteException", "_Unwind_Resume",
					    "pthread_equal",	       "pthread_self" };

	return external_kind(function) == EXTERNAL_FREES ||
	       bsearch(name_of(function), list, sizeof list / sizeof *list, sizeof *list, compare_name);
}

static bool is_operator_new(LLVMValueRef function)
{
	return external_kind(function) == EXTERNAL_ALLOCATES && !strncmp(name_of(function), "_Zn", 3);
}

static bool allocates(LLVMValueRef call)
{
	unsigned noalias = LLVMGetEnumAttributeKindForName("noalias", 7);

	return LLVMGetCallSiteEnumAttribute(call, LLVMAttributeReturnIndex, noalias) ||
	       LLVMGetEnumAttributeAtIndex(LLVMGetCalledValue(call), LLVMAttributeReturnIndex, noalias);
}

static bool is_libc(const char *name)
{
	return bsearch(name, libc_names, sizeof libc_names / sizeof *libc_names, sizeof *libc_names, compare_name);
}

LLVMValueRef points_to_callee(LLVMValueRef call)
{
	LLVMValueRef callee = LLVMGetCalledValue(call);

	while (LLVMIsAGlobalAlias(callee))
		callee = LLVMAliasGetAliasee(callee);
	return callee;
}

bool points_to_may_create(LLVMValueRef call)
{
	LLVMValueRef callee = points_to_callee(call);

	return LLVMIsAInlineAsm(callee) ? external_asm_leaves(callee) : points_to_function_creates(callee);
}

bool points_to_function_creates(LLVMValueRef callee)
{
	if (!LLVMIsAFunction(callee))
		return true;
	const char *name = name_of(callee);
	return !LLVMGetIntrinsicID(callee) && !only_locks(callee) && !keeps_nothing(callee) && !is_libc(name) &&
	       !is_operator_new(callee) && strncmp(name, "__cxa_allocate", 14) && strcmp(name, "__cxa_throw") &&
	       strcmp(name, "malloc") && strcmp(name, "calloc") && strcmp(name, "realloc") &&
	       strcmp(name, "pthread_join");
}

static void call_program(LLVMValueRef call, LLVMValueRef function)
{
	unsigned n = 0, count = LLVMGetNumArgOperands(call);

	for (LLVMValueRef p = LLVMGetFirstParam(function); p && n < count; p = LLVMGetNextParam(p))
		copy(p, LLVMGetOperand(call, n++));
	for (; n < count; n++) /* found again through a va_list */
		give_away(LLVMGetOperand(call, n));
	if (may_carry(LLVMTypeOf(call)))
		join(value(call), result_of(function));
}

/* A thread is started with an argument; what it returns is fetched by whoever joins it. */
static void call_create(LLVMValueRef call, unsigned function_at)
{
	LLVMValueRef function = LLVMGetOperand(call, function_at), argument = LLVMGetOperand(call, function_at + 1);

	share(argument);
	if (!LLVMIsAFunction(function) || LLVMIsDeclaration(function) || !LLVMGetFirstParam(function)) {
		give_away(function);
		give_away(argument);
		return;
	}
	copy(LLVMGetFirstParam(function), argument);
	join(arrow(result_of(function)), UNKNOWN);
}

static bool in_ranges(const struct access *a, LLVMValueRef addr)
{
	for (unsigned i = 0; i < a->range_count; i++)
		if (a->ranges[i].addr == addr || a->ranges[i].other == addr)
			return true;
	return false;
}

static bool holds_pointer(const struct range *r)
{
	return r->form == RANGE_BYTES && (!LLVMIsAConstantInt(r->size) || LLVMConstIntGetZExtValue(r->size) >= 8);
}

/* A pointer that libc's list describes is used and forgotten, but may be in the result or behind another argument. */
static void call_libc(LLVMValueRef call)
{
	struct access before = { 0 }, after = { 0 };
	bool exact = false, known = libc_ranges(m, call, &before, &after, &exact);

	for (unsigned n = 0; n < LLVMGetNumArgOperands(call); n++) {
		LLVMValueRef v = LLVMGetOperand(call, n);
		if (!value(v) || (known && LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMPointerTypeKind))
			continue;
		if (!known || !(in_ranges(&before, v) || in_ranges(&after, v) || select_private(v))) {
			give_away(v);
			continue;
		}
		if (!exact || after.range_count)
			give_away_contents(v);
		if (may_carry(LLVMTypeOf(call)))
			copy(call, v);
		for (unsigned i = 0; i < after.range_count; i++) /* strtol's end */
			if (after.ranges[i].addr != v && holds_pointer(&after.ranges[i]))
				join(arrow(arrow(value(after.ranges[i].addr))), arrow(value(v)));
	}
	if (may_carry(LLVMTypeOf(call)) && LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMPointerTypeKind &&
	    (!known || !exact)) {
		if (allocates(call))
			new_object(call);
		else
			comes_from_outside(call);
	}
	free(before.ranges);
	free(after.ranges);
}

bool intrinsic_is_harmless(const char *name)
{
	static const char *const list[] = { "llvm.lifetime",
					    "llvm.dbg",
					    "llvm.assume",
					    "llvm.invariant",
					    "llvm.prefetch",
					    "llvm.memset",
					    "llvm.objectsize",
					    "llvm.stack",
					    "llvm.va_end",
					    "llvm.eh.",
					    "llvm.experimental.noalias",
					    "llvm.donothing",
					    "llvm.trap",
					    "llvm.is.constant",
					    NULL };

	return name_begins(name, list);
}

bool intrinsic_passes_on(const char *name)
{
	static const char *const list[] = { "llvm.threadlocal.address",
					    "llvm.launder",
					    "llvm.strip",
					    "llvm.ptr.annotation",
					    "llvm.expect",
					    "llvm.ssa.copy",
					    NULL };

	return name_begins(name, list);
}

static void call_intrinsic(LLVMValueRef call, const char *name)
{
	if (intrinsic_is_harmless(name))
		return;
	if (!strncmp(name, "llvm.mem", 8))
		join(arrow(arrow(value(LLVMGetOperand(call, 0)))), arrow(arrow(value(LLVMGetOperand(call, 1)))));
	else if (intrinsic_passes_on(name) || !strncmp(name, "llvm.ptrmask", 12))
		copy(call, LLVMGetOperand(call, 0));
	else {
		for (unsigned n = 0; n < LLVMGetNumArgOperands(call); n++)
			if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, n))) == LLVMPointerTypeKind ||
			    LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, n))) == LLVMVectorTypeKind)
				give_away(LLVMGetOperand(call, n));
		if (LLVMGetTypeKind(LLVMTypeOf(call)) != LLVMIntegerTypeKind)
			comes_from_outside(call);
	}
}

static void call_outside(LLVMValueRef call)
{
	for (unsigned n = 0; n < LLVMGetNumArgOperands(call); n++)
		give_away(LLVMGetOperand(call, n));
	comes_from_outside(call);
}

static LLVMValueRef *taken; /* functions whose address is known */
static size_t taken_count;

static void visit_call(LLVMValueRef call)
{
	LLVMValueRef callee = points_to_callee(call);

	if (LLVMIsAFunction(callee) && !LLVMIsDeclaration(callee)) {
		call_program(call, callee);
		return;
	}
	if (!LLVMIsAFunction(callee)) {
		for (size_t i = 0; i < taken_count && !LLVMIsAInlineAsm(callee); i++)
			if (!LLVMIsDeclaration(taken[i]))
				call_program(call, taken[i]);
		if (LLVMIsAInlineAsm(callee))
			call_outside(call);
		return;
	}
	const char *name = name_of(callee);
	if (LLVMGetIntrinsicID(callee))
		call_intrinsic(call, name);
	else if (!strcmp(name, "pthread_create") && LLVMGetNumArgOperands(call) == 4)
		call_create(call, 2);
	else if (!strcmp(name, "thrd_create") && LLVMGetNumArgOperands(call) == 3)
		call_create(call, 1);
	else if (!strcmp(name, "realloc"))
		copy(call, LLVMGetOperand(call, 0));
	else if (!strcmp(name, "malloc") || !strcmp(name, "calloc") || is_operator_new(callee))
		new_object(call);
	else if (!strcmp(name, "pthread_join") || !strcmp(name, "thrd_join"))
		give_away_contents(LLVMGetOperand(call, 1));
	else if ((only_locks(callee) && !strstr(name, "get")) || keeps_nothing(callee)) {
		if (LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMPointerTypeKind)
			comes_from_outside(call);
	} else if (is_libc(name))
		call_libc(call);
	else
		call_outside(call);
}

/* ---- instructions ------------------------------------------------------------------------------------------------ */

/* A pointer as a number: compared or copied it is still followed. */
static void visit_ptrtoint(LLVMValueRef i)
{
	copy(i, LLVMGetOperand(i, 0));
	for (LLVMUseRef u = LLVMGetFirstUse(i); u; u = LLVMGetNextUse(u))
		switch (LLVMIsAInstruction(LLVMGetUser(u)) ? LLVMGetInstructionOpcode(LLVMGetUser(u)) : LLVMAdd) {
		case LLVMSub:
			if (!points_to_is_way(LLVMGetUser(u))) /* see open_ways() */
				give_away(LLVMGetOperand(i, 0));
			break;
		case LLVMICmp:
		case LLVMStore:
		case LLVMPHI:
		case LLVMSelect:
		case LLVMIntToPtr:
		case LLVMRet: break;
		case LLVMCall:
		case LLVMInvoke: /* a number may be printed */
			if (LLVMIsAFunction(points_to_callee(LLVMGetUser(u))) &&
			    LLVMIsDeclaration(points_to_callee(LLVMGetUser(u))))
				give_away(LLVMGetOperand(i, 0));
			break;
		default: give_away(LLVMGetOperand(i, 0));
		}
}

static void visit_inttoptr(LLVMValueRef i)
{
	LLVMValueRef from = LLVMGetOperand(i, 0);

	copy(i, from);
	if (!LLVMIsAPtrToIntInst(from) && !LLVMIsALoadInst(from))
		comes_from_outside(i);
}

/* Is this an element of something that is gone through in steps of so many bytes: p[i], or *p++? */
static bool is_step(LLVMValueRef address, uint64_t size, unsigned depth)
{
	if (LLVMIsAGetElementPtrInst(address)) {
		LLVMValueRef last = LLVMGetOperand(address, (unsigned)LLVMGetNumOperands(address) - 1);
		if (!LLVMIsAConstantInt(last))
			return LLVMABISizeOfType(m->layout, LLVMGetGEPSourceElementType(address)) <= size ||
			       LLVMGetNumOperands(address) > 2;
		return depth < 4 && is_step(LLVMGetOperand(address, 0), size, depth + 1);
	}
	return LLVMIsAPHINode(address);
}

/* Parts of pointers, perhaps, that come together again elsewhere: everybody may know them. A member of less than 8
   bytes, which objects with pointers often have, is none. */
static void load_part(LLVMValueRef i)
{
	LLVMTypeRef type = LLVMTypeOf(i);

	if (LLVMGetTypeKind(type) == LLVMIntegerTypeKind &&
	    is_step(LLVMGetOperand(i, 0), LLVMStoreSizeOfType(m->layout, type), 0))
		give_away_contents(LLVMGetOperand(i, 0));
}

/* And this may be where they do. */
static void store_part(LLVMValueRef i)
{
	LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(i, 0));

	if (LLVMGetTypeKind(type) == LLVMIntegerTypeKind && points_to_moved(LLVMGetOperand(i, 0), 0) &&
	    is_step(LLVMGetOperand(i, 1), LLVMStoreSizeOfType(m->layout, type), 0))
		give_away_contents(LLVMGetOperand(i, 1));
}

static void visit(LLVMValueRef i, LLVMValueRef function)
{
	switch (LLVMGetInstructionOpcode(i)) {
	case LLVMAlloca: new_object(i); break;
	case LLVMLoad:
		if (may_carry(LLVMTypeOf(i)))
			join(arrow(value(i)), arrow(arrow(value(LLVMGetOperand(i, 0)))));
		else
			load_part(i);
		break;
	case LLVMStore:
		if (value(LLVMGetOperand(i, 0)))
			join(arrow(value(LLVMGetOperand(i, 0))), arrow(arrow(value(LLVMGetOperand(i, 1)))));
		else if (!may_carry(LLVMTypeOf(LLVMGetOperand(i, 0))))
			store_part(i);
		break;
	case LLVMAtomicRMW:
	case LLVMAtomicCmpXchg:
		for (unsigned n = 1; n < (unsigned)LLVMGetNumOperands(i); n++)
			if (value(LLVMGetOperand(i, n)))
				join(arrow(value(LLVMGetOperand(i, n))), arrow(arrow(value(LLVMGetOperand(i, 0)))));
		if (may_carry(LLVMTypeOf(i)))
			join(arrow(value(i)), arrow(arrow(value(LLVMGetOperand(i, 0)))));
		break;
	case LLVMGetElementPtr:
		if (LLVMIsNull(LLVMGetOperand(i, 0))) /* the way from there is the address */
			copy(i, LLVMGetOperand(i, (unsigned)LLVMGetNumOperands(i) - 1));
		/* fall through */
	case LLVMBitCast:
	case LLVMAddrSpaceCast:
	case LLVMFreeze:
	case LLVMExtractValue:
	case LLVMExtractElement: copy(i, LLVMGetOperand(i, 0)); break;
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
	case LLVMPtrToInt: visit_ptrtoint(i); break;
	case LLVMIntToPtr: visit_inttoptr(i); break;
	case LLVMRet:
		if (LLVMGetNumOperands(i) && value(LLVMGetOperand(i, 0)))
			join(value(LLVMGetOperand(i, 0)), result_of(function));
		break;
	case LLVMCall:
	case LLVMInvoke:
	case LLVMCallBr: visit_call(i); break;
	case LLVMLandingPad:
	case LLVMVAArg: comes_from_outside(i); break;
	default: break;
	}
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static bool is_local(LLVMValueRef global)
{
	return LLVMGetLinkage(global) == LLVMInternalLinkage || LLVMGetLinkage(global) == LLVMPrivateLinkage;
}

/* What others know by another name. */
static void visit_aliases(void)
{
	for (LLVMValueRef a = LLVMGetFirstGlobalAlias(m->module); a; a = LLVMGetNextGlobalAlias(a)) {
		LLVMValueRef g = LLVMAliasGetAliasee(a);
		if (!is_local(a) && LLVMIsAGlobalVariable(g))
			join(arrow(node_of_key((uintptr_t)g)), UNKNOWN);
	}
}

static void visit_globals(void)
{
	visit_aliases();
	for (LLVMValueRef g = LLVMGetFirstGlobal(m->module); g; g = LLVMGetNextGlobal(g)) {
		if (!strncmp(name_of(g), "llvm.", 5))
			continue;
		node object = arrow(node_of_key((uintptr_t)g));
		if (!LLVMIsThreadLocal(g))
			nodes[object].facts.shared = true;
		const char *section = LLVMGetSection(g);
		if (!is_local(g) || (section && *section)) /* __start_SECTION leads to it */
			join(object, UNKNOWN);
		if (!LLVMIsDeclaration(g)) {
			node content = value(LLVMGetInitializer(g));
			if (content)
				join(arrow(object), arrow(content));
		}
	}
}

static void open_function(LLVMValueRef f)
{
	for (LLVMValueRef p = LLVMGetFirstParam(f); p; p = LLVMGetNextParam(p))
		comes_from_outside(p);
	join(arrow(result_of(f)), UNKNOWN);
}

static void list_taken(LLVMValueRef main_function)
{
	size_t room = 0;

	taken_count = 0;
	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f))
		room++;
	taken = calloc(room + 1, sizeof *taken);
	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f)) {
		bool address = false;
		for (LLVMUseRef u = LLVMGetFirstUse(f); u && !address; u = LLVMGetNextUse(u)) {
			LLVMValueRef user = LLVMGetUser(u);
			address = !(LLVMIsACallInst(user) || LLVMIsAInvokeInst(user)) || LLVMGetCalledValue(user) != f;
		}
		if (address && !LLVMGetIntrinsicID(f))
			taken[taken_count++] = f;
		if (!LLVMIsDeclaration(f) && (!is_local(f) || f == main_function))
			open_function(f);
	}
}

/* Functions that code outside knows are called by it, with whatever it has; an outside function whose address is known
   may be what an indirect call calls, which is why those calls' arguments go there, too. */
static void open_known_functions(void)
{
	bool outside_called = false;

	for (size_t i = 0; i < taken_count; i++)
		outside_called |= LLVMIsDeclaration(taken[i]);
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = 0; i < taken_count; i++) {
			if (!taken[i] || LLVMIsDeclaration(taken[i]) ||
			    find(arrow(node_of_key((uintptr_t)taken[i]))) != find(UNKNOWN))
				continue;
			open_function(taken[i]);
			taken[i] = taken[--taken_count];
			changed = true;
		}
	}
	if (!outside_called)
		return;
	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f))
		for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
			for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
				if ((LLVMIsACallInst(i) || LLVMIsAInvokeInst(i)) &&
				    !LLVMIsAFunction(points_to_callee(i)))
					call_outside(i);
}

/* A way from one object to another. */
static void open_ways(LLVMValueRef i)
{
	LLVMValueRef a = points_to_is_way(i) ? LLVMGetOperand(LLVMGetOperand(i, 0), 0) : NULL;
	LLVMValueRef b = a ? LLVMGetOperand(LLVMGetOperand(i, 1), 0) : NULL;

	if (!a || !points_to_keeps_way(i, 0) || (value(a) && value(b) && arrow(value(a)) == arrow(value(b))))
		return;
	give_away(a);
	give_away(b);
}

#define EACH_INSTRUCTION(f, i)                                                                             \
	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f))              \
		for (LLVMBasicBlockRef b_ = LLVMGetFirstBasicBlock(f); b_; b_ = LLVMGetNextBasicBlock(b_)) \
			for (LLVMValueRef i = LLVMGetFirstInstruction(b_); i; i = LLVMGetNextInstruction(i))

/* What shared objects point to is shared. */
static void spread(void)
{
	for (size_t n = FIRST; n < node_count; n++) {
		node at = find((node)n);
		while (nodes[at].facts.shared && nodes[at].arrow && !nodes[find(nodes[at].arrow)].facts.shared) {
			at = find(nodes[at].arrow);
			nodes[at].facts.shared = true;
		}
	}
}

void points_to_solve(struct module *module, LLVMValueRef main_function, uint64_t all_guards)
{
	m = module;
	guards_at_first = all_guards;
	new_node(); /* NONE: an address that is a number may be anything */
	new_node(); /* UNKNOWN: points to itself */
	nodes[NONE].arrow = nodes[UNKNOWN].arrow = UNKNOWN;
	nodes[UNKNOWN].facts.unknown = nodes[UNKNOWN].facts.shared = true;
	visit_globals();
	list_taken(main_function);
	EACH_INSTRUCTION(f, i)
	visit(i, f);
	EACH_INSTRUCTION(f, i)
	open_ways(i);
	open_known_functions();
	spread();
}

/* An address that is no value of the program's (null, a number) points anywhere. */
struct object_facts *points_to_class(LLVMValueRef addr)
{
	node n = value(addr);
	node class = n ? arrow(n) : find(UNKNOWN);

	return &nodes[class].facts;
}

static uint32_t number_of(node class)
{
	class = find(class);
	return class == find(UNKNOWN) ? 0 : class;
}

uint32_t points_to_number(LLVMValueRef addr)
{
	node n = value(addr);

	return number_of(n ? arrow(n) : UNKNOWN);
}

uint32_t points_to_contents(LLVMValueRef addr)
{
	node n = value(addr);

	return number_of(n ? arrow(arrow(n)) : UNKNOWN);
}

void points_to_end(void)
{
	free(nodes);
	free(table);
	free(taken);
	nodes = NULL;
	table = NULL;
	node_count = node_room = table_count = table_room = 0;
}

/*
 * The walk: every access of a module, in the order of the code, and how it will be rewritten. What an instruction
 * accesses is said here and nowhere else.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/DebugInfo.h>
#include "compiler/internal.h"

struct settings settings;

void compiler_die(const char *format, ...)
{
	va_list args;

	fputs("heddle-cc: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

/* ---- settings --------------------------------------------------------------------------------------------------- */

static void read_setting(const char *key, const char *value)
{
	static const char *const selects[] = { "none", "all", "escape", "races" };

	if (!strcmp(key, "select")) {
		for (size_t i = 0; i < sizeof selects / sizeof *selects; i++)
			if (!strcmp(value, selects[i]))
				settings.select = (enum select)i;
	} else if (!strcmp(key, "mode"))
		settings.per_file = !strcmp(value, "per-file");
	else if (!strcmp(key, "fast"))
		settings.fast = value;
	else if (!strcmp(key, "replaced"))
		settings.replaced = value;
	else if (!strcmp(key, "report"))
		settings.races_report = value;
	else if (!strcmp(key, "barriers"))
		settings.barriers = value;
	else if (!strcmp(key, "without"))
		settings.without = value;
	else if (!strcmp(key, "foreign"))
		settings.foreign = value;
}

/* "key=value;key=value", set by heddle-cc. Without it the linker was not started by heddle-cc: nothing is done. */
static bool read_settings(void)
{
	const char *text = getenv("HEDDLE_CC_PASS");

	if (!text)
		return false;
	char *copy = strdup(text), *next = copy; /* values point into it for ever */
	for (char *item; (item = strsep(&next, ";"));) {
		char *value = strchr(item, '=');
		if (value) {
			*value = 0;
			read_setting(item, value + 1);
		}
	}
	return settings.fast != NULL;
}

static void open_module(struct module *m, LLVMModuleRef module)
{
	LLVMContextRef c = LLVMGetModuleContext(module);

	*m = (struct module){ .module = module,
			      .context = c,
			      .layout = LLVMGetModuleDataLayout(module),
			      .i1 = LLVMInt1TypeInContext(c),
			      .i8 = LLVMInt8TypeInContext(c),
			      .i16 = LLVMInt16TypeInContext(c),
			      .i32 = LLVMInt32TypeInContext(c),
			      .i64 = LLVMInt64TypeInContext(c),
			      .ptr = LLVMPointerTypeInContext(c, 0),
			      .nothing = LLVMVoidTypeInContext(c) };
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static struct access *add(struct module *m, LLVMValueRef inst, enum shape shape, unsigned kind)
{
	if (m->count == m->room) {
		m->room = m->room ? m->room * 2 : 1024;
		m->accesses = realloc(m->accesses, m->room * sizeof *m->accesses);
		if (!m->accesses)
			compiler_die("out of memory");
	}
	struct access *a = &m->accesses[m->count++];
	*a = (struct access){ .inst = inst, .shape = shape, .kind = (uint8_t)kind };
	return a;
}

/* An access of one range, unless its address says that nobody else can be there. */
static struct access *add_at(struct module *m, LLVMValueRef inst, enum shape shape, unsigned kind, LLVMValueRef addr,
			     uint64_t size)
{
	struct access *a = add(m, inst, shape, kind);

	a->addr = addr;
	a->size = size > UINT32_MAX ? 0 : (uint32_t)size;
	a->why = select_private(addr);
	if (a->why) {
		a->shape = SHAPE_NONE;
		a->flags |= HOOK_SITE_LEFT_OUT;
	}
	return a;
}

static bool is_word(struct module *m, LLVMTypeRef type)
{
	uint64_t size = LLVMStoreSizeOfType(m->layout, type), bits = LLVMSizeOfTypeInBits(m->layout, type);
	bool whole = size == 1 || size == 2 || size == 4 || size == 8;

	switch (LLVMGetTypeKind(type)) {
	case LLVMIntegerTypeKind: return whole;
	case LLVMPointerTypeKind:
	case LLVMHalfTypeKind:
	case LLVMBFloatTypeKind:
	case LLVMFloatTypeKind:
	case LLVMDoubleTypeKind: return true;
	case LLVMVectorTypeKind:
		/* Of pointers: there is no cast to a number. */
		return whole && bits == size * 8 && LLVMGetTypeKind(LLVMGetElementType(type)) != LLVMPointerTypeKind;
	default: return false;
	}
}

void access_add_range(struct access *a, struct range range)
{
	if (select_private(range.addr))
		return;
	a->ranges = realloc(a->ranges, (a->range_count + 1) * sizeof *a->ranges);
	if (!a->ranges)
		compiler_die("out of memory");
	a->ranges[a->range_count++] = range;
}

/* What an atomic of this ordering orders: for heddle replay --races. */
static unsigned atomic_flags(LLVMAtomicOrdering ordering)
{
	if (ordering == LLVMAtomicOrderingNotAtomic)
		return 0;
	bool all = ordering == LLVMAtomicOrderingAcquireRelease || ordering == LLVMAtomicOrderingSequentiallyConsistent;
	return HOOK_SITE_ATOMIC | (all || ordering == LLVMAtomicOrderingAcquire ? HOOK_SITE_ACQUIRE : 0) |
	       (all || ordering == LLVMAtomicOrderingRelease ? HOOK_SITE_RELEASE : 0);
}

static unsigned ordering_flags(LLVMValueRef inst)
{
	return (LLVMGetVolatile(inst) ? HOOK_SITE_VOLATILE : 0) | atomic_flags(LLVMGetOrdering(inst));
}

static void walk_plain(struct module *m, LLVMValueRef inst, bool load)
{
	LLVMTypeRef type = LLVMTypeOf(load ? inst : LLVMGetOperand(inst, 0));
	LLVMValueRef addr = LLVMGetOperand(inst, load ? 0 : 1);
	bool scalable = LLVMGetTypeKind(type) == LLVMScalableVectorTypeKind;
	enum shape shape = scalable	    ? SHAPE_AROUND :
			   is_word(m, type) ? (load ? SHAPE_LOAD : SHAPE_STORE) :
					      (load ? SHAPE_LOAD_WIDE : SHAPE_STORE_WIDE);
	struct access *a = add_at(m, inst, shape, load ? HOOK_LOAD : HOOK_STORE, addr,
				  scalable ? 0 : LLVMStoreSizeOfType(m->layout, type));

	a->flags |= ordering_flags(inst);
	if (a->shape == SHAPE_AROUND)
		access_add_range(a, (struct range){ .addr = addr,
						    .size = LLVMSizeOf(type),
						    .unit = 1,
						    .kind = load ? HOOK_READ : HOOK_WRITE });
}

/* The numbers that are stored in code. -1: there is none, it becomes a loop around cmpxchg. */
static int rmw_number(LLVMValueRef inst)
{
	switch (LLVMGetAtomicRMWBinOp(inst)) {
	case LLVMAtomicRMWBinOpXchg: return HOOK_XCHG;
	case LLVMAtomicRMWBinOpAdd: return HOOK_ADD;
	case LLVMAtomicRMWBinOpSub: return HOOK_SUB;
	case LLVMAtomicRMWBinOpAnd: return HOOK_AND;
	case LLVMAtomicRMWBinOpNand: return HOOK_NAND;
	case LLVMAtomicRMWBinOpOr: return HOOK_OR;
	case LLVMAtomicRMWBinOpXor: return HOOK_XOR;
	case LLVMAtomicRMWBinOpMax: return HOOK_MAX;
	case LLVMAtomicRMWBinOpMin: return HOOK_MIN;
	case LLVMAtomicRMWBinOpUMax: return HOOK_UMAX;
	case LLVMAtomicRMWBinOpUMin: return HOOK_UMIN;
	case LLVMAtomicRMWBinOpUIncWrap: return HOOK_UINC_WRAP;
	case LLVMAtomicRMWBinOpUDecWrap: return HOOK_UDEC_WRAP;
	default: return -1;
	}
}

static void walk_rmw(struct module *m, LLVMValueRef inst)
{
	uint64_t size = LLVMStoreSizeOfType(m->layout, LLVMTypeOf(inst));
	struct access *a =
		add_at(m, inst, size > 8 ? SHAPE_RMW_WIDE : SHAPE_RMW, HOOK_RMW, LLVMGetOperand(inst, 0), size);

	a->flags |= ordering_flags(inst);
	a->rmw = (int8_t)rmw_number(inst);
}

static void walk_cas(struct module *m, LLVMValueRef inst)
{
	uint64_t size = LLVMStoreSizeOfType(m->layout, LLVMTypeOf(LLVMGetOperand(inst, 1)));
	struct access *a =
		add_at(m, inst, size > 8 ? SHAPE_CAS_WIDE : SHAPE_CAS, HOOK_CAS, LLVMGetOperand(inst, 0), size);

	a->flags |= (LLVMGetVolatile(inst) ? HOOK_SITE_VOLATILE : 0) |
		    atomic_flags(LLVMGetCmpXchgSuccessOrdering(inst));
	LLVMSetWeak(inst, 0); /* one that fails without a reason would fail at record and not at replay */
}

static uint64_t constant_length(LLVMValueRef length)
{
	return LLVMIsAConstantInt(length) ? LLVMConstIntGetZExtValue(length) : 0;
}

static void walk_set(struct module *m, LLVMValueRef inst)
{
	add_at(m, inst, SHAPE_SET, HOOK_RANGE_WRITE, LLVMGetOperand(inst, 0), constant_length(LLVMGetOperand(inst, 2)));
}

static void walk_copy(struct module *m, LLVMValueRef inst)
{
	LLVMValueRef to = LLVMGetOperand(inst, 0), from = LLVMGetOperand(inst, 1);
	uint64_t size = constant_length(LLVMGetOperand(inst, 2));

	if (select_private(to))
		add_at(m, inst, SHAPE_COPY_IN, HOOK_RANGE_READ, from, size);
	else
		add_at(m, inst, select_private(from) ? SHAPE_COPY_OUT : SHAPE_COPY, HOOK_RANGE_WRITE, to, size);
}

/* Adds an access whose ranges are filled in already; without any there is none. */
static void add_filled(struct module *m, LLVMValueRef inst, enum shape shape, unsigned kind, struct access *filled)
{
	if (!filled->range_count)
		return;
	struct access *a = add(m, inst, shape, kind);
	a->ranges = filled->ranges;
	a->range_count = filled->range_count;
}

/* Nothing can stand between such a call and the return, or it ends its block. */
static bool nothing_after(LLVMValueRef call)
{
	return LLVMIsACallInst(call) ? LLVMGetTailCallKind(call) == LLVMTailCallKindMustTail : true;
}

static void walk_libc(struct module *m, LLVMValueRef call)
{
	struct access before = { 0 }, after = { 0 };
	bool exact;

	if (!libc_ranges(m, call, &before, &after, &exact))
		return;
	if (exact && !nothing_after(call)) {
		for (unsigned i = 0; i < after.range_count; i++)
			access_add_range(&before, after.ranges[i]);
		free(after.ranges);
		add_filled(m, call, SHAPE_AROUND, HOOK_CALLED, &before);
		return;
	}
	add_filled(m, call, SHAPE_BEFORE, HOOK_CALLED, &before);
	if (LLVMIsACallInst(call) && nothing_after(call))
		free(after.ranges);
	else
		add_filled(m, call, SHAPE_AFTER, HOOK_CALLED, &after);
}

static void walk_call(struct module *m, LLVMValueRef inst)
{
	struct access a = { 0 };

	if (LLVMIsAMemSetInst(inst))
		walk_set(m, inst);
	else if (LLVMIsAMemCpyInst(inst) || LLVMIsAMemMoveInst(inst))
		walk_copy(m, inst);
	else if (foreign_asm(m, inst, &a))
		add_filled(m, inst, nothing_after(inst) ? SHAPE_BEFORE : SHAPE_AROUND, HOOK_ASM, &a);
	else if (foreign_intrinsic(m, inst, &a))
		add_filled(m, inst, SHAPE_AROUND, HOOK_ASM, &a);
	else
		walk_libc(m, inst);
}

static void walk_instruction(struct module *m, LLVMValueRef inst)
{
	switch (LLVMGetInstructionOpcode(inst)) {
	case LLVMLoad: walk_plain(m, inst, true); break;
	case LLVMStore: walk_plain(m, inst, false); break;
	case LLVMAtomicRMW: walk_rmw(m, inst); break;
	case LLVMAtomicCmpXchg: walk_cas(m, inst); break;
	case LLVMFence: m->has_fences |= !LLVMIsAtomicSingleThread(inst); break;
	case LLVMCall:
	case LLVMInvoke:
	case LLVMCallBr: walk_call(m, inst); break;
	default: break;
	}
}

/* The blocks of a function that have hooks, to be searched. */
struct hooked {
	struct module *m;
	LLVMBasicBlockRef *blocks;
	size_t count;
};

static int compare_blocks(const void *a, const void *b)
{
	LLVMBasicBlockRef x = *(const LLVMBasicBlockRef *)a, y = *(const LLVMBasicBlockRef *)b;

	return (x > y) - (x < y);
}

static bool is_hooked(void *arg, LLVMBasicBlockRef block)
{
	struct hooked *h = arg;

	return bsearch(&block, h->blocks, h->count, sizeof block, compare_blocks);
}

static void add_poll(void *arg, LLVMValueRef jump, bool is_short)
{
	add(((struct hooked *)arg)->m, jump, SHAPE_POLL, HOOK_POLL)->is_short = is_short;
}

/* Loops without a sure hook get a poll where they jump back. The function's accesses are those from `first` to
   `end`. */
static void walk_loops(struct module *m, LLVMValueRef function, size_t first, size_t end)
{
	struct hooked h = { m, malloc((end - first + 1) * sizeof *h.blocks), 0 };

	for (size_t i = first; i < end; i++)
		if (m->accesses[i].shape != SHAPE_NONE)
			h.blocks[h.count++] = LLVMGetInstructionParent(m->accesses[i].inst);
	qsort(h.blocks, h.count, sizeof *h.blocks, compare_blocks);
	polls_find(function, is_hooked, add_poll, &h);
	free(h.blocks);
}

/* 16, or what the call promises. */
static unsigned argument_alignment(LLVMValueRef call, unsigned n)
{
	unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
	LLVMAttributeRef said = LLVMGetCallSiteEnumAttribute(call, n + 1, kind);
	uint64_t align = said ? LLVMGetEnumAttributeValue(said) : 0;

	return align > 16 ? (unsigned)align : 16;
}

/* An argument by value is read where the call is (x86-64): the read becomes a copy of its own, which is hooked. */
static void copy_argument(struct module *m, LLVMValueRef function, LLVMValueRef call, unsigned n, LLVMTypeRef type)
{
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(m->context);

	LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
	LLVMValueRef own = LLVMBuildAlloca(builder, type, "");
	unsigned align = argument_alignment(call, n);
	LLVMSetAlignment(own, align);
	LLVMPositionBuilderBefore(builder, call);
	LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(call));
	LLVMBuildMemCpy(builder, own, align, LLVMGetOperand(call, n), 1, LLVMSizeOf(type));
	LLVMSetOperand(call, n, own);
	if (LLVMIsACallInst(call))
		LLVMSetTailCall(call, false); /* it reads a local variable now */
	LLVMDisposeBuilder(builder);
}

static void copy_arguments(struct module *m, LLVMValueRef function, LLVMValueRef call)
{
	unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);

	if (LLVMIsACallInst(call) && LLVMGetTailCallKind(call) == LLVMTailCallKindMustTail)
		return;
	for (unsigned n = 0; n < LLVMGetNumArgOperands(call); n++) {
		LLVMAttributeRef attribute = LLVMGetCallSiteEnumAttribute(call, n + 1, byval);
		LLVMValueRef from = LLVMGetOperand(call, n);
		/* what is passed is another object than a constant */
		if (attribute && !(select_private(from) && LLVMIsAAllocaInst(from)))
			copy_argument(m, function, call, n, LLVMGetTypeAttributeValue(attribute));
	}
}

/* What no operation of the runtime does (sums of floating-point numbers) becomes a loop around cmpxchg, as it would
   later in any case; the load and the cmpxchg are then hooked. */
static void expand(struct module *m, LLVMValueRef function)
{
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
			if (LLVMIsACallInst(i) || LLVMIsAInvokeInst(i))
				copy_arguments(m, function, i);
			if (LLVMIsAAtomicRMWInst(i) && rmw_number(i) < 0 && !select_private(LLVMGetOperand(i, 0))) {
				plugin_expand_rmw(i);
				break; /* the rest of the block is a block of its own now, and comes later */
			}
		}
}

static void walk_function(struct module *m, LLVMValueRef function)
{
	expand(m, function);
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			walk_instruction(m, i);
}

/* A fence orders relaxed atomics, nobody can tell which. */
static void mark_fenced(struct module *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->accesses[i].flags & HOOK_SITE_ATOMIC)
			m->accesses[i].flags |= HOOK_SITE_ACQUIRE | HOOK_SITE_RELEASE;
}

static LLVMValueRef function_of(const struct access *a)
{
	return LLVMGetBasicBlockParent(LLVMGetInstructionParent(a->inst));
}

/* When it is clear what is hooked. The list holds the functions in their order, those without accesses left out. */
static void walk_all_loops(struct module *m)
{
	size_t end = 0, count = m->count;

	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f)) {
		size_t first = end;
		while (end < count && function_of(&m->accesses[end]) == f)
			end++;
		if (!select_ignored(m, f))
			walk_loops(m, f, first, end);
		if (end > first)
			rounding_settle(m, f);
	}
}

/* ---- the entries ------------------------------------------------------------------------------------------------- */

static void walk_all(struct module *m)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f))
		if (!select_ignored(m, f))
			walk_function(m, f);
}

static void close_module(struct module *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->accesses[i].ranges);
	free(m->accesses);
}

/* A call has up to two accesses, before and after it: it is marked if both are left out. */
static void mark_all_left_out(struct module *m)
{
	for (size_t i = 0; i < m->count;) {
		size_t next = i;
		bool all = true;
		for (; next < m->count && m->accesses[next].inst == m->accesses[i].inst; next++)
			all &= m->accesses[next].shape == SHAPE_NONE;
		if (all)
			mark_left_out(m, m->accesses[i].inst, m->accesses[i].why);
		i = next;
	}
}

static bool link_to_come, marked;

bool instrument_comes_next(void)
{
	return !link_to_come && read_settings() && settings.select != SELECT_NONE;
}

bool instrument_has_marked(void)
{
	return marked;
}

/* One file, before it is optimised; not called where a linker does that (thin LTO). */
int instrument_start(LLVMModuleRef module)
{
	if (!read_settings() || settings.select != SELECT_RACES || settings.per_file)
		return 0;
	link_to_come = true;
	return races_prepare(module);
}

/* One file, when it is optimised. */
int instrument_file(LLVMModuleRef module)
{
	return link_to_come ? 0 : instrument_last(module);
}

/* The whole program, before it is optimised: loops are still as they were written. */
int instrument_early(LLVMModuleRef module)
{
	struct module m;

	if (!read_settings() || settings.select == SELECT_NONE || settings.per_file)
		return 0;
	open_module(&m, module);
	bool replaced = replace_some(&m);
	if (settings.select != SELECT_RACES)
		return replaced;
	marked = true;
	select_begin(&m);
	walk_all(&m);
	races_apply(&m);
	mark_all_left_out(&m);
	close_module(&m);
	return 1;
}

static void leave_out_marked(struct module *m)
{
	for (size_t i = 0; i < m->count; i++) {
		struct access *a = &m->accesses[i];
		const char *why = a->shape == SHAPE_NONE ? NULL : marked_left_out(m, a->inst);
		if (!why)
			continue;
		a->shape = SHAPE_NONE;
		a->flags |= HOOK_SITE_LEFT_OUT;
		a->why = why;
	}
}

int instrument_last(LLVMModuleRef module)
{
	struct module m;

	if (!read_settings())
		return 0;
	open_module(&m, module);
	if (settings.select != SELECT_NONE && settings.per_file)
		replace_some(&m);
	select_begin(&m);
	if (settings.select != SELECT_NONE) {
		loops_tidy(&m);
		walk_all(&m);
	}
	if (m.has_fences)
		mark_fenced(&m);
	if (settings.select == SELECT_RACES)
		leave_out_marked(&m);
	if (settings.select == SELECT_ESCAPE)
		escape_apply(&m);
	if (settings.select != SELECT_NONE && !settings.per_file)
		elements_find(&m);
	if (settings.select != SELECT_NONE)
		walk_all_loops(&m);
	sites_build(&m);
	emit_begin(&m);
	rewrite_begin(&m);
	held_find(&m);
	polls_thin(&m);
	loops_copy(&m);
	groups_copy(&m);
	for (size_t i = 0; i < m.count; i++)
		rewrite(&m, i);
	rewrite_end();
	held_end();
	emit_end();
	marks_remove(&m);
	close_module(&m);
	return 1;
}

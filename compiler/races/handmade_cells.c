/*
 * What a function that may be a barrier looks at (handmade.c): the lock, the condition, and cells: numbers that are at
 * one place, and who else writes them.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/races/handmade.h"

struct handmade_function handmade;

static const struct {
	const char *name;
	enum role role;
} roles[] = {
	{ "pthread_cond_wait", ROLE_WAIT },	     { "cnd_wait", ROLE_WAIT },
	{ "pthread_cond_broadcast", ROLE_TELL_ALL }, { "cnd_broadcast", ROLE_TELL_ALL },
	{ "pthread_cond_signal", ROLE_OTHER },	     { "cnd_signal", ROLE_OTHER },
	{ "pthread_setcancelstate", ROLE_OTHER },
};

/* Intrinsics that neither write memory nor read it. */
static const char *const markers[] = { "llvm.dbg.",  "llvm.lifetime.", "llvm.assume", "llvm.expect.",
				       "llvm.smax.", "llvm.smin.",     "llvm.umax.",  "llvm.umin." };

enum role handmade_role(LLVMValueRef callee)
{
	for (size_t i = 0; i < sizeof roles / sizeof *roles && LLVMIsAFunction(callee); i++)
		if (!strcmp(external_name(callee), roles[i].name))
			return roles[i].role;
	return ROLE_NONE;
}

/* Not seen, or our own instead of one of libc's: it knows nothing of the program. */
static bool is_outside(LLVMValueRef callee)
{
	return LLVMIsDeclaration(callee) || !strncmp(external_name(callee), "__replaced_", 11);
}

bool handmade_may_be(LLVMValueRef function)
{
	bool waits = false, tells = false;
	unsigned blocks = 0;

	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b), blocks++)
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
			if (!LLVMIsACallInst(i))
				continue;
			LLVMValueRef callee = LLVMGetCalledValue(i);
			if (LLVMIsAFunction(callee) ? !is_outside(callee) : !LLVMIsAInlineAsm(callee))
				return false;
			waits |= handmade_role(callee) == ROLE_WAIT;
			tells |= handmade_role(callee) == ROLE_TELL_ALL;
		}
	return waits && tells && blocks <= MOST_BLOCKS_IN;
}

unsigned handmade_width(LLVMValueRef v)
{
	LLVMTypeRef t = LLVMTypeOf(v);

	return LLVMGetTypeKind(t) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(t) <= 64 ? LLVMGetIntTypeWidth(t) : 0;
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static bool is_plain(LLVMValueRef access)
{
	return LLVMGetOrdering(access) == LLVMAtomicOrderingNotAtomic;
}

static LLVMValueRef address_of(LLVMValueRef access)
{
	return LLVMGetOperand(access, LLVMIsAStoreInst(access) ? 1 : 0);
}

static bool is_before_threads(const struct party *p, void *arg)
{
	(void)arg;
	return p->classes == BIT(CLASS_MAIN) && !p->ever;
}

static bool writes_zero(LLVMValueRef inst)
{
	if (LLVMIsAMemSetInst(inst))
		return LLVMIsNull(LLVMGetOperand(inst, 1));
	return LLVMIsAStoreInst(inst) && LLVMIsNull(LLVMGetOperand(inst, 0));
}

static bool is_own(const struct party *p, void *arg)
{
	struct cell *c = arg;

	if (is_before_threads(p, NULL)) {
		c->zero &= writes_zero(p->inst);
		return true;
	}
	return p->function == handmade.number && LLVMIsAStoreInst(p->inst) && is_plain(p->inst) &&
	       program_single_place(p->addr) == c->place && handmade_width(LLVMGetOperand(p->inst, 0)) == c->bits;
}

/* What a constant has at an offset, or NULL. */
static LLVMValueRef constant_at(LLVMValueRef constant, int64_t offset, unsigned bits)
{
	LLVMTypeRef type = LLVMTypeOf(constant);
	unsigned n;

	if (LLVMIsNull(constant))
		return LLVMConstNull(LLVMIntTypeInContext(LLVMGetTypeContext(type), bits));
	if (LLVMIsAConstantInt(constant))
		return !offset && handmade_width(constant) == bits ? constant : NULL;
	if (LLVMGetTypeKind(type) == LLVMStructTypeKind) {
		n = LLVMElementAtOffset(program.m->layout, type, (unsigned long long)offset);
		offset -= (int64_t)LLVMOffsetOfElement(program.m->layout, type, n);
	} else if (LLVMGetTypeKind(type) == LLVMArrayTypeKind) {
		int64_t size = (int64_t)LLVMABISizeOfType(program.m->layout, LLVMGetElementType(type));
		n = (unsigned)(offset / size);
		offset %= size;
	} else
		return NULL;
	LLVMValueRef part = LLVMGetAggregateElement(constant, n);
	return part ? constant_at(part, offset, bits) : NULL;
}

LLVMValueRef handmade_first_value(uint32_t place, unsigned bits)
{
	const struct object *o = solve_object_at(solve_place(place)->object);

	return o->kind == OBJECT_GLOBAL && LLVMGetInitializer(o->value) ?
		       constant_at(LLVMGetInitializer(o->value), solve_place(place)->offset, bits) :
		       NULL;
}

/* Nobody reads allocated memory before something is stored there; what is stored is_own() has seen. */
static bool begins_with_zero(uint32_t place, unsigned bits)
{
	const struct object *o = solve_object_at(solve_place(place)->object);
	LLVMValueRef first = handmade_first_value(place, bits);

	if (o->kind == OBJECT_HEAP) {
		LLVMValueRef callee = LLVMIsACallInst(o->value) ? LLVMGetCalledValue(o->value) : NULL;
		return callee && LLVMIsAFunction(callee) && external_kind(callee) == EXTERNAL_ALLOCATES;
	}
	return o->kind == OBJECT_STACK || (first && LLVMIsNull(first));
}

int handmade_cell(LLVMValueRef access)
{
	uint32_t place = program_single_place(address_of(access));

	for (unsigned i = 0; i < handmade.cell_count && place; i++)
		if (handmade.cells[i].place == place)
			return (int)i;
	return -1;
}

static bool add_cell(LLVMValueRef access)
{
	uint32_t place = program_single_place(address_of(access));
	unsigned bits = handmade_width(LLVMIsAStoreInst(access) ? LLVMGetOperand(access, 0) : access);
	int known = handmade_cell(access);

	if (!place || !bits)
		return true; /* what is there is not known */
	if (known >= 0)
		return handmade.cells[known].bits == bits;
	if (handmade.cell_count == MOST_CELLS)
		return false;
	for (unsigned i = 0; i < handmade.cell_count; i++)
		if (solve_place(place)->object == solve_place(handmade.cells[i].place)->object &&
		    solve_overlap(place, (bits + 7) / 8, handmade.cells[i].place, (handmade.cells[i].bits + 7) / 8))
			return false;
	struct cell *c = &handmade.cells[handmade.cell_count++];
	*c = (struct cell){ .place = place, .bits = bits, .zero = begins_with_zero(place, bits) };
	c->stays = stable_each_writer(place, (bits + 7) / 8, is_before_threads, NULL);
	c->own = !c->stays && stable_each_writer(place, (bits + 7) / 8, is_own, c);
	c->name = symbols_new(bits);
	return true;
}

/* ---- the function ------------------------------------------------------------------------------------------------ */

/* The compiler must go to memory again: that is all that it may say. */
static bool is_empty_asm(LLVMValueRef callee, LLVMValueRef inst)
{
	size_t len = 0;

	return LLVMIsAInlineAsm(callee) && LLVMGetInlineAsmAsmString(callee, &len) && !len &&
	       !LLVMGetNumArgOperands(inst);
}

/* One lock, one condition, one wait; and nothing that could release the lock, or come back twice. */
static bool add_call(const struct call *c)
{
	enum lock_action action = locksets_action(c);
	LLVMValueRef callee = LLVMGetCalledValue(c->inst);
	enum role role = handmade_role(callee);

	if (!LLVMIsACallInst(c->inst) || external_returns_twice(c->inst))
		return false;
	if (LLVMIsAInlineAsm(callee))
		return is_empty_asm(callee, c->inst);
	if (c->callee_count)
		return LLVMIsAFunction(callee) && is_outside(callee) && !c->outside;
	if (action == LOCK_TAKE || action == LOCK_RELEASE || role == ROLE_WAIT) {
		uint32_t place = program_single_place(LLVMGetOperand(c->inst, role == ROLE_WAIT ? 1 : 0));
		if (!place || (handmade.lock && handmade.lock != place))
			return false;
		handmade.lock = place;
	}
	if (role == ROLE_WAIT) {
		handmade.condition = program_single_place(LLVMGetOperand(c->inst, 0));
		if (handmade.wait || !handmade.condition)
			return false;
		handmade.wait = c;
	}
	return action == LOCK_TAKE || action == LOCK_RELEASE || role != ROLE_NONE ||
	       (action == LOCK_NOTHING && (c->kind == EXTERNAL_HARMLESS || c->kind == EXTERNAL_LIBC));
}

static bool is_marker(LLVMValueRef callee)
{
	for (size_t i = 0; i < sizeof markers / sizeof *markers; i++)
		if (!strncmp(external_name(callee), markers[i], strlen(markers[i])))
			return true;
	return false;
}

static bool add_instruction(LLVMValueRef i)
{
	uint32_t *n = map_enter(&handmade.values, (uintptr_t)i);

	*n = (uint32_t)handmade.values.count;
	if (LLVMIsALoadInst(i) || LLVMIsAStoreInst(i))
		return is_plain(i) && add_cell(i);
	if (program_call(i))
		return add_call(program_call(i));
	if (LLVMIsACallInst(i))
		return is_marker(LLVMGetCalledValue(i));
	return !LLVMIsAAtomicRMWInst(i) && !LLVMIsAAtomicCmpXchgInst(i) && !LLVMIsAFenceInst(i);
}

/* All stores of what it goes by, and the wait, with one and the same lock, which nobody releases who does not hold
   it. */
static bool is_locked(void)
{
	const struct function *f = handmade.f;
	uint64_t locks = locksets_at(handmade.wait->inst).writing;

	for (uint32_t b = f->first_block; b < f->first_block + f->block_count; b++)
		for (LLVMValueRef i = LLVMGetFirstInstruction(program.blocks[b].ref); i; i = LLVMGetNextInstruction(i))
			if (LLVMIsAStoreInst(i) && handmade_cell(i) >= 0 && handmade.cells[handmade_cell(i)].own)
				locks &= locksets_at(i).writing;
	return locks;
}

bool handmade_open(uint32_t function)
{
	const struct function *f = &program.functions[function];
	bool fine = f->block_count <= MOST_BLOCKS_IN;

	handmade = (struct handmade_function){ .number = function, .f = f };
	symbols_begin();
	for (uint32_t b = f->first_block; b < f->first_block + f->block_count; b++)
		for (LLVMValueRef i = LLVMGetFirstInstruction(program.blocks[b].ref); i; i = LLVMGetNextInstruction(i))
			fine = fine && add_instruction(i);
	return fine && handmade.values.count < MOST_VALUES_IN && handmade.wait && is_locked();
}

void handmade_close(void)
{
	symbols_end();
	map_free(&handmade.values);
}

/* ---- what is the same for all calls ------------------------------------------------------------------------------ */

static LLVMValueRef argument_of(const struct call *c, LLVMValueRef parameter)
{
	unsigned n = 0;

	for (LLVMValueRef p = LLVMGetFirstParam(handmade.f->ref); p != parameter; p = LLVMGetNextParam(p))
		n++;
	return n < LLVMGetNumArgOperands(c->inst) ? LLVMGetOperand(c->inst, n) : NULL;
}

static bool is_same(LLVMValueRef a, LLVMValueRef b)
{
	return a == b || (LLVMIsALoadInst(a) && LLVMIsALoadInst(b) && LLVMTypeOf(a) == LLVMTypeOf(b) &&
			  program_single_place(address_of(a)) == program_single_place(address_of(b)));
}

/* What is given wherever the function is called: the same number, or what is always at the same place. NULL: not the
   same. */
LLVMValueRef handmade_same_argument(LLVMValueRef parameter)
{
	LLVMValueRef only = NULL;

	for (uint32_t i = 0; i < program.call_count; i++) {
		const struct call *c = &program.calls[i];
		if (LLVMGetCalledValue(c->inst) != handmade.f->ref)
			continue;
		LLVMValueRef v = argument_of(c, parameter);
		if (!v || (only && !is_same(v, only)) ||
		    !(LLVMIsAConstantInt(v) || (LLVMIsALoadInst(v) && is_plain(v) && stable_load(v, false))))
			return NULL;
		only = v;
	}
	return only;
}

symbol handmade_fixed(LLVMValueRef v, int depth)
{
	symbol operands[2];

	if (LLVMIsAArgument(v))
		v = handmade_width(v) ? handmade_same_argument(v) : NULL;
	if (!v || !handmade_width(v) || depth > 4)
		return 0;
	if (LLVMIsAConstantInt(v))
		return symbols_number(LLVMConstIntGetSExtValue(v), handmade_width(v));
	if (LLVMIsALoadInst(v)) {
		if (handmade_cell(v) < 0 && !(stable_load(v, false) && add_cell(v))) /* of a caller */
			return 0;
		int cell = handmade_cell(v);
		return cell >= 0 && handmade.cells[cell].stays && handmade.cells[cell].bits == handmade_width(v) ?
			       handmade.cells[cell].name :
			       0;
	}
	unsigned count = (unsigned)LLVMGetNumOperands(v);
	if (!(LLVMIsABinaryOperator(v) || LLVMIsACastInst(v)) || count > 2)
		return 0;
	for (unsigned i = 0; i < count; i++) {
		operands[i] = handmade_fixed(LLVMGetOperand(v, i), depth + 1);
		if (!operands[i])
			return 0;
	}
	return symbols_made(v, operands, count);
}

/*
 * Numbers that are given out: `lock; id = next++; unlock;`, or an atomic addition. No two executions get the same, so
 * that what two threads got differs.
 *
 * Let all writes of a counter be such additions, under one lock or atomic, but for what the first thread writes before
 * there was any other. Then the counter only grows from the first thread on, and whoever takes a number has it for
 * himself. What the first thread took, it may have taken before it set the counter: only numbers that other threads
 * take count. A counter that comes round would give the same number again. One of 64 bits does not; a signed one may
 * not, in C; and if a thread takes only one, there would have to be as many threads.
 */
#include <stdlib.h>
#include "compiler/races/numbers.h"

static struct ticket noted[MOST_TICKETS];
static unsigned noted_count;

void tickets_begin(void)
{
	noted_count = 0;
}

/* Is it run at most once by each thread, and are there never so many that it comes round? */
static bool is_once_each(LLVMValueRef inst)
{
	uint32_t function = program_block_of(inst)->function;
	struct plugin_loop l;
	bool begins = false;

	for (unsigned c = CLASS_FIRST; c < class_count; c++)
		begins |= classes[c].entry == program.functions[function].ref;
	for (uint32_t i = 0; i < program.call_count && begins; i++)
		for (uint32_t k = 0; k < program.calls[i].callee_count; k++)
			begins &= program.calls[i].callees[k] != function || program.calls[i].kind == EXTERNAL_CREATES;
	return begins && LLVMGetIntTypeWidth(LLVMTypeOf(inst)) >= 32 &&
	       !plugin_loop(LLVMGetInstructionParent(inst), 0, &l);
}

/* In larger steps, such as those of a counter in the upper bits of a number, it would soon come round. */
enum { STEP_MOST = 256 };

static bool is_step(LLVMValueRef v)
{
	return LLVMIsAConstantInt(v) && LLVMGetIntTypeWidth(LLVMTypeOf(v)) <= 64 && LLVMConstIntGetSExtValue(v) > 0 &&
	       LLVMConstIntGetSExtValue(v) <= STEP_MOST;
}

/* The store of what a load gave and more, with nothing between that could let others in; NULL: there is none. */
static LLVMValueRef store_of(LLVMValueRef load)
{
	for (LLVMValueRef i = LLVMGetNextInstruction(load); i && !program_call(i); i = LLVMGetNextInstruction(i)) {
		if (!LLVMIsAStoreInst(i) || LLVMGetOperand(i, 1) != LLVMGetOperand(load, 0))
			continue;
		LLVMValueRef sum = LLVMGetOperand(i, 0);
		bool adds = LLVMIsABinaryOperator(sum) && LLVMGetInstructionOpcode(sum) == LLVMAdd &&
			    LLVMGetOperand(sum, 0) == load && is_step(LLVMGetOperand(sum, 1));
		if (!adds)
			return NULL;
		return LLVMGetNSW(sum) || LLVMGetIntTypeWidth(LLVMTypeOf(load)) == 64 || is_once_each(load) ? i : NULL;
	}
	return NULL;
}

static bool is_atomic_ticket(LLVMValueRef inst)
{
	return LLVMIsAAtomicRMWInst(inst) && LLVMGetAtomicRMWBinOp(inst) == LLVMAtomicRMWBinOpAdd &&
	       is_step(LLVMGetOperand(inst, 1)) && (LLVMGetIntTypeWidth(LLVMTypeOf(inst)) == 64 || is_once_each(inst));
}

/* The load that a store belongs to. */
static LLVMValueRef load_of(LLVMValueRef store)
{
	LLVMValueRef sum = LLVMIsAStoreInst(store) ? LLVMGetOperand(store, 0) : NULL;
	LLVMValueRef load = sum && LLVMIsABinaryOperator(sum) ? LLVMGetOperand(sum, 0) : NULL;

	return load && LLVMIsALoadInst(load) && LLVMGetInstructionParent(load) == LLVMGetInstructionParent(store) &&
			       store_of(load) == store ?
		       load :
		       NULL;
}

struct giving {
	uint64_t locks; /* that all have */
	bool atomic;
};

static bool gives(const struct party *p, void *arg)
{
	struct giving *g = arg;

	if (p->classes == BIT(CLASS_MAIN) && !p->ever)
		return true;
	if (p->classes & BIT(CLASS_OUTSIDE))
		return false;
	if (g->atomic)
		return is_atomic_ticket(p->inst);
	LLVMValueRef load = load_of(p->inst);
	if (!load)
		return false;
	g->locks &= locksets_at(load).writing & locksets_at(p->inst).writing;
	return g->locks;
}

/* The place of the counter that gives this number, or 0. */
static uint32_t counter_of(LLVMValueRef v)
{
	bool atomic = is_atomic_ticket(v);
	const uint64_t others = program.functions[program_block_of(v)->function].classes;
	const struct bits *set = objects_of(LLVMGetOperand(v, 0));
	struct giving g = { UINT64_MAX, atomic };

	if (others & (BIT(CLASS_MAIN) | BIT(CLASS_OUTSIDE)) || !(atomic || store_of(v)) || !set || bits_count(set) != 1)
		return 0;
	uint32_t place = set->words[0].at * 64 + (uint32_t)__builtin_ctzll(set->words[0].bits);
	const struct object *o = solve_object_at(solve_place(place)->object);
	if (o->given || o->kind != OBJECT_GLOBAL || solve_place(place)->stride)
		return 0;
	uint64_t size = LLVMStoreSizeOfType(program.m->layout, LLVMTypeOf(v));
	return stable_each_writer(place, size, gives, &g) ? place : 0;
}

void tickets_note(LLVMValueRef v, const struct frame *f, Z3_ast t)
{
	/* What was taken before the thread was created may have been given to two. */
	if (f->side > 1 || f->creates || !f->id || noted_count == MOST_TICKETS)
		return;
	uint32_t counter = counter_of(v);
	if (counter)
		noted[noted_count++] = (struct ticket){ counter, t };
}

const struct ticket *tickets_noted(unsigned *count)
{
	*count = noted_count;
	return noted;
}

void tickets_differ(const struct ticket *a, unsigned count_a, const struct ticket *b, unsigned count_b)
{
	Z3_context z = terms_context();

	for (unsigned i = 0; i < count_a; i++)
		for (unsigned k = 0; k < count_b; k++)
			if (a[i].counter == b[k].counter)
				terms_assert(Z3_mk_not(z, Z3_mk_eq(z, a[i].t, b[k].t)));
}

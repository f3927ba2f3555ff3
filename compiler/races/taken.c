/*
 * Locks that are known by their address: locks[i], or the lock of the element that is changed. Which object it is need
 * not be known: if two threads are each at an access with such a lock, then these are two locks that lie apart, and the
 * solver is told so.
 *
 * At each place, the address that was locked last, if it was locked on every way there and nothing since could have
 * released any lock. A value is calculated again only before it is locked again, since no way leads from there past the
 * lock. That counts only if whoever releases a lock of that kind has locked it himself: the same value, as above.
 */
#include <stdlib.h>
#include "compiler/races/races.h"

static LLVMValueRef *at_block; /* at the beginning; NULL: none */
static bool *reached;
static struct map kept; /* addresses: 1 yes, 2 no */

static bool may_release(const struct call *c)
{
	if (external_returns_twice(c->inst) || locksets_action(c) == LOCK_RELEASE)
		return true;
	return c->callee_count ||
	       (c->outside && (c->kind == EXTERNAL_UNKNOWN || c->kind == EXTERNAL_STD || c->kind == EXTERNAL_SORTS));
}

/* A function that calls nobody who may. */
static bool is_quiet(uint32_t function)
{
	const struct function *f = &program.functions[function];

	for (uint32_t b = 0; b < f->block_count; b++) {
		const struct block *block = &program.blocks[f->first_block + b];
		for (uint32_t i = 0; i < block->call_count; i++)
			if (may_release(&program.calls[block->first_call + i]))
				return false;
	}
	return true;
}

static LLVMValueRef after(const struct call *c, LLVMValueRef before)
{
	if (locksets_action(c) == LOCK_TAKE)
		return LLVMGetOperand(c->inst, 0);
	if (!c->callee_count || c->outside)
		return may_release(c) ? NULL : before;
	for (uint32_t i = 0; i < c->callee_count; i++)
		if (!is_quiet(c->callees[i]))
			return NULL;
	return external_returns_twice(c->inst) ? NULL : before;
}

static bool go_on(uint32_t b)
{
	const struct block *block = &program.blocks[b];
	LLVMValueRef h = at_block[b];
	bool again = false;

	for (uint32_t i = 0; i < block->call_count; i++)
		h = after(&program.calls[block->first_call + i], h);
	for (uint32_t i = 0; i < block->next_count; i++) {
		uint32_t to = block->next[i];
		LLVMValueRef there = !reached[to] || at_block[to] == h ? h : NULL;
		again |= !reached[to] || there != at_block[to];
		reached[to] = true;
		at_block[to] = there;
	}
	return again;
}

void taken_begin(void)
{
	at_block = calloc(program.block_count + 1, sizeof *at_block);
	reached = calloc(program.block_count + 1, sizeof *reached);
	if (!at_block || !reached)
		compiler_die("out of memory");
	for (uint32_t i = 0; i < program.function_count; i++)
		if (program.functions[i].block_count)
			reached[program.functions[i].first_block] = true;
	for (bool again = true; again;) {
		again = false;
		for (uint32_t b = 0; b < program.block_count; b++)
			again |= reached[b] && go_on(b);
	}
}

void taken_end(void)
{
	free(at_block);
	free(reached);
	at_block = NULL;
	reached = NULL;
	map_free(&kept);
}

static LLVMValueRef last_taken(LLVMValueRef inst)
{
	const struct block *block = program_block_of(inst);
	LLVMValueRef h = at_block[block - program.blocks];

	for (LLVMValueRef i = LLVMGetFirstInstruction(block->ref); i != inst; i = LLVMGetNextInstruction(i))
		if (program_call(i))
			h = after(program_call(i), h);
	return h;
}

static bool may_be_same(const struct bits *a, const struct bits *b)
{
	if (!a || !b)
		return true;
	BITS_EACH(a, x)
	BITS_EACH(b, y)
	if (solve_place((uint32_t)x)->object == solve_place((uint32_t)y)->object)
		return true;
	return false;
}

/* Does code outside not know it, and does nobody make it anew, or release it who has not taken it? */
static bool find_kept(LLVMValueRef address)
{
	const struct bits *set = objects_of(address);

	if (!set || bits_has(set, UNKNOWN_PLACE))
		return false;
	BITS_EACH(set, place)
	{
		if (solve_object_at(solve_place((uint32_t)place)->object)->given || remade_lock((uint32_t)place))
			return false;
	}
	for (uint32_t i = 0; i < program.call_count; i++) {
		const struct call *c = &program.calls[i];
		LLVMValueRef other = locksets_released(c);
		if (other && last_taken(c->inst) != other && may_be_same(set, objects_of(other)))
			return false;
	}
	return true;
}

static bool is_kept(LLVMValueRef address)
{
	uint32_t *known = map_enter(&kept, (uintptr_t)address);

	if (!*known)
		*known = locksets_are_safe() && find_kept(address) ? 1 : 2;
	return *known == 1;
}

LLVMValueRef taken_at(LLVMValueRef inst)
{
	LLVMValueRef address = at_block ? last_taken(inst) : NULL;

	return address && is_kept(address) ? address : NULL;
}

uint64_t taken_bytes(LLVMValueRef address)
{
	uint64_t least = 0;

	for (uint32_t i = 0; i < program.call_count; i++) {
		const struct call *c = &program.calls[i];
		if (locksets_action(c) == LOCK_TAKE && LLVMGetOperand(c->inst, 0) == address &&
		    (!least || locksets_bytes(c) < least))
			least = locksets_bytes(c);
	}
	return least ? least : 1;
}

/*
 * Do all threads that begin with a function go the same way from wait to wait?
 *
 * A value is the same for all of them if it is made from constants and from memory that is written before there is a
 * second thread. A branch on another value varies, and so does all that depends on the way it went: what comes together
 * where its ways join, and what a loop leaves behind that it may leave early. Between such a branch and the block that
 * all its ways come to (its post-dominator) there must be no wait. Then the waits of each thread are the same ones in
 * the same order, as long as it goes on, since whatever decides which comes next is the same for all.
 *
 * Ways that never return (exit, a loop for ever) are left out, if they do not wait: who takes one comes to no wait any
 * more.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/races/phases.h"

enum { MOST_BLOCKS = 2000 };

/* A function that waits. */
struct graph {
	uint32_t function, count, words; /* blocks; words of a set of them */
	bool *live;			 /* can it return from there? */
	bool *varied;			 /* lies on a way that only some threads may take */
	bool *done;			 /* its branch is known to vary */
	uint64_t *after;		 /* sets: the blocks that every way to the end passes */
};
struct uniform {
	struct graph *graphs;
	unsigned count;
	struct map varies; /* values */
	uint32_t entry;
	const bool *waits;
	bool (*is_wait)(const struct call *c);
	bool changed, failed;
};

static bool has(const uint64_t *set, uint32_t n)
{
	return set[n / 64] >> n % 64 & 1;
}

/* ---- the graph of a function ------------------------------------------------------------------------------------- */

static const struct block *block_of(const struct graph *s, uint32_t n)
{
	return &program.blocks[program.functions[s->function].first_block + n];
}

static uint32_t next_of(const struct graph *s, uint32_t n, uint32_t i)
{
	return block_of(s, n)->next[i] - program.functions[s->function].first_block;
}

static bool waits_here(const struct uniform *u, const struct call *c)
{
	bool any = u->is_wait(c);

	for (uint32_t k = 0; k < c->callee_count; k++)
		any |= u->waits[c->callees[k]];
	return any;
}

static bool block_waits(const struct uniform *u, const struct graph *s, uint32_t n)
{
	const struct block *b = block_of(s, n);

	for (uint32_t i = 0; i < b->call_count; i++)
		if (waits_here(u, &program.calls[b->first_call + i]))
			return true;
	return false;
}

static void find_live(struct graph *s)
{
	for (bool again = true; again;) {
		again = false;
		for (uint32_t n = s->count; n-- > 0;) {
			bool live = LLVMIsAReturnInst(LLVMGetBasicBlockTerminator(block_of(s, n)->ref));
			for (uint32_t i = 0; i < block_of(s, n)->next_count; i++)
				live |= s->live[next_of(s, n, i)];
			again |= live && !s->live[n];
			s->live[n] = live;
		}
	}
}

static bool meet_ways(const struct graph *s, uint32_t n)
{
	uint64_t *set = &s->after[n * s->words];
	bool changed = false;

	for (uint32_t w = 0; w < s->words; w++) {
		uint64_t all = UINT64_MAX;
		bool any = false;
		for (uint32_t i = 0; i < block_of(s, n)->next_count; i++) {
			uint32_t to = next_of(s, n, i);
			if (s->live[to]) {
				all &= s->after[to * s->words + w];
				any = true;
			}
		}
		all = (any ? all : 0) | (w == n / 64 ? BIT(n % 64) : 0);
		changed |= all != set[w];
		set[w] = all;
	}
	return changed;
}

static void find_graph(struct uniform *u, uint32_t function)
{
	struct graph *s = &u->graphs[u->count++];

	*s = (struct graph){ .function = function, .count = program.functions[function].block_count };
	s->words = (s->count + 63) / 64;
	s->live = calloc(s->count + 1, sizeof *s->live);
	s->varied = calloc(s->count + 1, sizeof *s->varied);
	s->done = calloc(s->count + 1, sizeof *s->done);
	s->after = calloc((size_t)s->count * s->words + 1, sizeof *s->after);
	if (s->count > MOST_BLOCKS || !s->live || !s->varied || !s->done || !s->after) {
		u->failed = true;
		return;
	}
	find_live(s);
	memset(s->after, 0xff, (size_t)s->count * s->words * sizeof *s->after);
	for (bool again = true; again;) {
		again = false;
		for (uint32_t n = s->count; n-- > 0;)
			again |= s->live[n] && meet_ways(s, n);
	}
	for (uint32_t n = 0; n < s->count; n++)
		u->failed |= !s->live[n] && block_waits(u, s, n);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static void vary(struct uniform *u, LLVMValueRef v)
{
	uint32_t *n = map_enter(&u->varies, (uintptr_t)v);

	u->changed |= !*n;
	*n = 1;
}

static bool varies(const struct uniform *u, LLVMValueRef v)
{
	if (LLVMIsUndef(v) || (LLVMIsAGlobalVariable(v) && LLVMIsThreadLocal(v)))
		return true;
	return (LLVMIsAInstruction(v) || LLVMIsAArgument(v)) && map_find(&u->varies, v);
}

static bool computes(LLVMValueRef i)
{
	LLVMOpcode op = LLVMGetInstructionOpcode(i);

	if (LLVMIsACallInst(i)) {
		LLVMValueRef callee = LLVMGetCalledValue(i);
		return LLVMIsAFunction(callee) && LLVMGetIntrinsicID(callee) &&
		       LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMIntegerTypeKind &&
		       (!strncmp(external_name(callee), "llvm.smax.", 10) ||
			!strncmp(external_name(callee), "llvm.smin.", 10) ||
			!strncmp(external_name(callee), "llvm.umax.", 10) ||
			!strncmp(external_name(callee), "llvm.umin.", 10));
	}
	return LLVMIsABinaryOperator(i) || LLVMIsACastInst(i) || op == LLVMICmp || op == LLVMFCmp || op == LLVMSelect ||
	       op == LLVMGetElementPtr || op == LLVMPHI;
}

static bool comes_to_vary(const struct uniform *u, LLVMValueRef i)
{
	if (LLVMIsALoadInst(i))
		return LLVMGetVolatile(i) || LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic || !stable_load(i, true);
	if (!computes(i))
		return true;
	for (unsigned n = 0; n < (unsigned)LLVMGetNumOperands(i); n++)
		if (varies(u, LLVMGetOperand(i, n)))
			return true;
	return false;
}

/* ---- branches ---------------------------------------------------------------------------------------------------- */

static void vary_joins(struct uniform *u, const struct graph *s, uint32_t n)
{
	for (LLVMValueRef i = LLVMGetFirstInstruction(block_of(s, n)->ref); i && LLVMIsAPHINode(i);
	     i = LLVMGetNextInstruction(i))
		vary(u, i);
}

/* What a loop leaves behind varies if a branch in it varies whose ways come together only outside. */
static void vary_loops(struct uniform *u, const struct graph *s, uint32_t branch, uint32_t join)
{
	struct plugin_loop l;

	for (unsigned out = 0; plugin_loop(block_of(s, branch)->ref, out, &l); out++) {
		if (join != UINT32_MAX && plugin_in_loop(l.header, block_of(s, join)->ref))
			return;
		for (uint32_t n = 0; n < s->count; n++)
			for (LLVMValueRef i = plugin_in_loop(l.header, block_of(s, n)->ref) ?
						      LLVMGetFirstInstruction(block_of(s, n)->ref) :
						      NULL;
			     i; i = LLVMGetNextInstruction(i))
				vary(u, i);
	}
}

static void vary_branch(struct uniform *u, struct graph *s, uint32_t branch)
{
	const uint64_t *after = &s->after[branch * s->words];
	bool *seen = calloc(s->count + 1, sizeof *seen);
	uint32_t *todo = calloc(s->count + 1, sizeof *todo), count = 0, join = UINT32_MAX;

	s->done[branch] = true;
	for (uint32_t i = 0; i <= count; i++) {
		uint32_t from = i ? todo[i - 1] : branch;
		if (i) { /* on one of the ways */
			s->varied[from] = true;
			u->failed |= block_waits(u, s, from);
			vary_joins(u, s, from);
		}
		for (uint32_t k = 0; k < block_of(s, from)->next_count; k++) {
			uint32_t to = next_of(s, from, k);
			if (!s->live[to])
				continue;
			if (to != branch && has(after, to)) {
				join = to;
				vary_joins(u, s, to);
			} else if (!seen[to]) {
				seen[to] = true;
				todo[count++] = to;
			}
		}
	}
	vary_loops(u, s, branch, join);
	free(seen);
	free(todo);
}

static bool branch_varies(const struct uniform *u, LLVMValueRef end)
{
	if (LLVMGetNumSuccessors(end) < 2)
		return false;
	if (LLVMIsABranchInst(end))
		return varies(u, LLVMGetCondition(end));
	return !LLVMIsASwitchInst(end) || varies(u, LLVMGetOperand(end, 0));
}

static void look_at(struct uniform *u, struct graph *s)
{
	for (uint32_t n = 0; n < s->count; n++) {
		LLVMBasicBlockRef b = block_of(s, n)->ref;
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			if (!map_find(&u->varies, i) && comes_to_vary(u, i))
				vary(u, i);
		if (s->live[n] && !s->done[n] && branch_varies(u, LLVMGetBasicBlockTerminator(b)))
			vary_branch(u, s, n);
	}
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static struct graph *graph_of(struct uniform *u, uint32_t function)
{
	for (unsigned i = 0; i < u->count; i++)
		if (u->graphs[i].function == function)
			return &u->graphs[i];
	return NULL;
}

/* What functions that wait are given where they are called. */
static void give_arguments(struct uniform *u, const struct graph *s)
{
	const struct function *f = &program.functions[s->function];

	for (uint32_t b = f->first_block; b < f->first_block + f->block_count; b++)
		for (uint32_t i = 0; i < program.blocks[b].call_count; i++) {
			const struct call *c = &program.calls[program.blocks[b].first_call + i];
			if (!c->callee_count || !u->waits[c->callees[0]])
				continue;
			unsigned n = 0, count = LLVMGetNumArgOperands(c->inst);
			for (LLVMValueRef p = LLVMGetFirstParam(program.functions[c->callees[0]].ref); p;
			     p = LLVMGetNextParam(p), n++)
				if (n >= count || varies(u, LLVMGetOperand(c->inst, n)))
					vary(u, p);
		}
}

/* The functions that wait, from the first one on; a call must lead to one function and come back from it. */
static void find_functions(struct uniform *u)
{
	find_graph(u, u->entry);
	for (unsigned n = 0; n < u->count && !u->failed; n++) {
		const struct function *f = &program.functions[u->graphs[n].function];
		for (uint32_t b = f->first_block; b < f->first_block + f->block_count && !u->failed; b++)
			for (uint32_t i = 0; i < program.blocks[b].call_count && !u->failed; i++) {
				const struct call *c = &program.calls[program.blocks[b].first_call + i];
				u->failed |= external_returns_twice(c->inst);
				if (!waits_here(u, c))
					continue;
				bool wait = u->is_wait(c);
				u->failed |= !LLVMIsACallInst(c->inst) ||
					     (!wait && (c->callee_count != 1 || c->outside));
				if (!u->failed && !wait && !graph_of(u, c->callees[0]))
					find_graph(u, c->callees[0]);
			}
	}
}

struct uniform *uniform_find(uint32_t entry, const bool *waits, bool (*is_wait)(const struct call *c))
{
	struct uniform *u = calloc(1, sizeof *u);

	*u = (struct uniform){ .entry = entry, .waits = waits, .is_wait = is_wait };
	u->graphs = calloc(program.function_count + 1, sizeof *u->graphs);
	if (!u->graphs)
		compiler_die("out of memory");
	find_functions(u);
	for (LLVMValueRef p = LLVMGetFirstParam(program.functions[entry].ref); p; p = LLVMGetNextParam(p))
		vary(u, p);
	for (u->changed = true; u->changed && !u->failed;) {
		u->changed = false;
		for (unsigned n = 0; n < u->count && !u->failed; n++) {
			look_at(u, &u->graphs[n]);
			give_arguments(u, &u->graphs[n]);
		}
	}
	if (!u->failed)
		return u;
	uniform_free(u);
	return NULL;
}

void uniform_free(struct uniform *u)
{
	for (unsigned i = 0; u && i < u->count; i++) {
		free(u->graphs[i].live);
		free(u->graphs[i].varied);
		free(u->graphs[i].done);
		free(u->graphs[i].after);
	}
	if (u) {
		map_free(&u->varies);
		free(u->graphs);
	}
	free(u);
}

bool uniform_loop(const struct uniform *u, LLVMBasicBlockRef header)
{
	const struct block *b = program_block_of(LLVMGetFirstInstruction(header));

	for (unsigned i = 0; i < u->count; i++)
		if (u->graphs[i].function == b->function)
			return !u->graphs[i].varied[b - &program.blocks[program.functions[b->function].first_block]];
	return false;
}

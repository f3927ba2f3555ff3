/*
 * Which jumps back need a look for held signals? Those of loops that may go round often, or call somebody, without
 * coming by a hook: a signal would be held for as long.
 *
 * A look costs more than a round of many loops. So a function counts the jumps back of innermost loops that call
 * nobody, whose rounds are short, in a register, and looks at the first one and at every HOOK_POLL_EACH-th after it: at
 * the first, too, since few rounds in each of many calls are a long time as well.
 */
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>
#include "compiler/emit.h"

struct search {
	bool (*hooked)(void *arg, LLVMBasicBlockRef block);
	void (*found)(void *arg, LLVMValueRef jump, bool is_short);
	void *arg;
	LLVMBasicBlockRef *done; /* where a jump was found: it may go to several heads */
	size_t count;
};

/* Up the tree of dominators from the jump to the loop's head: every round passes these blocks. */
static bool comes_by_hook(const struct search *s, LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
	if (!plugin_dominates(to, from))
		return false;
	for (LLVMBasicBlockRef block = from; block; block = plugin_dominator(block)) {
		if (s->hooked(s->arg, block))
			return true;
		if (block == to)
			return false;
	}
	return false;
}

static bool is_done(struct search *s, LLVMBasicBlockRef block)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->done[i] == block)
			return true;
	s->done = realloc(s->done, (s->count + 1) * sizeof *s->done);
	if (!s->done)
		compiler_die("out of memory");
	s->done[s->count++] = block;
	return false;
}

/* Calls anybody, or what takes as long. */
static bool calls(LLVMBasicBlockRef block)
{
	for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
		if (!LLVMIsACallInst(i) && !LLVMIsAInvokeInst(i) && !LLVMIsACallBrInst(i))
			continue;
		LLVMValueRef callee = LLVMGetCalledValue(i);
		size_t length;
		if (!LLVMIsAFunction(callee) || !LLVMGetIntrinsicID(callee) ||
		    !strncmp(LLVMGetValueName2(callee, &length), "llvm.mem", 8))
			return true;
	}
	return false;
}

static bool calls_nobody(LLVMBasicBlockRef header)
{
	struct plugin_loop loop;
	struct plugin_nest nest;

	if (!plugin_loop(header, 0, &loop) || loop.header != header || !plugin_nest(header, &nest))
		return false;
	for (size_t i = 0; i < nest.block_count; i++)
		if (calls(nest.blocks[i]))
			return false;
	return true;
}

static void look_at(void *arg, LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
	struct search *s = arg;

	bool quiet = calls_nobody(to);

	if (!(quiet && plugin_rounds(to)) && !comes_by_hook(s, from, to) && !is_done(s, from))
		s->found(s->arg, LLVMGetBasicBlockTerminator(from),
			 quiet && !plugin_loops_in(LLVMGetBasicBlockParent(to), to, NULL, 0));
}

void polls_find(LLVMValueRef function, bool (*hooked)(void *arg, LLVMBasicBlockRef block),
		void (*found)(void *arg, LLVMValueRef jump, bool is_short), void *arg)
{
	struct search s = { hooked, found, arg, NULL, 0 };

	plugin_forget_shape(); /* the function may have been changed since */
	plugin_back_edges(function, look_at, &s);
	plugin_forget_shape();
	free(s.done);
}

_Static_assert(HOOK_POLL_EACH == 256, "as many as a byte has values");

/* A variable of the function: jumps until the next look. A byte, so that it begins anew by itself: one instruction and
   one branch that is not taken. */
static LLVMValueRef make_counter(struct module *m, LLVMValueRef function)
{
	LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
	LLVMSetCurrentDebugLocation2(builder, NULL);
	LLVMValueRef counter = LLVMBuildAlloca(builder, m->i8, "");

	LLVMBuildStore(builder, LLVMConstInt(m->i8, 1, false), counter);
	return counter;
}

/* From here on the poll stands in a block of its own, to which few rounds come. */
static void count_jump(struct module *m, struct access *poll, LLVMValueRef counter)
{
	LLVMMetadataRef line = LLVMInstructionGetDebugLoc(poll->inst);
	LLVMBasicBlockRef rest = cut(poll->inst), look = LLVMInsertBasicBlockInContext(m->context, rest, "");

	LLVMSetCurrentDebugLocation2(builder, line);
	LLVMValueRef left = LLVMBuildLoad2(builder, m->i8, counter, "");
	left = LLVMBuildSub(builder, left, LLVMConstInt(m->i8, 1, false), "");
	LLVMBuildStore(builder, left, counter);
	likely(m, LLVMBuildCondBr(builder, LLVMBuildIsNotNull(builder, left, ""), rest, look));
	LLVMPositionBuilderAtEnd(builder, look);
	poll->inst = LLVMBuildBr(builder, rest);
}

/* The polls of a function stand next to each other in the list. */
void polls_thin(struct module *m)
{
	LLVMValueRef function = NULL, counter = NULL;

	for (size_t i = 0; i < m->count; i++) {
		struct access *a = &m->accesses[i];
		LLVMValueRef of = LLVMGetBasicBlockParent(LLVMGetInstructionParent(a->inst));
		/* a register has no certain value after longjmp */
		if (!a->is_short || is_unoptimised(of) || plugin_returns_twice(of))
			continue;
		if (of != function && counter)
			plugin_promote(&counter, 1);
		if (of != function)
			counter = make_counter(m, function = of);
		count_jump(m, a, counter);
	}
	if (counter)
		plugin_promote(&counter, 1);
}

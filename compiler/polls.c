/*
 * Which jumps back need a look for held signals? Those of loops that may go round often without coming by a hook: a
 * signal would be held for as long.
 *
 * A look costs more than a round of many loops. So a function counts its jumps back, in a register, and looks at the
 * first one and at every HOOK_POLL_EACH-th after it: at the first, too, since of a function that calls itself no call
 * may come to a second one.
 */
#include <stdlib.h>
#include "compiler/emit.h"

struct search {
	bool (*hooked)(void *arg, LLVMBasicBlockRef block);
	void (*found)(void *arg, LLVMValueRef jump);
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

static void look_at(void *arg, LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
	struct search *s = arg;

	if (!plugin_rounds(to) && !comes_by_hook(s, from, to) && !is_done(s, from))
		s->found(s->arg, LLVMGetBasicBlockTerminator(from));
}

void polls_find(LLVMValueRef function, bool (*hooked)(void *arg, LLVMBasicBlockRef block),
		void (*found)(void *arg, LLVMValueRef jump), void *arg)
{
	struct search s = { hooked, found, arg, NULL, 0 };

	plugin_forget_shape(); /* the function may have been changed since */
	plugin_back_edges(function, look_at, &s);
	plugin_forget_shape();
	free(s.done);
}

/* A variable of the function, which begins with 0. */
static LLVMValueRef make_counter(struct module *m, LLVMValueRef function)
{
	LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
	LLVMSetCurrentDebugLocation2(builder, NULL);
	LLVMValueRef counter = LLVMBuildAlloca(builder, m->i32, "");

	LLVMBuildStore(builder, LLVMConstInt(m->i32, 0, false), counter);
	return counter;
}

/* From here on the poll stands in a block of its own, to which few rounds come. */
static void count_jump(struct module *m, struct access *poll, LLVMValueRef counter)
{
	LLVMBasicBlockRef rest = cut(poll->inst), look = LLVMInsertBasicBlockInContext(m->context, rest, "");
	LLVMValueRef passed = LLVMBuildLoad2(builder, m->i32, counter, "");

	LLVMBuildStore(builder, LLVMBuildAdd(builder, passed, LLVMConstInt(m->i32, 1, false), ""), counter);
	LLVMValueRef low = LLVMBuildAnd(builder, passed, LLVMConstInt(m->i32, HOOK_POLL_EACH - 1, false), "");
	likely(m, LLVMBuildCondBr(builder, LLVMBuildIsNotNull(builder, low, ""), rest, look));
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
		if (a->shape != SHAPE_POLL || is_unoptimised(of))
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

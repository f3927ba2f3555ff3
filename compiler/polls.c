/*
 * Which jumps back need a look for held signals? Those of loops that may go round often without coming by a hook: a
 * signal would be held for as long.
 */
#include <stdlib.h>
#include "compiler/internal.h"

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

/*
 * Loops as one bracket. Most time goes into inner loops over arrays. If all that such a loop will access is known before
 * it begins (scalar evolution tells: where each pointer begins, its stride, how often the loop goes round), it gets a copy
 * without hooks, as the optimiser left it:
 *
 *	before:    events = bracket(self); ok = rounds(...) & claimed(...) & ...      if ok -> copy, else -> original
 *	copy:      the loop, without hooks                                             then close_many(self, events, ...)
 *	original:  cancel(self, events), then the loop, with hooks
 *
 * While the bracket is open nobody takes a claim away, so what was checked before the loop holds to its end. Each access
 * counts as an event in both copies.
 *
 * Only loops that are left at the end of a round, and whose hooked accesses are made in every round: so their number is
 * known, and all addresses up to the last are accessed. Nothing in such a loop waits or calls.
 */
#include <stdlib.h>
#include <llvm-c/DebugInfo.h>
#include "compiler/emit.h"

/* Which instructions are hooked, to be searched. */
struct hooked {
	LLVMValueRef inst;
	enum shape shape;
};
struct copying {
	struct module *m;
	struct hooked *hooked;
	size_t count;
	/* of the loop at hand */
	LLVMValueRef self, events, more, each;
};

static int compare(const void *a, const void *b)
{
	const struct hooked *x = a, *y = b;

	return (x->inst > y->inst) - (x->inst < y->inst);
}

static int hooked(void *arg, LLVMValueRef inst)
{
	struct copying *c = arg;
	const struct hooked *found =
		bsearch(&(struct hooked){ inst, SHAPE_NONE }, c->hooked, c->count, sizeof *c->hooked, compare);

	switch (found ? found->shape : SHAPE_NONE) {
	case SHAPE_LOAD:
	case SHAPE_LOAD_WIDE:
	case SHAPE_COPY_IN: return HOOK_READ;
	case SHAPE_STORE:
	case SHAPE_STORE_WIDE:
	case SHAPE_SET:
	case SHAPE_COPY_OUT: return HOOK_WRITE;
	case SHAPE_COPY: return HOOK_READ | HOOK_WRITE;
	case SHAPE_NONE: return 0;
	default: return -1;
	}
}

static void position(LLVMValueRef at)
{
	LLVMPositionBuilderBefore(builder, at);
	LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(at));
}

static LLVMValueRef check(void *arg, LLVMValueRef at, LLVMValueRef more, uint64_t each, const struct pointer *pointers,
			  size_t count)
{
	struct copying *c = arg;

	position(at);
	c->more = more;
	c->each = number(c->m, each);
	c->self = call_fast(FAST_current, NULL, 0);
	c->events = CALL_FAST(bracket, c->self);
	LLVMValueRef ok = CALL_FAST(rounds, c->self, c->events, more, c->each);
	for (size_t i = 0; i < count; i++) {
		const struct pointer *p = &pointers[i];
		LLVMValueRef claimed = CALL_FAST(claimed, c->self, p->first, p->stride, more, number(c->m, p->size),
						 number(c->m, p->writes ? HOOK_WRITE : HOOK_READ));
		ok = LLVMBuildAnd(builder, ok, claimed, "");
	}
	return ok;
}

static void before_original(void *arg, LLVMValueRef at)
{
	struct copying *c = arg;

	position(at);
	CALL_FAST(cancel, c->self, c->events);
}

static void after_copy(void *arg, LLVMValueRef at)
{
	struct copying *c = arg;

	position(at);
	CALL_FAST(close_many, c->self, c->events, c->more, c->each);
}

/* The list is in the order of the functions; polls, at its end, are in loops that are not copied. */
static void list_hooked(struct copying *c)
{
	struct module *m = c->m;

	c->hooked = malloc((m->count + 1) * sizeof *c->hooked);
	if (!c->hooked)
		compiler_die("out of memory");
	for (size_t i = 0; i < m->count; i++)
		if (m->accesses[i].shape != SHAPE_NONE)
			c->hooked[c->count++] = (struct hooked){ m->accesses[i].inst, m->accesses[i].shape };
	qsort(c->hooked, c->count, sizeof *c->hooked, compare);
}

void loops_tidy(struct module *m)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f))
		if (!select_ignored(m, f))
			plugin_tidy_loops(f);
}

void loops_copy(struct module *m)
{
	struct copying c = { .m = m };
	struct loop_copier copier = { &c, hooked, check, before_original, after_copy };

	list_hooked(&c);
	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f))
		if (c.count && !select_ignored(m, f))
			plugin_copy_loops(f, &copier);
	free(c.hooked);
}

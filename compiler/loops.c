/*
 * Loops as one bracket. Most time goes into inner loops over arrays. If all that such a loop will access is known before
 * it begins (scalar evolution tells: where each pointer begins, its stride, how often the loop goes round), it gets a copy
 * without hooks, as the optimiser left it:
 *
 *	before:    ok = events + ... < group_until & claimed(...) & ...      if ok -> copy, else -> original
 *	copy:      the loop, without hooks                                    then events += 2 * accesses
 *	original:  the loop, with hooks
 *
 * All this is in a bracket that is held (held.c). While it is open nobody takes a claim away, so what was checked before
 * the loop holds to its end. Each access counts as an event in both copies.
 *
 * Only loops that are left at the end of a round, and whose hooked accesses are made in every round: so their number is
 * known, and all addresses up to the last are accessed. Nothing in such a loop waits or calls.
 */
#include <stdlib.h>
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
	const struct held *held;
	LLVMValueRef accesses;
};

static int compare(const void *a, const void *b)
{
	const struct hooked *x = a, *y = b;

	return (x->inst > y->inst) - (x->inst < y->inst);
}

static bool wanted(void *arg, LLVMBasicBlockRef header)
{
	(void)arg;
	return held_of(header);
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

/* So many accesses may be more than a held bracket has room for: then others get their turn before. */
static LLVMValueRef make_room(struct copying *c, LLVMValueRef self, LLVMValueRef worth)
{
	struct module *m = c->m;
	const struct held *h = c->held;
	LLVMValueRef events = held_get(m, h, HELD_EVENTS), limit = held_get(m, h, HELD_LIMIT);
	LLVMValueRef opened = held_get(m, h, HELD_OPENED);
	LLVMValueRef end = LLVMBuildAdd(builder, events, LLVMBuildShl(builder, c->accesses, number(m, 1), ""), "");
	LLVMValueRef full = LLVMBuildAnd(builder, worth, LLVMBuildICmp(builder, LLVMIntUGE, end, limit, ""), "");

	events = CALL_FAST(publish_if, full, events, opened);
	held_set(h, HELD_EVENTS, events);
	held_set(h, HELD_OPENED, LLVMBuildSelect(builder, full, events, opened, ""));
	held_set(h, HELD_LIMIT, CALL_FAST(limit_if, full, self, events, limit));
	return events;
}

static LLVMValueRef check(void *arg, LLVMValueRef at, LLVMBasicBlockRef header, LLVMValueRef more, uint64_t each,
			  const struct pointer *pointers, size_t count)
{
	struct copying *c = arg;
	struct module *m = c->m;

	position(at);
	c->held = held_of(header);
	c->accesses = LLVMBuildMul(builder, LLVMBuildAdd(builder, more, number(m, 1), ""), number(m, each), "");
	LLVMValueRef self = call_fast(FAST_current, NULL, 0);
	LLVMValueRef worth = CALL_FAST(worth, more), events = make_room(c, self, worth);
	LLVMValueRef ok = LLVMBuildAnd(builder, worth, CALL_FAST(rounds, self, events, more, number(m, each)), "");
	for (size_t i = 0; i < count; i++) {
		const struct pointer *p = &pointers[i];
		ok = CALL_FAST(claimed, ok, self, p->first, p->stride, more, number(m, p->size),
			       number(m, p->writes ? HOOK_WRITE : HOOK_READ));
	}
	return ok;
}

static void after_copy(void *arg, LLVMValueRef at)
{
	struct copying *c = arg;

	position(at);
	held_count(c->m, c->held, c->accesses);
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
	struct loop_copier copier = { &c, wanted, hooked, check, after_copy };

	list_hooked(&c);
	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f))
		if (c.count && !select_ignored(m, f))
			plugin_copy_loops(f, &copier);
	free(c.hooked);
}

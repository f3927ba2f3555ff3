/*
 * Loops as one bracket. Most time goes into inner loops over arrays. If all that such a loop will access is known
 * before it begins (scalar evolution tells: where each pointer begins, its stride, how often the loop goes round), it
 * gets a copy without hooks, as the optimiser left it:
 *
 *	before:    ok = events + ... < group_until & claimed(...) & ...      if ok -> copy, else -> original
 *	copy:      the loop, without hooks                                    then events += 2 * accesses
 *	original:  the loop, with hooks
 *
 * All this is in a bracket that is held (held.c). While it is open nobody takes a claim away, so what was checked
 * before the loop holds to its end. Each access counts as an event in both copies. Claims that are missing are asked
 * for at once (ahead() in fast.c): where threads let go of what they used in a phase, the next phase has none, and the
 * first access that misses would be too late for this loop.
 *
 * Only loops that are left at the end of a round, and whose hooked accesses are made in every round: so their number is
 * known, and all addresses up to the last are accessed. Nothing in such a loop waits or calls.
 *
 * Inner loops are often short, and then that check costs as much as the hooks. So a nest, a loop with up to two levels
 * of loops in it, is copied as a whole if everything in it is bounded before it begins: rounds, accesses, addresses.
 * Its copy counts accesses and polls as they come, so it may leave some out; all that is checked before is that what
 * lies within the bounds is claimed. What is bounded too generously, or has gaps that are another thread's, runs as if
 * it were no nest; and claims are asked for only if at least half of what lies within the bounds may be accessed.
 *
 * Perhaps none of its accesses is made, so its copy may end with the count that it began with. Who waits for the
 * bracket would see nothing of it, however often that happened: so a copy closes the bracket behind it where a poll
 * would have, and in a bracket that is closed no copy of a nest begins. It stays closed until there is an access.
 */
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include "compiler/emit.h"

/* Which instructions are hooked, to be searched. */
struct hooked {
	LLVMValueRef inst;
	enum shape shape;
};
/* Accesses that are a fixed way apart go with one another: they are checked as one. */
struct together {
	const void *begin, *step; /* what scalar evolution knows; step NULL: always at the same place */
	int64_t from, to;
	bool writes;
	const void *places; /* of a nest, of one of them */
	LLVMValueRef first, stride, touched;
};
#define TOGETHER_MOST 24
struct copying {
	struct module *m;
	struct hooked *hooked;
	size_t count;
	/* of the loop at hand */
	const struct held *held;
	uint64_t each; /* accesses in a round */
	struct together together[TOGETHER_MOST];
	size_t together_count;
	LLVMValueRef accesses;
	bool nest;	     /* a stride is how far an access may reach */
	bool polls;	     /* are in the nest */
	LLVMValueRef polled; /* of them, before it */
};

static int compare(const void *a, const void *b)
{
	const struct hooked *x = a, *y = b;

	return (x->inst > y->inst) - (x->inst < y->inst);
}

static bool begin(void *arg, LLVMBasicBlockRef header, bool nest)
{
	struct copying *c = arg;

	c->nest = nest;
	c->held = held_of(header);
	c->each = c->together_count = 0;
	c->polls = false;
	return c->held;
}

static enum shape shape_of(const struct copying *c, LLVMValueRef inst)
{
	const struct hooked *found =
		bsearch(&(struct hooked){ inst, SHAPE_NONE }, c->hooked, c->count, sizeof *c->hooked, compare);

	return found ? found->shape : SHAPE_NONE;
}

static int load_or_store(struct copying *c, LLVMValueRef inst, bool writes, struct plugin_range *to)
{
	LLVMTypeRef type = LLVMTypeOf(writes ? LLVMGetOperand(inst, 0) : inst);

	if (LLVMGetTypeKind(type) == LLVMScalableVectorTypeKind || LLVMGetVolatile(inst) ||
	    LLVMGetOrdering(inst) != LLVMAtomicOrderingNotAtomic)
		return -1;
	*to = (struct plugin_range){ LLVMGetOperand(inst, writes),
				     LLVMStoreSizeOfType(LLVMGetModuleDataLayout(c->m->module), type), writes, NULL };
	return 1;
}

/* memset, memcpy, memmove: which sides of it are hooked. */
static int memory_call(LLVMValueRef inst, unsigned sides, struct plugin_range to[2])
{
	LLVMValueRef length = LLVMGetOperand(inst, 2), is_volatile = LLVMGetOperand(inst, 3);
	uint64_t size = LLVMIsAConstantInt(length) ? LLVMConstIntGetZExtValue(length) : 0;
	int n = 0;

	if (LLVMIsAConstantInt(is_volatile) && LLVMConstIntGetZExtValue(is_volatile))
		return -1;
	if (sides & HOOK_WRITE)
		to[n++] = (struct plugin_range){ LLVMGetOperand(inst, 0), size, true, NULL };
	if (sides & HOOK_READ)
		to[n++] = (struct plugin_range){ LLVMGetOperand(inst, 1), size, false, NULL };
	return n;
}

static int ranges(void *arg, LLVMValueRef inst, struct plugin_range to[2])
{
	struct copying *c = arg;
	enum shape shape = shape_of(c, inst);

	if (shape == SHAPE_NONE)
		return is_harmless_in_copy(inst) ? 0 : -1;
	c->each++;
	switch (shape) {
	case SHAPE_LOAD:
	case SHAPE_LOAD_WIDE: return load_or_store(c, inst, false, to);
	case SHAPE_STORE:
	case SHAPE_STORE_WIDE: return load_or_store(c, inst, true, to);
	case SHAPE_COPY_IN: return memory_call(inst, HOOK_READ, to);
	case SHAPE_SET:
	case SHAPE_COPY_OUT: return memory_call(inst, HOOK_WRITE, to);
	case SHAPE_COPY: return memory_call(inst, HOOK_READ | HOOK_WRITE, to);
	default: return -1;
	}
}

/* Not so far that another page would be asked for, and what is only read is not asked for to be written. */
static bool join(struct together *t, int64_t apart, const struct plugin_range *range)
{
	int64_t from = apart < t->from ? apart : t->from;
	int64_t end = apart + (int64_t)range->size, to = end > t->to ? end : t->to;

	if (to - from > (t->writes == range->writes ? (int64_t)HOOK_PAGE : 64))
		return false;
	t->from = from, t->to = to, t->writes |= range->writes;
	return true;
}

static bool add(void *arg, struct plugin_copying *copying, const void *first, const void *stride,
		const struct plugin_range *range)
{
	struct copying *c = arg;
	int64_t apart;

	if (!range->size || range->size > HOOK_PAGE)
		return false;
	for (size_t i = 0; i < c->together_count; i++) {
		struct together *t = &c->together[i];
		if (t->step == stride && plugin_always_apart(copying, t->begin, first, &apart) && join(t, apart, range))
			return true;
	}
	if (c->together_count == TOGETHER_MOST)
		return false;
	c->together[c->together_count++] = (struct together){ .begin = first,
							      .step = stride,
							      .to = (int64_t)range->size,
							      .writes = range->writes,
							      .places = range->places };
	return true;
}

static void expand(void *arg, struct plugin_copying *copying, LLVMValueRef at)
{
	struct copying *c = arg;

	for (size_t i = 0; i < c->together_count; i++) {
		struct together *t = &c->together[i];
		t->stride = t->step ? plugin_expand_stride(copying, t->step, at) : number(c->m, 0);
		t->first = plugin_expand_address(copying, t->begin, t->from, at);
		t->touched = t->places ? plugin_expand_stride(copying, t->places, at) : NULL;
	}
}

/* So many accesses may be more than a held bracket has room for: then others get their turn before. */
static LLVMValueRef make_room(struct copying *c, LLVMValueRef self)
{
	struct module *m = c->m;
	const struct held *h = c->held;
	LLVMValueRef events = held_get(m, h, HELD_EVENTS), limit = held_get(m, h, HELD_LIMIT);
	LLVMValueRef opened = held_get(m, h, HELD_OPENED);
	LLVMValueRef end = LLVMBuildAdd(builder, events, LLVMBuildShl(builder, c->accesses, number(m, 1), ""), "");
	LLVMValueRef full = LLVMBuildICmp(builder, LLVMIntUGE, end, limit, "");

	events = CALL_FAST(publish_if, full, events, opened);
	held_set(h, HELD_EVENTS, events);
	held_set(h, HELD_OPENED, LLVMBuildSelect(builder, full, events, opened, ""));
	held_set(h, HELD_LIMIT, CALL_FAST(limit_if, full, self, events, limit));
	return events;
}

static LLVMValueRef worth(void *arg, LLVMValueRef at, LLVMValueRef more)
{
	struct copying *c = arg;

	position(at);
	LLVMValueRef is_worth = CALL_FAST(worth, more);
	if (!c->nest)
		return is_worth;
	LLVMValueRef limit = held_get(c->m, c->held, HELD_LIMIT);
	LLVMValueRef is_open = LLVMBuildICmp(builder, LLVMIntNE, limit, number(c->m, 0), "");
	return LLVMBuildAnd(builder, is_worth, is_open, "");
}

static LLVMValueRef is_claimed(struct copying *c, const struct together *t, LLVMValueRef ok, LLVMValueRef self,
			       LLVMValueRef more)
{
	struct module *m = c->m;
	LLVMValueRef size = number(m, (uint64_t)(t->to - t->from));
	LLVMValueRef kind = kind_number(m, t->writes ? HOOK_WRITE : HOOK_READ);

	if (c->nest)
		return CALL_FAST(span, ok, self, t->first, LLVMBuildAdd(builder, t->stride, size, ""),
				 LLVMBuildMul(builder, t->touched, size, ""), kind);
	return CALL_FAST(claimed, ok, self, t->first, t->stride, more, size, kind);
}

/* Of a nest, what is checked are bounds. It passes polls, too, without a look: none of them may be one that the runtime
   waits for. */
static LLVMValueRef check(void *arg, LLVMValueRef at, LLVMValueRef more, LLVMValueRef accesses)
{
	struct copying *c = arg;
	struct module *m = c->m;

	position(at);
	if (!c->nest)
		accesses = LLVMBuildMul(builder, LLVMBuildAdd(builder, more, number(m, 1), ""), number(m, c->each), "");
	c->accesses = accesses;
	LLVMValueRef self = call_fast(FAST_current, NULL, 0), events = make_room(c, self);
	LLVMValueRef ok = c->nest ? CALL_FAST(nest, self, events, more, accesses) :
				    CALL_FAST(rounds, self, events, more, number(m, c->each));
	for (size_t i = 0; i < c->together_count; i++)
		ok = is_claimed(c, &c->together[i], ok, self, more);
	if (c->polls)
		c->polled = CALL_FAST(polls, self);
	return ok;
}

static bool is_poll(void *arg, LLVMValueRef inst)
{
	struct copying *c = arg;
	bool is = shape_of(c, inst) == SHAPE_POLL;

	c->polls |= is;
	return is;
}

static void count(void *arg, LLVMValueRef at, unsigned accesses, unsigned polls)
{
	struct copying *c = arg;

	position(at);
	if (accesses)
		held_count(c->m, c->held, number(c->m, accesses));
	if (polls)
		CALL_FAST(pass_poll, call_fast(FAST_current, NULL, 0));
}

static void close_if_many(struct copying *c, LLVMValueRef at)
{
	LLVMBasicBlockRef rest = cut(at), close = LLVMInsertBasicBlockInContext(c->m->context, rest, "");
	LLVMValueRef many = CALL_FAST(passed_many, call_fast(FAST_current, NULL, 0), c->polled);

	likely(c->m, LLVMBuildCondBr(builder, LLVMBuildNot(builder, many, ""), rest, close));
	LLVMPositionBuilderAtEnd(builder, close);
	held_close(c->m, c->held);
	held_closed(c->m, c->held);
	LLVMBuildBr(builder, rest);
}

static void after_copy(void *arg, LLVMValueRef at)
{
	struct copying *c = arg;

	position(at);
	if (!c->nest)
		held_count(c->m, c->held, c->accesses);
	else if (c->polls)
		close_if_many(c, at);
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

/* To scalar evolution a quotient is an expression that must not be computed again, since it might divide by zero. The
   quotient that there is can be used, if it does not know where it comes from. */
static void hide_quotient(LLVMBuilderRef b, LLVMValueRef quotient)
{
	LLVMPositionBuilderBefore(b, LLVMGetNextInstruction(quotient));
	LLVMValueRef frozen = LLVMBuildFreeze(b, quotient, "");

	LLVMInstructionSetDebugLoc(frozen, LLVMInstructionGetDebugLoc(quotient));
	for (LLVMUseRef use = LLVMGetFirstUse(quotient), next; use; use = next) {
		LLVMValueRef user = LLVMGetUser(use);
		next = LLVMGetNextUse(use);
		for (unsigned i = 0; user != frozen && i < (unsigned)LLVMGetNumOperands(user); i++)
			if (LLVMGetOperandUse(user, i) == use)
				LLVMSetOperand(user, i, frozen);
	}
}

static void hide_quotients(struct module *m, LLVMValueRef f)
{
	LLVMBuilderRef b = LLVMCreateBuilderInContext(m->context);

	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
		for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
			if (LLVMGetInstructionOpcode(i) == LLVMUDiv && !LLVMIsAConstant(LLVMGetOperand(i, 1)))
				hide_quotient(b, i);
	LLVMDisposeBuilder(b);
}

void loops_tidy(struct module *m)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f))
		if (!select_ignored(m, f) && !is_unoptimised(f)) {
			hide_quotients(m, f);
			plugin_tidy_loops(f);
		}
}

void loops_copy(struct module *m)
{
	struct copying c = { .m = m };
	struct loop_copier copier = { &c, begin, ranges, add, worth, expand, check, after_copy, is_poll, count };

	list_hooked(&c);
	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f))
		if (c.count && !select_ignored(m, f) && !is_unoptimised(f))
			plugin_copy_loops(f, &copier);
	free(c.hooked);
}

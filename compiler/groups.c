/*
 * Accesses that follow one another as one bracket. Code between two jumps, or two calls, mostly has several accesses
 * whose addresses are known when the first is made. It becomes
 *
 *	head:      events = bracket(self); ok = rounds(...) & claimed(...) & ...      if ok -> copy, else -> original
 *	copy:      the same instructions, without hooks; close_many(self, events, ...)
 *	original:  cancel(self, events), then the instructions, each access with its hook
 *	rest:      values = phi
 *
 * Each access counts as an event in both, as in loops.c.
 */
#include <stdlib.h>
#include <llvm-c/DebugInfo.h>
#include "compiler/emit.h"

enum { GROUP_MAX = 32, INSTRUCTIONS_MAX = 256 };

/* Accesses that are a fixed way apart: checked as one. */
struct together {
	LLVMValueRef addr;
	int64_t from, to;
	bool writes, alone; /* alone: one access that cannot cross a page */
};

struct group {
	LLVMValueRef first, last;
	LLVMValueRef inside[INSTRUCTIONS_MAX], copy[INSTRUCTIONS_MAX];
	size_t count;	   /* instructions from first to last */
	unsigned accesses; /* hooked ones among them */
	struct together together[GROUP_MAX];
	unsigned checks;
	const struct held *held; /* they are in a bracket already */
};

/* Values of originals, and what takes their place where either way has come by. */
struct joined {
	LLVMValueRef value, phi;
};
static struct joined *joined;
static size_t joined_count, joined_room;

static void join(LLVMValueRef value, LLVMValueRef phi)
{
	if (joined_count == joined_room) {
		joined_room = joined_room ? joined_room * 2 : 1024;
		joined = realloc(joined, joined_room * sizeof *joined);
		if (!joined)
			compiler_die("out of memory");
	}
	joined[joined_count++] = (struct joined){ value, phi };
}

static int compare(const void *a, const void *b)
{
	const struct joined *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

static LLVMValueRef now(LLVMValueRef value)
{
	const struct joined *found =
		value ? bsearch(&(struct joined){ value, NULL }, joined, joined_count, sizeof *joined, compare) : NULL;

	return found ? found->phi : value;
}

/* ---- which accesses ---------------------------------------------------------------------------------------------- */

static bool is_plain(const struct access *a)
{
	return a->shape <= SHAPE_STORE_WIDE && !(a->flags & (HOOK_SITE_ATOMIC | HOOK_SITE_VOLATILE)) && a->size &&
	       a->size <= 64;
}

static bool is_inside(const struct group *g, LLVMValueRef value)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->inside[i] == value)
			return true;
	return false;
}

/* Can the value be computed before the group begins? */
static bool is_early(const struct group *g, LLVMValueRef value, unsigned depth)
{
	if (!LLVMIsAInstruction(value) || !is_inside(g, value))
		return true;
	if (depth > 8 || !is_computed(value))
		return false;
	for (int i = 0; i < LLVMGetNumOperands(value); i++)
		if (!is_early(g, LLVMGetOperand(value, (unsigned)i), depth + 1))
			return false;
	return true;
}

static void compute_early(struct group *g, LLVMValueRef value)
{
	if (!LLVMIsAInstruction(value) || !is_inside(g, value))
		return;
	for (int i = 0; i < LLVMGetNumOperands(value); i++)
		compute_early(g, LLVMGetOperand(value, (unsigned)i));
	for (size_t i = 0; i < g->count; i++)
		if (g->inside[i] == value)
			g->inside[i] = NULL;
	LLVMInstructionRemoveFromParent(value);
	LLVMPositionBuilderBefore(builder, g->first);
	LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(value));
	LLVMInsertIntoBuilder(builder, value);
}

static void add_check(struct module *m, struct group *g, const struct access *a)
{
	bool writes = a->kind == HOOK_STORE, alone = !may_cross(a);
	int64_t apart;

	for (unsigned i = 0; i < g->checks; i++) {
		struct together *t = &g->together[i];
		if (!plugin_apart(m->module, t->addr, a->addr, &apart))
			continue;
		int64_t from = apart < t->from ? apart : t->from;
		int64_t to = apart + a->size > t->to ? apart + a->size : t->to;
		if (to - from > (t->writes == writes ? (int64_t)HOOK_PAGE : 64))
			continue;
		t->alone &= from == t->from && to == t->to;
		t->from = from;
		t->to = to;
		t->writes |= writes;
		return;
	}
	g->together[g->checks++] = (struct together){ a->addr, 0, a->size, writes, alone };
}

/* The list has an access's address as it was; another group may have replaced it meanwhile. */
static void renew_addr(struct access *a)
{
	bool second = a->shape == SHAPE_STORE || a->shape == SHAPE_STORE_WIDE || a->shape == SHAPE_COPY_IN;

	if (a->addr && a->shape != SHAPE_NONE)
		a->addr = LLVMGetOperand(a->inst, second);
}

/* Fills in the group that begins with access `at`; returns the first that is not in it. */
static size_t find_group(struct module *m, size_t at, size_t end, struct group *g)
{
	size_t inside = 0;

	g->first = g->last = m->accesses[at].inst;
	g->count = g->checks = g->accesses = 0;
	g->held = m->accesses[at].held;
	for (LLVMValueRef i = g->first; i && g->count < INSTRUCTIONS_MAX; i = LLVMGetNextInstruction(i)) {
		struct access *a = at < end && m->accesses[at].inst == i ? &m->accesses[at] : NULL;
		bool hooked = a && a->shape != SHAPE_NONE;
		if (hooked)
			renew_addr(a);
		if (hooked && (!is_plain(a) || g->accesses == GROUP_MAX || !is_early(g, a->addr, 0)))
			break;
		if (!hooked && !is_harmless(i))
			break;
		g->inside[g->count++] = i;
		if (hooked) {
			add_check(m, g, a);
			g->accesses++;
			g->last = i;
			inside = g->count;
		}
		if (a)
			at++;
		if (a && at < end && m->accesses[at].inst == i)
			break; /* a call, with two */
	}
	g->count = inside;
	return at;
}

/* ---- the copy ---------------------------------------------------------------------------------------------------- */

static LLVMValueRef copied(const struct group *g, size_t count, LLVMValueRef value)
{
	for (size_t i = 0; i < count; i++)
		if (g->inside[i] == value)
			return g->copy[i];
	return value;
}

static void copy_instructions(struct group *g)
{
	for (size_t i = 0; i < g->count; i++) {
		if (!g->inside[i])
			continue;
		g->copy[i] = LLVMInstructionClone(g->inside[i]);
		for (int n = 0; n < LLVMGetNumOperands(g->copy[i]); n++) {
			LLVMValueRef operand = LLVMGetOperand(g->copy[i], (unsigned)n);
			if (LLVMIsAInstruction(operand))
				LLVMSetOperand(g->copy[i], (unsigned)n, copied(g, i, operand));
		}
		LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(g->inside[i]));
		LLVMInsertIntoBuilder(builder, g->copy[i]);
	}
}

/* Users after the group get what came out of either way. */
static void join_values(struct group *g, LLVMBasicBlockRef original, LLVMBasicBlockRef copy, LLVMBasicBlockRef rest)
{
	LLVMPositionBuilderBeforeInstrAndDbgRecords(builder, LLVMGetFirstInstruction(rest));
	for (size_t i = 0; i < g->count; i++) {
		LLVMValueRef value = g->inside[i], phi = NULL;
		if (!value || LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVoidTypeKind)
			continue;
		for (LLVMUseRef use = LLVMGetFirstUse(value), next; use; use = next) {
			LLVMValueRef user = LLVMGetUser(use);
			next = LLVMGetNextUse(use);
			if (LLVMGetInstructionParent(user) == original || user == phi)
				continue;
			if (!phi) {
				phi = LLVMBuildPhi(builder, LLVMTypeOf(value), "");
				LLVMAddIncoming(phi, (LLVMValueRef[]){ value, g->copy[i] },
						(LLVMBasicBlockRef[]){ original, copy }, 2);
				join(value, phi);
				next = LLVMGetFirstUse(value); /* the list has changed */
				continue;
			}
			for (int n = 0; n < LLVMGetNumOperands(user); n++)
				if (LLVMGetOperand(user, (unsigned)n) == value)
					LLVMSetOperand(user, (unsigned)n, phi);
			next = LLVMGetFirstUse(value);
		}
	}
}

static void build_checks(struct module *m, const struct group *g, LLVMValueRef self, LLVMValueRef events,
			 LLVMBasicBlockRef original)
{
	go_on_if(m,
		 g->held ? held_has_room(m, g->held, g->accesses) :
			   CALL_FAST(rounds, self, events, number(m, 0), number(m, g->accesses)),
		 original);
	for (unsigned i = 0; i < g->checks; i++) {
		const struct together *t = &g->together[i];
		LLVMValueRef addr = LLVMBuildPtrToInt(builder, t->addr, m->i64, "");
		uint64_t size = (uint64_t)(t->to - t->from);
		unsigned kind = t->writes ? HOOK_WRITE : HOOK_READ;
		if (t->from)
			addr = LLVMBuildAdd(builder, addr, number(m, (uint64_t)t->from), "");
		if (g->held)
			held_go_on_if_claimed(m, g->held, addr, size, !t->alone, kind, original);
		else
			go_on_if_claimed(m, CALL_FAST(claims, self), CALL_FAST(mask, self), addr, size, !t->alone, kind,
					 original);
	}
}

static void copy_group(struct module *m, struct group *g)
{
	for (unsigned i = 0; i < g->checks; i++)
		compute_early(g, g->together[i].addr);
	LLVMBasicBlockRef head = LLVMGetInstructionParent(g->first), original = plugin_split(g->first);
	LLVMBasicBlockRef rest = plugin_split(LLVMGetNextInstruction(g->last));
	LLVMBasicBlockRef copy = LLVMInsertBasicBlockInContext(m->context, original, "");

	LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(head));
	LLVMPositionBuilderAtEnd(builder, head);
	LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(g->first));
	LLVMValueRef self = g->held ? NULL : call_fast(FAST_current, NULL, 0);
	LLVMValueRef events = g->held ? NULL : CALL_FAST(bracket, self);
	build_checks(m, g, self, events, original);
	LLVMBuildBr(builder, copy);

	LLVMPositionBuilderAtEnd(builder, copy);
	copy_instructions(g);
	if (g->held)
		held_count(m, g->held, number(m, g->accesses));
	else
		CALL_FAST(close_many, self, events, number(m, 0), number(m, g->accesses));
	LLVMBuildBr(builder, rest);

	position(LLVMGetFirstInstruction(original));
	if (!g->held)
		CALL_FAST(cancel, self, events);
	join_values(g, original, copy, rest);
}

/* What the list says about accesses outside of a group that has a value of theirs. */
static void renew_list(struct module *m)
{
	qsort(joined, joined_count, sizeof *joined, compare);
	for (size_t i = 0; i < m->count; i++) {
		struct access *a = &m->accesses[i];
		renew_addr(a);
		for (unsigned n = 0; n < a->range_count; n++) {
			struct range *r = &a->ranges[n];
			r->addr = now(r->addr);
			r->size = now(r->size);
			r->times = now(r->times);
			r->other = now(r->other);
			r->until = now(r->until);
		}
	}
}

void groups_copy(struct module *m)
{
	struct group *g = malloc(sizeof *g);

	if (!g)
		compiler_die("out of memory");
	joined = NULL;
	joined_count = joined_room = 0;
	for (size_t at = 0; at < m->count;) {
		const struct access *a = &m->accesses[at];
		size_t next = at + 1;
		if (a->shape != SHAPE_NONE && is_plain(a) &&
		    !is_unoptimised(LLVMGetBasicBlockParent(LLVMGetInstructionParent(a->inst)))) {
			next = find_group(m, at, m->count, g);
			if (g->accesses > 1)
				copy_group(m, g);
		}
		at = next > at ? next : at + 1;
	}
	renew_list(m);
	free(joined);
	free(g);
}

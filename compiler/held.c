/*
 * A bracket held over a loop. Where a loop, with all loops in it, does nothing that waits or calls, its bracket is
 * opened once before it and closed once behind it. Each access in it only looks at its claim; the count is in a
 * register:
 *
 *	before:    self = current(); events = opened = bracket(self); limit, claims, mask from self
 *	access:    if (events < limit && claims[page & mask] & kind)    the access
 *	           else  events = publish(events, opened), and the hook as it is elsewhere (rewrite.c)
 *	           events += 2
 *	behind:    let_go(events, opened)
 *
 * To publish is one store of the count: it ends the bracket for those who wait for it to end, and begins another one.
 * That happens at each miss, and every HOOK_HELD events (`limit`), so others do not wait for long; and where nothing is
 * accessed for long, at polls, the bracket is closed. The program cannot tell, and each access counts as an event as
 * anywhere else.
 *
 * The state is in local variables, which become registers when all is rewritten.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/emit.h"

enum { STATES = 5 };
_Static_assert(HELD_MASK == STATES - 1, "one variable for each");

struct held {
	struct held *next;
	LLVMValueRef function;
	LLVMValueRef variable[STATES];
};
static struct held *all;

/* Blocks in held loops, to be searched. */
struct place {
	LLVMBasicBlockRef block;
	struct held *held;
};
static struct place *places;
static size_t place_count, place_room;

struct blocks {
	LLVMBasicBlockRef *block;
	size_t count;
};

struct finding {
	struct module *m;
	size_t first, end; /* accesses of the function at hand */
	struct blocks unsuited, hooked;
};

/* ---- the state --------------------------------------------------------------------------------------------------- */

LLVMValueRef held_get(struct module *m, const struct held *h, enum held_state which)
{
	return LLVMBuildLoad2(builder, m->i64, h->variable[which], "");
}

void held_set(const struct held *h, enum held_state which, LLVMValueRef value)
{
	LLVMBuildStore(builder, value, h->variable[which]);
}

/* The bracket is open with this count: what else is known. */
void held_renew(const struct held *h, LLVMValueRef self, LLVMValueRef events)
{
	held_set(h, HELD_EVENTS, events);
	held_set(h, HELD_OPENED, events);
	held_set(h, HELD_LIMIT, CALL_FAST(limit, self, events));
	held_set(h, HELD_CLAIMS, CALL_FAST(claims, self));
	held_set(h, HELD_MASK, CALL_FAST(mask, self));
}

LLVMValueRef held_publish(struct module *m, const struct held *h)
{
	return CALL_FAST(publish, held_get(m, h, HELD_EVENTS), held_get(m, h, HELD_OPENED));
}

void held_count(struct module *m, const struct held *h, LLVMValueRef accesses)
{
	LLVMValueRef twice = LLVMBuildShl(builder, accesses, number(m, 1), "");

	held_set(h, HELD_EVENTS, LLVMBuildAdd(builder, held_get(m, h, HELD_EVENTS), twice, ""));
}

LLVMValueRef held_has_room(struct module *m, const struct held *h, uint64_t accesses)
{
	LLVMValueRef events = held_get(m, h, HELD_EVENTS), limit = held_get(m, h, HELD_LIMIT);

	if (accesses > 1)
		events = LLVMBuildAdd(builder, events, number(m, 2 * accesses), "");
	return LLVMBuildICmp(builder, LLVMIntULT, events, limit, "");
}

void held_go_on_if_claimed(struct module *m, const struct held *h, LLVMValueRef addr, uint64_t size, bool crosses,
			   unsigned kind, LLVMBasicBlockRef otherwise)
{
	go_on_if_claimed(m, held_get(m, h, HELD_CLAIMS), held_get(m, h, HELD_MASK), addr, size, crosses, kind,
			 otherwise);
}

/* Where the program handles faults, a bracket is over one access only: see hooks.h on group_until. */
void held_finish(struct module *m, const struct held *h)
{
	held_count(m, h, number(m, 1));
	held_set(h, HELD_OPENED,
		 CALL_FAST(finish, held_get(m, h, HELD_EVENTS), held_get(m, h, HELD_OPENED),
			   held_get(m, h, HELD_LIMIT)));
}

void held_close(struct module *m, const struct held *h)
{
	CALL_FAST(let_go, held_get(m, h, HELD_EVENTS), held_get(m, h, HELD_OPENED));
}

/* The bracket is closed, and the next access will open it. */
void held_closed(struct module *m, const struct held *h)
{
	LLVMValueRef events = CALL_FAST(events, call_fast(FAST_current, NULL, 0));

	held_set(h, HELD_EVENTS, events);
	held_set(h, HELD_OPENED, LLVMBuildSub(builder, events, number(m, 1), ""));
	held_set(h, HELD_LIMIT, number(m, 0));
}

/* ---- which loops ------------------------------------------------------------------------------------------------- */

static int compare_blocks(const void *a, const void *b)
{
	LLVMBasicBlockRef x = *(const LLVMBasicBlockRef *)a, y = *(const LLVMBasicBlockRef *)b;

	return (x > y) - (x < y);
}

static void sort(struct blocks *list)
{
	qsort(list->block, list->count, sizeof *list->block, compare_blocks);
}

static LLVMBasicBlockRef *find(const struct blocks *list, LLVMBasicBlockRef block)
{
	return bsearch(&block, list->block, list->count, sizeof block, compare_blocks);
}

static void make_list(struct blocks *list, size_t room)
{
	list->block = malloc((room + 1) * sizeof *list->block);
	if (!list->block)
		compiler_die("out of memory");
}

struct held *held_of(LLVMBasicBlockRef block)
{
	const struct place *found = place_count ? bsearch(&block, places, place_count, sizeof *places, compare_blocks) :
						  NULL;

	return found ? found->held : NULL;
}

static void add_place(LLVMBasicBlockRef block, struct held *h)
{
	if (place_count == place_room) {
		place_room = place_room ? place_room * 2 : 1024;
		places = realloc(places, place_room * sizeof *places);
		if (!places)
			compiler_die("out of memory");
	}
	places[place_count++] = (struct place){ block, h };
}

static bool is_suited_access(const struct access *a)
{
	switch (a->shape) {
	case SHAPE_LOAD:
	case SHAPE_STORE:
	case SHAPE_LOAD_WIDE:
	case SHAPE_STORE_WIDE: return !(a->flags & (HOOK_SITE_ATOMIC | HOOK_SITE_VOLATILE));
	case SHAPE_SET:
	case SHAPE_COPY:
	case SHAPE_COPY_IN:
	case SHAPE_COPY_OUT:
	case SHAPE_NONE: return true;
	default: return false;
	}
}

/* Lists blocks with something that may wait, or call, or that has a hook of another kind. */
static void list_unsuited(struct finding *f, LLVMValueRef function)
{
	size_t at = f->first;

	f->unsuited.count = 0;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
		bool suited = true;
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
			/* A load, store or atomic, hooked or left out; a call that is left out is still one. */
			bool value = false;
			for (; at < f->end && f->m->accesses[at].inst == i; at++) {
				suited &= is_suited_access(&f->m->accesses[at]);
				value = !LLVMIsACallInst(i) && !LLVMIsAInvokeInst(i) && !LLVMIsACallBrInst(i);
			}
			suited &= value || is_harmless_anywhere(i);
		}
		if (!suited)
			f->unsuited.block[f->unsuited.count++] = b;
	}
	sort(&f->unsuited);
}

static bool all_suited(const struct finding *f, const struct plugin_nest *nest)
{
	for (size_t i = 0; i < nest->block_count; i++)
		if (find(&f->unsuited, nest->blocks[i]))
			return false;
	return true;
}

/* And those with hooks. */
static void list_hooked(struct finding *f)
{
	f->hooked.count = 0;
	for (size_t i = f->first; i < f->end; i++)
		if (f->m->accesses[i].shape != SHAPE_NONE)
			f->hooked.block[f->hooked.count++] = LLVMGetInstructionParent(f->m->accesses[i].inst);
	sort(&f->hooked);
}

/* Not more than the code generator can cope with: the state is in registers from one end of the loop to the other. */
enum { ACCESSES_MOST = 100, BLOCKS_MOST = 400 };

static bool is_worth(const struct finding *f, const struct plugin_nest *nest)
{
	const struct blocks *hooked = &f->hooked;
	size_t count = 0;

	for (size_t i = 0; i < nest->block_count; i++) {
		LLVMBasicBlockRef block = nest->blocks[i], *at = find(hooked, block);
		while (at && at > hooked->block && at[-1] == block)
			at--;
		for (; at && at < hooked->block + hooked->count && *at == block; at++)
			count++;
	}
	return count && count <= ACCESSES_MOST && nest->block_count <= BLOCKS_MOST;
}

static void make_variables(struct module *m, struct held *h)
{
	LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(h->function)));
	LLVMSetCurrentDebugLocation2(builder, NULL);
	for (int i = 0; i < STATES; i++)
		h->variable[i] = LLVMBuildAlloca(builder, m->i64, "");
}

static bool hold(struct finding *f, const struct plugin_nest *nest)
{
	if (!is_worth(f, nest))
		return false;
	struct held *h = malloc(sizeof *h);
	if (!h)
		compiler_die("out of memory");
	h->next = all;
	all = h;
	h->function = LLVMGetBasicBlockParent(nest->before);
	make_variables(f->m, h);
	position(LLVMGetBasicBlockTerminator(nest->before));
	LLVMValueRef self = call_fast(FAST_current, NULL, 0);
	held_renew(h, self, CALL_FAST(bracket, self));
	for (size_t i = 0; i < nest->exit_count; i++) {
		LLVMValueRef at = LLVMGetFirstInstruction(nest->exits[i]);
		while (LLVMIsAPHINode(at))
			at = LLVMGetNextInstruction(at);
		position(at);
		held_close(f->m, h);
	}
	for (size_t i = 0; i < nest->block_count; i++)
		add_place(nest->blocks[i], h);
	return true;
}

/* The outermost loops that can have one; of those that cannot, the loops in them. */
static void hold_loops(struct finding *f, LLVMValueRef function)
{
	size_t room = LLVMCountBasicBlocks(function), count;
	LLVMBasicBlockRef *open = malloc(room * sizeof *open);
	struct plugin_nest nest;

	if (!open)
		compiler_die("out of memory");
	plugin_forget_shape(); /* the function may have been changed since */
	count = plugin_returns_twice(function) ? 0 : plugin_loops_in(function, NULL, open, room);
	while (count) {
		LLVMBasicBlockRef header = open[--count];
		if (!plugin_nest(header, &nest) || !all_suited(f, &nest) || !hold(f, &nest))
			count += plugin_loops_in(function, header, open + count, room - count);
	}
	plugin_forget_shape();
	free(open);
}

void held_find(struct module *m)
{
	struct finding f = { .m = m };

	places = NULL;
	place_count = place_room = 0;
	for (LLVMValueRef function = LLVMGetFirstFunction(m->module); function;
	     function = LLVMGetNextFunction(function)) {
		f.first = f.end;
		while (f.end < m->count && m->accesses[f.end].shape != SHAPE_POLL &&
		       LLVMGetBasicBlockParent(LLVMGetInstructionParent(m->accesses[f.end].inst)) == function)
			f.end++;
		if (f.first == f.end || select_ignored(m, function) || is_unoptimised(function))
			continue;
		make_list(&f.unsuited, LLVMCountBasicBlocks(function));
		make_list(&f.hooked, f.end - f.first);
		list_unsuited(&f, function);
		list_hooked(&f);
		hold_loops(&f, function);
		free(f.unsuited.block);
		free(f.hooked.block);
	}
	qsort(places, place_count, sizeof *places, compare_blocks);
	for (size_t i = 0; i < m->count; i++)
		m->accesses[i].held = held_of(LLVMGetInstructionParent(m->accesses[i].inst));
}

/* Those of a function stand next to each other in the list. */
static void promote(LLVMValueRef function)
{
	LLVMValueRef *variables = NULL;
	size_t count = 0;

	for (struct held *h; (h = all) && h->function == function; count += STATES) {
		variables = realloc(variables, (count + STATES) * sizeof *variables);
		if (!variables)
			compiler_die("out of memory");
		memcpy(variables + count, h->variable, sizeof h->variable);
		all = h->next;
		free(h);
	}
	plugin_promote(variables, count);
	free(variables);
}

void held_end(void)
{
	while (all)
		promote(all->function);
	free(places);
	places = NULL;
	place_count = place_room = 0;
}

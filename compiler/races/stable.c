/*
 * Loads that always give the same: of what is written only before there is a second thread; and loads from the argument
 * that a thread was given, which the creating thread has filled in before.
 */
#include <stdlib.h>
#include "compiler/races/terms.h"

/* ---- who writes what --------------------------------------------------------------------------------------------- */

static uint32_t *writers, *first; /* of each object: writers[first[o]] .. writers[first[o + 1]] */

static void each_written(void (*found)(uint32_t object, uint32_t party))
{
	for (uint32_t i = 0; i < warnings.party_count; i++) {
		const struct party *p = &warnings.parties[i];
		const struct bits *set = p->write ? objects_of(p->addr) : NULL;
		uint32_t last = UINT32_MAX;
		if (!set)
			continue;
		BITS_EACH(set, place)
		{
			uint32_t object = solve_place((uint32_t)place)->object;
			if (object != last) /* places of one object come in a row, mostly */
				found(object, i);
			last = object;
		}
	}
}

static void count_writer(uint32_t object, uint32_t party)
{
	(void)party;
	first[object + 1]++;
}

static void put_writer(uint32_t object, uint32_t party)
{
	writers[first[object]++] = party;
}

void stable_begin(void)
{
	uint32_t objects = solve_object_count(), total;

	free(first);
	free(writers);
	first = calloc(objects + 2, sizeof *first);
	each_written(count_writer);
	for (uint32_t o = 0; o < objects; o++)
		first[o + 1] += first[o];
	total = first[objects];
	writers = calloc(total + 1, sizeof *writers);
	each_written(put_writer);
	for (uint32_t o = objects; o; o--)
		first[o] = first[o - 1];
	first[0] = 0;
}

void stable_end(void)
{
	free(first);
	free(writers);
	first = writers = NULL;
}

static bool writes_at(const struct party *p, uint32_t place, uint64_t size)
{
	BITS_EACH(objects_of(p->addr), at)
	{
		if (solve_place((uint32_t)at)->object == solve_place(place)->object &&
		    solve_overlap((uint32_t)at, p->size, place, size))
			return true;
	}
	return false;
}

bool stable_each_writer(uint32_t place, uint64_t size, bool (*fine)(const struct party *p, void *arg), void *arg)
{
	uint32_t o = solve_place(place)->object;

	for (uint32_t i = first[o]; i < first[o + 1]; i++) {
		const struct party *p = &warnings.parties[writers[i]];
		if (writes_at(p, place, size) && !fine(p, arg))
			return false;
	}
	return true;
}

/* ---- reaching ---------------------------------------------------------------------------------------------------- */

enum {
	DOWN = 1,
	UP = 2,
	BACK = 4
}; /* in a function that was called on the way; in the first one, or in one that it returns to */

struct reaching {
	uint8_t *seen;
	struct {
		uint32_t block;
		uint8_t how;
	} * list;
	size_t count;
	bool (*stops)(LLVMValueRef inst, void *arg);
	void *arg;
};

static void add_way(struct reaching *r, uint32_t b, uint8_t how)
{
	r->seen[b] |= how;
	r->list[r->count].block = b;
	r->list[r->count++].how = how;
}

static void spread(struct reaching *r, uint32_t b, uint8_t how)
{
	if (!(r->seen[b] & (how | UP)))
		add_way(r, b, how);
}

/* Into the middle of a block, behind the call. */
static void come_back(struct reaching *r, uint32_t b)
{
	if (!(r->seen[b] & BACK))
		add_way(r, b, UP | BACK);
}

/* Is b behind a in their block? */
static bool is_behind(LLVMValueRef a, LLVMValueRef b)
{
	for (; a; a = LLVMGetNextInstruction(a))
		if (a == b)
			return true;
	return false;
}

/* The first instruction from this one on in its block that stops the way, or NULL. */
static LLVMValueRef stop_from(const struct reaching *r, LLVMValueRef inst)
{
	for (LLVMValueRef i = r->stops ? inst : NULL; i; i = LLVMGetNextInstruction(i))
		if (r->stops(i, r->arg))
			return i;
	return NULL;
}

static LLVMValueRef stop_in(const struct reaching *r, uint32_t b)
{
	return r->seen[b] & BACK ? NULL : stop_from(r, LLVMGetFirstInstruction(program.blocks[b].ref));
}

static void spread_from(struct reaching *r, uint32_t b, uint8_t how, LLVMValueRef stop)
{
	const struct block *block = &program.blocks[b];

	for (uint32_t i = 0; i < block->call_count; i++) {
		const struct call *c = &program.calls[block->first_call + i];
		for (uint32_t k = 0; k < c->callee_count && !(stop && is_behind(stop, c->inst)); k++)
			spread(r, program.functions[c->callees[k]].first_block, DOWN);
	}
	if (stop)
		return;
	for (uint32_t i = 0; i < block->next_count; i++)
		spread(r, block->next[i], how);
	for (uint32_t i = 0; !block->next_count && how == UP && i < program.call_count; i++)
		for (uint32_t k = 0; k < program.calls[i].callee_count; k++)
			if (program.calls[i].callees[k] == block->function)
				come_back(r, program.calls[i].block);
}

bool program_reaches_past(LLVMValueRef from, LLVMValueRef to, bool (*stops)(LLVMValueRef inst, void *arg), void *arg)
{
	uint32_t start = (uint32_t)(program_block_of(from) - program.blocks),
		 target = (uint32_t)(program_block_of(to) - program.blocks);
	struct reaching r = { .stops = stops, .arg = arg };
	bool reaches = false;

	r.seen = calloc(program.block_count + 1, 1);
	r.list = calloc(3 * program.block_count + 3, sizeof *r.list);
	if (!r.seen || !r.list)
		compiler_die("out of memory");
	LLVMValueRef stop = stop_from(&r, from);
	for (LLVMValueRef i = from; i && i != stop && start == target; i = LLVMGetNextInstruction(i))
		reaches |= i == to && i != from;
	spread_from(&r, start, UP, stop);
	for (size_t n = 0; n < r.count; n++)
		spread_from(&r, r.list[n].block, r.list[n].how & (DOWN | UP), stop_in(&r, r.list[n].block));
	stop = stop_in(&r, target);
	reaches |= r.seen[target] && !(stop && is_behind(stop, to));
	free(r.seen);
	free(r.list);
	return reaches;
}

/* After `from` has run, may `to` run? What is called returns to where it was called; what `from` is in, to any of its
   callers. */
bool program_reaches(LLVMValueRef from, LLVMValueRef to)
{
	return program_reaches_past(from, to, NULL, NULL);
}

/* ---- loads ------------------------------------------------------------------------------------------------------- */

static bool before_threads(const struct party *p, void *load)
{
	return p->classes == BIT(CLASS_MAIN) && !p->ever && (!load || !program_reaches(load, p->inst));
}

bool stable_load(LLVMValueRef load, bool by_main)
{
	uint32_t place = program_single_place(LLVMGetOperand(load, 0));
	uint64_t size = LLVMStoreSizeOfType(program.m->layout, LLVMTypeOf(load));

	return place && !select_private(LLVMGetOperand(load, 0)) &&
	       stable_each_writer(place, size, before_threads, by_main ? load : NULL);
}

struct only {
	LLVMValueRef store;
	bool several;
};

static bool note_store(const struct party *p, void *arg)
{
	struct only *only = arg;

	only->several |= only->store && only->store != p->inst;
	only->store = p->inst;
	return true;
}

LLVMValueRef stable_argument_store(LLVMValueRef load, const struct call *create)
{
	const struct bits *set = objects_of(LLVMGetOperand(load, 0));
	uint64_t size = LLVMStoreSizeOfType(program.m->layout, LLVMTypeOf(load));
	struct only only = { NULL, false };
	struct plugin_loop a = { 0 }, b = { 0 };

	if (!set || bits_has(set, UNKNOWN_PLACE))
		return NULL;
	BITS_EACH(set, place)
	{
		if (solve_object_at(solve_place((uint32_t)place)->object)->given)
			return NULL;
		stable_each_writer((uint32_t)place, size, note_store, &only);
	}
	LLVMValueRef s = only.store;
	if (!s || only.several || !LLVMIsAStoreInst(s) || LLVMTypeOf(LLVMGetOperand(s, 0)) != LLVMTypeOf(load) ||
	    LLVMGetBasicBlockParent(LLVMGetInstructionParent(s)) !=
		    LLVMGetBasicBlockParent(LLVMGetInstructionParent(create->inst)) ||
	    !program_comes_before(s, create->inst))
		return NULL;
	/* In the same loop, so that the round that creates is the round that has written. */
	plugin_loop(LLVMGetInstructionParent(s), 0, &a);
	plugin_loop(LLVMGetInstructionParent(create->inst), 0, &b);
	return a.header == b.header ? s : NULL;
}

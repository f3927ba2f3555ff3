/*
 * Barriers, and which threads wait at them: a team is a class that one loop creates, run once, with or without the
 * first thread.
 *
 * A barrier counts if it is one object, initialised at one place, with at least as many parties as there can be threads
 * that wait at it: then it opens only when all of them are there. (With more parties than threads it never opens.)
 * Whether the number is enough is asked of the solver: in round k of the loop that creates there are k + 1 threads, and
 * the first one. A function of the program's own counts if its code shows it to be one (handmade.c), or if the user has
 * said so.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "compiler/races/phases.h"

enum { MOST_BARRIERS = 32 };

struct barrier {
	uint32_t place;	  /* of a pthread_barrier_t, or ... */
	const char *name; /* ... a function that is one, by its name, or ... */
	size_t name_len;
	LLVMValueRef function; /* ... by its code */
	struct handmade made;
	unsigned team; /* class of the threads that wait; 0: does not count */
	bool with_main;
};
static struct barrier barriers[MOST_BARRIERS];
static unsigned barrier_count;
static uint8_t *waits_at; /* of each call: 1 + the barrier */

static bool is_named(const struct call *c, const char *name)
{
	LLVMValueRef callee = LLVMGetCalledValue(c->inst);

	return LLVMIsAFunction(callee) && !strcmp(external_name(callee), name);
}

static int barrier_of_place(uint32_t place)
{
	for (unsigned i = 0; i < barrier_count; i++)
		if (place && barriers[i].place == place)
			return (int)i;
	return -1;
}

/* A function that is one. */
static int barrier_of_function(LLVMValueRef f)
{
	const char *name = LLVMIsAFunction(f) ? external_name(f) : "";

	for (unsigned i = 0; i < barrier_count; i++)
		if (barriers[i].function ? barriers[i].function == f :
					   barriers[i].name && strlen(name) == barriers[i].name_len &&
						   !memcmp(name, barriers[i].name, barriers[i].name_len))
			return (int)i;
	return -1;
}

static void list_handmade(void)
{
	for (uint32_t i = 0; i < program.function_count; i++) {
		struct barrier b = { .function = program.functions[i].ref };
		if (barrier_count < MOST_BARRIERS && barrier_of_function(b.function) < 0 && handmade_find(i, &b.made))
			barriers[barrier_count++] = b;
	}
}

static void list_barriers(void)
{
	barrier_count = 0;
	for (const char *p = settings.barriers; p && *p && barrier_count < MOST_BARRIERS;
	     p += strcspn(p, ":"), p += *p == ':')
		barriers[barrier_count++] = (struct barrier){ .name = p, .name_len = strcspn(p, ":") };
	for (uint32_t i = 0; i < program.call_count; i++) {
		uint32_t place = is_named(&program.calls[i], "pthread_barrier_wait") ?
					 program_single_place(LLVMGetOperand(program.calls[i].inst, 0)) :
					 0;
		if (place && barrier_of_place(place) < 0 && barrier_count < MOST_BARRIERS)
			barriers[barrier_count++] = (struct barrier){ .place = place };
	}
	list_handmade();
}

static bool comes_before(LLVMValueRef inst, LLVMValueRef create);

static bool is_stored_before(const struct party *p, void *init)
{
	return p->frees || comes_before(p->inst, init);
}

/* The only call that initialises a barrier; NULL if there are several, somebody else may wait there by another way, or
   something is stored there since. */
static const struct call *initialised(const struct barrier *b)
{
	const struct call *only = NULL;

	for (uint32_t i = 0; i < program.call_count; i++) {
		const struct call *c = &program.calls[i];
		if (is_named(c, "pthread_barrier_wait") && program_may_be(LLVMGetOperand(c->inst, 0), b->place) &&
		    program_single_place(LLVMGetOperand(c->inst, 0)) != b->place)
			return NULL;
		if (!is_named(c, "pthread_barrier_init") || !program_may_be(LLVMGetOperand(c->inst, 0), b->place))
			continue;
		if (only || !program_is_once(c->inst))
			return NULL;
		only = c;
	}
	bool stays = only && stable_each_writer(b->place, sizeof(pthread_barrier_t), is_stored_before, only->inst);
	return stays ? only : NULL;
}

/* ---- how many parties -------------------------------------------------------------------------------------------- */

struct writers {
	LLVMValueRef store;
	unsigned count;
};

static bool note_writer(const struct party *p, void *arg)
{
	struct writers *w = arg;

	w->store = p->inst;
	w->count++;
	return true;
}

static LLVMValueRef function_of(LLVMValueRef inst)
{
	return LLVMGetBasicBlockParent(LLVMGetInstructionParent(inst));
}

/* Is it run, for certain, before threads are created here? */
static bool comes_before(LLVMValueRef inst, LLVMValueRef create)
{
	for (int depth = 0; depth < 8; depth++) {
		const struct call *up = NULL;
		LLVMValueRef at = create;
		for (; at && function_of(at) != function_of(inst); at = up ? up->inst : NULL)
			up = program_only_call(function_of(at));
		if (at)
			return program_comes_before(inst, at);
		up = program_only_call(function_of(inst));
		if (!up || LLVMGetInstructionParent(inst) != LLVMGetEntryBasicBlock(function_of(inst)))
			return false;
		inst = up->inst;
	}
	return false;
}

/* What a load gives of a place that never changes once there are threads: what was stored there, if that is known. */
static LLVMValueRef what_was_stored(LLVMValueRef v, LLVMValueRef create)
{
	uint32_t place = LLVMIsALoadInst(v) ? program_single_place(LLVMGetOperand(v, 0)) : 0;
	uint64_t size = LLVMStoreSizeOfType(program.m->layout, LLVMTypeOf(v));
	struct writers w = { NULL, 0 };

	if (!place)
		return v;
	stable_each_writer(place, size, note_writer, &w);
	LLVMValueRef first = w.count ? NULL : handmade_first_value(place, (unsigned)size * 8);
	if (first)
		return first;
	bool same = w.count == 1 && LLVMIsAStoreInst(w.store) &&
		    program_single_place(LLVMGetOperand(w.store, 1)) == place &&
		    LLVMTypeOf(LLVMGetOperand(w.store, 0)) == LLVMTypeOf(v);
	return same && comes_before(w.store, create) ? LLVMGetOperand(w.store, 0) : v;
}

/* Are there never more threads than parties, of which there are so many, and more? */
static bool enough_parties(LLVMValueRef parties, int more, unsigned team, bool with_main)
{
	static const struct frame common = { NULL, NULL, 2, NULL };
	const struct call *create = classes[team].create;
	struct plugin_loop l, outer;

	if (!create || !program_function_is_once(create->block))
		return false;
	LLVMBasicBlockRef at = LLVMGetInstructionParent(create->inst);
	if (plugin_loop(at, 1, &outer))
		return false;
	terms_begin(ABOUT_BOTH);
	Z3_context z = terms_context();
	Z3_sort integer = Z3_mk_int_sort(z);
	terms_conditions(at, &common);
	terms_of(LLVMGetOperand(create->inst, LLVMGetNumArgOperands(create->inst) - 1), &common);
	/* Values of the loop that the test is about are known by now if they are in an address; ask for the handle's,
	   too. */
	terms_of(LLVMGetOperand(create->inst, 0), &common);
	Z3_ast made = Z3_mk_int64(z, (with_main ? 2 : 1) - more, integer);
	if (plugin_loop(at, 0, &l))
		made = Z3_mk_add(z, 2, (Z3_ast[]){ made, terms_round(l.header, &common) });
	bool enough = terms_surely(Z3_mk_le(z, made, terms_of(parties, &common)));
	terms_end();
	return enough;
}

/* Who waits there? */
static uint64_t waiting(unsigned b)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < program.call_count; i++)
		if (waits_at[i] == b + 1)
			all |= program.functions[program.blocks[program.calls[i].block].function].classes;
	return all;
}

static bool is_for_all(const struct call *init, unsigned team, bool with_main)
{
	return init && enough_parties(LLVMGetOperand(init->inst, 2), 0, team, with_main);
}

/* The number is known as what is read, which may be what the loop that creates reads, too; or as what was stored. */
static bool is_made_for_all(const struct barrier *b, unsigned team)
{
	const struct call *create = classes[team].create;
	LLVMValueRef read = b->made.parties, stored = create ? what_was_stored(read, create->inst) : read;

	return enough_parties(read, b->made.more, team, b->with_main) ||
	       (stored != read && enough_parties(stored, b->made.more, team, b->with_main));
}

static void find_team(unsigned n)
{
	struct barrier *b = &barriers[n];
	uint64_t who = waiting(n), threads = who & ~BIT(CLASS_MAIN);

	b->with_main = who & BIT(CLASS_MAIN);
	if (!threads || threads & (threads - 1) || threads & BIT(CLASS_OUTSIDE))
		return;
	unsigned team = (unsigned)__builtin_ctzll(threads);
	if (b->name || (b->place ? is_for_all(initialised(b), team, b->with_main) : is_made_for_all(b, team)))
		b->team = team;
}

static void find_waits(void)
{
	waits_at = calloc(program.call_count + 1, sizeof *waits_at);
	for (uint32_t i = 0; i < program.call_count; i++) {
		const struct call *c = &program.calls[i];
		int b = barrier_of_function(LLVMGetCalledValue(c->inst));
		if (b < 0 && is_named(c, "pthread_barrier_wait"))
			b = barrier_of_place(program_single_place(LLVMGetOperand(c->inst, 0)));
		waits_at[i] = (uint8_t)(b + 1);
	}
	for (unsigned b = 0; b < barrier_count; b++)
		find_team(b);
}

bool barriers_count(uint32_t call, unsigned team, bool with_main)
{
	const struct barrier *b = waits_at[call] ? &barriers[waits_at[call] - 1] : NULL;

	return b && b->team == team && (!with_main || b->with_main);
}

bool barriers_same(uint32_t a, uint32_t b)
{
	return waits_at[a] == waits_at[b];
}

bool barriers_is_one(uint32_t function)
{
	return barrier_of_function(program.functions[function].ref) >= 0;
}

void barriers_begin(void)
{
	list_barriers();
	find_waits();
}

void barriers_end(void)
{
	free(waits_at);
	waits_at = NULL;
}

/*
 * Barriers, and which threads wait at them: a team is a class that one loop creates, run once, with or without the first thread.
 *
 * A barrier counts if it is one object, initialised at one place, with at least as many parties as there can be threads that wait at it:
 * then it opens only when all of them are there. (With more parties than threads it never opens.) Whether the number
 * is enough is asked of the solver: in round k of the loop that creates there are k + 1 threads, and the first one.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/races/phases.h"

enum { MOST_BARRIERS = 32 };

struct barrier {
	uint32_t place;	  /* of a pthread_barrier_t, or ... */
	const char *name; /* ... a function that is one */
	size_t name_len;
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

static uint32_t single_place(LLVMValueRef address)
{
	const struct bits *set = objects_of(address);

	if (!set || bits_count(set) != 1)
		return 0;
	uint32_t place = set->words[0].at * 64 + (uint32_t)__builtin_ctzll(set->words[0].bits);
	const struct place *p = solve_place(place);
	const struct object *o = solve_object_at(p->object);
	bool once = o->kind == OBJECT_GLOBAL ||
		    ((o->kind == OBJECT_STACK || o->kind == OBJECT_HEAP) && program_is_once(o->value));
	return p->stride || o->given || !once ? 0 : place;
}

static bool may_be(LLVMValueRef address, uint32_t place)
{
	const struct bits *set = objects_of(address);

	if (!set)
		return true;
	BITS_EACH(set, at)
	{
		if (solve_place((uint32_t)at)->object == solve_place(place)->object &&
		    solve_overlap((uint32_t)at, 1, place, 1))
			return true;
	}
	return false;
}

static int barrier_of_place(uint32_t place)
{
	for (unsigned i = 0; i < barrier_count; i++)
		if (place && barriers[i].place == place)
			return (int)i;
	return -1;
}

/* --barrier=NAME */
static int barrier_of_name(const struct call *c)
{
	LLVMValueRef callee = LLVMGetCalledValue(c->inst);
	const char *name = LLVMIsAFunction(callee) ? external_name(callee) : "";

	for (unsigned i = 0; i < barrier_count; i++)
		if (barriers[i].name && strlen(name) == barriers[i].name_len &&
		    !memcmp(name, barriers[i].name, barriers[i].name_len))
			return (int)i;
	return -1;
}

static void list_barriers(void)
{
	barrier_count = 0;
	for (const char *p = settings.barriers; p && *p && barrier_count < MOST_BARRIERS;
	     p += strcspn(p, ":"), p += *p == ':')
		barriers[barrier_count++] = (struct barrier){ .name = p, .name_len = strcspn(p, ":") };
	for (uint32_t i = 0; i < program.call_count; i++) {
		uint32_t place = is_named(&program.calls[i], "pthread_barrier_wait") ?
					 single_place(LLVMGetOperand(program.calls[i].inst, 0)) :
					 0;
		if (place && barrier_of_place(place) < 0 && barrier_count < MOST_BARRIERS)
			barriers[barrier_count++] = (struct barrier){ .place = place };
	}
}

/* The only call that initialises a barrier; NULL if there are several, or somebody else may wait there by another way. */
static const struct call *initialised(const struct barrier *b)
{
	const struct call *only = NULL;

	for (uint32_t i = 0; i < program.call_count; i++) {
		const struct call *c = &program.calls[i];
		if (is_named(c, "pthread_barrier_wait") && may_be(LLVMGetOperand(c->inst, 0), b->place) &&
		    single_place(LLVMGetOperand(c->inst, 0)) != b->place)
			return NULL;
		if (!is_named(c, "pthread_barrier_init") || !may_be(LLVMGetOperand(c->inst, 0), b->place))
			continue;
		if (only || !program_is_once(c->inst))
			return NULL;
		only = c;
	}
	return only;
}

/* Are there never more threads than parties? */
static bool enough_parties(const struct call *init, unsigned team, bool with_main)
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
	/* Values of the loop that the test is about are known by now if they are in an address; ask for the handle's, too. */
	terms_of(LLVMGetOperand(create->inst, 0), &common);
	Z3_ast made = Z3_mk_int64(z, with_main ? 2 : 1, integer);
	if (plugin_loop(at, 0, &l))
		made = Z3_mk_add(z, 2, (Z3_ast[]){ made, terms_round(l.header, &common) });
	bool enough = terms_surely(Z3_mk_le(z, made, terms_of(LLVMGetOperand(init->inst, 2), &common)));
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

static void find_team(unsigned n)
{
	struct barrier *b = &barriers[n];
	uint64_t who = waiting(n), threads = who & ~BIT(CLASS_MAIN);

	b->with_main = who & BIT(CLASS_MAIN);
	if (!threads || threads & (threads - 1) || threads & BIT(CLASS_OUTSIDE))
		return;
	unsigned team = (unsigned)__builtin_ctzll(threads);
	const struct call *init = b->name ? NULL : initialised(b);
	if (b->name || (init && enough_parties(init, team, b->with_main)))
		b->team = team;
}

static void find_waits(void)
{
	waits_at = calloc(program.call_count + 1, sizeof *waits_at);
	for (uint32_t i = 0; i < program.call_count; i++) {
		const struct call *c = &program.calls[i];
		int b = barrier_of_name(c);
		if (b < 0 && is_named(c, "pthread_barrier_wait"))
			b = barrier_of_place(single_place(LLVMGetOperand(c->inst, 0)));
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
	const char *name = external_name(program.functions[function].ref);

	for (unsigned b = 0; b < barrier_count; b++)
		if (barriers[b].name && strlen(name) == barriers[b].name_len &&
		    !memcmp(name, barriers[b].name, barriers[b].name_len))
			return true;
	return false;
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

/*
 * Which kinds of threads are there, and which may run at the same time?
 *
 * A class is made for each function that pthread_create may begin. What the first thread does is followed along the
 * code: at each place, which classes may be alive (created before, and not surely joined since: joins.c), and which
 * have ever been. Two classes exist at the same time if one is created where the other may be alive; a class exists
 * many times if it is created where it may be alive itself. Threads that other threads create are alive from the
 * creation of their creator on.
 *
 * Code outside may create threads, unless it is known not to (externals.c); then class 1 is alive.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/races/races.h"

struct class classes[MOST_CLASSES];
unsigned class_count;

/* state after = (state before & ~kill) | gen */
struct effect {
	uint64_t gen, kill;
};
static struct effect *of_function;
static uint64_t *begun_by;     /* of each function: on any way, also one that unwinds */
static uint64_t *alive, *ever; /* at the beginning of each block */
static bool *reached;
static uint64_t created_by[MOST_CLASSES]; /* classes that threads of a class create, and those create */
static uint64_t given_gen;		  /* what functions do that code outside may call */

/* ---- classes ----------------------------------------------------------------------------------------------------- */

static unsigned class_of(LLVMValueRef entry)
{
	for (unsigned i = CLASS_FIRST; i < class_count; i++)
		if (classes[i].entry == entry)
			return i;
	if (class_count == MOST_CLASSES) /* the last one stands for all the rest */
		return MOST_CLASSES - 1;
	classes[class_count] = (struct class){ .entry = entry };
	return class_count++;
}

static bool is_create(const struct call *c)
{
	return c->kind == EXTERNAL_CREATES;
}

/* What a call of pthread_create begins. */
static LLVMValueRef entry_of(const struct call *c)
{
	unsigned count = LLVMGetNumArgOperands(c->inst);

	return count < 3 ? NULL : LLVMGetOperand(c->inst, count - 2);
}

static void add_class(void *all, LLVMValueRef entry)
{
	*(uint64_t *)all |= BIT(class_of(entry));
}

uint64_t threads_created(const struct call *c)
{
	LLVMValueRef entry = entry_of(c);
	uint64_t all = 0;

	if (!entry || objects_functions(entry, add_class, &all))
		all |= BIT(CLASS_OUTSIDE);
	return all;
}

static void find_classes(void)
{
	class_count = CLASS_FIRST;
	memset(classes, 0, sizeof classes);
	for (uint32_t i = 0; i < program.call_count; i++)
		if (is_create(&program.calls[i]))
			threads_created(&program.calls[i]);
}

/* ---- who runs what ----------------------------------------------------------------------------------------------- */

static void mark(uint32_t function, unsigned class)
{
	uint32_t *list = calloc(program.function_count + 1, sizeof *list), count = 0;

	if (!list)
		compiler_die("out of memory");
	if (function == UINT32_MAX || program.functions[function].classes & BIT(class)) {
		free(list);
		return;
	}
	program.functions[function].classes |= BIT(class);
	list[count++] = function;
	for (uint32_t i = 0; i < count; i++) {
		const struct function *f = &program.functions[list[i]];
		for (uint32_t b = f->first_block; b < f->first_block + f->block_count; b++)
			for (uint32_t n = 0; n < program.blocks[b].call_count; n++) {
				const struct call *c = &program.calls[program.blocks[b].first_call + n];
				for (uint32_t k = 0; k < c->callee_count; k++) {
					struct function *to = &program.functions[c->callees[k]];
					if (!(to->classes & BIT(class))) {
						to->classes |= BIT(class);
						list[count++] = c->callees[k];
					}
				}
			}
	}
	free(list);
}

static void each_constructor(void (*found)(uint32_t function))
{
	LLVMValueRef list = LLVMGetNamedGlobal(program.m->module, "llvm.global_ctors");
	LLVMValueRef rows = list ? LLVMGetInitializer(list) : NULL;

	for (int i = 0; rows && i < LLVMGetNumOperands(rows); i++) {
		LLVMValueRef f = LLVMGetOperand(LLVMGetOperand(rows, (unsigned)i), 1);
		uint32_t at = LLVMIsAFunction(f) ? program_function(f) : UINT32_MAX;
		if (at != UINT32_MAX)
			found(at);
	}
}

static void mark_constructor(uint32_t function)
{
	program.functions[function].constructor = true;
	mark(function, CLASS_MAIN);
}

static void mark_given(void *unused, LLVMValueRef entry)
{
	uint32_t f = program_function(entry);

	(void)unused;
	if (f == UINT32_MAX)
		return;
	program.functions[f].given = true;
	mark(f, CLASS_OUTSIDE);
	mark(f, MOST_CLASSES - 1);
}

/* Functions that the last class stands for: code outside might as well call them. */
static void mark_rest(void)
{
	for (uint32_t i = 0; i < program.call_count; i++) {
		const struct call *c = &program.calls[i];
		if (is_create(c) && entry_of(c) && threads_created(c) & BIT(MOST_CLASSES - 1))
			objects_functions(entry_of(c), mark_given, NULL);
	}
}

static void mark_all(void)
{
	mark(program_function(program.main_function), CLASS_MAIN);
	each_constructor(mark_constructor);
	for (uint32_t i = 0; i < program.function_count; i++)
		if (program.functions[i].given && program.functions[i].ref != program.main_function)
			mark(i, CLASS_OUTSIDE);
	for (unsigned c = CLASS_FIRST; c < class_count; c++)
		mark(program_function(classes[c].entry), c);
	if (class_count == MOST_CLASSES)
		mark_rest();
}

/* ---- what calls do ----------------------------------------------------------------------------------------------- */

static struct effect effect_of(const struct call *c)
{
	struct effect all = { 0, c->callee_count && !c->outside ? UINT64_MAX : 0 };

	for (uint32_t i = 0; i < c->callee_count; i++) {
		all.gen |= of_function[c->callees[i]].gen;
		all.kill &= of_function[c->callees[i]].kill;
	}
	if (is_create(c)) {
		uint64_t begun = threads_created(c);
		for (unsigned i = 0; i < class_count; i++)
			if (begun & BIT(i))
				all.gen |= BIT(i) | created_by[i];
	} else if (c->outside && c->kind == EXTERNAL_UNKNOWN)
		all.gen |= given_gen | BIT(CLASS_OUTSIDE);
	else if (c->outside && (c->kind == EXTERNAL_STD || c->kind == EXTERNAL_SORTS || c->kind == EXTERNAL_AT_EXIT))
		all.gen |= given_gen;
	if (external_returns_twice(c->inst)) /* from wherever longjmp was called */
		return (struct effect){ UINT64_MAX >> (64 - class_count), 0 };
	all.kill |= joins_at_call(c);
	return all;
}

/* Who unwinds has joined nobody for sure, and may have begun all that it could. */
uint64_t threads_begun(const struct call *c)
{
	uint64_t all = effect_of(c).gen;

	for (uint32_t i = 0; i < c->callee_count; i++)
		all |= begun_by[c->callees[i]];
	return all;
}

static struct effect then(struct effect a, struct effect b)
{
	return (struct effect){ (a.gen & ~b.kill) | b.gen, (a.kill | b.kill) & ~b.gen };
}

/* From the beginning of a function to the beginning of each of its blocks. */
static struct effect summarise(uint32_t function, struct effect *at, bool *known)
{
	const struct function *f = &program.functions[function];
	struct effect result = { 0, UINT64_MAX };

	memset(known, 0, f->block_count * sizeof *known);
	at[0] = (struct effect){ 0, 0 };
	known[0] = true;
	for (bool again = true; again;) {
		again = false;
		for (uint32_t b = 0; b < f->block_count; b++) {
			if (!known[b])
				continue;
			const struct block *block = &program.blocks[f->first_block + b];
			struct effect e = at[b], thrown = e;
			for (uint32_t n = 0; n < block->call_count; n++) {
				const struct call *c = &program.calls[block->first_call + n];
				thrown = then(e, (struct effect){ threads_begun(c), 0 });
				begun_by[function] |= thrown.gen;
				e = then(e, effect_of(c));
			}
			if (!block->next_count && LLVMIsAReturnInst(LLVMGetBasicBlockTerminator(block->ref))) {
				result.gen |= e.gen;
				result.kill &= e.kill;
			}
			for (uint32_t n = 0; n < block->next_count; n++) {
				uint32_t to = block->next[n] - f->first_block;
				struct effect there =
					program_unwinds(block, n) ?
						thrown :
						then(e, (struct effect){
								0, joins_at_edge(f->first_block + b, block->next[n]) });
				if (known[to]) {
					there.gen |= at[to].gen;
					there.kill &= at[to].kill;
				}
				if (!known[to] || there.gen != at[to].gen || there.kill != at[to].kill)
					again = true;
				known[to] = true;
				at[to] = there;
			}
		}
	}
	result.kill &= ~result.gen;
	return result;
}

static void summarise_all(void)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < program.function_count; i++) {
		most = program.functions[i].block_count > most ? program.functions[i].block_count : most;
		of_function[i] = (struct effect){ 0, UINT64_MAX };
	}
	struct effect *at = calloc(most + 1, sizeof *at);
	bool *known = calloc(most + 1, sizeof *known);
	memset(begun_by, 0, program.function_count * sizeof *begun_by);
	for (bool again = true; again;) {
		again = false;
		for (uint32_t i = 0; i < program.function_count; i++) {
			uint64_t was = begun_by[i];
			struct effect e = summarise(i, at, known);
			again |= was != begun_by[i];
			again |= e.gen != of_function[i].gen || e.kill != of_function[i].kill;
			of_function[i] = e;
			if (program.functions[i].given && (given_gen | e.gen) != given_gen) {
				given_gen |= e.gen;
				again = true;
			}
		}
	}
	free(at);
	free(known);
}

/* Classes that threads of a class create: all that functions do which it runs. */
static void find_created(void)
{
	for (bool again = true; again;) {
		again = false;
		for (uint32_t i = 0; i < program.call_count; i++) {
			const struct call *c = &program.calls[i];
			uint64_t by = program.functions[program.blocks[c->block].function].classes;
			uint64_t begun = is_create(c)				   ? threads_created(c) :
					 c->outside && c->kind == EXTERNAL_UNKNOWN ? BIT(CLASS_OUTSIDE) :
										     0;
			if (c->outside &&
			    (c->kind == EXTERNAL_STD || c->kind == EXTERNAL_SORTS || c->kind == EXTERNAL_AT_EXIT))
				begun |= created_by[CLASS_OUTSIDE];
			for (unsigned n = 0; n < class_count; n++)
				if (begun & BIT(n))
					begun |= created_by[n];
			for (unsigned n = 0; n < class_count; n++)
				if (by & BIT(n) && (created_by[n] | begun) != created_by[n]) {
					created_by[n] |= begun;
					again = true;
				}
		}
	}
}

/* ---- before main() ----------------------------------------------------------------------------------------------- */

/* Constructors of shared libraries run before main(), and may create threads: they know what is exported. But for what
   C++ makes wherever it is used: libstdc++ has the same, so many programs export some of it. */
static bool is_exported(LLVMValueRef v)
{
	LLVMLinkage linkage = LLVMGetLinkage(v);
	const char *name = external_name(v);

	if (!strncmp(name, "llvm.", 5) || !strncmp(name, "__heddle_", 9))
		return false;
	return !LLVMIsDeclaration(v) && v != program.main_function &&
	       (linkage == LLVMExternalLinkage || linkage == LLVMWeakAnyLinkage || linkage == LLVMCommonLinkage);
}

/* A section or assembler with pointers to functions that are called before main(). */
static bool tells_of_early(const char *text)
{
	return text && (strstr(text, ".init_array") || strstr(text, ".preinit_array") || strstr(text, ".ctors"));
}

/* May code outside use the program before main() begins? */
static bool is_any_early(void)
{
	size_t len;
	bool any = tells_of_early(LLVMGetModuleInlineAsm(program.m->module, &len));

	for (LLVMValueRef g = LLVMGetFirstGlobal(program.m->module); g; g = LLVMGetNextGlobal(g))
		any |= is_exported(g) || tells_of_early(LLVMGetSection(g));
	for (uint32_t i = 0; i < program.function_count; i++)
		any |= is_exported(program.functions[i].ref);
	for (LLVMValueRef a = LLVMGetFirstGlobalAlias(program.m->module); a; a = LLVMGetNextGlobalAlias(a))
		any |= is_exported(a);
	return any;
}

/* ---- where the first thread is ----------------------------------------------------------------------------------- */

static bool enter(uint32_t block, uint64_t now, uint64_t before)
{
	bool fresh = !reached[block] || (alive[block] | now) != alive[block] || (ever[block] | before) != ever[block];

	reached[block] = true;
	alive[block] |= now;
	ever[block] |= before;
	return fresh;
}

static bool walk_block(uint32_t b)
{
	const struct block *block = &program.blocks[b];
	uint64_t now = alive[b], before = ever[b], thrown = now;
	bool again = false;

	for (uint32_t n = 0; n < block->call_count; n++) {
		const struct call *c = &program.calls[block->first_call + n];
		struct effect e = effect_of(c);
		for (uint32_t k = 0; k < c->callee_count; k++)
			again |= enter(program.functions[c->callees[k]].first_block, now, before);
		thrown = now | threads_begun(c);
		now = (now & ~e.kill) | e.gen;
		before |= e.gen;
	}
	for (uint32_t n = 0; n < block->next_count; n++)
		again |= program_unwinds(block, n) ?
				 enter(block->next[n], thrown, before | thrown) :
				 enter(block->next[n], now & ~joins_at_edge(b, block->next[n]), before);
	return again;
}

static uint64_t by_constructors;

static void enter_constructor(uint32_t function)
{
	by_constructors |= of_function[function].gen;
	enter(program.functions[function].first_block, by_constructors, by_constructors);
}

static void settle(void)
{
	for (bool again = true; again;) {
		again = false;
		for (uint32_t b = 0; b < program.block_count; b++)
			if (reached[b] && program.functions[program.blocks[b].function].classes & BIT(CLASS_MAIN))
				again |= walk_block(b);
	}
}

static void follow_main(void)
{
	by_constructors = is_any_early() ? given_gen | BIT(CLASS_OUTSIDE) : 0;
	each_constructor(enter_constructor);
	if (by_constructors) /* in whatever order they run */
		each_constructor(enter_constructor);
	enter(program.functions[program_function(program.main_function)].first_block, by_constructors, by_constructors);
	settle();
}

static uint64_t state_at(LLVMValueRef inst, const uint64_t *states, bool joins)
{
	const struct block *block = program_block_of(inst);
	uint32_t b = (uint32_t)(block - program.blocks);
	uint64_t now = states[b];

	if (!reached[b])
		return 0;
	for (LLVMValueRef i = LLVMGetFirstInstruction(block->ref); i != inst; i = LLVMGetNextInstruction(i)) {
		const struct call *c = program_call(i);
		struct effect e = c ? effect_of(c) : (struct effect){ 0, 0 };
		now = (joins ? now & ~e.kill : now) | e.gen;
	}
	return now;
}

uint64_t threads_alive(LLVMValueRef inst)
{
	return state_at(inst, alive, true);
}

uint64_t threads_ever(LLVMValueRef inst)
{
	return state_at(inst, ever, false);
}

/* ---- beside each other ------------------------------------------------------------------------------------------- */

/* None of those that the function creates may be alive where it begins. */
bool threads_made_together(const struct call *create)
{
	const struct function *f = &program.functions[program.blocks[create->block].function];
	uint64_t all = 0;

	for (unsigned n = CLASS_FIRST; n < class_count; n++)
		if (classes[n].create &&
		    program.blocks[classes[n].create->block].function == program.blocks[create->block].function)
			all |= BIT(n);
	return program_function_is_once(create->block) ||
	       !(threads_alive(LLVMGetFirstInstruction(program.blocks[f->first_block].ref)) & all);
}

/* The only call that creates a class, if the first thread alone makes it. */
static void find_creates(void)
{
	bool several[MOST_CLASSES] = { false };

	for (uint32_t i = 0; i < program.call_count; i++) {
		struct call *c = &program.calls[i];
		uint64_t by = program.functions[program.blocks[c->block].function].classes;
		for (unsigned n = CLASS_FIRST; is_create(c) && n < class_count; n++)
			if (threads_created(c) & BIT(n)) {
				several[n] |=
					classes[n].create || by != BIT(CLASS_MAIN) ||
					plugin_returns_twice(
						program.functions[program.blocks[c->block].function].ref) ||
					plugin_is_irreducible(program.functions[program.blocks[c->block].function].ref);
				classes[n].create = c;
			}
	}
	for (unsigned n = 0; n < class_count; n++)
		if (several[n] || n == MOST_CLASSES - 1)
			classes[n].create = NULL;
}

static void find_beside(void)
{
	for (uint32_t i = 0; i < program.call_count; i++) {
		struct call *c = &program.calls[i];
		if (!is_create(c))
			continue;
		uint64_t by = program.functions[program.blocks[c->block].function].classes, begun = threads_created(c);
		uint64_t now = by & ~BIT(CLASS_MAIN) ? UINT64_MAX : threads_alive(c->inst);
		for (unsigned n = 0; n < class_count; n++) {
			if (!(begun & BIT(n)))
				continue;
			classes[n].many |= !!(now & BIT(n)) || by & BIT(CLASS_OUTSIDE);
			classes[n].beside |= now | created_by[n];
		}
	}
	for (unsigned x = 0; x < class_count; x++)
		for (unsigned y = 0; y < class_count; y++)
			if (classes[x].beside & BIT(y))
				classes[y].beside |= BIT(x);
	classes[CLASS_OUTSIDE].many = true;
	if (class_count == MOST_CLASSES)
		classes[MOST_CLASSES - 1].many = true;
}

/* Signal handlers run on any thread, so the outside is beside everything once there is a second thread. */
static bool parallel(unsigned x, uint64_t alive_x, unsigned y, uint64_t alive_y)
{
	if (x == y)
		return classes[x].many;
	if (y == CLASS_MAIN)
		return parallel(y, alive_y, x, alive_x);
	if (x == CLASS_MAIN)
		return y == CLASS_OUTSIDE ? alive_x != 0 : alive_x & BIT(y);
	return x == CLASS_OUTSIDE || y == CLASS_OUTSIDE || classes[x].beside & BIT(y);
}

bool threads_parallel(uint64_t classes_a, uint64_t alive_a, uint64_t classes_b, uint64_t alive_b)
{
	for (uint64_t a = classes_a; a; a &= a - 1)
		for (uint64_t b = classes_b; b; b &= b - 1)
			if (parallel((unsigned)__builtin_ctzll(a), alive_a, (unsigned)__builtin_ctzll(b), alive_b))
				return true;
	return false;
}

bool threads_two(uint64_t classes_a, uint64_t classes_b)
{
	return classes_a && classes_b && (classes_a != BIT(CLASS_MAIN) || classes_b != BIT(CLASS_MAIN));
}

const char *threads_name(unsigned class)
{
	static const char *const fixed[] = { "main", "code outside" };

	return class < CLASS_FIRST ? fixed[class] : external_name(classes[class].entry);
}

/* With the joins that are believed now. */
static void follow_again(void)
{
	given_gen = 0;
	memset(alive, 0, program.block_count * sizeof *alive);
	memset(ever, 0, program.block_count * sizeof *ever);
	memset(reached, 0, program.block_count * sizeof *reached);
	summarise_all();
	follow_main();
}

void threads_begin(void)
{
	memset(created_by, 0, sizeof created_by);
	given_gen = 0;
	find_classes();
	mark_all();
	find_created();
	of_function = calloc(program.function_count + 1, sizeof *of_function);
	begun_by = calloc(program.function_count + 1, sizeof *begun_by);
	alive = calloc(program.block_count + 1, sizeof *alive);
	ever = calloc(program.block_count + 1, sizeof *ever);
	reached = calloc(program.block_count + 1, sizeof *reached);
	if (!of_function || !alive || !ever || !reached)
		compiler_die("out of memory");
	summarise_all();
	follow_main();
	find_creates();
	parties_fill();
	stable_begin();
	joins_begin();
	do {
		follow_again();
	} while (joins_check());
	find_beside();
}

void threads_end(void)
{
	joins_end();
	free(of_function);
	free(begun_by);
	free(alive);
	free(ever);
	free(reached);
}

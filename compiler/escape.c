/*
 * --select=escape: what the whole program shows not to be shared (LEAP, section 2.2 and 4.1). An access is left out if
 * every object that its address may point to
 *
 *   1  cannot be reached by a second thread: not from a global variable, not from what a thread was started with, not
 *      from code that is not seen here; or
 *   2  is accessed by functions alone that only the first thread runs; or
 *   3  is written only before the first thread is created; or
 *   4  is accessed, once there are threads, only while one and the same global mutex is held, taken and released in the
 *      function of the access itself.
 *
 * Which objects an address may point to comes from a points-to analysis by unification (points_to.c): objects that one
 * pointer may point to are one class, and the answers are about classes. Whatever is not understood is in the class
 * of the unknown, where nothing is left out. Without main() there is an open world, and nothing is decided.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "compiler/internal.h"
#include "compiler/points_to.h"
#include "compiler/races/objects.h"

/* What is known about a function. */
struct function {
	LLVMValueRef function;
	bool address_taken, outside; /* outside: called by code that is not seen */
	bool by_threads;	     /* a thread other than the first may run it */
	bool creates;		     /* may lead to the creation of a thread */
	bool before;		     /* runs only before the first thread is created */
	uint64_t unlocks;	     /* mutexes that it may release, also through what it calls */
	uint64_t wants;		     /* those of them that its caller must hold */
};

static struct module *m;
static struct function *functions;
static size_t function_count;
static LLVMValueRef main_function;

#define MUTEXES 64
static LLVMValueRef mutexes[MUTEXES];
static unsigned mutex_count;

/* ---- functions --------------------------------------------------------------------------------------------------- */

static int compare_functions(const void *a, const void *b)
{
	LLVMValueRef x = ((const struct function *)a)->function, y = ((const struct function *)b)->function;

	return (x > y) - (x < y);
}

static struct function *find_function(LLVMValueRef f)
{
	struct function key = { .function = f };

	return bsearch(&key, functions, function_count, sizeof *functions, compare_functions);
}

/* The function of the program that a call calls directly. */
static struct function *direct(LLVMValueRef call)
{
	LLVMValueRef callee = points_to_callee(call);

	return callee && LLVMIsAFunction(callee) && !LLVMIsDeclaration(callee) ? find_function(callee) : NULL;
}

static bool is_call(LLVMValueRef i)
{
	return LLVMIsACallInst(i) || LLVMIsAInvokeInst(i) || LLVMIsACallBrInst(i);
}

/* A call of what is not known by name. */
static bool is_indirect(LLVMValueRef call)
{
	LLVMValueRef callee = points_to_callee(call);

	return !LLVMIsAFunction(callee) && !LLVMIsAInlineAsm(callee);
}

#define EACH_INSTRUCTION(f, b, i)                                                              \
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) \
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))

/* Is the address used for anything but being called? */
static bool address_taken(LLVMValueRef f)
{
	for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef user = LLVMGetUser(u);
		if (!LLVMIsAInstruction(user) || !is_call(user) || LLVMGetCalledValue(user) != f)
			return true;
		for (unsigned n = 0; n < LLVMGetNumArgOperands(user); n++)
			if (LLVMGetOperand(user, n) == f)
				return true;
	}
	return false;
}

static bool is_local(LLVMValueRef global)
{
	LLVMLinkage linkage = LLVMGetLinkage(global);

	return linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage;
}

static void list_functions(void)
{
	size_t room = 0;

	function_count = 0;
	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f))
		room++;
	functions = calloc(room + 1, sizeof *functions);
	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f))
		if (!LLVMIsDeclaration(f))
			functions[function_count++] =
				(struct function){ .function = f,
						   .address_taken = address_taken(f),
						   .outside = !is_local(f) && f != main_function };
	qsort(functions, function_count, sizeof *functions, compare_functions);
}

/* ---- who may run what -------------------------------------------------------------------------------------------- */

/* Goes on until nothing changes: visit() returns whether it changed anything. */
static void settle(bool (*visit)(struct function *f))
{
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = 0; i < function_count; i++)
			changed |= visit(&functions[i]);
	}
}

static bool run_by_threads(struct function *f)
{
	bool changed = false;

	/* Any function whose address is known may be called by anybody: as a thread's, as a handler. */
	if (!f->by_threads && (f->outside || f->address_taken)) {
		f->by_threads = true;
		changed = true;
	}
	if (!f->by_threads)
		return changed;
	EACH_INSTRUCTION(f->function, b, i)
	{
		struct function *callee = is_call(i) ? direct(i) : NULL;
		if (callee && !callee->by_threads)
			changed = callee->by_threads = true;
	}
	return changed;
}

static bool some_taken_creates;

/* A function of a library that is called by its address. */
static bool some_declared_creates(void)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f))
		if (LLVMIsDeclaration(f) && address_taken(f) && points_to_function_creates(f))
			return true;
	return false;
}

static bool call_creates(LLVMValueRef call)
{
	struct function *callee = direct(call);

	if (callee)
		return callee->creates;
	return is_indirect(call) ? some_taken_creates : points_to_may_create(call);
}

static bool may_create(struct function *f)
{
	if (f->creates)
		return false;
	EACH_INSTRUCTION(f->function, b, i)
	{
		if (is_call(i) && call_creates(i)) {
			f->creates = true;
			some_taken_creates |= f->address_taken || f->outside;
			return true;
		}
	}
	return false;
}

/* ---- before the first thread ------------------------------------------------------------------------------------- */

/* Blocks of main that can be reached from a call that creates a thread, from their beginning on. */
static LLVMBasicBlockRef *late;
static size_t late_count;

static bool is_late(LLVMBasicBlockRef block)
{
	for (size_t i = 0; i < late_count; i++)
		if (late[i] == block)
			return true;
	return false;
}

static void add_successors(LLVMBasicBlockRef block)
{
	LLVMValueRef end = LLVMGetBasicBlockTerminator(block);

	for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++)
		if (!is_late(LLVMGetSuccessor(end, i)))
			late[late_count++] = LLVMGetSuccessor(end, i);
}

/* longjmp leads from where there are threads to where there were none yet. */
static bool comes_back(void)
{
	EACH_INSTRUCTION(main_function, b, i)
	{
		if (is_call(i) && external_returns_twice(i))
			return true;
	}
	return false;
}

static void find_late(void)
{
	bool all = find_function(main_function)->creates && comes_back();

	late = calloc(LLVMCountBasicBlocks(main_function) + 1, sizeof *late);
	late_count = 0;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(main_function); b && all; b = LLVMGetNextBasicBlock(b))
		late[late_count++] = b;
	EACH_INSTRUCTION(main_function, b, i)
	{
		if (!all && is_call(i) && call_creates(i))
			add_successors(b);
	}
	for (size_t n = 0; n < late_count; n++)
		add_successors(late[n]);
}

/* Is this place of main or of a function passed only while there is one thread? */
static bool is_before(LLVMValueRef inst)
{
	LLVMBasicBlockRef block = LLVMGetInstructionParent(inst);
	LLVMValueRef f = LLVMGetBasicBlockParent(block);

	if (f != main_function)
		return find_function(f)->before;
	if (is_late(block))
		return false;
	for (LLVMValueRef i = inst; i; i = LLVMGetPreviousInstruction(i))
		if (i != inst && is_call(i) && call_creates(i))
			return false;
	return true;
}

/* Hoped for all at first; taken back where a call comes later. */
static bool not_before(struct function *f)
{
	bool changed = false;

	EACH_INSTRUCTION(f->function, b, i)
	{
		struct function *callee = is_call(i) ? direct(i) : NULL;
		if (callee && callee->before && !is_before(i)) {
			callee->before = false;
			changed = true;
		}
	}
	return changed;
}

/* A constructor whose address nothing has but the list of them. */
static bool is_only_listed(LLVMValueRef f)
{
	unsigned uses = 0;

	for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef user = LLVMGetUser(u);
		uses += !LLVMIsAInstruction(user) || !is_call(user) || LLVMGetCalledValue(user) != f;
	}
	return uses == 1;
}

/* Constructors of the program run before main, unless one of them creates a thread. */
static void mark_constructors(void)
{
	LLVMValueRef list = LLVMGetNamedGlobal(m->module, "llvm.global_ctors"),
		     rows = list ? LLVMGetInitializer(list) : NULL;
	int count = rows ? LLVMGetNumOperands(rows) : 0;
	bool creates = false;

	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < count; i++) {
			LLVMValueRef f = LLVMGetOperand(LLVMGetOperand(rows, (unsigned)i), 1);
			struct function *row = LLVMIsAFunction(f) ? find_function(f) : NULL;
			if (!row)
				continue;
			creates |= row->creates;
			if (pass && !creates && row->function != main_function && !row->outside && is_only_listed(f))
				row->before = true;
		}
}

static void find_before(void)
{
	struct function *row = find_function(main_function);

	for (size_t i = 0; i < function_count; i++)
		functions[i].before = !functions[i].address_taken && !functions[i].outside && !functions[i].creates &&
				      functions[i].function != main_function;
	if (row->address_taken || LLVMGetFirstUse(main_function)) /* called again: no first time */
		for (size_t i = 0; i < function_count; i++)
			functions[i].before = false;
	mark_constructors();
	find_late();
	settle(not_before);
}

/* ---- mutexes ----------------------------------------------------------------------------------------------------- */

static bool calls(LLVMValueRef call, const char *name)
{
	size_t len;
	LLVMValueRef callee = LLVMGetCalledValue(call);

	return LLVMIsAFunction(callee) && !strcmp(LLVMGetValueName2(callee, &len), name);
}

/* Who waits for a condition releases the mutex, and takes it again. */
static bool waits_for_condition(LLVMValueRef call)
{
	return calls(call, "pthread_cond_wait") || calls(call, "pthread_cond_timedwait");
}

/* Zero, but for padding, which is undefined. */
static bool is_zero(LLVMValueRef constant)
{
	if (LLVMIsNull(constant) || LLVMIsUndef(constant))
		return true;
	if (!LLVMIsAConstantStruct(constant) && !LLVMIsAConstantArray(constant))
		return false;
	for (int i = 0; i < LLVMGetNumOperands(constant); i++)
		if (!is_zero(LLVMGetOperand(constant, (unsigned)i)))
			return false;
	return true;
}

/* A mutex of the plain kind that only the functions for mutexes ever see. */
static bool is_plain_mutex(LLVMValueRef g)
{
	bool locked = false;

	if (!is_local(g) || LLVMIsDeclaration(g) || !is_zero(LLVMGetInitializer(g)))
		return false;
	for (LLVMUseRef u = LLVMGetFirstUse(g); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef user = LLVMGetUser(u);
		if (!LLVMIsAInstruction(user) || !is_call(user))
			return false;
		bool lock = calls(user, "pthread_mutex_lock") || calls(user, "pthread_mutex_unlock") ||
			    calls(user, "pthread_mutex_trylock") || calls(user, "pthread_mutex_destroy");
		bool wait = waits_for_condition(user);
		bool init = calls(user, "pthread_mutex_init") && LLVMIsNull(LLVMGetOperand(user, 1));
		if (!(lock || init) && !(wait && LLVMGetOperand(user, 1) == g))
			return false;
		locked |= lock;
	}
	return locked;
}

static void list_mutexes(void)
{
	mutex_count = 0;
	for (LLVMValueRef g = LLVMGetFirstGlobal(m->module); g && mutex_count < MUTEXES; g = LLVMGetNextGlobal(g))
		if (is_plain_mutex(g))
			mutexes[mutex_count++] = g;
}

static uint64_t bit_of(LLVMValueRef address)
{
	for (unsigned i = 0; i < mutex_count; i++)
		if (address == mutexes[i])
			return (uint64_t)1 << i;
	return 0;
}

static uint64_t mutex_bit(LLVMValueRef call)
{
	return bit_of(LLVMGetOperand(call, 0));
}

static uint64_t taken_unlock; /* what functions may release whose address is known */

static uint64_t call_unlocks(LLVMValueRef call)
{
	struct function *callee = direct(call);

	if (calls(call, "pthread_mutex_unlock"))
		return mutex_bit(call);
	if (callee)
		return callee->unlocks;
	if (LLVMIsAFunction(LLVMGetCalledValue(call)) && !points_to_may_create(call))
		return 0; /* of libc, without calling back */
	return taken_unlock;
}

static bool may_unlock(struct function *f)
{
	uint64_t before = f->unlocks;

	EACH_INSTRUCTION(f->function, b, i)
	{
		if (is_call(i))
			f->unlocks |= call_unlocks(i);
	}
	if (f->address_taken || f->outside)
		taken_unlock |= f->unlocks;
	return f->unlocks != before;
}

static uint64_t after(LLVMValueRef i, uint64_t held)
{
	if (!is_call(i))
		return held;
	if (external_returns_twice(i))
		return 0;
	if (calls(i, "pthread_mutex_lock"))
		return held | mutex_bit(i);
	return held & ~call_unlocks(i);
}

/* The mutexes surely held at the beginning of each block of a function, in the order of blocks. */
struct held {
	LLVMBasicBlockRef block;
	uint64_t mutexes;
};

static int compare_held(const void *a, const void *b)
{
	LLVMBasicBlockRef x = ((const struct held *)a)->block, y = ((const struct held *)b)->block;

	return (x > y) - (x < y);
}

static struct held *find_held(struct held *all, size_t count, LLVMBasicBlockRef block)
{
	struct held key = { .block = block };

	return bsearch(&key, all, count, sizeof *all, compare_held);
}

/* `entry_held`: by the caller. */
static struct held *mutexes_held(LLVMValueRef function, uint64_t entry_held, size_t *count)
{
	struct held *all = calloc(LLVMCountBasicBlocks(function) + 1, sizeof *all);
	LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(function);

	*count = 0;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		all[(*count)++] = (struct held){ b, b == entry ? entry_held : UINT64_MAX };
	qsort(all, *count, sizeof *all, compare_held);
	for (bool changed = true; changed;) {
		changed = false;
		for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
			uint64_t held = find_held(all, *count, b)->mutexes;
			for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
				held = after(i, held);
			LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
			for (unsigned n = 0; n < LLVMGetNumSuccessors(end); n++) {
				struct held *next = find_held(all, *count, LLVMGetSuccessor(end, n));
				changed |= (next->mutexes & held) != next->mutexes;
				next->mutexes &= held;
			}
		}
	}
	return all;
}

/* ---- what happens to each class ---------------------------------------------------------------------------------- */

/* Calls visit() for each address of an access; `write` as it is meant there. */
static void each_address(const struct access *a, void (*visit)(const struct access *a, LLVMValueRef addr, bool write))
{
	bool write = a->kind != HOOK_LOAD && a->kind != HOOK_RANGE_READ;

	if (a->addr)
		visit(a, a->addr, write);
	if (a->shape == SHAPE_COPY)
		visit(a, LLVMGetOperand(a->inst, 1), false);
	for (unsigned i = 0; i < a->range_count; i++)
		visit(a, a->ranges[i].addr, a->ranges[i].kind & HOOK_WRITE);
}

static uint64_t held_now;
static uint64_t misused; /* mutexes that somebody releases who does not hold them, or makes anew */

/* The mutexes that are held before this instruction, if the caller holds `entry`. */
static uint64_t held_before(LLVMValueRef inst, uint64_t entry)
{
	LLVMBasicBlockRef block = LLVMGetInstructionParent(inst);
	size_t count = 0;
	struct held *all = mutexes_held(LLVMGetBasicBlockParent(block), entry, &count);
	uint64_t held = find_held(all, count, block)->mutexes;

	for (LLVMValueRef i = LLVMGetFirstInstruction(block); i != inst; i = LLVMGetNextInstruction(i))
		held = after(i, held);
	free(all);
	return held;
}

/* What a call releases without having taken it. */
static uint64_t wanted_by(LLVMValueRef call)
{
	struct function *callee = direct(call);

	if (calls(call, "pthread_mutex_init")) {
		misused |= mutex_bit(call);
		return 0;
	}
	if (waits_for_condition(call))
		return bit_of(LLVMGetOperand(call, 1));
	return calls(call, "pthread_mutex_unlock") ? mutex_bit(call) : callee ? callee->wants : 0;
}

/* What its caller must hold, for all that it releases. */
static bool find_wanted(struct function *f)
{
	uint64_t before = f->wants | misused;

	EACH_INSTRUCTION(f->function, b, i)
	{
		if (!is_call(i))
			continue;
		if (calls(i, "pthread_mutex_destroy") && (f->by_threads || is_before(i))) /* nobody can lock it then */
			misused |= mutex_bit(i);
		if (is_before(i))
			continue;
		uint64_t wanted = wanted_by(i);
		if (!wanted)
			continue;
		misused |= wanted & ~held_before(i, UINT64_MAX);
		f->wants |= wanted & ~held_before(i, 0);
	}
	if (f->address_taken || f->outside || f->function == main_function)
		misused |= f->wants;
	return (f->wants | misused) != before;
}

static void note_access(const struct access *a, LLVMValueRef addr, bool write)
{
	struct object_facts *c = points_to_class(addr);
	LLVMValueRef f = LLVMGetBasicBlockParent(LLVMGetInstructionParent(a->inst));
	bool before = is_before(a->inst);

	c->by_threads |= find_function(f)->by_threads;
	c->written_late |= write && !before;
	if (!before)
		c->guards &= held_now & ~misused;
}

static void note_accesses(void)
{
	LLVMValueRef function = NULL;
	struct held *held = NULL;
	size_t count = 0;

	misused = 0;
	settle(find_wanted);
	for (size_t n = 0; n < m->count; n++) {
		const struct access *a = &m->accesses[n];
		if (a->shape == SHAPE_NONE)
			continue;
		LLVMBasicBlockRef block = LLVMGetInstructionParent(a->inst);
		if (LLVMGetBasicBlockParent(block) != function) {
			free(held);
			function = LLVMGetBasicBlockParent(block);
			held = mutexes_held(function, 0, &count);
		}
		held_now = find_held(held, count, block)->mutexes;
		for (LLVMValueRef i = LLVMGetFirstInstruction(block); i != a->inst; i = LLVMGetNextInstruction(i))
			held_now = after(i, held_now);
		each_address(a, note_access);
	}
	free(held);
}

/* What libc writes for the program is no access of the list. */
static void note_answers(void)
{
	static const struct {
		const char *name;
		unsigned argument;
	} answers[] = { { "pthread_create", 0 }, { "thrd_create", 0 }, { "pthread_join", 1 }, { "thrd_join", 1 } };

	held_now = 0;
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		LLVMValueRef f = LLVMGetNamedFunction(m->module, answers[i].name);
		for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL; u; u = LLVMGetNextUse(u)) {
			LLVMValueRef call = LLVMGetUser(u);
			if (is_call_of(call, f) && answers[i].argument < LLVMGetNumArgOperands(call))
				note_access(&(struct access){ .inst = call }, LLVMGetOperand(call, answers[i].argument),
					    true);
		}
	}
}

static const char *guard_text(uint64_t guards)
{
	static char *texts[MUTEXES];
	unsigned n = (unsigned)__builtin_ctzll(guards);
	size_t len;

	if (!texts[n] &&
	    asprintf(&texts[n], "only accessed while the mutex %s is held", LLVMGetValueName2(mutexes[n], &len)) < 0)
		compiler_die("out of memory");
	return texts[n];
}

static const char *reason;
static bool all_left_out;

static void judge(const struct access *a, LLVMValueRef addr, bool write)
{
	const struct object_facts *c = points_to_class(addr);
	const char *why = c->unknown	   ? NULL :
			  !c->shared	   ? "no other thread can reach it" :
			  !c->by_threads   ? "only the first thread's functions access it" :
			  !c->written_late ? "only written before the first thread is created" :
			  c->guards	   ? guard_text(c->guards) :
					     NULL;

	(void)a, (void)write;
	all_left_out &= why != NULL;
	reason = why;
}

void escape_apply(struct module *module)
{
	m = module;
	main_function = LLVMGetNamedFunction(m->module, "main");
	if (!main_function || LLVMIsDeclaration(main_function))
		return;
	list_functions();
	list_mutexes();
	some_taken_creates = some_declared_creates();
	taken_unlock = 0;
	points_to_solve(m, main_function, mutex_count ? (~(uint64_t)0 >> (64 - mutex_count)) : 0);
	settle(run_by_threads);
	settle(may_create);
	settle(may_unlock);
	find_before();
	note_accesses();
	note_answers();
	for (size_t i = 0; i < m->count; i++) {
		struct access *a = &m->accesses[i];
		if (a->shape == SHAPE_NONE)
			continue;
		all_left_out = true;
		each_address(a, judge);
		if (all_left_out && reason) {
			a->shape = SHAPE_NONE;
			a->flags |= HOOK_SITE_LEFT_OUT;
			a->why = reason;
		}
	}
	points_to_end();
	free(functions);
	free(late);
}

/*
 * Which locks are surely held at a place? As Relay: each function has a summary, (plus, minus): what it has surely
 * taken when it returns, and what it may have released since it began. Summaries are made from the callees up, until
 * nothing changes; then the locks held where each function begins come down from its calls.
 *
 * A lock counts if it is one object for sure: a global variable, or a place that exists once. It does not count if
 * anybody may release it without holding it. trylock holds it where the result was compared with 0.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include "compiler/races/races.h"

enum { MOST_LOCKS = 64 };

static const struct {
	const char *name;
	enum lock_action action;
} actions[] = {
	{ "pthread_mutex_lock", LOCK_TAKE },
	{ "pthread_mutex_unlock", LOCK_RELEASE },
	{ "pthread_mutex_trylock", LOCK_TRY },
	{ "pthread_mutex_timedlock", LOCK_TRY },
	{ "pthread_mutex_clocklock", LOCK_TRY },
	{ "pthread_spin_lock", LOCK_TAKE },
	{ "pthread_spin_trylock", LOCK_TRY },
	{ "pthread_spin_unlock", LOCK_RELEASE },
	{ "pthread_rwlock_wrlock", LOCK_TAKE },
	{ "pthread_rwlock_rdlock", LOCK_TAKE_SHARED },
	{ "pthread_rwlock_trywrlock", LOCK_TRY },
	{ "pthread_rwlock_timedwrlock", LOCK_TRY },
	{ "pthread_rwlock_tryrdlock", LOCK_TRY_SHARED },
	{ "pthread_rwlock_timedrdlock", LOCK_TRY_SHARED },
	{ "pthread_rwlock_unlock", LOCK_RELEASE },
	{ "mtx_lock", LOCK_TAKE },
	{ "mtx_trylock", LOCK_TRY },
	{ "mtx_timedlock", LOCK_TRY },
	{ "mtx_unlock", LOCK_RELEASE },
};

static const struct {
	const char *family;
	uint64_t bytes;
} sizes[] = {
	{ "pthread_mutex_", sizeof(pthread_mutex_t) },
	{ "pthread_spin_", sizeof(pthread_spinlock_t) },
	{ "pthread_rwlock_", sizeof(pthread_rwlock_t) },
	{ "mtx_", sizeof(mtx_t) },
};

/* Functions that make pthread_mutex_lock return without the lock. */
static const char *const spoil[] = { "pthread_mutexattr_setrobust", "pthread_mutexattr_setprotocol",
				     "pthread_mutexattr_setprioceiling" };

static uint32_t locks[MOST_LOCKS]; /* places */
static unsigned lock_count;
static uint64_t bad; /* released by who does not hold them, or made anew */

struct change {
	struct held plus;
	uint64_t minus;
};
static struct change *of_function;
static uint64_t given_minus;
static struct held *at_block; /* absolute, at the beginning */
static const struct held everything = { UINT64_MAX, UINT64_MAX };

/* ---- locks ------------------------------------------------------------------------------------------------------- */

enum lock_action locksets_action(const struct call *c)
{
	if (c->kind != EXTERNAL_LOCK)
		return LOCK_NOTHING;
	const char *name = external_name(LLVMGetCalledValue(c->inst));
	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
		if (!strcmp(name, actions[i].name))
			return actions[i].action;
	return LOCK_NOTHING;
}

LLVMValueRef locksets_released(const struct call *c)
{
	static const char *const waits[] = { "pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait",
					     "cnd_wait", "cnd_timedwait" };

	if (c->kind != EXTERNAL_LOCK)
		return NULL;
	if (locksets_action(c) == LOCK_RELEASE)
		return LLVMGetOperand(c->inst, 0);
	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
		if (!strcmp(external_name(LLVMGetCalledValue(c->inst)), waits[i]))
			return LLVMGetOperand(c->inst, 1);
	return NULL;
}

uint64_t locksets_bytes(const struct call *c)
{
	const char *name = external_name(LLVMGetCalledValue(c->inst));

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (!strncmp(name, sizes[i].family, strlen(sizes[i].family)))
			return sizes[i].bytes;
	return 1;
}

uint64_t locksets_bit(LLVMValueRef address)
{
	uint32_t place = program_single_place(address);

	for (unsigned i = 0; place && i < lock_count; i++)
		if (locks[i] == place)
			return BIT(i);
	return 0;
}

/* All that this address may be. */
uint64_t locksets_may_be(LLVMValueRef address)
{
	uint64_t all = 0;

	if (!objects_of(address))
		return UINT64_MAX;
	for (unsigned i = 0; i < lock_count; i++)
		if (program_may_be(address, locks[i]))
			all |= BIT(i);
	return all;
}

bool locksets_are_safe(void)
{
	for (size_t i = 0; i < sizeof spoil / sizeof *spoil; i++)
		if (LLVMGetNamedFunction(program.m->module, spoil[i]))
			return false;
	return true;
}

static void list_locks(void)
{
	lock_count = 0;
	for (uint32_t i = 0; i < program.call_count; i++) {
		enum lock_action action = locksets_action(&program.calls[i]);
		if (action == LOCK_NOTHING || action == LOCK_RELEASE)
			continue;
		LLVMValueRef address = LLVMGetOperand(program.calls[i].inst, 0);
		uint32_t place = program_single_place(address);
		if (place && !locksets_bit(address) && lock_count < MOST_LOCKS)
			locks[lock_count++] = place;
	}
	if (!locksets_are_safe())
		lock_count = 0;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static struct held meet(struct held a, struct held b)
{
	return (struct held){ a.writing & b.writing, a.reading & b.reading };
}

static struct held apply(struct held h, struct change c)
{
	return (struct held){ (h.writing & ~c.minus) | c.plus.writing, (h.reading & ~c.minus) | c.plus.reading };
}

static struct change change_of(const struct call *c)
{
	struct change all = { c->callee_count && !c->outside ? everything : (struct held){ 0, 0 }, 0 };

	switch (locksets_action(c)) {
	case LOCK_TAKE: all.plus.writing = locksets_bit(LLVMGetOperand(c->inst, 0)); /* fall through */
	case LOCK_TAKE_SHARED: all.plus.reading = locksets_bit(LLVMGetOperand(c->inst, 0)); return all;
	case LOCK_RELEASE: all.minus = locksets_may_be(LLVMGetOperand(c->inst, 0)); return all;
	default: break;
	}
	for (uint32_t i = 0; i < c->callee_count; i++) {
		all.plus = meet(all.plus, of_function[c->callees[i]].plus);
		all.minus |= of_function[c->callees[i]].minus;
	}
	if (external_returns_twice(c->inst))
		return (struct change){ { 0, 0 }, UINT64_MAX };
	if (c->outside && (c->kind == EXTERNAL_UNKNOWN || c->kind == EXTERNAL_STD || c->kind == EXTERNAL_SORTS))
		all.minus |= given_minus;
	return all;
}

/* if (trylock(l) == 0): held on that way. The call must be the last in the block that changes anything. */
static struct held tried(const struct block *b, uint32_t way)
{
	LLVMValueRef end = LLVMGetBasicBlockTerminator(b->ref);
	LLVMValueRef test = LLVMIsABranchInst(end) && LLVMIsConditional(end) ? LLVMGetCondition(end) : NULL;
	struct held none = { 0, 0 };

	if (!test || !LLVMIsAICmpInst(test) || !b->call_count || !LLVMIsNull(LLVMGetOperand(test, 1)))
		return none;
	const struct call *c = &program.calls[b->first_call + b->call_count - 1];
	enum lock_action action = locksets_action(c);
	LLVMIntPredicate how = LLVMGetICmpPredicate(test);
	if ((action != LOCK_TRY && action != LOCK_TRY_SHARED) || LLVMGetOperand(test, 0) != c->inst ||
	    LLVMGetSuccessor(end, 0) == LLVMGetSuccessor(end, 1) || way != (how == LLVMIntEQ ? 0u : 1u) ||
	    (how != LLVMIntEQ && how != LLVMIntNE))
		return none;
	uint64_t bit = locksets_bit(LLVMGetOperand(c->inst, 0));
	return (struct held){ action == LOCK_TRY ? bit : 0, bit };
}

/* ---- summaries --------------------------------------------------------------------------------------------------- */

static struct change then(struct change a, struct change b)
{
	return (struct change){ apply(a.plus, b), a.minus | b.minus };
}

static bool same(struct change a, struct change b)
{
	return a.plus.writing == b.plus.writing && a.plus.reading == b.plus.reading && a.minus == b.minus;
}

static struct change summarise(uint32_t function, struct change *at, bool *known)
{
	const struct function *f = &program.functions[function];
	struct change result = { everything, 0 };

	memset(known, 0, f->block_count * sizeof *known);
	at[0] = (struct change){ { 0, 0 }, 0 };
	known[0] = true;
	for (bool again = true; again;) {
		again = false;
		for (uint32_t b = 0; b < f->block_count; b++) {
			if (!known[b])
				continue;
			const struct block *block = &program.blocks[f->first_block + b];
			struct change c = at[b], thrown = c; /* who unwinds has taken nothing for sure */
			for (uint32_t n = 0; n < block->call_count; n++) {
				struct change by = change_of(&program.calls[block->first_call + n]);
				thrown = then(c, (struct change){ { 0, 0 }, by.minus });
				c = then(c, by);
			}
			if (LLVMIsAReturnInst(LLVMGetBasicBlockTerminator(block->ref)))
				result = (struct change){ meet(result.plus, c.plus), result.minus | c.minus };
			result.minus |= c.minus; /* also on ways that do not return: unwinding */
			for (uint32_t n = 0; n < block->next_count; n++) {
				uint32_t to = block->next[n] - f->first_block;
				struct change there = program_unwinds(block, n) ?
							      thrown :
							      then(c, (struct change){ tried(block, n), 0 });
				if (known[to]) {
					there.plus = meet(there.plus, at[to].plus);
					there.minus |= at[to].minus;
				}
				again |= !known[to] || !same(there, at[to]);
				known[to] = true;
				at[to] = there;
			}
		}
	}
	return result;
}

static void summarise_all(void)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < program.function_count; i++) {
		most = program.functions[i].block_count > most ? program.functions[i].block_count : most;
		of_function[i] = (struct change){ everything, 0 };
	}
	struct change *at = calloc(most + 1, sizeof *at);
	bool *known = calloc(most + 1, sizeof *known);
	for (bool again = true; again;) {
		again = false;
		for (uint32_t i = 0; i < program.function_count; i++) {
			struct change c = summarise(i, at, known);
			again |= !same(c, of_function[i]);
			of_function[i] = c;
			if (program.functions[i].given && c.minus & ~given_minus) {
				given_minus |= c.minus;
				again = true;
			}
		}
	}
	free(at);
	free(known);
}

/* ---- from the calls down ----------------------------------------------------------------------------------------- */

static bool enter(uint32_t block, struct held h)
{
	struct held was = at_block[block];

	at_block[block] = meet(was, h);
	return at_block[block].writing != was.writing || at_block[block].reading != was.reading;
}

/* Calls that the first thread makes while it is alone do not matter. */
static bool matters(const struct call *c)
{
	return program.functions[program.blocks[c->block].function].classes != BIT(CLASS_MAIN) ||
	       threads_alive(c->inst);
}

static bool walk_block(uint32_t b, const bool *matter)
{
	const struct block *block = &program.blocks[b];
	struct held h = at_block[b], thrown = h;
	bool again = false;

	for (uint32_t n = 0; n < block->call_count; n++) {
		const struct call *c = &program.calls[block->first_call + n];
		for (uint32_t k = 0; k < c->callee_count && matter[c - program.calls]; k++)
			again |= enter(program.functions[c->callees[k]].first_block, h);
		thrown = apply(h, (struct change){ { 0, 0 }, change_of(c).minus });
		h = apply(h, change_of(c));
	}
	for (uint32_t n = 0; n < block->next_count; n++)
		again |= enter(block->next[n],
			       program_unwinds(block, n) ? thrown : apply(h, (struct change){ tried(block, n), 0 }));
	return again;
}

/* Is it called by anybody but the program's own calls? */
static bool begins(uint32_t function)
{
	const struct function *f = &program.functions[function];

	for (unsigned c = CLASS_FIRST; c < class_count; c++)
		if (classes[c].entry == f->ref)
			return true;
	return f->given || f->ref == program.main_function || f->constructor;
}

static void come_down(void)
{
	bool *matter = calloc(program.call_count + 1, sizeof *matter);

	for (uint32_t i = 0; i < program.call_count; i++)
		matter[i] = program.calls[i].callee_count &&
			    (matters(&program.calls[i]) || threads_begun(&program.calls[i]));
	for (uint32_t b = 0; b < program.block_count; b++)
		at_block[b] = everything;
	for (uint32_t i = 0; i < program.function_count; i++)
		if (begins(i))
			at_block[program.functions[i].first_block] = (struct held){ 0, 0 };
	for (bool again = true; again;) {
		again = false;
		for (uint32_t b = 0; b < program.block_count; b++)
			again |= walk_block(b, matter);
	}
	free(matter);
}

struct held locksets_at(LLVMValueRef inst)
{
	const struct block *block = program_block_of(inst);
	struct held h = { 0, 0 };

	if (!at_block) /* not known yet */
		return h;
	h = at_block[block - program.blocks];
	for (LLVMValueRef i = LLVMGetFirstInstruction(block->ref); i != inst; i = LLVMGetNextInstruction(i))
		if (program_call(i))
			h = apply(h, change_of(program_call(i)));
	uint64_t good = (lock_count < 64 ? BIT(lock_count) - 1 : UINT64_MAX) & ~bad;
	return (struct held){ h.writing & good, h.reading & good };
}

/* A lock that is released where it may not be held lets two in, and so does one that is made anew. Who waits for a
   condition releases one, too. */
static void find_bad(void)
{
	bad = 0;
	for (unsigned i = 0; i < lock_count; i++)
		bad |= remade_lock(locks[i]) ? BIT(i) : 0;
	for (uint32_t i = 0; i < program.call_count; i++) {
		const struct call *c = &program.calls[i];
		LLVMValueRef released = locksets_released(c);
		if (released && matters(c))
			bad |= locksets_may_be(released) & ~locksets_at(c->inst).reading;
	}
}

uint32_t locksets_place(unsigned lock)
{
	return locks[lock];
}

const char *locksets_name(unsigned lock)
{
	return warnings_object(solve_place(locks[lock])->object);
}

void locksets_begin(void)
{
	of_function = calloc(program.function_count + 1, sizeof *of_function);
	at_block = calloc(program.block_count + 1, sizeof *at_block);
	if (!of_function || !at_block)
		compiler_die("out of memory");
	given_minus = bad = 0;
	list_locks();
	summarise_all();
	come_down();
	find_bad();
}

void locksets_end(void)
{
	free(of_function);
	free(at_block);
	at_block = NULL;
}

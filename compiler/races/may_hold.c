/*
 * Which locks may be held at a place? And may whoever holds a lock wait for somebody? For locks that are put into a
 * program (prune_initialisation.c): what is not understood may be held, and may wait.
 *
 * A lock is known by its place, as in locksets.c; all others are one. What a function has taken and may not have
 * released when it returns is its summary; what it has released for its caller is not counted.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/races/races.h"

struct may {
	uint64_t locks;
	bool others; /* that are not known */
};
static struct may *at_block, *left_by; /* at the beginning of each block; of each function */

/* Functions that return with something locked, or with somebody waiting for the caller. */
static const char *const takers[] = { "sem_wait",    "sem_timedwait", "sem_clockwait",
				      "sem_trywait", "flockfile",     "ftrylockfile",
				      "flock",	     "lockf",	      "__cxa_guard_acquire",
				      "fcntl",	     "fcntl64",	      "lockf64" };
/* That wait for nobody. */
static const char *const quick[] = { "pthread_cond_signal", "pthread_cond_broadcast", "cnd_signal", "cnd_broadcast",
				     "sem_post" };

/* That never return: what is held then is held for ever, or while functions of atexit are run. */
static const char *const ends[] = { "exit", "thrd_exit" };

static bool is_one_of(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}
#define IS_ONE_OF(name, list) is_one_of(name, list, sizeof(list) / sizeof *(list))

static const char *name_of(const struct call *c)
{
	LLVMValueRef callee = LLVMGetCalledValue(c->inst);

	return LLVMIsAFunction(callee) ? external_name(callee) : "";
}

/* ---- what may be held -------------------------------------------------------------------------------------------- */

static struct may both(struct may a, struct may b)
{
	return (struct may){ a.locks | b.locks, a.others || b.others };
}

static bool same(struct may a, struct may b)
{
	return a.locks == b.locks && a.others == b.others;
}

static struct may after(const struct call *c, struct may m)
{
	uint64_t lock = 0;

	switch (locksets_action(c)) {
	case LOCK_NOTHING: break;
	case LOCK_RELEASE: m.locks &= ~locksets_bit(LLVMGetOperand(c->inst, 0)); return m;
	default: lock = locksets_bit(LLVMGetOperand(c->inst, 0)); return both(m, (struct may){ lock, !lock });
	}
	for (uint32_t i = 0; i < c->callee_count; i++)
		m = both(m, left_by[c->callees[i]]);
	m.others |= external_returns_twice(c->inst) || (c->outside && c->kind == EXTERNAL_UNKNOWN) ||
		    IS_ONE_OF(name_of(c), takers);
	return m;
}

static struct may after_block(uint32_t b, struct may m, bool down)
{
	const struct block *block = &program.blocks[b];

	for (uint32_t n = 0; n < block->call_count; n++) {
		const struct call *c = &program.calls[block->first_call + n];
		for (uint32_t k = 0; k < c->callee_count && down; k++) {
			struct may *to = &at_block[program.functions[c->callees[k]].first_block];
			*to = both(*to, m);
		}
		m = after(c, m);
	}
	return m;
}

/* One round through all blocks; `down`: also into what they call. Returns whether anything has changed. */
static bool go_round(bool down)
{
	bool changed = false;

	for (uint32_t b = 0; b < program.block_count; b++) {
		const struct block *block = &program.blocks[b];
		struct may m = after_block(b, at_block[b], down);
		for (uint32_t n = 0; n < block->next_count; n++) {
			struct may *to = &at_block[block->next[n]], with = both(*to, m);
			changed |= !same(with, *to);
			*to = with;
		}
		if (!block->next_count && !down) {
			struct may *to = &left_by[block->function], with = both(*to, m);
			changed |= !same(with, *to);
			*to = with;
		}
	}
	return changed;
}

/* Going down changes the beginnings of functions, which go_round() sees in its next round only: once more than it asks
   for. */
static void settle(bool down)
{
	struct may *was = calloc(program.block_count + 1, sizeof *was);
	bool again = true;

	if (!was)
		compiler_die("out of memory");
	while (again) {
		memcpy(was, at_block, program.block_count * sizeof *was);
		again = go_round(down);
		for (uint32_t b = 0; b < program.block_count && !again; b++)
			again = !same(was[b], at_block[b]);
	}
	free(was);
}

void may_hold_begin(void)
{
	at_block = calloc(program.block_count + 1, sizeof *at_block);
	left_by = calloc(program.function_count + 1, sizeof *left_by);
	if (!at_block || !left_by)
		compiler_die("out of memory");
	settle(false);
	settle(true);
}

void may_hold_end(void)
{
	free(at_block);
	free(left_by);
	at_block = left_by = NULL;
}

bool may_hold_any(LLVMValueRef inst)
{
	const struct block *block = program_block_of(inst);
	struct may m = at_block[block - program.blocks];

	for (LLVMValueRef i = LLVMGetFirstInstruction(block->ref); i != inst; i = LLVMGetNextInstruction(i))
		if (program_call(i))
			m = after(program_call(i), m);
	return m.locks || m.others;
}

/* ---- what is done while a lock is held --------------------------------------------------------------------------- */

static bool is_quick(const struct call *c)
{
	const char *name = name_of(c);

	if (LLVMIsAInlineAsm(LLVMGetCalledValue(c->inst)))
		return false;
	if (c->callee_count && !c->outside) /* what it calls is looked at where it is */
		return true;
	switch (c->kind) {
	case EXTERNAL_HARMLESS: return !IS_ONE_OF(name, ends);
	case EXTERNAL_ALLOCATES:
	case EXTERNAL_REALLOCATES:
	case EXTERNAL_FREES: return strncmp(name, "_Z", 2); /* new may throw */
	case EXTERNAL_INTRINSIC: return true;
	case EXTERNAL_LIBC: return !strncmp(name, "mem", 3) || !strncmp(name, "str", 3);
	case EXTERNAL_LOCK: return locksets_action(c) == LOCK_RELEASE || IS_ONE_OF(name, quick);
	default: return false;
	}
}

/* Is the lock held from the beginning of the block to its end? What may wait is told at once. */
static bool is_held_over(uint32_t b, uint64_t lock, bool *waits)
{
	const struct block *block = &program.blocks[b];
	struct may m = at_block[b];
	bool over = m.locks & lock;

	for (uint32_t n = 0; n < block->call_count; n++) {
		const struct call *c = &program.calls[block->first_call + n];
		*waits |= m.locks & lock && !is_quick(c);
		m = after(c, m);
		over &= !!(m.locks & lock);
	}
	return over;
}

/* Can the block be come to again without releasing the lock, but for loops that are known to be short? */
static bool goes_round(uint32_t start, const bool *over)
{
	const struct function *f = &program.functions[program.blocks[start].function];
	bool *seen = calloc(f->block_count + 1, sizeof *seen), found = false;
	uint32_t *list = calloc(f->block_count + 1, sizeof *list), count = 0;
	struct plugin_loop l;

	if (!seen || !list)
		compiler_die("out of memory");
	list[count++] = start;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t n = 0; n < program.blocks[list[i]].next_count; n++) {
			uint32_t to = program.blocks[list[i]].next[n];
			found |= to == start;
			if (over[to] && !seen[to - f->first_block]) {
				seen[to - f->first_block] = true;
				list[count++] = to;
			}
		}
	free(seen);
	free(list);
	return found && !(plugin_loop(program.blocks[start].ref, 0, &l) && plugin_rounds(l.header));
}

bool may_hold_waits(unsigned lock)
{
	bool *over = calloc(program.block_count + 1, sizeof *over), waits = false;

	if (!over)
		compiler_die("out of memory");
	for (unsigned c = CLASS_FIRST; c < class_count; c++) /* a thread that ends with it keeps it */
		waits |= left_by[program_function(classes[c].entry)].locks & BIT(lock);
	for (uint32_t b = 0; b < program.block_count; b++)
		over[b] = is_held_over(b, BIT(lock), &waits);
	for (uint32_t b = 0; b < program.block_count && !waits; b++)
		waits |= over[b] && goes_round(b, over);
	free(over);
	return waits;
}

/*
 * Locks that are made anew where somebody may hold them: by pthread_mutex_init() and its like, or by stores over their
 * bytes. Then there may be two who hold such a lock, so it protects nothing.
 *
 * What the first thread does to a lock before there is anybody who takes it does no harm, unless it destroys the lock
 * and somebody comes to take it that is not made again; and neither does the end of its memory.
 */
#include <string.h>
#include "compiler/races/terms.h"

/* ..._destroy, too: glibc then refuses to lock it. */
static const char *const makers[] = {
	"pthread_mutex_init",  "pthread_mutex_destroy",	 "pthread_spin_init", "pthread_spin_destroy",
	"pthread_rwlock_init", "pthread_rwlock_destroy", "mtx_init",	      "mtx_destroy",
};

struct lock {
	uint64_t takers; /* classes that may take it */
	uint64_t size;
};

static uint64_t classes_of(const struct call *c)
{
	return program.functions[program.blocks[c->block].function].classes;
}

static struct lock lock_at(uint32_t place)
{
	struct lock lock = { 0, 0 };

	for (uint32_t i = 0; i < program.call_count; i++) {
		const struct call *c = &program.calls[i];
		enum lock_action action = locksets_action(c);
		if (action == LOCK_NOTHING || action == LOCK_RELEASE ||
		    !program_may_be(LLVMGetOperand(c->inst, 0), place))
			continue;
		lock.takers |= classes_of(c);
		uint64_t size = locksets_bytes(c);
		lock.size = lock.size < size ? size : lock.size;
	}
	return lock;
}

static bool is_early(const struct lock *lock, uint64_t who, uint64_t alive)
{
	return who == BIT(CLASS_MAIN) && !(alive & lock->takers);
}

static bool is_early_store(const struct party *p, void *arg)
{
	return p->frees || is_early(arg, p->classes, p->alive);
}

static bool remakes(const struct call *c)
{
	const char *name = c->kind == EXTERNAL_LOCK ? external_name(LLVMGetCalledValue(c->inst)) : "";

	for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
		if (!strcmp(name, makers[i]))
			return true;
	return false;
}

static bool is_named(const struct call *c, const char *end)
{
	const char *name = c->kind == EXTERNAL_LOCK ? external_name(LLVMGetCalledValue(c->inst)) : "";
	size_t len = strlen(name);

	return len > strlen(end) && !strcmp(name + len - strlen(end), end);
}

static bool makes(LLVMValueRef inst, void *place)
{
	const struct call *c = program_call(inst);

	return c && is_named(c, "_init") && program_single_place(LLVMGetOperand(inst, 0)) == *(uint32_t *)place;
}

/* Destroyed by this call, is it as it was when others come to take it? */
static bool stays_destroyed(const struct call *destroys, const struct lock *lock, uint32_t place)
{
	for (uint32_t i = 0; i < program.call_count && is_named(destroys, "_destroy"); i++) {
		const struct call *c = &program.calls[i];
		if ((c->kind == EXTERNAL_CREATES || c->outside) && threads_begun(c) & lock->takers &&
		    program_reaches_past(destroys->inst, c->inst, makes, &place))
			return true;
	}
	return false;
}

bool remade_lock(uint32_t place)
{
	struct lock lock = lock_at(place);

	for (uint32_t i = 0; i < program.call_count; i++) {
		const struct call *c = &program.calls[i];
		if (remakes(c) && program_may_be(LLVMGetOperand(c->inst, 0), place) &&
		    (!is_early(&lock, classes_of(c), threads_alive(c->inst)) || stays_destroyed(c, &lock, place)))
			return true;
	}
	return !stable_each_writer(place, lock.size, is_early_store, &lock);
}

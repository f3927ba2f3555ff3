/*
 * Who accesses what: each end of every access of the list, and what calls do to memory that are no sites. The latter
 * are recorded by the runtime (buffers of system calls, free), but whoever accesses the same memory at the same time
 * must be hooked.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/races/races.h"

static struct party *add(LLVMValueRef inst, LLVMValueRef addr, uint32_t access, uint64_t size, bool write)
{
	if (warnings.party_count == warnings.party_room) {
		warnings.party_room = warnings.party_room ? warnings.party_room * 2 : 1024;
		warnings.parties = realloc(warnings.parties, warnings.party_room * sizeof *warnings.parties);
		if (!warnings.parties)
			compiler_die("out of memory");
	}
	struct party *p = &warnings.parties[warnings.party_count++];
	*p = (struct party){ .inst = inst, .addr = addr, .access = access, .size = size, .write = write };
	p->function = program_block_of(inst)->function;
	p->classes = program.functions[p->function].classes;
	return p;
}

static uint64_t range_size(const struct range *r)
{
	bool known = r->form == RANGE_BYTES && !r->times && LLVMIsAConstantInt(r->size);

	return known ? LLVMConstIntGetZExtValue(r->size) : 0;
}

static void add_access(uint32_t n)
{
	const struct access *a = &program.m->accesses[n];
	bool write = a->kind != HOOK_LOAD && a->kind != HOOK_RANGE_READ;

	if (a->addr)
		add(a->inst, a->addr, n, a->size, write)->atomic = a->flags & HOOK_SITE_ATOMIC;
	if (a->shape == SHAPE_COPY)
		add(a->inst, LLVMGetOperand(a->inst, 1), n, a->size, false);
	for (unsigned i = 0; i < a->range_count; i++)
		add(a->inst, a->ranges[i].addr, n, range_size(&a->ranges[i]), a->ranges[i].kind & HOOK_WRITE);
}

static void add_argument(const struct call *c, unsigned n, uint64_t size, bool write, bool frees)
{
	LLVMValueRef v = n < LLVMGetNumArgOperands(c->inst) ? LLVMGetOperand(c->inst, n) : NULL;

	if (v && LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMPointerTypeKind && !LLVMIsNull(v))
		add(c->inst, v, UINT32_MAX, size, write)->frees = frees;
}

/* What a lock or its attributes are is told in a number behind the last argument. */
static void add_answer(const struct call *c)
{
	const char *name = external_name(LLVMGetCalledValue(c->inst));
	unsigned count = LLVMGetNumArgOperands(c->inst);

	if (count > 1 && (strstr(name, "_get") || !strcmp(name, "pthread_mutex_setprioceiling")))
		add_argument(c, count - 1, sizeof(int), true, false);
}

static void add_call(const struct call *c)
{
	if (c->frees) /* by a pointer: the kind is not known */
		add_argument(c, 0, 0, true, true);
	switch (c->kind) {
	case EXTERNAL_USES:
		for (unsigned n = 0; n < LLVMGetNumArgOperands(c->inst); n++)
			add_argument(c, n, 0, true, false);
		break;
	case EXTERNAL_FREES:
	case EXTERNAL_REALLOCATES: add_argument(c, 0, 0, true, true); break;
	case EXTERNAL_CREATES: add_argument(c, 0, 8, true, false); break;
	case EXTERNAL_JOINS: add_argument(c, 1, 8, true, false); break;
	case EXTERNAL_LOCK: add_answer(c); break;
	case EXTERNAL_SORTS:
		add_argument(c, 0, 0, true, false);
		add_argument(c, 1, 0, false, false);
		break;
	default: break;
	}
}

/* Where it may be. Nobody can write what is constant: such places are as if they were not there. */
static void place_party(struct party *p)
{
	const struct bits *set = objects_of(p->addr);

	p->unknown = !set;
	p->constant = set;
	if (!set)
		return;
	BITS_EACH(set, place)
	{
		const struct object *o = solve_object_at(solve_place((uint32_t)place)->object);
		if (o->constant)
			continue;
		p->constant = false;
		p->unknown |= o->given;
		p->shared |= o->shared;
		p->heap |= o->kind == OBJECT_HEAP;
	}
}

void parties_list(void)
{
	for (uint32_t i = 0; i < program.m->count; i++)
		if (program.m->accesses[i].shape != SHAPE_NONE)
			add_access(i);
	for (uint32_t i = 0; i < program.call_count; i++)
		add_call(&program.calls[i]);
	for (size_t i = 0; i < warnings.party_count; i++)
		place_party(&warnings.parties[i]);
}

/* When threads and locks are known. */
void parties_fill(void)
{
	for (size_t i = 0; i < warnings.party_count; i++) {
		struct party *p = &warnings.parties[i];
		p->classes = program.functions[p->function].classes;
		p->alive = p->classes & BIT(CLASS_MAIN) ? threads_alive(p->inst) : 0;
		p->ever = p->classes & BIT(CLASS_MAIN) ? threads_ever(p->inst) : 0;
		p->held = locksets_at(p->inst);
	}
}

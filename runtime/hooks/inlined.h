/*
 * What schemes call at every access (order.h), inside a recorded program: a few instructions each.
 */
#ifndef RUNTIME_HOOKS_INLINED_H
#define RUNTIME_HOOKS_INLINED_H
#include "runtime/memory/map.h"

/* ---- perform.c; the others as in runtime/base/base.h, whose names schemes have for themselves */
bool access_perform_other(struct access *a);
long user_load(const void *p, uint64_t size, uint64_t *out);
long user_store(void *p, uint64_t size, uint64_t value);

/* Nearly all are loads and stores of 1, 2, 4 or 8 bytes. */
static inline bool access_perform(struct access *a)
{
	if (unlikely(a->size > 8 || a->size & (a->size - 1)))
		return access_perform_other(a);
	if (a->op == OP_LOAD)
		return !user_load((void *)a->addr, a->size, &a->old[0]);
	if (a->op == OP_STORE)
		return !user_store((void *)a->addr, a->size, a->value[0]);
	return access_perform_other(a);
}

/* ---- services.c */
extern unsigned order_state_shift; /* of the size of a granule's state */
extern bool order_is_chaotic;	   /* record under --chaos */
void order_perturb(struct order_thread *t);

/* Memory at a place of the program's own choice shares a state, which costs edges; schemes with claims refuse it:
   order_mapped(). */
static inline void *order_state(uint64_t addr)
{
	if (unlikely(addr >= MAP_PROGRAM_END))
		addr &= MAP_PROGRAM_END - 1;
	return (void *)(MAP_SHADOW_BASE + ((addr / GRANULE) << order_state_shift));
}

static inline void order_chaos(struct order_thread *t)
{
	if (unlikely(order_is_chaotic))
		order_perturb(t);
}
#endif

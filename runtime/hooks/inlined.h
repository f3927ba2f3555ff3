/*
 * What schemes call at every access (order.h), inside a recorded program: a few instructions each.
 */
#ifndef RUNTIME_HOOKS_INLINED_H
#define RUNTIME_HOOKS_INLINED_H
#include "runtime/memory/map.h"

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

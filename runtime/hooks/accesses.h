/*
 * Between hooks.c, the way in, and accesses.c, what is done there.
 */
#ifndef RUNTIME_HOOKS_ACCESSES_H
#define RUNTIME_HOOKS_ACCESSES_H
#include "compiler/hooks.h"
#include "runtime/order/order.h"

struct thread;

/* In the order of HOOK_OPS: site, address and what else the hook has. */
typedef struct hook_result hook_body(struct thread *, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
extern hook_body *const hook_bodies[];
/* The load or store in t->regs, which lies within a granule and which nothing but the scheme has a say about. */
struct hook_result hook_quick(struct thread *t, bool writes);
/* The hash of what was read, to the stream or against it. */
void hook_check_verify(struct thread *t);
#endif

/*
 * Emitting code: the functions of fast.c by their names, calls of the runtime, and the one builder. For rewrite.c, which
 * puts hooks around accesses, and loops.c, which puts them around loops.
 */
#ifndef COMPILER_EMIT_H
#define COMPILER_EMIT_H
#include <stddef.h>
#include "compiler/internal.h"

/* What of fast.c is called. */
/* clang-format off */
#define EMIT_INLINED(X) \
	X(current) X(bracket) X(events) X(close) X(due) \
	X(open) X(open_two) X(open_range) X(open_copy) X(open_all) \
	X(rounds) X(claimed) X(claimed_one) X(claimed_two) X(cancel) X(close_many)
/* clang-format on */
#define EMIT_NUMBER(name) FAST_##name,
enum fast { EMIT_INLINED(EMIT_NUMBER) FAST_COUNT };
#undef EMIT_NUMBER

#define OP(name) (offsetof(struct hook_ops, name))

extern LLVMBuilderRef builder;

LLVMValueRef number(struct module *m, uint64_t value);
LLVMValueRef call_fast(enum fast which, LLVMValueRef *args, unsigned count);
#define CALL_FAST(name, ...)                                    \
	call_fast(FAST_##name, (LLVMValueRef[]){ __VA_ARGS__ }, \
		  sizeof((LLVMValueRef[]){ __VA_ARGS__ }) / sizeof(LLVMValueRef))
/* self->ops->X(self, site, addr, a, b, c) */
LLVMValueRef call_op(struct module *m, size_t op, LLVMValueRef self, LLVMValueRef site, LLVMValueRef addr,
		     LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
/* The first way of this branch is the usual one. */
void likely(struct module *m, LLVMValueRef branch);
/* The block before an instruction ends; what it jumps to is to be built. */
LLVMBasicBlockRef cut(LLVMValueRef inst);

#endif

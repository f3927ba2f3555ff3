/*
 * Emitting code: the functions of fast.c by their names, calls of the runtime, and the one builder. For rewrite.c,
 * which puts hooks around accesses, and loops.c, which puts them around loops.
 */
#ifndef COMPILER_EMIT_H
#define COMPILER_EMIT_H
#include <stddef.h>
#include "compiler/internal.h"

/* What of fast.c is called. */
/* clang-format off */
#define EMIT_INLINED(X) \
	X(current) X(bracket) X(events) X(close) X(due) \
	X(undisturbed) X(open_range) X(open_copy) X(open_all) X(open_bytes) X(open_string) \
	X(rounds) X(nest) X(worth) X(claimed) X(span) X(polls) X(pass_poll) X(passed_many) X(cancel) X(close_many) \
	X(limit) X(claims) X(mask) X(look) X(look_pair) X(is_aligned) X(look_twice) \
	X(publish) X(publish_if) X(limit_if) X(finish) X(let_go) X(due_held) X(due_now)
/* clang-format on */
#define EMIT_NUMBER(name) FAST_##name,
enum fast { EMIT_INLINED(EMIT_NUMBER) FAST_COUNT };
#undef EMIT_NUMBER

#define OP(name) (offsetof(struct hook_ops, name))

extern LLVMBuilderRef builder;

LLVMValueRef number(struct module *m, uint64_t value);
/* HOOK_READ or HOOK_WRITE, as fast.c takes it. */
LLVMValueRef kind_number(struct module *m, unsigned kind);
LLVMValueRef call_fast(enum fast which, LLVMValueRef *args, unsigned count);
#define CALL_FAST(name, ...)                                    \
	call_fast(FAST_##name, (LLVMValueRef[]){ __VA_ARGS__ }, \
		  sizeof((LLVMValueRef[]){ __VA_ARGS__ }) / sizeof(LLVMValueRef))
/* self->ops->X(self, site, addr, a, b, c) */
LLVMValueRef call_op(struct module *m, size_t op, LLVMValueRef self, LLVMValueRef site, LLVMValueRef addr,
		     LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
/* The first way of this branch is the usual one. */
void likely(struct module *m, LLVMValueRef branch);
/*
 * What is built next is done only if this holds; else the code goes to that block. A condition of several looks is
 * built as one branch after the other, each with its look before it: of a condition that is computed first and then
 * branched on the code generator makes branches too, but keeps all that was looked up in registers.
 */
void go_on_if(struct module *m, LLVMValueRef condition, LLVMBasicBlockRef otherwise);
/* Of [addr, addr + size), in two pages at most; crosses: perhaps in two. */
void go_on_if_claimed(struct module *m, LLVMValueRef claims, LLVMValueRef mask, LLVMValueRef addr, uint64_t size,
		      bool crosses, unsigned kind, LLVMBasicBlockRef otherwise);
/* What is built next stands before this instruction, and has its place in the source. */
void position(LLVMValueRef at);
/* The block before an instruction ends; what it jumps to is to be built. */
LLVMBasicBlockRef cut(LLVMValueRef inst);

/* ---- held.c: in loops with a held bracket; all but held_find() and held_end() build code ------------------------- */

struct held;
enum held_state { HELD_EVENTS, HELD_OPENED, HELD_LIMIT, HELD_CLAIMS, HELD_MASK };

struct held *held_of(LLVMBasicBlockRef block);
LLVMValueRef held_get(struct module *m, const struct held *h, enum held_state which);
void held_set(const struct held *h, enum held_state which, LLVMValueRef value);
/* The count is stored for all to see; returns it. held_renew() must follow. */
LLVMValueRef held_publish(struct module *m, const struct held *h);
void held_renew(const struct held *h, LLVMValueRef self, LLVMValueRef events);
/* Can so many accesses be made without a look at what waits? */
LLVMValueRef held_has_room(struct module *m, const struct held *h, uint64_t accesses);
void held_go_on_if_claimed(struct module *m, const struct held *h, LLVMValueRef addr, uint64_t size, bool crosses,
			   unsigned kind, LLVMBasicBlockRef otherwise);
void held_count(struct module *m, const struct held *h, LLVMValueRef accesses);
/* After one access that may have taken the slow way: counts it. */
void held_finish(struct module *m, const struct held *h);
void held_close(struct module *m, const struct held *h);
void held_closed(struct module *m, const struct held *h);

#endif

/*
 * An access becomes what hooks.h shows:
 *
 *   head:  self = current(); events = bracket(self); hit = open(self, events, addr, ...)     hit -> fast, else -> slow
 *   slow:  r = self->ops->X(self, site, addr, ...); self = current(); events = events(self)  done -> join, else -> fast
 *   fast:  the instruction itself
 *   join:  value = phi; close(self, events)
 *
 * The instruction is moved, never copied or changed: it keeps its type, alignment and ordering. The functions that are
 * called by name are those of fast.c, and are inlined afterwards.
 */
#include <stdlib.h>
#include <string.h>
#include <llvm-c/DebugInfo.h>
#include "compiler/emit.h"

/* A value of at most 8 bytes as a number, and back. */
static LLVMTypeRef integer_like(struct module *m, LLVMTypeRef type)
{
	return LLVMIntTypeInContext(m->context, (unsigned)LLVMSizeOfTypeInBits(m->layout, type));
}

static LLVMValueRef to_word(struct module *m, LLVMValueRef value)
{
	LLVMTypeRef type = LLVMTypeOf(value);

	if (LLVMGetTypeKind(type) == LLVMPointerTypeKind)
		value = LLVMBuildPtrToInt(builder, value, integer_like(m, type), "");
	else if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind)
		value = LLVMBuildBitCast(builder, value, integer_like(m, type), "");
	return LLVMBuildZExt(builder, value, m->i64, "");
}

static LLVMValueRef from_word(struct module *m, LLVMValueRef word, LLVMTypeRef type)
{
	LLVMValueRef narrow = LLVMBuildTrunc(builder, word, integer_like(m, type), "");

	if (LLVMGetTypeKind(type) == LLVMPointerTypeKind)
		return LLVMBuildIntToPtr(builder, narrow, type, "");
	if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind)
		return LLVMBuildBitCast(builder, narrow, type, "");
	return narrow;
}

/* ---- memory of the thread's own ---------------------------------------------------------------------------------- */

static LLVMValueRef scratch_function, scratch[3];
static uint64_t scratch_size[3];

/* Local variable n of the function, for a value of this type. Accesses take turns; each is done with it at once. */
static LLVMValueRef scratch_for(struct module *m, LLVMValueRef inst, unsigned n, LLVMTypeRef type)
{
	LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(inst));
	uint64_t size = LLVMABISizeOfType(m->layout, type);

	if (function != scratch_function) {
		scratch_function = function;
		memset(scratch, 0, sizeof scratch);
	}
	if (!scratch[n] || scratch_size[n] < size) {
		LLVMBuilderRef at_entry = LLVMCreateBuilderInContext(m->context);
		LLVMPositionBuilderBefore(at_entry, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
		scratch_size[n] = size;
		scratch[n] = LLVMBuildAlloca(at_entry, LLVMArrayType2(m->i8, size), "heddle");
		LLVMSetAlignment(scratch[n], size >= 64 ? 64 : size >= 32 ? 32 : 16);
		LLVMDisposeBuilder(at_entry);
	}
	return scratch[n];
}

static LLVMValueRef address(struct module *m, LLVMValueRef pointer)
{
	return LLVMBuildPtrToInt(builder, pointer, m->i64, "");
}

static void store_into(LLVMValueRef place, LLVMValueRef value)
{
	LLVMSetAlignment(LLVMBuildStore(builder, value, place), 16);
}

static LLVMValueRef load_from(LLVMValueRef place, LLVMTypeRef type)
{
	LLVMValueRef value = LLVMBuildLoad2(builder, type, place, "");

	LLVMSetAlignment(value, 16);
	return value;
}

/* ---- the slow block of each shape: calls the runtime; *value is what the instruction would have given ------------ */

typedef LLVMValueRef slow_function(struct module *m, const struct access *a, LLVMValueRef self, LLVMValueRef site,
				   LLVMValueRef *value);

static LLVMValueRef value_of(LLVMValueRef result)
{
	return LLVMBuildExtractValue(builder, result, 0, "");
}

static LLVMValueRef slow_load(struct module *m, const struct access *a, LLVMValueRef self, LLVMValueRef site,
			      LLVMValueRef *value)
{
	LLVMValueRef r = call_op(m, OP(load), self, site, a->addr, number(m, a->size), NULL, NULL);

	*value = from_word(m, value_of(r), LLVMTypeOf(a->inst));
	return r;
}

static LLVMValueRef slow_store(struct module *m, const struct access *a, LLVMValueRef self, LLVMValueRef site,
			       LLVMValueRef *value)
{
	(void)value;
	return call_op(m, OP(store), self, site, a->addr, number(m, a->size), to_word(m, LLVMGetOperand(a->inst, 0)),
		       NULL);
}

static LLVMValueRef slow_load_wide(struct module *m, const struct access *a, LLVMValueRef self, LLVMValueRef site,
				   LLVMValueRef *value)
{
	LLVMTypeRef type = LLVMTypeOf(a->inst);
	LLVMValueRef place = scratch_for(m, a->inst, 0, type);
	LLVMValueRef r = call_op(m, OP(load_wide), self, site, a->addr, number(m, a->size), address(m, place), NULL);

	*value = load_from(place, type);
	return r;
}

static LLVMValueRef slow_store_wide(struct module *m, const struct access *a, LLVMValueRef self, LLVMValueRef site,
				    LLVMValueRef *value)
{
	LLVMValueRef stored = LLVMGetOperand(a->inst, 0), place = scratch_for(m, a->inst, 0, LLVMTypeOf(stored));

	(void)value;
	store_into(place, stored);
	return call_op(m, OP(store_wide), self, site, a->addr, number(m, a->size), address(m, place), NULL);
}

static LLVMValueRef slow_rmw(struct module *m, const struct access *a, LLVMValueRef self, LLVMValueRef site,
			     LLVMValueRef *value)
{
	LLVMValueRef operand = to_word(m, LLVMGetOperand(a->inst, 1)), how = number(m, a->size | (unsigned)a->rmw << 8);
	LLVMValueRef r = call_op(m, OP(rmw), self, site, a->addr, how, operand, NULL);

	*value = from_word(m, value_of(r), LLVMTypeOf(a->inst));
	return r;
}

static LLVMValueRef slow_rmw_wide(struct module *m, const struct access *a, LLVMValueRef self, LLVMValueRef site,
				  LLVMValueRef *value)
{
	LLVMTypeRef type = LLVMTypeOf(a->inst);
	LLVMValueRef old = scratch_for(m, a->inst, 0, type), operand = scratch_for(m, a->inst, 1, type);

	store_into(operand, LLVMGetOperand(a->inst, 1));
	LLVMValueRef r = call_op(m, OP(rmw_wide), self, site, a->addr, number(m, (unsigned)a->rmw << 8),
				 address(m, operand), address(m, old));
	*value = load_from(old, type);
	return r;
}

/* { what was read, was it the expected } */
static LLVMValueRef pair(struct module *m, LLVMValueRef inst, LLVMValueRef old, LLVMValueRef same)
{
	LLVMValueRef both = LLVMGetPoison(LLVMTypeOf(inst));

	(void)m;
	both = LLVMBuildInsertValue(builder, both, old, 0, "");
	return LLVMBuildInsertValue(builder, both, same, 1, "");
}

static LLVMValueRef slow_cas(struct module *m, const struct access *a, LLVMValueRef self, LLVMValueRef site,
			     LLVMValueRef *value)
{
	LLVMValueRef expected = to_word(m, LLVMGetOperand(a->inst, 1)),
		     desired = to_word(m, LLVMGetOperand(a->inst, 2));
	LLVMValueRef r = call_op(m, OP(cas), self, site, a->addr, number(m, a->size), expected, desired);
	LLVMValueRef same = LLVMBuildICmp(builder, LLVMIntEQ, value_of(r), expected, "");

	*value = pair(m, a->inst, from_word(m, value_of(r), LLVMTypeOf(LLVMGetOperand(a->inst, 1))), same);
	return r;
}

static LLVMValueRef slow_cas_wide(struct module *m, const struct access *a, LLVMValueRef self, LLVMValueRef site,
				  LLVMValueRef *value)
{
	LLVMValueRef expected = LLVMGetOperand(a->inst, 1), desired = LLVMGetOperand(a->inst, 2), place[3];
	LLVMTypeRef type = LLVMTypeOf(expected);

	for (unsigned i = 0; i < 3; i++)
		place[i] = scratch_for(m, a->inst, i, type);
	store_into(place[1], expected);
	store_into(place[2], desired);
	LLVMValueRef r = call_op(m, OP(cas_wide), self, site, a->addr, address(m, place[0]), address(m, place[1]),
				 address(m, place[2]));
	LLVMValueRef old = load_from(place[0], type);
	*value = pair(m, a->inst, old, LLVMBuildICmp(builder, LLVMIntEQ, old, expected, ""));
	return r;
}

static LLVMValueRef length(struct module *m, const struct access *a)
{
	return LLVMBuildZExt(builder, LLVMGetOperand(a->inst, 2), m->i64, "");
}

static LLVMValueRef slow_set(struct module *m, const struct access *a, LLVMValueRef self, LLVMValueRef site,
			     LLVMValueRef *value)
{
	LLVMValueRef byte = LLVMBuildZExt(builder, LLVMGetOperand(a->inst, 1), m->i64, "");

	(void)value;
	return call_op(m, OP(set), self, site, a->addr, byte, length(m, a), NULL);
}

static LLVMValueRef slow_copy(struct module *m, const struct access *a, LLVMValueRef self, LLVMValueRef site,
			      LLVMValueRef *value)
{
	LLVMValueRef to = address(m, LLVMGetOperand(a->inst, 0)), from = address(m, LLVMGetOperand(a->inst, 1));

	(void)value;
	if (a->shape == SHAPE_COPY)
		return call_op(m, OP(copy), self, site, a->addr, from, length(m, a), NULL);
	if (a->shape == SHAPE_COPY_IN)
		return call_op(m, OP(load_wide), self, site, a->addr, length(m, a), to, NULL);
	return call_op(m, OP(store_wide), self, site, a->addr, length(m, a), from, NULL);
}

static slow_function *const slow_functions[] = {
	[SHAPE_LOAD] = slow_load,
	[SHAPE_STORE] = slow_store,
	[SHAPE_LOAD_WIDE] = slow_load_wide,
	[SHAPE_STORE_WIDE] = slow_store_wide,
	[SHAPE_RMW] = slow_rmw,
	[SHAPE_RMW_WIDE] = slow_rmw_wide,
	[SHAPE_CAS] = slow_cas,
	[SHAPE_CAS_WIDE] = slow_cas_wide,
	[SHAPE_SET] = slow_set,
	[SHAPE_COPY] = slow_copy,
	[SHAPE_COPY_IN] = slow_copy,
	[SHAPE_COPY_OUT] = slow_copy,
};

/* ---- the diamond ------------------------------------------------------------------------------------------------- */

static unsigned kinds(const struct access *a)
{
	switch (a->kind) {
	case HOOK_LOAD:
	case HOOK_RANGE_READ: return HOOK_READ;
	case HOOK_RMW:
	case HOOK_CAS: return HOOK_WRITE; /* who may write may read */
	default: return HOOK_WRITE;
	}
}

/* Aligned to its size or more, it cannot cross a page. */
bool may_cross(const struct access *a)
{
	return a->size > 1 && plugin_alignment(a->inst, a->addr) < a->size;
}

/* A range of any length. */
static LLVMValueRef open_range(struct module *m, const struct access *a, LLVMValueRef self, LLVMValueRef events)
{
	LLVMValueRef size = a->shape <= SHAPE_CAS_WIDE ? number(m, a->size) : length(m, a);

	if (a->shape == SHAPE_COPY)
		return CALL_FAST(open_copy, self, events, a->addr, LLVMGetOperand(a->inst, 1), size);
	return CALL_FAST(open_range, self, events, a->addr, size, kind_number(m, kinds(a)));
}

/* Goes on in the bracket, if the access can be made in it. */
static void open_or(struct module *m, const struct access *a, LLVMValueRef self, LLVMValueRef events,
		    LLVMBasicBlockRef otherwise)
{
	if (a->shape > SHAPE_CAS_WIDE || a->size > HOOK_PAGE) {
		go_on_if(m, open_range(m, a, self, events), otherwise);
		return;
	}
	go_on_if(m, CALL_FAST(undisturbed, self, events), otherwise);
	go_on_if_claimed(m, CALL_FAST(claims, self), CALL_FAST(mask, self), address(m, a->addr), a->size, may_cross(a),
			 kinds(a), otherwise);
}

static LLVMValueRef phi_of(LLVMTypeRef type, LLVMValueRef a, LLVMBasicBlockRef from_a, LLVMValueRef b,
			   LLVMBasicBlockRef from_b)
{
	LLVMValueRef phi = LLVMBuildPhi(builder, type, "");

	LLVMAddIncoming(phi, &a, &from_a, 1);
	LLVMAddIncoming(phi, &b, &from_b, 1);
	return phi;
}

/*
 * Users of the value get the phi, but only when all is rewritten: until then an access that is still to come may hold
 * the instruction as its address.
 */
struct joined {
	LLVMValueRef phi, slow_value, inst;
	LLVMBasicBlockRef slow_block;
};
static struct joined *joined;
static size_t joined_count, joined_room;

static void remember(LLVMValueRef phi, LLVMValueRef slow_value, LLVMBasicBlockRef slow_block, LLVMValueRef inst)
{
	if (joined_count == joined_room) {
		joined_room = joined_room ? joined_room * 2 : 1024;
		joined = realloc(joined, joined_room * sizeof *joined);
		if (!joined)
			compiler_die("out of memory");
	}
	joined[joined_count++] = (struct joined){ phi, slow_value, inst, slow_block };
}

static void join_values(void)
{
	for (size_t i = 0; i < joined_count; i++) {
		struct joined *j = &joined[i];
		LLVMReplaceAllUsesWith(j->inst, j->phi);
		LLVMAddIncoming(j->phi, (LLVMValueRef[]){ j->inst, j->slow_value },
				(LLVMBasicBlockRef[]){ LLVMGetInstructionParent(j->inst), j->slow_block }, 2);
	}
	free(joined);
	joined = NULL;
	joined_count = joined_room = 0;
}

static bool is_used(LLVMValueRef inst)
{
	return LLVMGetTypeKind(LLVMTypeOf(inst)) != LLVMVoidTypeKind && LLVMGetFirstUse(inst);
}

/*
 * A handler of a fault sees where the access is: it must be there once, whichever way leads to it. The code generator
 * copies short blocks to where they are jumped to from, but none with something convergent in it: here, no instruction.
 */
static void keep_single(struct module *m)
{
	LLVMTypeRef type = LLVMFunctionType(m->nothing, NULL, 0, false);
	LLVMValueRef nothing = LLVMGetInlineAsm(type, "", 0, "", 0, true, false, LLVMInlineAsmDialectATT, false);
	LLVMValueRef call = LLVMBuildCall2(builder, type, nothing, NULL, 0, "");
	unsigned convergent = LLVMGetEnumAttributeKindForName("convergent", 10);

	LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(m->context, convergent, 0));
}

static void diamond(struct module *m, const struct access *a, LLVMValueRef site)
{
	LLVMValueRef inst = a->inst, value = NULL;
	LLVMBasicBlockRef join = cut(inst);
	LLVMBasicBlockRef fast_block = LLVMInsertBasicBlockInContext(m->context, join, "");
	LLVMBasicBlockRef slow_block = LLVMInsertBasicBlockInContext(m->context, join, "");

	LLVMValueRef self = call_fast(FAST_current, NULL, 0), events = CALL_FAST(bracket, self);
	open_or(m, a, self, events, slow_block);
	LLVMBasicBlockRef hit_block = LLVMGetInsertBlock(builder);
	LLVMBuildBr(builder, fast_block);

	LLVMPositionBuilderAtEnd(builder, slow_block);
	LLVMValueRef result = slow_functions[a->shape](m, a, self, site, &value);
	LLVMValueRef self_now = call_fast(FAST_current, NULL, 0); /* it may have been attached */
	LLVMValueRef events_now = CALL_FAST(events, self_now);
	LLVMValueRef done = LLVMBuildExtractValue(builder, result, 1, "");
	LLVMBuildCondBr(builder, LLVMBuildICmp(builder, LLVMIntNE, done, number(m, 0), ""), join, fast_block);

	LLVMInstructionRemoveFromParent(inst);
	LLVMPositionBuilderAtEnd(builder, fast_block);
	LLVMValueRef self_fast = phi_of(m->ptr, self, hit_block, self_now, slow_block);
	LLVMValueRef events_fast = phi_of(m->i64, events, hit_block, events_now, slow_block);
	keep_single(m);
	LLVMInsertIntoBuilder(builder, inst);
	LLVMBuildBr(builder, join);

	LLVMPositionBuilderBeforeInstrAndDbgRecords(builder, LLVMGetFirstInstruction(join));
	LLVMValueRef self_join = phi_of(m->ptr, self_fast, fast_block, self_now, slow_block);
	LLVMValueRef events_join = phi_of(m->i64, events_fast, fast_block, events_now, slow_block);
	if (is_used(inst))
		remember(LLVMBuildPhi(builder, LLVMTypeOf(inst), ""), value, slow_block, inst);
	CALL_FAST(close, self_join, events_join);
}

/*
 * The same in a held bracket (held.c):
 *
 *	head:  hit = has_room() & claimed(addr)						if hit -> fast, else -> miss
 *	miss:  publish; hit = open(self, events, addr, ...)				if hit -> fast, else -> slow
 *	slow:  r = self->ops->X(self, site, addr, ...); self = current(); renew		if done -> join, else -> fast
 *	fast:  the instruction itself
 *	join:  value = phi; finish
 */
static void held_hit(struct module *m, const struct access *a, LLVMBasicBlockRef miss)
{
	bool crosses = a->shape > SHAPE_STORE_WIDE || may_cross(a);

	go_on_if(m, held_has_room(m, a->held, 1), miss);
	held_go_on_if_claimed(m, a->held, address(m, a->addr), a->size, crosses, kinds(a), miss);
	if (a->shape == SHAPE_COPY) {
		LLVMValueRef from = address(m, LLVMGetOperand(a->inst, 1));
		held_go_on_if_claimed(m, a->held, from, a->size, true, HOOK_READ, miss);
	}
}

static void held_diamond(struct module *m, const struct access *a, LLVMValueRef site)
{
	LLVMValueRef inst = a->inst, value = NULL;
	LLVMBasicBlockRef join = cut(inst), fast_block = LLVMInsertBasicBlockInContext(m->context, join, "");
	LLVMBasicBlockRef miss_block = LLVMInsertBasicBlockInContext(m->context, join, "");
	LLVMBasicBlockRef slow_block = LLVMInsertBasicBlockInContext(m->context, join, "");

	bool looks = a->size && a->size <= HOOK_PAGE; /* in two pages at most */
	if (looks)
		held_hit(m, a, miss_block);
	LLVMBuildBr(builder, looks ? fast_block : miss_block);
	LLVMPositionBuilderAtEnd(builder, miss_block);
	LLVMValueRef events = held_publish(m, a->held), self = call_fast(FAST_current, NULL, 0);
	held_renew(a->held, self, events);
	open_or(m, a, self, events, slow_block);
	LLVMBuildBr(builder, fast_block);

	LLVMPositionBuilderAtEnd(builder, slow_block);
	LLVMValueRef result = slow_functions[a->shape](m, a, self, site, &value);
	self = call_fast(FAST_current, NULL, 0); /* it may have been attached */
	held_renew(a->held, self, CALL_FAST(events, self));
	LLVMValueRef done = LLVMBuildExtractValue(builder, result, 1, "");
	LLVMBuildCondBr(builder, LLVMBuildICmp(builder, LLVMIntNE, done, number(m, 0), ""), join, fast_block);

	LLVMInstructionRemoveFromParent(inst);
	LLVMPositionBuilderAtEnd(builder, fast_block);
	keep_single(m);
	LLVMInsertIntoBuilder(builder, inst);
	LLVMBuildBr(builder, join);

	LLVMPositionBuilderBeforeInstrAndDbgRecords(builder, LLVMGetFirstInstruction(join));
	if (is_used(inst))
		remember(LLVMBuildPhi(builder, LLVMTypeOf(inst), ""), value, slow_block, inst);
	held_finish(m, a->held);
}

/* ---- the other forms --------------------------------------------------------------------------------------------- */

/* A number of the program's, of any width, as 64 bits. */
static LLVMValueRef widen(struct module *m, LLVMValueRef value, bool is_signed)
{
	return LLVMBuildIntCast2(builder, value, m->i64, is_signed, "");
}

/* At most so many characters; a negative number (printf's precision) is no limit. */
static LLVMValueRef limit_of(struct module *m, const struct range *r)
{
	return r->size ? widen(m, r->size, true) : number(m, INT64_MAX);
}

static LLVMValueRef call_kept(struct module *m, const char *name, LLVMValueRef *args, unsigned count)
{
	LLVMValueRef f = LLVMGetNamedFunction(m->module, name);

	return LLVMBuildCall2(builder, LLVMGlobalGetValueType(f), f, args, count, "");
}

static LLVMValueRef string_bytes(struct module *m, LLVMValueRef string, LLVMValueRef limit, unsigned unit)
{
	LLVMValueRef args[] = { LLVMConstNull(m->ptr), string, limit, number(m, unit), number(m, 0) };

	return call_kept(m, "__heddle_enter_string", args, 5);
}

static LLVMValueRef at_most(LLVMValueRef value, LLVMValueRef most)
{
	return LLVMBuildSelect(builder, LLVMBuildICmp(builder, LLVMIntULT, value, most, ""), value, most, "");
}

static LLVMValueRef result_bytes(struct module *m, const struct range *r)
{
	LLVMValueRef zero = number(m, 0), given = widen(m, r->size, true);
	LLVMValueRef failed = LLVMBuildICmp(builder, LLVMIntSLT, given, zero, "");
	LLVMValueRef bytes = LLVMBuildAdd(builder, given, number(m, r->plus), "");

	if (r->times)
		bytes = at_most(bytes, widen(m, r->times, false));
	return LLVMBuildSelect(builder, failed, zero, bytes, "");
}

/* As HOOK_END and HOOK_OR_ZERO have it, without their shift. */
static LLVMValueRef string_end(struct module *m, const struct range *r)
{
	if (!r->until)
		return number(m, 0);
	LLVMValueRef end = LLVMBuildZExt(builder, LLVMBuildTrunc(builder, r->until, m->i8, ""), m->i64, "");
	return r->or_zero ? LLVMBuildOr(builder, end, number(m, HOOK_OR_ZERO >> HOOK_END_SHIFT), "") : end;
}

static void enter_string(struct module *m, const struct range *r, LLVMValueRef site)
{
	LLVMValueRef string = r->addr;

	if (r->other) {
		LLVMValueRef there =
			LLVMBuildICmp(builder, LLVMIntSGT, widen(m, r->other, true), number(m, r->plus), "");
		string = LLVMBuildSelect(builder, there, string, LLVMConstNull(m->ptr), "");
	}
	LLVMValueRef end = LLVMBuildShl(builder, string_end(m, r), number(m, HOOK_END_SHIFT), "");
	LLVMValueRef how = LLVMBuildOr(builder, number(m, r->unit), end, "");
	call_kept(m, "__heddle_enter_string", (LLVMValueRef[]){ site, string, limit_of(m, r), how, number(m, r->kind) },
		  5);
}

static LLVMValueRef known_bytes(struct module *m, const struct range *r)
{
	LLVMValueRef size = widen(m, r->size, false);

	return r->times ? LLVMBuildMul(builder, size, widen(m, r->times, false), "") : size;
}

static void enter(struct module *m, const struct range *r, LLVMValueRef site)
{
	LLVMValueRef addr = r->addr, size = NULL;

	switch (r->form) {
	case RANGE_BYTES: size = known_bytes(m, r); break;
	case RANGE_STRING: enter_string(m, r, site); return;
	case RANGE_APPEND: {
		LLVMValueRef have = string_bytes(m, addr, number(m, INT64_MAX), r->unit);
		LLVMValueRef end = LLVMBuildSub(builder, have, number(m, r->unit), "");
		addr = LLVMBuildGEP2(builder, m->i8, addr, &end, 1, "");
	} /* fall through */
	case RANGE_LIKE_STRING: size = string_bytes(m, r->other, limit_of(m, r), r->unit); break;
	case RANGE_RESULT: size = result_bytes(m, r); break;
	}
	call_op(m, OP(enter), call_fast(FAST_current, NULL, 0), site, addr, size, number(m, r->kind), NULL);
}

static void leave(struct module *m, LLVMValueRef site)
{
	call_op(m, OP(leave), call_fast(FAST_current, NULL, 0), site, LLVMConstNull(m->ptr), NULL, NULL, NULL);
}

static void close_bracket(void)
{
	LLVMValueRef self = call_fast(FAST_current, NULL, 0);

	CALL_FAST(close, self, CALL_FAST(events, self));
}

/* Can the claims of all its bytes be looked at before? Not of wide strings, and of those that may not be there. */
static bool is_known(const struct access *a)
{
	for (unsigned i = 0; i < a->range_count; i++) {
		const struct range *r = &a->ranges[i];
		bool bytes = r->form == RANGE_BYTES || r->form == RANGE_RESULT;
		if (!bytes && (r->unit != 1 || (r->form == RANGE_STRING && r->other)))
			return false;
	}
	return a->range_count > 0;
}

/* Is this range claimed, and all before it (ok)? */
static LLVMValueRef open_one(struct module *m, const struct range *r, LLVMValueRef ok, LLVMValueRef self,
			     LLVMValueRef events)
{
	LLVMValueRef kind = kind_number(m, r->kind & HOOK_WRITE ? HOOK_WRITE : HOOK_READ); /* who may write may read */
	LLVMValueRef addr = r->addr, zero = number(m, 0), size = NULL, have;

	switch (r->form) {
	case RANGE_BYTES: size = known_bytes(m, r); break;
	case RANGE_RESULT: size = result_bytes(m, r); break;
	case RANGE_STRING:
		if (r->until && r->size) { /* at most so many, and often all: not looked through twice */
			size = known_bytes(m, r);
			break;
		}
		have = CALL_FAST(open_string, ok, self, events, addr, limit_of(m, r), string_end(m, r), kind);
		return LLVMBuildICmp(builder, LLVMIntNE, have, zero, "");
	case RANGE_APPEND:
		have = CALL_FAST(open_string, ok, self, events, addr, number(m, INT64_MAX), zero, kind);
		ok = LLVMBuildICmp(builder, LLVMIntNE, have, zero, "");
		have = LLVMBuildSub(builder, have, number(m, 1), "");
		addr = LLVMBuildGEP2(builder, m->i8, addr, &have, 1, "");
	/* fall through */
	case RANGE_LIKE_STRING:
		size = CALL_FAST(open_string, ok, self, events, r->other, limit_of(m, r), zero,
				 kind_number(m, HOOK_READ));
		ok = LLVMBuildICmp(builder, LLVMIntNE, size, zero, "");
		break;
	}
	return CALL_FAST(open_bytes, ok, self, events, addr, size, kind);
}

/* Opens the bracket. True: nobody needs to be asked. */
static LLVMValueRef open_group(struct module *m, const struct access *a)
{
	LLVMValueRef self = call_fast(FAST_current, NULL, 0), ok = LLVMConstInt(m->i1, 1, false);

	if (!is_known(a))
		return CALL_FAST(open_all, self);
	LLVMValueRef events = CALL_FAST(bracket, self);
	for (unsigned i = 0; i < a->range_count; i++)
		ok = open_one(m, &a->ranges[i], ok, self, events);
	return ok;
}

/* Enters the ranges before the instruction `at`, and leaves them there too unless they are held. Returns whether the
   runtime was asked. The builder stands before `at` then. */
static LLVMValueRef group(struct module *m, const struct access *a, LLVMValueRef site, LLVMValueRef at, bool held)
{
	LLVMBasicBlockRef head = LLVMGetInstructionParent(at), go = cut(at);
	LLVMBasicBlockRef slow = LLVMInsertBasicBlockInContext(m->context, go, "");

	likely(m, LLVMBuildCondBr(builder, open_group(m, a), go, slow));
	LLVMPositionBuilderAtEnd(builder, slow);
	for (unsigned i = 0; i < a->range_count; i++)
		enter(m, &a->ranges[i], site);
	if (!held)
		leave(m, site);
	LLVMBuildBr(builder, go);
	LLVMPositionBuilderBeforeInstrAndDbgRecords(builder, LLVMGetFirstInstruction(go));
	return phi_of(m->i1, LLVMConstInt(m->i1, 0, false), head, LLVMConstInt(m->i1, 1, false), slow);
}

static void around(struct module *m, const struct access *a, LLVMValueRef site)
{
	LLVMValueRef asked = group(m, a, site, a->inst, true);
	LLVMBasicBlockRef rest = cut(LLVMGetNextInstruction(a->inst));
	LLVMBasicBlockRef slow = LLVMInsertBasicBlockInContext(m->context, rest, "");

	likely(m, LLVMBuildCondBr(builder, LLVMBuildNot(builder, asked, ""), rest, slow));
	LLVMPositionBuilderAtEnd(builder, slow);
	leave(m, site);
	LLVMBuildBr(builder, rest);
	LLVMPositionBuilderBeforeInstrAndDbgRecords(builder, LLVMGetFirstInstruction(rest));
	close_bracket();
}

static void before_or_after(struct module *m, const struct access *a, LLVMValueRef site)
{
	LLVMValueRef at = a->shape == SHAPE_BEFORE ? a->inst : plugin_after(a->inst);
	LLVMValueRef unused = group(m, a, site, at, false);

	close_bracket();
	LLVMInstructionEraseFromParent(unused);
}

static void poll(struct module *m, const struct access *a, LLVMValueRef site)
{
	LLVMBasicBlockRef rest = cut(a->inst), call = LLVMInsertBasicBlockInContext(m->context, rest, "");
	LLVMValueRef self = call_fast(FAST_current, NULL, 0);
	LLVMValueRef each = number(m, a->is_short ? HOOK_HELD / HOOK_POLL_EACH : HOOK_HELD);
	LLVMValueRef due = a->held ? CALL_FAST(due_held, self, each) : CALL_FAST(due, self);

	likely(m, LLVMBuildCondBr(builder, LLVMBuildNot(builder, due, ""), rest, call));
	LLVMPositionBuilderAtEnd(builder, call);
	if (a->held) {
		LLVMBasicBlockRef go_on = LLVMInsertBasicBlockInContext(m->context, rest, "");
		call = LLVMInsertBasicBlockInContext(m->context, go_on, "");
		held_close(m, a->held);
		LLVMBuildCondBr(builder, CALL_FAST(due_now, self), call, go_on);
		LLVMPositionBuilderAtEnd(builder, go_on);
		held_closed(m, a->held);
		LLVMBuildBr(builder, rest);
		rest = go_on;
		LLVMPositionBuilderAtEnd(builder, call);
	}
	call_op(m, OP(poll), self, site, LLVMConstNull(m->ptr), NULL, NULL, NULL);
	LLVMBuildBr(builder, rest);
}

/* Or the code generator might move the load out of its bracket; and on x86-64 a nontemporal store may be seen after the
   plain one that ends the bracket. */
static void keep_in_bracket(struct module *m, LLVMValueRef inst)
{
	static const char *const names[] = { "invariant.load", "invariant.group", "nontemporal" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		LLVMSetMetadata(inst, LLVMGetMDKindIDInContext(m->context, names[i], (unsigned)strlen(names[i])), NULL);
}

void rewrite_begin(struct module *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->accesses[i].shape != SHAPE_NONE)
			keep_in_bracket(m, m->accesses[i].inst);
}

void rewrite(struct module *m, size_t id)
{
	const struct access *a = &m->accesses[id];

	if (a->shape == SHAPE_NONE)
		return;
	LLVMPositionBuilderBefore(builder, a->inst);
	LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(a->inst));
	switch (a->shape) {
	case SHAPE_AROUND: around(m, a, sites_of(m, id)); break;
	case SHAPE_BEFORE:
	case SHAPE_AFTER: before_or_after(m, a, sites_of(m, id)); break;
	case SHAPE_POLL: poll(m, a, sites_of(m, id)); break;
	default: (a->held ? held_diamond : diamond)(m, a, sites_of(m, id)); break;
	}
}

void rewrite_end(void)
{
	join_values();
}

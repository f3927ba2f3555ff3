/* Emitting code: see emit.h. */
#include <string.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Comdat.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Linker.h>
#include "compiler/emit.h"

enum { PRESERVE_ALL = 15 }; /* LLVM's number of the calling convention */

LLVMBuilderRef builder;
static LLVMValueRef fast[FAST_COUNT];
static LLVMTypeRef result_type, op_type;

/* ---- fast.bc ----------------------------------------------------------------------------------------------------- */

static LLVMModuleRef read_part(struct module *m, const char *path)
{
	LLVMMemoryBufferRef buffer;
	LLVMModuleRef module;
	char *error = NULL;

	if (LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &error))
		compiler_die("%s: %s; install heddle again", path, error);
	if (LLVMParseBitcodeInContext2(m->context, buffer, &module))
		compiler_die("%s is not LLVM bitcode; install heddle again", path);
	LLVMDisposeMemoryBuffer(buffer);
	plugin_erase_metadata(module, "llvm.module.flags"); /* how it was compiled: the program's own count */
	LLVMSetTarget(module, LLVMGetTarget(m->module));
	LLVMSetDataLayout(module, LLVMGetDataLayoutStr(m->module));
	return module;
}

static void forget_processor(LLVMValueRef f);

void link_part(struct module *m, const char *path)
{
	LLVMModuleRef part = read_part(m, path);

	for (LLVMValueRef f = LLVMGetFirstFunction(part); f; f = LLVMGetNextFunction(f))
		if (!LLVMIsDeclaration(f) && LLVMGetFunctionCallConv(f) != PRESERVE_ALL)
			forget_processor(f);
	if (LLVMLinkModules2(m->module, part))
		compiler_die("%s cannot be linked into the program", path);
}

/* One copy in each linked file, whichever object brings it. */
static void merge(struct module *m, LLVMValueRef global)
{
	size_t len;

	LLVMSetLinkage(global, LLVMLinkOnceODRLinkage);
	LLVMSetVisibility(global, LLVMHiddenVisibility);
	LLVMSetComdat(global, LLVMGetOrInsertComdat(m->module, LLVMGetValueName2(global, &len)));
}

/*
 * Also into functions for other processors: what fast.c needs, all have. But who preserves all registers stays one for
 * the oldest processor, which does not touch more than the lower halves of x86-64's vectors: with AVX, LLVM 19 ends
 * such a function by vzeroupper.
 */
static void forget_processor(LLVMValueRef f)
{
	static const char *const attributes[] = { "target-cpu",	   "target-features",  "tune-cpu",
						  "frame-pointer", "no-trapping-math", "stack-protector-buffer-size" };

	for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
		LLVMRemoveStringAttributeAtIndex(f, LLVMAttributeFunctionIndex, attributes[i],
						 (unsigned)strlen(attributes[i]));
}

static void find_inlined(struct module *m)
{
#define NAME(name) "__heddle_" #name,
	static const char *const names[] = { EMIT_INLINED(NAME) };
#undef NAME

	for (int i = 0; i < FAST_COUNT; i++) {
		fast[i] = LLVMGetNamedFunction(m->module, names[i]);
		if (!fast[i] || LLVMIsDeclaration(fast[i]))
			compiler_die("%s lacks %s; install heddle again", settings.fast, names[i]);
		LLVMSetLinkage(fast[i], LLVMInternalLinkage);
	}
}

void emit_begin(struct module *m)
{
	size_t len;

	link_part(m, settings.fast);
	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f))
		if (!LLVMIsDeclaration(f) && !strncmp(LLVMGetValueName2(f, &len), "__heddle_", 9))
			merge(m, f);
	for (LLVMValueRef g = LLVMGetFirstGlobal(m->module); g; g = LLVMGetNextGlobal(g))
		if (!LLVMIsDeclaration(g) && !strncmp(LLVMGetValueName2(g, &len), "__heddle_", 9))
			merge(m, g);
	find_inlined(m);
	builder = LLVMCreateBuilderInContext(m->context);
	result_type = LLVMStructTypeInContext(m->context, (LLVMTypeRef[]){ m->i64, m->i64 }, 2, false);
	op_type = LLVMFunctionType(result_type, (LLVMTypeRef[]){ m->ptr, m->ptr, m->ptr, m->i64, m->i64, m->i64 }, 6,
				   false);
}

/* ---- small things ------------------------------------------------------------------------------------------------ */

LLVMValueRef number(struct module *m, uint64_t value)
{
	return LLVMConstInt(m->i64, value, false);
}

LLVMValueRef kind_number(struct module *m, unsigned kind)
{
	return LLVMConstInt(m->i8, kind, false);
}

LLVMValueRef call_fast(enum fast which, LLVMValueRef *args, unsigned count)
{
	return LLVMBuildCall2(builder, LLVMGlobalGetValueType(fast[which]), fast[which], args, count, "");
}

static LLVMValueRef member(struct module *m, LLVMValueRef base, size_t offset)
{
	LLVMValueRef at = number(m, offset);

	return LLVMBuildLoad2(builder, m->ptr, LLVMBuildInBoundsGEP2(builder, m->i8, base, &at, 1, ""), "");
}

LLVMValueRef call_op(struct module *m, size_t op, LLVMValueRef self, LLVMValueRef site, LLVMValueRef addr,
		     LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
	LLVMValueRef zero = number(m, 0), ops = member(m, self, offsetof(struct hook_self, ops));
	LLVMValueRef args[] = { self, site, addr, a ? a : zero, b ? b : zero, c ? c : zero };
	LLVMValueRef call = LLVMBuildCall2(builder, op_type, member(m, ops, op), args, 6, "");

	LLVMSetInstructionCallConv(call, PRESERVE_ALL);
	return call;
}

void likely(struct module *m, LLVMValueRef branch)
{
	LLVMMetadataRef parts[] = { LLVMMDStringInContext2(m->context, "branch_weights", 14),
				    LLVMValueAsMetadata(LLVMConstInt(m->i32, 1 << 20, false)),
				    LLVMValueAsMetadata(LLVMConstInt(m->i32, 1, false)) };
	LLVMValueRef node = LLVMMetadataAsValue(m->context, LLVMMDNodeInContext2(m->context, parts, 3));

	LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(m->context, "prof", 4), node);
}

void go_on_if(struct module *m, LLVMValueRef condition, LLVMBasicBlockRef otherwise)
{
	LLVMBasicBlockRef now = LLVMGetInsertBlock(builder), next;

	next = LLVMAppendBasicBlockInContext(m->context, LLVMGetBasicBlockParent(now), "");
	LLVMMoveBasicBlockAfter(next, now);
	likely(m, LLVMBuildCondBr(builder, condition, next, otherwise));
	LLVMPositionBuilderAtEnd(builder, next);
}

void go_on_if_claimed(struct module *m, LLVMValueRef claims, LLVMValueRef mask, LLVMValueRef addr, uint64_t size,
		      bool crosses, unsigned kind, LLVMBasicBlockRef otherwise)
{
	LLVMValueRef kinds = kind_number(m, kind);

	if (!crosses) {
		go_on_if(m, CALL_FAST(look, claims, mask, addr, kinds), otherwise);
		return;
	}
	LLVMBasicBlockRef twice = LLVMInsertBasicBlockInContext(m->context, otherwise, "");
	if (size <= 8 && !(size & (size - 1))) {
		go_on_if(m, CALL_FAST(is_aligned, addr, number(m, size)), twice);
		go_on_if(m, CALL_FAST(look, claims, mask, addr, kinds), otherwise);
	} else {
		go_on_if(m, CALL_FAST(look_pair, claims, mask, addr, kinds), twice);
	}
	LLVMBasicBlockRef next = LLVMGetInsertBlock(builder);
	LLVMPositionBuilderAtEnd(builder, twice);
	LLVMValueRef both = CALL_FAST(look_twice, claims, mask, addr, number(m, size), kinds);
	likely(m, LLVMBuildCondBr(builder, both, next, otherwise));
	LLVMPositionBuilderAtEnd(builder, next);
}

void position(LLVMValueRef at)
{
	LLVMPositionBuilderBeforeInstrAndDbgRecords(builder, at);
	LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(at));
}

LLVMBasicBlockRef cut(LLVMValueRef inst)
{
	LLVMBasicBlockRef head = LLVMGetInstructionParent(inst), rest = plugin_split(inst);

	LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(head));
	LLVMPositionBuilderAtEnd(builder, head);
	return rest;
}

void emit_end(void)
{
	LLVMDisposeBuilder(builder);
	for (int i = 0; i < FAST_COUNT; i++) /* what nobody has called */
		if (!LLVMGetFirstUse(fast[i]))
			LLVMDeleteFunction(fast[i]);
}

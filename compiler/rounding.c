/*
 * Makes numbers independent of the copy of the code that computes them. Accesses without a claim take code with hooks,
 * others its copy without (loops.c, groups.c, held.c), and a replay may take the other one. Where the program allows it
 * to (-ffast-math, -ffp-contract=fast), the code generator fuses, reorders and approximates operations, as far as they
 * stand in one block: a hook between them ends that, and the last bits differ. So what may be fused is fused here, when
 * there is one copy; and nothing more is allowed.
 */
#include <string.h>
#include "internal.h"

static bool may_change(LLVMValueRef inst, LLVMFastMathFlags how)
{
	return LLVMCanValueUseFastMathFlags(inst) && LLVMGetFastMathFlags(inst) & how;
}

/* A product that is used in a sum alone. */
static bool is_product(LLVMValueRef value)
{
	if (!LLVMIsAInstruction(value) || LLVMGetInstructionOpcode(value) != LLVMFMul ||
	    !may_change(value, LLVMFastMathAllowContract))
		return false;
	return !LLVMGetNextUse(LLVMGetFirstUse(value));
}

static LLVMValueRef build_fused(struct module *m, LLVMBuilderRef b, LLVMValueRef *args)
{
	static const char name[] = "llvm.fmuladd";
	unsigned id = LLVMLookupIntrinsicID(name, sizeof name - 1);
	LLVMTypeRef type = LLVMTypeOf(args[0]);

	return LLVMBuildCall2(b, LLVMIntrinsicGetType(m->context, id, &type, 1),
			      LLVMGetIntrinsicDeclaration(m->module, id, &type, 1), args, 3, "");
}

/* a * b + c, c + a * b, a * b - c, c - a * b */
static void fuse(struct module *m, LLVMBuilderRef b, LLVMValueRef sum)
{
	bool minus = LLVMGetInstructionOpcode(sum) == LLVMFSub, first = is_product(LLVMGetOperand(sum, 0));
	LLVMValueRef product = LLVMGetOperand(sum, !first), other = LLVMGetOperand(sum, first);

	if (!is_product(product))
		return;
	LLVMValueRef args[] = { LLVMGetOperand(product, 0), LLVMGetOperand(product, 1), other };
	LLVMPositionBuilderBefore(b, sum);
	if (minus)
		args[first ? 2 : 0] = LLVMBuildFNeg(b, args[first ? 2 : 0], "");
	LLVMReplaceAllUsesWith(sum, build_fused(m, b, args));
	LLVMInstructionEraseFromParent(sum);
	LLVMInstructionEraseFromParent(product);
}

static void fuse_all(struct module *m, LLVMBuilderRef b, LLVMBasicBlockRef block)
{
	for (LLVMValueRef inst = LLVMGetFirstInstruction(block), next; inst; inst = next) {
		LLVMOpcode op = LLVMGetInstructionOpcode(inst);
		next = LLVMGetNextInstruction(inst);
		if ((op == LLVMFAdd || op == LLVMFSub) && may_change(inst, LLVMFastMathAllowContract))
			fuse(m, b, inst);
	}
}

static void forbid_rest(LLVMValueRef function)
{
	static const char *const allowed[] = {
		"unsafe-fp-math",	   "no-infs-fp-math",	  "no-nans-fp-math",
		"no-signed-zeros-fp-math", "approx-func-fp-math", "reciprocal-estimates"
	};

	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
		for (LLVMValueRef inst = LLVMGetFirstInstruction(block); inst; inst = LLVMGetNextInstruction(inst))
			if (may_change(inst, LLVMFastMathAll))
				LLVMSetFastMathFlags(inst, LLVMFastMathNone);
	for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
		LLVMRemoveStringAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, allowed[i],
						 (unsigned)strlen(allowed[i]));
}

void rounding_settle(struct module *m, LLVMValueRef function)
{
	LLVMBuilderRef b = LLVMCreateBuilderInContext(m->context);

	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
		fuse_all(m, b, block);
	LLVMDisposeBuilder(b);
	forbid_rest(function);
}

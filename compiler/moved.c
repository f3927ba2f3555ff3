/*
 * Parts of pointers, for every analysis of pointers: what may have been moved as it is, and what was calculated.
 */
#include "compiler/points_to.h"

bool points_to_moved(LLVMValueRef v, unsigned depth)
{
	enum { DEEPEST = 8 };

	if (LLVMIsAConstant(v))
		return false;
	if (!LLVMIsAInstruction(v) || depth == DEEPEST)
		return true;
	switch (LLVMGetInstructionOpcode(v)) {
	case LLVMICmp:
	case LLVMFCmp:
	case LLVMAdd:
	case LLVMSub:
	case LLVMMul:
	case LLVMUDiv:
	case LLVMSDiv:
	case LLVMURem:
	case LLVMSRem:
	case LLVMFAdd:
	case LLVMFSub:
	case LLVMFMul:
	case LLVMFDiv:
	case LLVMFPTrunc:
	case LLVMSIToFP:
	case LLVMUIToFP:
	case LLVMFPToSI:
	case LLVMFPToUI: return false;
	case LLVMZExt:
	case LLVMSExt:
	case LLVMTrunc:
	case LLVMBitCast:
	case LLVMFreeze:
	case LLVMShl:
	case LLVMLShr:
	case LLVMAShr:
	case LLVMAnd:
	case LLVMOr:
	case LLVMXor:
	case LLVMSelect:
	case LLVMPHI:
		for (unsigned i = LLVMIsASelectInst(v) ? 1 : 0; i < (unsigned)LLVMGetNumOperands(v); i++)
			if (points_to_moved(LLVMGetOperand(v, i), depth + 1))
				return true;
		return false;
	default: return true;
	}
}

static bool is_address(LLVMValueRef v)
{
	return LLVMIsAPtrToIntInst(v) || (LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMPtrToInt);
}

bool points_to_is_way(LLVMValueRef v)
{
	return LLVMIsABinaryOperator(v) && LLVMGetInstructionOpcode(v) == LLVMSub && is_address(LLVMGetOperand(v, 0)) &&
	       is_address(LLVMGetOperand(v, 1));
}

bool points_to_keeps_way(LLVMValueRef v, unsigned depth)
{
	enum { DEEPEST = 4 };

	for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef user = LLVMGetUser(u);
		bool compared = LLVMIsAICmpInst(user) || (LLVMIsABinaryOperator(user) && depth < DEEPEST &&
							  !points_to_keeps_way(user, depth + 1));
		if (!compared)
			return true;
	}
	return false;
}

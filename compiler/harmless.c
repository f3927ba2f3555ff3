/* Questions about an instruction that may be among hooked accesses in one bracket, or be copied. */
#include <string.h>
#include "compiler/internal.h"

static unsigned attribute(const char *name)
{
	return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

/* Of the call, or of the function that it calls. */
static bool call_has(LLVMValueRef call, const char *name)
{
	LLVMValueRef f = LLVMGetCalledValue(call);

	return LLVMGetCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex, attribute(name)) ||
	       (LLVMIsAFunction(f) && LLVMGetEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(name)));
}

static bool is_token(LLVMValueRef inst)
{
	return LLVMGetTypeKind(LLVMTypeOf(inst)) == LLVMTokenTypeKind;
}

/* It neither waits nor jumps, and can be there twice. */
static bool stays(LLVMValueRef inst)
{
	if (LLVMIsACallInst(inst) || LLVMIsAInvokeInst(inst) || LLVMIsACallBrInst(inst))
		return LLVMIsAIntrinsicInst(inst) && call_has(inst, "willreturn") && call_has(inst, "nounwind") &&
		       !call_has(inst, "noduplicate");
	switch (LLVMGetInstructionOpcode(inst)) {
	case LLVMFence:
	case LLVMAlloca:
	case LLVMAtomicRMW:
	case LLVMAtomicCmpXchg:
	case LLVMLandingPad:
	case LLVMCatchPad:
	case LLVMCleanupPad:
	case LLVMCatchSwitch: return false;
	case LLVMLoad:
	case LLVMStore: return LLVMGetOrdering(inst) == LLVMAtomicOrderingNotAtomic;
	default: return true;
	}
}

bool is_harmless_anywhere(LLVMValueRef inst)
{
	return stays(inst) && !is_token(inst) &&
	       (!LLVMIsATerminatorInst(inst) || LLVMIsABranchInst(inst) || LLVMIsASwitchInst(inst));
}

bool is_harmless(LLVMValueRef inst)
{
	return !LLVMIsATerminatorInst(inst) && !is_token(inst) && !LLVMIsAPHINode(inst) && stays(inst);
}

/* Also in a loop that is copied as a whole: jumps, and what is seen to be safe there. */
bool is_harmless_in_copy(LLVMValueRef inst)
{
	return stays(inst);
}

bool is_computed(LLVMValueRef inst)
{
	return LLVMIsAGetElementPtrInst(inst) || LLVMIsACastInst(inst) || LLVMIsACmpInst(inst) ||
	       LLVMIsASelectInst(inst) || (LLVMIsABinaryOperator(inst) && plugin_is_safe_earlier(inst));
}

bool is_unoptimised(LLVMValueRef function)
{
	return LLVMGetEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute("optnone"));
}

/*
 * Each file, before it is optimised: what the analysis recognises when it is linked must not be taken apart.
 *
 * A call that waits at a barrier is marked `convergent`: the optimiser may not make it depend on a condition that it
 * did not depend on before. Otherwise the ways of a thread that has no work and of one that has some would get a call
 * each, and it could not be seen any more that all pass it. Functions that may be barriers of the program's own
 * (handmade.c) stay functions, and are marked, too. A function that a thread may begin with stays a function, also
 * where it is called: it is then the same for the first thread and the others. A call that creates or joins threads is
 * not copied: a loop of them stays a loop.
 */
#include <string.h>
#include "compiler/races/phases.h"

static void mark(LLVMValueRef function, const char *attribute)
{
	LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
	unsigned kind = LLVMGetEnumAttributeKindForName(attribute, strlen(attribute));

	LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(context, kind, 0));
}

static bool has(LLVMValueRef function, const char *attribute)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(attribute, strlen(attribute));

	return LLVMGetEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind);
}

/* void *f(void *), int f(void *), and somebody has its address. */
static bool may_begin_thread(LLVMValueRef f)
{
	LLVMTypeRef type = LLVMGlobalGetValueType(f), only;

	if (LLVMIsDeclaration(f) || LLVMCountParamTypes(type) != 1 || LLVMIsFunctionVarArg(type))
		return false;
	LLVMGetParamTypes(type, &only);
	LLVMTypeKind result = LLVMGetTypeKind(LLVMGetReturnType(type));
	if (LLVMGetTypeKind(only) != LLVMPointerTypeKind ||
	    (result != LLVMPointerTypeKind && result != LLVMIntegerTypeKind))
		return false;
	for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef user = LLVMGetUser(u);
		if (!LLVMIsACallInst(user) || LLVMGetCalledValue(user) != f)
			return true;
	}
	return false;
}

/* --barrier=NAME */
static void mark_named(LLVMModuleRef module)
{
	for (const char *p = settings.barriers; p && *p; p += strcspn(p, ":"), p += *p == ':')
		for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
			if (strlen(external_name(f)) == strcspn(p, ":") &&
			    !strncmp(external_name(f), p, strcspn(p, ":"))) {
				mark(f, "convergent");
				mark(f, "noinline");
			}
}

/* What they wait with is marked, too: a function that calls nothing of the kind does not keep its own mark. */
static void mark_handmade(LLVMModuleRef module)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
		if (!LLVMIsDeclaration(f) && !has(f, "alwaysinline") && handmade_may_be(f)) {
			mark(f, "convergent");
			mark(f, "noinline");
		}
}

bool races_prepare(LLVMModuleRef module)
{
	static const struct {
		const char *function, *attribute;
	} known[] = {
		{ "pthread_barrier_wait", "convergent" },
		{ "pthread_cond_wait", "convergent" },
		{ "cnd_wait", "convergent" },
		{ "pthread_create", "noduplicate" },
		{ "pthread_join", "noduplicate" },
		{ "thrd_create", "noduplicate" },
		{ "thrd_join", "noduplicate" },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (LLVMGetNamedFunction(module, known[i].function))
			mark(LLVMGetNamedFunction(module, known[i].function), known[i].attribute);
	mark_named(module);
	mark_handmade(module);
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
		if (may_begin_thread(f) && !has(f, "alwaysinline"))
			mark(f, "noinline");
	return true;
}

/*
 * What needs no hook under --select=all: memory that no other thread can know, memory that nobody writes, and functions
 * that must not be hooked.
 */
#include <string.h>
#include <stdlib.h>
#include "compiler/internal.h"

static const char *const not_shared[] = {
	"a local variable whose address is not given away",
	"a constant",
	"a thread-local variable whose address is not given away",
	"errno",
	"a block that this function allocates and does not give away",
};
enum { WHY_LOCAL, WHY_CONSTANT, WHY_TLS, WHY_ERRNO, WHY_BLOCK };

static bool has_attribute(LLVMValueRef call, LLVMAttributeIndex at, const char *name)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
	LLVMValueRef callee = LLVMGetCalledValue(call);

	return LLVMGetCallSiteEnumAttribute(call, at, kind) ||
	       (LLVMIsAFunction(callee) && LLVMGetEnumAttributeAtIndex(callee, at, kind));
}

static bool is_called(LLVMValueRef call, const char *name)
{
	size_t len;
	LLVMValueRef callee = LLVMGetCalledValue(call);

	return LLVMIsAFunction(callee) && !strcmp(LLVMGetValueName2(callee, &len), name);
}

/* Every use must be the intrinsic that gives the calling thread's address, and that must stay where it is. */
static bool tls_private(LLVMValueRef variable)
{
	if (LLVMGetLinkage(variable) != LLVMInternalLinkage && LLVMGetLinkage(variable) != LLVMPrivateLinkage)
		return false;
	for (LLVMUseRef u = LLVMGetFirstUse(variable); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef user = LLVMGetUser(u);
		if (!LLVMIsACallInst(user) || !is_called(user, "llvm.threadlocal.address.p0") ||
		    plugin_captured(user, true))
			return false;
	}
	return true;
}

/* Index into not_shared, or -1. */
static int classify(LLVMValueRef object)
{
	if (LLVMIsAAllocaInst(object))
		return plugin_captured(object, false) ? -1 : WHY_LOCAL;
	if (LLVMIsAArgument(object)) { /* passed by value: a local variable that the caller has filled */
		unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5), n = 1;
		LLVMValueRef function = LLVMGetParamParent(object);
		for (LLVMValueRef p = LLVMGetFirstParam(function); p && p != object; p = LLVMGetNextParam(p))
			n++;
		return LLVMGetEnumAttributeAtIndex(function, n, byval) && !plugin_captured(object, false) ? WHY_LOCAL :
													    -1;
	}
	if (LLVMIsAGlobalVariable(object))
		return LLVMIsGlobalConstant(object) ? WHY_CONSTANT : -1;
	if (!LLVMIsACallInst(object))
		return -1;
	if (is_called(object, "llvm.threadlocal.address.p0"))
		return tls_private(LLVMGetOperand(object, 0)) ? WHY_TLS : -1;
	if (is_called(object, "__errno_location"))
		return WHY_ERRNO;
	return has_attribute(object, LLVMAttributeReturnIndex, "noalias") && !plugin_captured(object, true) ?
		       WHY_BLOCK :
		       -1;
}

/* One answer for all objects that an address may point into. */
static void look(void *arg, LLVMValueRef object)
{
	int *answer = arg, mine = *answer == -1 ? -1 : classify(object);

	*answer = mine == -1 ? -1 : *answer < mine ? mine : *answer;
}

/* x86-64's __seg_gs and __seg_fs: where a thread keeps what is its own. */
static bool is_by_segment(LLVMTypeRef type)
{
	if (LLVMGetTypeKind(type) != LLVMPointerTypeKind)
		return false;
	unsigned space = LLVMGetPointerAddressSpace(type);
	return space == 256 || space == 257;
}

const char *select_private(LLVMValueRef addr)
{
	int answer = -2; /* no object seen */

	if (is_by_segment(LLVMTypeOf(addr)))
		return not_shared[WHY_TLS];
	plugin_objects(addr, look, &answer);
	return answer < 0 ? NULL : not_shared[answer];
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* Functions that are to be left alone: __attribute__((annotate("heddle_ignore"))), and those that choose an ifunc's
   target, with what they call. */
static LLVMValueRef *ignored;
static size_t ignored_count;

static void ignore(LLVMValueRef function)
{
	ignored = realloc(ignored, (ignored_count + 1) * sizeof *ignored);
	ignored[ignored_count++] = function;
}

static bool is_in(LLVMValueRef function)
{
	for (size_t i = 0; i < ignored_count; i++)
		if (ignored[i] == function)
			return true;
	return false;
}

/* What it calls by name runs before there are thread-local variables, too. */
static void ignore_with_callees(LLVMValueRef function)
{
	if (!LLVMIsAFunction(function) || LLVMIsDeclaration(function) || is_in(function))
		return;
	ignore(function);
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			if (LLVMIsACallInst(i) || LLVMIsAInvokeInst(i))
				ignore_with_callees(LLVMGetCalledValue(i));
}

static bool says_ignore(LLVMValueRef string)
{
	size_t len;
	LLVMValueRef value = LLVMIsAGlobalVariable(string) ? LLVMGetInitializer(string) : NULL;

	if (!value || !LLVMIsConstantString(value))
		return false;
	const char *text = LLVMGetAsString(value, &len);
	return len == sizeof "heddle_ignore" && !memcmp(text, "heddle_ignore", len);
}

void select_begin(struct module *m)
{
	LLVMValueRef list = LLVMGetNamedGlobal(m->module, "llvm.global.annotations");

	ignored_count = 0;
	if (list) {
		LLVMValueRef rows = LLVMGetInitializer(list);
		for (int i = 0; i < LLVMGetNumOperands(rows); i++) {
			LLVMValueRef row = LLVMGetOperand(rows, (unsigned)i);
			if (says_ignore(LLVMGetOperand(row, 1)))
				ignore(LLVMGetOperand(row, 0));
		}
	}
	for (LLVMValueRef f = LLVMGetFirstGlobalIFunc(m->module); f; f = LLVMGetNextGlobalIFunc(f)) {
		LLVMValueRef chooses = LLVMGetGlobalIFuncResolver(f);
		while (LLVMIsAGlobalAlias(chooses))
			chooses = LLVMAliasGetAliasee(chooses);
		ignore_with_callees(chooses);
	}
}

bool select_ignored(struct module *m, LLVMValueRef function)
{
	unsigned naked = LLVMGetEnumAttributeKindForName("naked", 5);
	size_t len;

	(void)m;
	if (LLVMIsDeclaration(function) || LLVMGetLinkage(function) == LLVMAvailableExternallyLinkage ||
	    LLVMGetEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, naked) ||
	    !strncmp(LLVMGetValueName2(function, &len), "__heddle_", 9))
		return true;
	return is_in(function);
}

/*
 * Functions of libc that call the program back are replaced by ours, which get hooks: replaced.c. It is linked into the
 * module before anything is looked at, and only if the module calls one of them.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/internal.h"

static const char *const names[] = { "qsort", "qsort_r", "bsearch", "lfind", "lsearch" };
#define PREFIX "__replaced_"

/* What the program calls; NULL: nothing, or it has its own. */
static LLVMValueRef called(LLVMModuleRef module, const char *name)
{
	LLVMValueRef f = LLVMGetNamedFunction(module, name);

	return f && LLVMIsDeclaration(f) && LLVMGetFirstUse(f) ? f : NULL;
}

static LLVMValueRef ours(LLVMModuleRef module, const char *name)
{
	char full[64] = PREFIX;

	return LLVMGetNamedFunction(module, strcat(full, name));
}

bool replace_called_back(struct module *m)
{
	bool some = false;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		some |= called(m->module, names[i]) && !ours(m->module, names[i]);
	if (!some)
		return false;
	link_part(m, settings.replaced);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		LLVMValueRef theirs = called(m->module, names[i]), new = ours(m->module, names[i]);
		if (theirs)
			LLVMReplaceAllUsesWith(theirs, new);
		/* a copy in each module: what is not called goes away */
		LLVMSetLinkage(new, LLVMInternalLinkage);
	}
	return true;
}

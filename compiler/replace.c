/*
 * Functions of libc that call the program back, allocate or lock are replaced by ours, which get hooks: replaced.h. They are
 * linked into the module before anything is looked at, and only if the module calls one of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "compiler/internal.h"

static const char *const names[] = {
	"qsort",	  "qsort_r",	    "bsearch",	       "lfind",		  "lsearch",	    "strdup",
	"strndup",	  "puts",	    "fputs",	       "fwrite",	  "fread",	    "__fread_chk",
	"fgets",	  "__fgets_chk",    "getdelim",	       "__getdelim",	  "getline",	    "vprintf",
	"vfprintf",	  "vsprintf",	    "vsnprintf",       "vasprintf",	  "vdprintf",	    "__vprintf_chk",
	"__vfprintf_chk", "__vsprintf_chk", "__vsnprintf_chk", "__vasprintf_chk", "__vdprintf_chk",
};
#define PREFIX "__replaced_"
#define THEIRS "__theirs_" /* what ours call */

/* What the program calls; NULL: nothing, or it has its own. */
static LLVMValueRef called(LLVMModuleRef module, const char *name)
{
	LLVMValueRef f = LLVMGetNamedFunction(module, name);

	return f && LLVMIsDeclaration(f) && LLVMGetFirstUse(f) ? f : NULL;
}

static LLVMValueRef named(LLVMModuleRef module, const char *prefix, const char *name)
{
	char full[64];

	snprintf(full, sizeof full, "%s%s", prefix, name);
	return LLVMGetNamedFunction(module, full);
}

/* What ours call is libc's, under its own name. */
static void name_theirs(LLVMModuleRef module, const char *name)
{
	LLVMValueRef declared = named(module, THEIRS, name), theirs = LLVMGetNamedFunction(module, name);

	if (declared && theirs)
		LLVMReplaceAllUsesWith(declared, theirs);
	else if (declared)
		LLVMSetValueName2(declared, name, strlen(name));
}

/* A copy in each module: what is not called goes away. */
static void keep_inside(LLVMModuleRef module)
{
	size_t len;

	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
		if (!strncmp(LLVMGetValueName2(f, &len), PREFIX, sizeof PREFIX - 1) && !LLVMIsDeclaration(f))
			LLVMSetLinkage(f, LLVMInternalLinkage);
}

bool replace_some(struct module *m)
{
	bool some = formats_found(m);

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		some |= called(m->module, names[i]) != NULL;
	if (!some || named(m->module, PREFIX, names[0]))
		return false;
	link_part(m, settings.replaced);
	formats_rewrite(m);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		LLVMValueRef theirs = called(m->module, names[i]);
		if (theirs)
			LLVMReplaceAllUsesWith(theirs, named(m->module, PREFIX, names[i]));
		name_theirs(m->module, names[i]);
	}
	keep_inside(m->module);
	return true;
}

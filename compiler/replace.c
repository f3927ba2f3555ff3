/*
 * Functions of libc that call the program back, allocate, lock or cut strings up are replaced by ours, which get hooks:
 * replaced.h.
 * They are linked into the module before anything is looked at, and only if the module calls one of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "compiler/internal.h"

static const char *const names[] = {
	"qsort",
	"qsort_r",
	"bsearch",
	"lfind",
	"lsearch",
	"strdup",
	"strndup",
	"strspn",
	"strcspn",
	"strpbrk",
	"strsep",
	"strtok_r",
	"getsubopt",
	"strstr",
	"strtol",
	"strtoul",
	"strtoll",
	"strtoull",
	"strtoimax",
	"strtoumax",
	"__isoc23_strtol",
	"__isoc23_strtoul",
	"__isoc23_strtoll",
	"__isoc23_strtoull",
	"__isoc23_strtoimax",
	"__isoc23_strtoumax",
	"strtof",
	"strtod",
	"strtold",
	"atoi",
	"atol",
	"atoll",
	"atof",
	"inet_ntop",
	"inet_pton",
	/* replaced_calls.c */
	"localtime",
	"localtime_r",
	"gmtime",
	"gmtime_r",
	"asctime",
	"ctime",
	"ctime_r",
	"posix_spawn",
	"posix_spawnp",
	"sigwait",
	"timer_create",
	"gethostname",
	"__gethostname_chk",
	"realpath",
	"__realpath_chk",
	"mkstemp",
	"mkostemp",
	"mkstemps",
	"mkostemps",
	"mkdtemp",
	"select",
	"pselect",
	"ppoll",
	"puts",
	"fputs",
	"fwrite",
	"fread",
	"__fread_chk",
	"fgets",
	"__fgets_chk",
	"getdelim",
	"__getdelim",
	"getline",
	"vprintf",
	"vfprintf",
	"vsprintf",
	"vsnprintf",
	"vasprintf",
	"vdprintf",
	"__vprintf_chk",
	"__vfprintf_chk",
	"__vsprintf_chk",
	"__vsnprintf_chk",
	"__vasprintf_chk",
	"__vdprintf_chk",
	"vscanf",
	"vfscanf",
	"vsscanf",
	"__isoc99_vscanf",
	"__isoc99_vfscanf",
	"__isoc99_vsscanf",
	"__isoc23_vscanf",
	"__isoc23_vfscanf",
	"__isoc23_vsscanf",
	/* replaced_cxx.c */
	"_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_",
	"_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_",
	"_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base",
	"_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base",
	"_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base",
	"_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base",
	"_ZNSt8__detail15_List_node_base7_M_hookEPS0_",
	"_ZNSt8__detail15_List_node_base9_M_unhookEv",
	"_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_",
	"_ZNSt8__detail15_List_node_base10_M_reverseEv",
	"_ZNSt8__detail15_List_node_base4swapERS0_S1_",
	"_ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l",
	"_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc",
	"_ZStlsIcSt11char_traitsIcESaIcEERSt13basic_ostreamIT_T0_ES7_RKNSt7__cxx1112basic_stringIS4_S5_T1_EE",
	"_ZNSo5writeEPKcl",
	"_ZNSt6thread4joinEv",
	"_ZNSt6thread6detachEv",
};
/* These are replaced call by call: scans.c. */
static const char *const called_by_ours[] = {
	"fscanf", "sscanf", "__isoc99_fscanf", "__isoc99_sscanf", "__isoc23_fscanf", "__isoc23_sscanf",
};
#define PREFIX "__replaced_"
#define DONE   "heddle.replaced"
#define THEIRS "__theirs_" /* what ours call */

/* What the program calls; NULL: nothing, or it has its own. */
static LLVMValueRef called(LLVMModuleRef module, const char *name)
{
	LLVMValueRef f = LLVMGetNamedFunction(module, name);

	return f && LLVMIsDeclaration(f) && LLVMGetFirstUse(f) ? f : NULL;
}

static LLVMValueRef named(LLVMModuleRef module, const char *prefix, const char *name)
{
	char full[160];

	snprintf(full, sizeof full, "%s%s", prefix, name);
	return LLVMGetNamedFunction(module, full);
}

LLVMValueRef replaced_named(struct module *m, const char *name)
{
	return named(m->module, PREFIX, name);
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

static bool is_replaced(LLVMValueRef f)
{
	size_t len;

	return !strncmp(LLVMGetValueName2(f, &len), PREFIX, sizeof PREFIX - 1) && !LLVMIsDeclaration(f);
}

/* What nobody calls: ours, with what only they call. Who looks at a program asks what it declares. */
static bool is_idle(LLVMValueRef f)
{
	return !LLVMGetFirstUse(f) && (LLVMIsDeclaration(f) || LLVMGetLinkage(f) == LLVMInternalLinkage);
}

/* A copy in each module; what is not called goes away, also without optimising: libc may not have what it would
   call. */
static void keep_inside(LLVMModuleRef module)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
		if (is_replaced(f))
			LLVMSetLinkage(f, LLVMInternalLinkage);
	for (bool again = true; again;) {
		again = false;
		for (LLVMValueRef f = LLVMGetFirstFunction(module), next; f; f = next) {
			next = LLVMGetNextFunction(f);
			if (is_idle(f)) {
				LLVMDeleteFunction(f);
				again = true;
			}
		}
	}
}

/* ---- one call ---------------------------------------------------------------------------------------------------- */

bool is_call_of(LLVMValueRef user, LLVMValueRef function)
{
	return (LLVMIsACallInst(user) || LLVMIsAInvokeInst(user)) && LLVMGetCalledValue(user) == function;
}

LLVMValueRef room_on_stack(struct module *m, LLVMValueRef call, const char *name, LLVMTypeRef type)
{
	LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
	LLVMValueRef first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function));
	size_t len;

	for (LLVMValueRef i = first; i && LLVMIsAAllocaInst(i); i = LLVMGetNextInstruction(i))
		if (!strcmp(LLVMGetValueName2(i, &len), name))
			return i;
	LLVMBuilderRef b = LLVMCreateBuilderInContext(m->context);
	LLVMPositionBuilderBefore(b, first);
	LLVMValueRef room = LLVMBuildAlloca(b, type, name);
	LLVMDisposeBuilder(b);
	return room;
}

void call_instead(LLVMBuilderRef b, LLVMValueRef call, LLVMValueRef ours, LLVMValueRef *args, unsigned n)
{
	LLVMTypeRef type = LLVMGlobalGetValueType(ours);
	LLVMValueRef made = LLVMIsAInvokeInst(call) ? LLVMBuildInvoke2(b, type, ours, args, n, LLVMGetNormalDest(call),
								       LLVMGetUnwindDest(call), "") :
						      LLVMBuildCall2(b, type, ours, args, n, "");

	LLVMReplaceAllUsesWith(call, made);
	LLVMInstructionEraseFromParent(call);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

bool replace_some(struct module *m)
{
	bool some = formats_found(m) || scans_found(m);

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		some |= called(m->module, names[i]) != NULL;
	if (!some || LLVMGetNamedMetadata(m->module, DONE, sizeof DONE - 1))
		return false;
	LLVMGetOrInsertNamedMetadata(m->module, DONE, sizeof DONE - 1);
	link_part(m, settings.replaced);
	formats_rewrite(m);
	scans_rewrite(m);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		LLVMValueRef theirs = called(m->module, names[i]);
		if (theirs)
			LLVMReplaceAllUsesWith(theirs, named(m->module, PREFIX, names[i]));
		name_theirs(m->module, names[i]);
	}
	for (size_t i = 0; i < sizeof called_by_ours / sizeof *called_by_ours; i++)
		name_theirs(m->module, called_by_ours[i]);
	keep_inside(m->module);
	return true;
}

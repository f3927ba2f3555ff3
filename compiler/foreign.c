/*
 * Accesses that are instructions of the machine to LLVM, too: inline assembler and intrinsics.
 */
#include <string.h>
#include "compiler/internal.h"

static bool is_pointer(LLVMValueRef value)
{
	return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind;
}

/* ---- inline assembler --------------------------------------------------------------------------------------------------- */

/* What may wait must not hold a range. Buffers of system calls are seen by the runtime. */
static bool waits(const char *text)
{
	static const char *const words[] = { "svc",	   "syscall", "sysenter", "int $0x80",
					     "int $$0x80", "wfe",     "wfi",	  "hlt" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

/* The size of what a memory operand points to. */
static LLVMValueRef operand_size(struct module *m, LLVMValueRef call, unsigned n)
{
	unsigned kind = LLVMGetEnumAttributeKindForName("elementtype", 11);
	LLVMAttributeRef attribute = LLVMGetCallSiteEnumAttribute(call, n + 1, kind);

	return attribute ? LLVMSizeOf(LLVMGetTypeAttributeValue(attribute)) : LLVMConstInt(m->i64, 16, false);
}

/*
 * The constraints are a list: "=*m,r,*m,~{memory}". Operands with '*' are addresses of memory. With a clobber of all
 * memory any pointer in a register may be used; 16 bytes, the most that one instruction accesses atomically, are taken.
 */
bool foreign_asm(struct module *m, LLVMValueRef call, struct access *a)
{
	size_t len;
	LLVMValueRef callee = LLVMGetCalledValue(call);

	if (!LLVMIsAInlineAsm(callee))
		return false;
	const char *text = LLVMGetInlineAsmAsmString(callee, &len), *p = LLVMGetInlineAsmConstraintString(callee, &len);
	bool all_memory = strstr(p, "~{memory}");
	if (!len || !*text || waits(text))
		return true;
	for (unsigned n = 0; *p && n < LLVMGetNumArgOperands(call); p += strcspn(p, ","), p += *p == ',') {
		size_t size = strcspn(p, ",");
		bool output = *p == '=', indirect = memchr(p, '*', size);
		if (*p == '~' || *p == '!' || (output && !indirect))
			continue;
		LLVMValueRef value = LLVMGetOperand(call, n);
		if (is_pointer(value) && indirect)
			access_add_range(a, (struct range){ .addr = value,
							    .size = operand_size(m, call, n),
							    .unit = 1,
							    .kind = output ? HOOK_WRITE : HOOK_READ });
		else if (is_pointer(value) && all_memory)
			access_add_range(a, (struct range){ .addr = value,
							    .size = LLVMConstInt(m->i64, 16, false),
							    .unit = 1,
							    .kind = HOOK_READ | HOOK_WRITE });
		n++;
	}
	return true;
}

/* ---- intrinsics ------------------------------------------------------------------------------------------------------------ */

/* Those that access memory, by how their names begin. All others are the optimiser's business. */
static const struct {
	const char *name;
	unsigned kind; /* 0: as the result says: without one it is a write */
} intrinsics[] = {
	{ "llvm.masked.", 0 },
	{ "llvm.vp.", 0 },
	{ "llvm.aarch64.neon.ld", 0 },
	{ "llvm.aarch64.neon.st", 0 },
	{ "llvm.aarch64.sve.ld", 0 },
	{ "llvm.aarch64.sve.st", 0 },
	{ "llvm.aarch64.ld", HOOK_READ },
	{ "llvm.aarch64.st", HOOK_WRITE },
	{ "llvm.x86.", 0 },
	{ "llvm.matrix.column.major.", 0 },
	{ "llvm.experimental.vp.", 0 },
};

static LLVMValueRef lane(struct module *m, LLVMValueRef call, LLVMValueRef pointers, unsigned n)
{
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(m->context);

	LLVMPositionBuilderBefore(builder, call);
	LLVMValueRef pointer = LLVMBuildExtractElement(builder, pointers, LLVMConstInt(m->i32, n, false), "");
	LLVMDisposeBuilder(builder);
	return pointer;
}

/* gather and scatter: each lane has its own address. */
static void add_lanes(struct module *m, LLVMValueRef call, LLVMValueRef pointers, unsigned kind, struct access *a)
{
	for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(pointers)); i++)
		access_add_range(a, (struct range){ .addr = lane(m, call, pointers, i),
						    .kind = kind,
						    .unit = 1,
						    .size = LLVMConstInt(m->i64, 8, false) });
}

bool foreign_intrinsic(struct module *m, LLVMValueRef call, struct access *a)
{
	size_t len;
	LLVMValueRef callee = LLVMGetCalledValue(call);

	if (!LLVMIsAFunction(callee) || !LLVMGetIntrinsicID(callee))
		return false;
	const char *name = LLVMGetValueName2(callee, &len);
	for (size_t i = 0; i < sizeof intrinsics / sizeof *intrinsics; i++) {
		if (strncmp(name, intrinsics[i].name, strlen(intrinsics[i].name)))
			continue;
		bool gives = LLVMGetTypeKind(LLVMTypeOf(call)) != LLVMVoidTypeKind;
		unsigned kind = intrinsics[i].kind ? intrinsics[i].kind : gives ? HOOK_READ : HOOK_WRITE;
		LLVMValueRef size = gives ? LLVMSizeOf(LLVMTypeOf(call)) : LLVMConstInt(m->i64, 0, false);
		for (unsigned n = 0; n < LLVMGetNumArgOperands(call); n++) {
			LLVMTypeKind type = LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, n)));
			bool vector = type == LLVMVectorTypeKind || type == LLVMScalableVectorTypeKind;
			if (vector && !gives)
				size = LLVMConstAdd(size, LLVMSizeOf(LLVMTypeOf(LLVMGetOperand(call, n))));
		}
		for (unsigned n = 0; n < LLVMGetNumArgOperands(call); n++) {
			LLVMValueRef value = LLVMGetOperand(call, n);
			LLVMTypeRef type = LLVMTypeOf(value);
			if (is_pointer(value))
				access_add_range(
					a, (struct range){ .addr = value, .size = size, .kind = kind, .unit = 1 });
			else if (LLVMGetTypeKind(type) == LLVMVectorTypeKind &&
				 LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMPointerTypeKind)
				add_lanes(m, call, value, kind, a);
		}
		return true;
	}
	return false;
}

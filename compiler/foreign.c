/*
 * Accesses that are instructions of the machine to LLVM, too: inline assembler and intrinsics.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/internal.h"

static bool is_pointer(LLVMValueRef value)
{
	return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind;
}

/* ---- inline assembler -------------------------------------------------------------------------------------------- */

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

#define NEXT_CONSTRAINT(p) ((p) += strcspn(p, ","), (p) += *(p) == ',')

/* Does the constraint stand for an operand of the call? Outputs in registers are its result. */
static bool has_operand(const char *constraint)
{
	bool output = *constraint == '=', indirect = memchr(constraint, '*', strcspn(constraint, ","));
	return *constraint != '~' && *constraint != '!' && (!output || indirect);
}

static bool is_counter(const char *constraint)
{
	constraint += strspn(constraint, "=&");
	return !strncmp(constraint, "{cx}", 4) || !strncmp(constraint, "{ecx}", 5) || !strncmp(constraint, "{rcx}", 5);
}

/* What an operand in register cx says: "{cx}", or the number of an output "={cx}" that it shares its register with.
   NULL: there is none. */
static LLVMValueRef in_counter(LLVMValueRef call, const char *constraints)
{
	unsigned output = ~0u, number = 0, n = 0;

	for (const char *p = constraints; *p && n < LLVMGetNumArgOperands(call); NEXT_CONSTRAINT(p), number++) {
		if (*p == '=' && is_counter(p))
			output = number;
		if (!has_operand(p))
			continue;
		bool same = *p >= '0' && *p <= '9' && strtoul(p, NULL, 10) == output;
		if (is_counter(p) || same)
			return LLVMGetOperand(call, n);
		n++;
	}
	return NULL;
}

/*
 * How much the assembler may access where a register points to: 16 bytes, the most that one instruction accesses
 * atomically; a string instruction of x86-64 as much as its counter says, eight bytes each at most. One that compares
 * may end before that.
 */
static LLVMValueRef reach(struct module *m, LLVMValueRef call, const char *text, const char *constraints)
{
	bool all = strstr(text, "rep") && !strstr(text, "cmps") && !strstr(text, "scas");
	LLVMValueRef counter = all ? in_counter(call, constraints) : NULL;

	if (!counter || LLVMGetTypeKind(LLVMTypeOf(counter)) != LLVMIntegerTypeKind)
		return LLVMConstInt(m->i64, 16, false);
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(m->context);
	LLVMPositionBuilderBefore(builder, call);
	bool bytes = strstr(text, "movsb") || strstr(text, "stosb") || strstr(text, "lodsb");
	LLVMValueRef size = LLVMBuildMul(builder, LLVMBuildZExtOrBitCast(builder, counter, m->i64, ""),
					 LLVMConstInt(m->i64, bytes ? 1 : 8, false), "");
	LLVMDisposeBuilder(builder);
	return size;
}

/*
 * The constraints are a list: "=*m,r,*m,~{memory}". Operands with '*' are addresses of memory. With a clobber of all
 * memory any pointer in a register may be used: see reach().
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
	LLVMValueRef far = all_memory ? reach(m, call, text, p) : NULL;
	for (unsigned n = 0; *p && n < LLVMGetNumArgOperands(call); NEXT_CONSTRAINT(p)) {
		bool output = *p == '=', indirect = memchr(p, '*', strcspn(p, ","));
		if (!has_operand(p))
			continue;
		LLVMValueRef value = LLVMGetOperand(call, n);
		if (is_pointer(value) && indirect)
			access_add_range(a, (struct range){ .addr = value,
							    .size = operand_size(m, call, n),
							    .unit = 1,
							    .kind = output     ? HOOK_WRITE :
								    all_memory ? HOOK_READ | HOOK_WRITE :
										 HOOK_READ });
		else if (is_pointer(value) && all_memory)
			access_add_range(
				a, (struct range){
					   .addr = value, .size = far, .unit = 1, .kind = HOOK_READ | HOOK_WRITE });
		n++;
	}
	return true;
}

/* ---- intrinsics -------------------------------------------------------------------------------------------------- */

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

/* Of addresses; or, with a base, of what is added to it when it is multiplied by `scale`. */
struct lanes {
	LLVMValueRef vector, base, scale;
	LLVMValueRef mask; /* which of them count; NULL: all */
	unsigned count;
};

static unsigned lanes_of(LLVMValueRef value)
{
	return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind ? LLVMGetVectorSize(LLVMTypeOf(value)) : 0;
}

/* By a bit of a number, by one of a vector of bits, or by the sign of an element, which may be floating. */
static LLVMValueRef counts(struct module *m, LLVMBuilderRef builder, LLVMValueRef mask, unsigned n)
{
	LLVMTypeRef type = LLVMTypeOf(mask);

	if (LLVMGetTypeKind(type) == LLVMIntegerTypeKind) {
		LLVMValueRef bits = LLVMBuildLShr(builder, mask, LLVMConstInt(type, n, false), "");
		return LLVMBuildTrunc(builder, bits, LLVMInt1TypeInContext(m->context), "");
	}
	LLVMTypeRef element = LLVMGetElementType(type);
	unsigned width = LLVMGetTypeKind(element) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(element) :
			 LLVMGetTypeKind(element) == LLVMFloatTypeKind	 ? 32 :
									   64;
	LLVMTypeRef whole = LLVMIntTypeInContext(m->context, width);
	mask = LLVMBuildBitCast(builder, mask, LLVMVectorType(whole, LLVMGetVectorSize(type)), "");
	LLVMValueRef is = LLVMBuildExtractElement(builder, mask, LLVMConstInt(m->i32, n, false), "");
	return LLVMBuildICmp(builder, LLVMIntSLT, is, LLVMConstNull(whole), "");
}

/* One that does not count has any address: it is taken for nowhere, and has no size. */
static struct range lane(struct module *m, LLVMValueRef call, const struct lanes *l, unsigned n, unsigned kind)
{
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(m->context);
	struct range r = { .kind = kind, .unit = 1, .size = LLVMConstInt(m->i64, 8, false) };

	LLVMPositionBuilderBefore(builder, call);
	r.addr = LLVMBuildExtractElement(builder, l->vector, LLVMConstInt(m->i32, n, false), "");
	if (l->base) {
		LLVMValueRef index = LLVMBuildSExt(builder, r.addr, m->i64, "");
		LLVMValueRef scale = LLVMBuildZExt(builder, l->scale, m->i64, "");
		LLVMValueRef bytes = LLVMBuildMul(builder, index, scale, "");
		r.addr = LLVMBuildGEP2(builder, LLVMInt8TypeInContext(m->context), l->base, &bytes, 1, "");
	}
	if (l->mask) {
		LLVMValueRef on = counts(m, builder, l->mask, n);
		r.addr = LLVMBuildSelect(builder, on, r.addr, LLVMConstNull(LLVMTypeOf(r.addr)), "");
		r.size = LLVMBuildSelect(builder, on, r.size, LLVMConstNull(m->i64), "");
	}
	LLVMDisposeBuilder(builder);
	return r;
}

/* gather and scatter: each lane has its own address. */
static void add_lanes(struct module *m, LLVMValueRef call, const struct lanes *l, unsigned kind, struct access *a)
{
	for (unsigned i = 0; i < l->count; i++)
		access_add_range(a, lane(m, call, l, i, kind));
}

/* llvm.x86.*gather*(old, base, indices, mask, scale) and llvm.x86.*scatter*(base, mask, indices, new, scale). */
static bool add_indexed(struct module *m, LLVMValueRef call, const char *name, unsigned kind, struct access *a)
{
	bool gathers = strstr(name, "gather");

	if (strncmp(name, "llvm.x86.", 9) || !(gathers || strstr(name, "scatter")) || LLVMGetNumArgOperands(call) != 5)
		return false;
	struct lanes l = { .vector = LLVMGetOperand(call, 2),
			   .base = LLVMGetOperand(call, gathers),
			   .scale = LLVMGetOperand(call, 4),
			   .mask = LLVMGetOperand(call, gathers ? 3 : 1) };
	unsigned data = lanes_of(gathers ? call : LLVMGetOperand(call, 3)), indices = lanes_of(l.vector);
	l.count = data < indices ? data : indices;
	if (!l.count || !is_pointer(l.base))
		return false;
	add_lanes(m, call, &l, kind, a);
	return true;
}

/* llvm.masked.gather(addresses, alignment, mask, old) and llvm.masked.scatter(new, addresses, alignment, mask). */
static LLVMValueRef mask_of(LLVMValueRef call, const char *name, unsigned addresses)
{
	return strncmp(name, "llvm.masked.", 12) ? NULL : LLVMGetOperand(call, addresses + 2);
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
		if (add_indexed(m, call, name, kind, a))
			return true;
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
				add_lanes(m, call,
					  &(struct lanes){ .vector = value,
							   .count = lanes_of(value),
							   .mask = mask_of(call, name, n) },
					  kind, a);
		}
		return true;
	}
	return false;
}

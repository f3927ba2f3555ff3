/*
 * printf and its kin lock a file, allocate, or write what nobody knows before. So none of them may run while the memory
 * that they read and write is held. snprintf may: each call becomes
 *
 *	n = snprintf(NULL, 0, format, values ...)
 *	text = room for n characters, on the stack if they are few: programs print in handlers of signals
 *	m = snprintf(text, n + 1, format, values ...)
 *	result = what is left to do with the text: replaced_formats.c
 *
 * If another thread changes a string meanwhile, the text is cut at the first length: libc would have written beyond. Where
 * the format has no string in it, a call that writes nothing to the program's memory stays as it is.
 */
#include <stdio.h>
#include <string.h>
#include "compiler/internal.h"

static const struct kin {
	const char *name;
	unsigned format; /* which argument it is; those before go to the end */
	bool writes;	 /* what the program sees */
	bool keeps;	 /* the text, which is then the program's */
	const char *end; /* does the rest */
} all[] = {
	{ "printf", 0, false, false, "__replaced_printf" },
	{ "fprintf", 1, false, false, "__replaced_fprintf" },
	{ "sprintf", 1, true, false, "__replaced_sprintf" },
	{ "asprintf", 1, true, true, "__replaced_asprintf" },
	{ "__printf_chk", 1, false, false, "__replaced_printf_chk" },
	{ "__fprintf_chk", 2, false, false, "__replaced_fprintf_chk" },
	{ "__sprintf_chk", 3, true, false, "__replaced_sprintf_chk" },
	{ "__asprintf_chk", 2, true, true, "__replaced_asprintf_chk" },
};

#define VALUES_MOST 64
#define SMALL	    "heddle.text" /* the room on the stack: one in a function, since it is used by one call at a time */
#define SMALL_SIZE  256

static bool has_string(LLVMValueRef format)
{
	const char *text = libc_constant_text(format);

	for (; text && (text = strchr(text, '%')); text += *text != 0) {
		text += 1 + strspn(text + 1, "-+ #0'I*.123456789$hlLqjzt");
		if (*text == 's' || *text == 'S')
			return true;
	}
	return !libc_constant_text(format);
}

/* The call that this use is, if it is to be changed. */
static LLVMValueRef call_of(LLVMUseRef use, LLVMValueRef function, const struct kin *k)
{
	LLVMValueRef call = LLVMGetUser(use);

	if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != function ||
	    LLVMGetNumArgOperands(call) > VALUES_MOST || LLVMGetNumArgOperands(call) <= k->format)
		return NULL;
	return k->writes || has_string(LLVMGetOperand(call, k->format)) ? call : NULL;
}

static LLVMValueRef find(const struct module *m, const struct kin *k)
{
	LLVMValueRef f = LLVMGetNamedFunction(m->module, k->name);

	return f && LLVMIsDeclaration(f) ? f : NULL;
}

bool formats_found(struct module *m)
{
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		LLVMValueRef f = find(m, &all[i]);
		for (LLVMUseRef use = f ? LLVMGetFirstUse(f) : NULL; use; use = LLVMGetNextUse(use))
			if (call_of(use, f, &all[i]))
				return true;
	}
	return false;
}

static LLVMValueRef call_named(struct module *m, LLVMBuilderRef b, const char *name, LLVMValueRef *args, unsigned n)
{
	LLVMValueRef f = LLVMGetNamedFunction(m->module, name);

	return LLVMBuildCall2(b, LLVMGlobalGetValueType(f), f, args, n, "");
}

static LLVMValueRef snprintf_of(struct module *m, LLVMBuilderRef b, const struct kin *k, LLVMValueRef call,
				LLVMValueRef to, LLVMValueRef limit)
{
	LLVMTypeRef fixed[] = { m->ptr, m->i64, m->ptr }, type = LLVMFunctionType(m->i32, fixed, 3, true);
	LLVMValueRef f = LLVMGetNamedFunction(m->module, "snprintf"), args[VALUES_MOST + 2] = { to, limit };
	unsigned n = 2;

	if (!f)
		f = LLVMAddFunction(m->module, "snprintf", type);
	for (unsigned i = k->format; i < LLVMGetNumArgOperands(call); i++)
		args[n++] = LLVMGetOperand(call, i);
	return LLVMBuildCall2(b, type, f, args, n, "");
}

static LLVMValueRef small_room(struct module *m, LLVMValueRef call)
{
	LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
	LLVMValueRef first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function));
	size_t len;

	if (!strcmp(LLVMGetValueName2(first, &len), SMALL))
		return first;
	LLVMBuilderRef b = LLVMCreateBuilderInContext(m->context);
	LLVMPositionBuilderBefore(b, first);
	LLVMValueRef room = LLVMBuildAlloca(b, LLVMArrayType2(m->i8, SMALL_SIZE), SMALL);
	LLVMDisposeBuilder(b);
	return room;
}

static void rewrite_format(struct module *m, LLVMValueRef call, const struct kin *k)
{
	LLVMBuilderRef b = LLVMCreateBuilderInContext(m->context);
	LLVMValueRef args[8], small = k->keeps ? LLVMConstNull(m->ptr) : small_room(m, call);
	unsigned n = 0;

	LLVMPositionBuilderBefore(b, call); /* takes its place in the source, too */
	LLVMValueRef length = snprintf_of(m, b, k, call, LLVMConstNull(m->ptr), LLVMConstInt(m->i64, 0, false));
	LLVMValueRef text = call_named(m, b, "__replaced_room",
				       (LLVMValueRef[]){ small, LLVMConstInt(m->i64, SMALL_SIZE, false), length }, 3);
	LLVMValueRef limit = call_named(m, b, "__replaced_limit", (LLVMValueRef[]){ text, length }, 2);
	LLVMValueRef written = snprintf_of(m, b, k, call, text, limit);
	while (n < k->format)
		args[n] = LLVMGetOperand(call, n), n++;
	args[n++] = small;
	args[n++] = text;
	args[n++] = length;
	args[n++] = written;
	LLVMReplaceAllUsesWith(call, call_named(m, b, k->end, args, n));
	LLVMInstructionEraseFromParent(call);
	LLVMDisposeBuilder(b);
}

void formats_rewrite(struct module *m)
{
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		LLVMValueRef f = find(m, &all[i]);
		for (LLVMUseRef use = f ? LLVMGetFirstUse(f) : NULL, next; use; use = next) {
			LLVMValueRef call = call_of(use, f, &all[i]);
			next = LLVMGetNextUse(use);
			if (call)
				rewrite_format(m, call, &all[i]);
		}
	}
}

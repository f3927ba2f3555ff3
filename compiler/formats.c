/*
 * printf and its kin lock a file, allocate, or write what nobody knows before. So none of them may run while the memory
 * that they read and write is held. snprintf may: each call becomes
 *
 *	n = snprintf(NULL, 0, format, values ...)
 *	text = room for n characters, on the stack if they are few: programs print in handlers of signals
 *	m = snprintf(text, n + 1, format, values ...)
 *	result = what is left to do with the text: replaced_formats.c
 *
 * If another thread changes a string meanwhile, the text is cut at the first length: libc would have written beyond.
 * Where the format has no string in it, a call that writes nothing to the program's memory stays as it is. Where the
 * format is not known, all of them, and snprintf, become functions of ours with a va_list.
 */
#include <stdio.h>
#include <string.h>
#include "compiler/internal.h"

static const struct kin {
	const char *name;
	unsigned format; /* which argument it is; those before go to the end */
	bool writes;	 /* what the program sees */
	bool keeps;	 /* the text, which is then the program's */
	const char *end; /* does the rest; NULL: nothing is to be done if the format is known */
} all[] = {
	{ "printf", 0, false, false, "__replaced_printf" },
	{ "fprintf", 1, false, false, "__replaced_fprintf" },
	{ "sprintf", 1, true, false, "__replaced_sprintf" },
	{ "asprintf", 1, true, true, "__replaced_asprintf" },
	{ "dprintf", 1, false, false, "__replaced_dprintf" },
	{ "snprintf", 2, true, false, NULL },
	{ "__printf_chk", 1, false, false, "__replaced_printf_chk" },
	{ "__fprintf_chk", 2, false, false, "__replaced_fprintf_chk" },
	{ "__sprintf_chk", 3, true, false, "__replaced_sprintf_chk" },
	{ "__asprintf_chk", 2, true, true, "__replaced_asprintf_chk" },
	{ "__dprintf_chk", 2, false, false, "__replaced_dprintf_chk" },
	{ "__snprintf_chk", 4, true, false, NULL },
};

#define VALUES_MOST 64
#define SMALL_SIZE  256

static bool has_string(const char *text)
{
	for (; (text = strchr(text, '%')); text += *text != 0) {
		text += 1 + strspn(text + 1, "-+ #0'I*.123456789$hlLqjzt");
		if (*text == 's' || *text == 'S')
			return true;
	}
	return false;
}

enum change { LEAVE, SPLIT, TAKE_LIST };

static enum change what_becomes_of(LLVMValueRef user, LLVMValueRef function, const struct kin *k)
{
	if (!is_call_of(user, function) || LLVMGetNumArgOperands(user) <= k->format)
		return LEAVE;
	const char *text = libc_constant_text(LLVMGetOperand(user, k->format));
	if (!text)
		return LLVMGetNumArgOperands(user) > k->format + 1 || k->writes ? TAKE_LIST : LEAVE;
	if (!k->end || LLVMGetNumArgOperands(user) > VALUES_MOST)
		return LEAVE;
	return k->writes || has_string(text) ? SPLIT : LEAVE;
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
			if (what_becomes_of(LLVMGetUser(use), f, &all[i]) != LEAVE)
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

static void rewrite_format(struct module *m, LLVMValueRef call, const struct kin *k)
{
	LLVMBuilderRef b = LLVMCreateBuilderInContext(m->context);
	LLVMValueRef args[8], small = k->keeps ?
					      LLVMConstNull(m->ptr) :
					      room_on_stack(m, call, "heddle.text", LLVMArrayType2(m->i8, SMALL_SIZE));
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
	call_instead(b, call, LLVMGetNamedFunction(m->module, k->end), args, n);
	LLVMDisposeBuilder(b);
}

/* The same values go to a function of ours. */
static void take_list(struct module *m, LLVMValueRef call, const struct kin *k)
{
	char name[64];

	snprintf(name, sizeof name, "any_%s", k->name);
	LLVMSetOperand(call, (unsigned)LLVMGetNumOperands(call) - 1, replaced_named(m, name));
}

void formats_rewrite(struct module *m)
{
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		LLVMValueRef f = find(m, &all[i]);
		for (LLVMUseRef use = f ? LLVMGetFirstUse(f) : NULL, next; use; use = next) {
			LLVMValueRef user = LLVMGetUser(use);
			enum change change = what_becomes_of(user, f, &all[i]);
			next = LLVMGetNextUse(use);
			if (change == SPLIT)
				rewrite_format(m, user, &all[i]);
			else if (change == TAKE_LIST)
				take_list(m, user, &all[i]);
		}
	}
}

/*
 * scanf and its kin, called with values: the pointers go into an array on the stack, and replaced_scan.c does the rest.
 * (Through a va_list, what they point to would be known to nobody.) A text without strings needs no room, and sscanf
 * stays as it is then.
 */
#include <stdio.h>
#include <string.h>
#include "compiler/internal.h"

static const struct kin {
	const char *name;
	unsigned format; /* which argument it is; values follow */
	bool pure;	 /* may run while memory is held, unless it allocates */
} kin[] = {
	{ "scanf", 0, false },
	{ "fscanf", 1, false },
	{ "sscanf", 1, true },
};
static const char *const prefixes[] = { "", "__isoc99_", "__isoc23_" };

#define VALUES_MOST 32 /* as in replaced_scan.c */

/* Numbers, and strings whose length is known before. */
static bool is_simple(const char *text)
{
	while ((text = strchr(text, '%'))) {
		text += 1 + strspn(text + 1, "*'I");
		size_t width = strspn(text, "0123456789");
		text += width;
		if (*text == '$' || *text == 'm' || *text == 'a')
			return false;
		text += strspn(text, "hlLqjzt");
		if (*text && strchr("sS[", *text) && !width)
			return false;
		text += *text != 0;
	}
	return true;
}

static bool all_pointers(LLVMValueRef call, unsigned first)
{
	unsigned n = LLVMGetNumArgOperands(call);

	for (unsigned i = first; i < n; i++)
		if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, i))) != LLVMPointerTypeKind)
			return false;
	return n > first && n - first <= VALUES_MOST;
}

/* Is this use a call that is to be changed? */
static bool is_ours(LLVMValueRef user, LLVMValueRef function, const struct kin *k)
{
	if (!is_call_of(user, function) || !all_pointers(user, k->format + 1))
		return false;
	const char *text = libc_constant_text(LLVMGetOperand(user, k->format));
	return !k->pure || !text || !is_simple(text);
}

static void rewrite_scan(struct module *m, LLVMValueRef call, LLVMValueRef ours, const struct kin *k)
{
	LLVMBuilderRef b = LLVMCreateBuilderInContext(m->context);
	LLVMTypeRef type = LLVMArrayType2(m->ptr, VALUES_MOST);
	LLVMValueRef args[4], values = room_on_stack(m, call, "heddle.values", type);
	unsigned n = 0, given = LLVMGetNumArgOperands(call) - k->format - 1;

	LLVMPositionBuilderBefore(b, call);
	for (unsigned i = 0; i < given; i++) {
		LLVMValueRef at[] = { LLVMConstInt(m->i64, 0, false), LLVMConstInt(m->i64, i, false) };
		LLVMBuildStore(b, LLVMGetOperand(call, k->format + 1 + i),
			       LLVMBuildInBoundsGEP2(b, type, values, at, 2, ""));
	}
	while (n <= k->format)
		args[n] = LLVMGetOperand(call, n), n++;
	args[n++] = values;
	args[n++] = LLVMConstInt(m->i32, given, false);
	call_instead(b, call, ours, args, n);
	LLVMDisposeBuilder(b);
}

/* Are there some? */
static bool for_all(struct module *m, bool change)
{
	bool some = false;
	char name[64];

	for (size_t i = 0; i < sizeof kin / sizeof *kin * (sizeof prefixes / sizeof *prefixes); i++) {
		const struct kin *k = &kin[i % (sizeof kin / sizeof *kin)];
		snprintf(name, sizeof name, "%s%s", prefixes[i / (sizeof kin / sizeof *kin)], k->name);
		LLVMValueRef f = LLVMGetNamedFunction(m->module, name);
		if (!f || !LLVMIsDeclaration(f))
			continue;
		for (LLVMUseRef use = LLVMGetFirstUse(f), next; use; use = next) {
			LLVMValueRef user = LLVMGetUser(use);
			next = LLVMGetNextUse(use);
			if (!is_ours(user, f, k))
				continue;
			some = true;
			if (change)
				rewrite_scan(m, user, replaced_named(m, name), k);
		}
	}
	return some;
}

bool scans_found(struct module *m)
{
	return for_all(m, false);
}

void scans_rewrite(struct module *m)
{
	for_all(m, true);
}

/*
 * Calls of libc's functions that read or write through pointers. What they access is said by the words of
 * interpose/libc/functions.list; the head of that file explains them.
 *
 * A function that only looks at its arguments and cannot wait (strlen, memcmp, snprintf, ...) is exact: the ranges are
 * entered, it is called, the ranges are left. All others (stdio, what calls back) must not run like that, since they
 * may wait for other threads. Many are replaced by code with hooks (replace.c, formats.c, scans.c). Of the rest, what
 * they read is hooked before the call and what they write after it: a thread that changes such memory while the call
 * runs is a race that the recording may not reproduce.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "compiler/internal.h"

struct row {
	const char *name;
	int pure;
	const char *memory;
};

static const struct row rows[] = {
#include "compiler/libc_table.h"
};

static int compare_row(const void *name, const void *row)
{
	return strcmp(name, ((const struct row *)row)->name);
}

/* The row of the function that is called, if it is libc's. */
static const struct row *find_row(LLVMValueRef call)
{
	size_t len;
	LLVMValueRef callee = LLVMGetCalledValue(call);

	if (!LLVMIsAFunction(callee) || !LLVMIsDeclaration(callee) || LLVMGetIntrinsicID(callee))
		return NULL;
	const char *name = LLVMGetValueName2(callee, &len);
	if (!strncmp(name, "\01", 1)) /* an assembler name */
		name++;
	return bsearch(name, rows, sizeof rows / sizeof *rows, sizeof *rows, compare_row);
}

/* May it run while the ranges are entered? It must not wait for other threads, nor call hooked code ("c3": it calls
   back). */
static bool may_wait(const struct row *row)
{
	const char *calls = row->memory;

	if (!row->pure)
		return true;
	while ((calls = strchr(calls, 'c')) && !isdigit((unsigned char)calls[1]))
		calls++;
	return calls != NULL;
}

/* What it writes must be known before the call: a limit does, its result does not. */
static bool known_before(struct access *writes)
{
	for (unsigned i = 0; i < writes->range_count; i++) {
		struct range *range = &writes->ranges[i];
		if (range->form == RANGE_RESULT && range->times)
			*range = (struct range){
				.addr = range->addr, .kind = range->kind, .size = range->times, .unit = 1
			};
		else if (range->form == RANGE_RESULT || (range->form == RANGE_STRING && range->other))
			return false;
	}
	return true;
}

/* ---- words of the list ------------------------------------------------------------------------------------------- */

struct reader {
	struct module *m;
	LLVMValueRef call;
	const char *p; /* what is left of the word */
};

static bool skip(struct reader *r, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(r->p, word, len))
		return false;
	r->p += len;
	return true;
}

static unsigned read_number(struct reader *r)
{
	return (unsigned)strtoul(r->p, (char **)&r->p, 10);
}

static LLVMValueRef argument(const struct reader *r, unsigned n)
{
	return n < LLVMGetNumArgOperands(r->call) ? LLVMGetOperand(r->call, n) : NULL;
}

static LLVMValueRef read_argument(struct reader *r)
{
	return argument(r, read_number(r));
}

static bool is_pointer(LLVMValueRef value)
{
	return value && LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind;
}

static bool is_number(LLVMValueRef value)
{
	return value && LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMIntegerTypeKind;
}

/* "r1:2*3" and its kin, after the number of the argument. False: not understood, or the call does not fit. */
static bool read_size(struct reader *r, struct range *range)
{
	range->unit = 1;
	if (skip(r, "s") || skip(r, "W")) {
		range->form = RANGE_STRING;
		range->unit = r->p[-1] == 'W' ? 4 : 1;
		return !skip(r, ":") || is_number(range->size = read_argument(r));
	}
	if (skip(r, "u") || skip(r, "U")) {
		range->form = RANGE_STRING;
		range->or_zero = r->p[-1] == 'U';
		range->until = read_argument(r);
		return is_number(range->until) && (!skip(r, ":") || is_number(range->size = read_argument(r)));
	}
	if (skip(r, "=")) {
		range->size = LLVMConstInt(r->m->i64, read_number(r), false);
		return true;
	}
	if (skip(r, ":ret")) {
		range->form = RANGE_RESULT;
		range->size = r->call;
		range->plus = skip(r, "+") ? read_number(r) : 0;
		return is_number(r->call) && (!skip(r, ":") || is_number(range->times = read_argument(r)));
	}
	if (skip(r, ":")) {
		range->size = read_argument(r);
		if (skip(r, "*"))
			range->times = read_argument(r);
		else if (skip(r, "x"))
			range->times = LLVMConstInt(r->m->i64, read_number(r), false);
		return is_number(range->size) && (!range->times || is_number(range->times));
	}
	bool append = skip(r, "+");
	if (skip(r, "@") && isdigit((unsigned char)*r->p)) {
		size_t len;
		range->form = append ? RANGE_APPEND : RANGE_LIKE_STRING;
		range->other = read_argument(r);
		range->unit = strstr(LLVMGetValueName2(LLVMGetCalledValue(r->call), &len), "wc") ? 4 : 1;
		return is_pointer(range->other) && (!skip(r, ":") || is_number(range->size = read_argument(r)));
	}
	return false;
}

/* ---- formats ----------------------------------------------------------------------------------------------------- */

/* The text of a constant string, or NULL. */
const char *libc_constant_text(LLVMValueRef value)
{
	size_t len;

	if (!value || !LLVMIsAGlobalVariable(value) || !LLVMIsGlobalConstant(value) || LLVMIsDeclaration(value))
		return NULL;
	LLVMValueRef text = LLVMGetInitializer(value);
	if (!LLVMIsConstantString(text)) /* "" is stored as zeros */
		return NULL;
	const char *bytes = LLVMGetAsString(text, &len);
	return memchr(bytes, 0, len) ? bytes : NULL;
}

enum { LENGTH_NONE, LENGTH_SHORT, LENGTH_CHAR, LENGTH_LONG, LENGTH_MOST };

static int read_length(struct reader *r)
{
	if (skip(r, "hh"))
		return LENGTH_CHAR;
	if (skip(r, "h"))
		return LENGTH_SHORT;
	if (skip(r, "ll") || skip(r, "l") || skip(r, "j") || skip(r, "z") || skip(r, "t") || skip(r, "q"))
		return LENGTH_LONG;
	return skip(r, "L") ? LENGTH_MOST : LENGTH_NONE;
}

static unsigned integer_size(int length)
{
	static const unsigned sizes[] = { 4, 2, 1, 8, 8 };

	return sizes[length];
}

static void add_bytes(struct reader *r, struct access *a, LLVMValueRef addr, unsigned size, unsigned kind)
{
	if (is_pointer(addr))
		access_add_range(a, (struct range){ .addr = addr,
						    .size = LLVMConstInt(r->m->i64, size, false),
						    .kind = kind,
						    .unit = 1 });
}

/* "2$": that value; else the next, which is counted, or 0. */
static unsigned numbered(struct reader *r, unsigned first, unsigned *next)
{
	size_t digits = strspn(r->p, "0123456789");

	if (!digits || r->p[digits] != '$')
		return next ? (*next)++ : 0;
	unsigned n = read_number(r);
	r->p++;
	return first + n - 1;
}

/* The strings that printf reads, and what %n writes. */
static void read_printf(struct reader *r, unsigned first, struct access *before, struct access *after)
{
	unsigned next = first;

	while (*r->p) {
		if (!skip(r, "%")) {
			r->p++;
			continue;
		}
		LLVMValueRef limit = NULL;
		unsigned own = numbered(r, first, NULL);
		r->p += strspn(r->p, "-+ #0'I");
		if (skip(r, "*"))
			numbered(r, first, &next);
		else
			read_number(r);
		if (skip(r, "."))
			limit = skip(r, "*") ? argument(r, numbered(r, first, &next)) :
					       LLVMConstInt(r->m->i64, read_number(r), false);
		int length = read_length(r);
		char conversion = *r->p ? *r->p++ : 0;
		if (conversion == '%' || conversion == 'm' || !conversion)
			continue;
		LLVMValueRef value = argument(r, own ? own : next++);
		if ((conversion == 's' || conversion == 'S') && is_pointer(value))
			access_add_range(before,
					 (struct range){ .addr = value,
							 .size = limit,
							 .kind = HOOK_READ,
							 .form = RANGE_STRING,
							 .unit = length == LENGTH_LONG || conversion == 'S' ? 4 : 1 });
		else if (conversion == 'n')
			add_bytes(r, after, value, integer_size(length), HOOK_WRITE);
	}
}

/* What scanf writes: after the call, and strings only as far as conversions took place. */
static void read_scanf(struct reader *r, unsigned first, struct access *after)
{
	unsigned next = first;

	for (unsigned done = 0; *r->p;) {
		if (!skip(r, "%")) {
			r->p++;
			continue;
		}
		unsigned own = numbered(r, first, NULL);
		bool unused = skip(r, "*");
		unsigned width = read_number(r);
		bool allocates = skip(r, "m");
		int length = read_length(r);
		char conversion = *r->p ? *r->p++ : 0;
		if (conversion == '[') {
			r->p += *r->p == '^';
			r->p += *r->p == ']';
			const char *end = strchr(r->p, ']');
			r->p = end ? end + 1 : r->p + strlen(r->p);
		}
		if (conversion == '%' || !conversion || unused)
			continue;
		LLVMValueRef value = argument(r, own ? own : next++);
		unsigned unit = length == LENGTH_LONG ? 4 : 1;
		if (allocates || conversion == 'p')
			add_bytes(r, after, value, 8, HOOK_WRITE);
		else if (conversion == 'c')
			add_bytes(r, after, value, (width ? width : 1) * unit, HOOK_WRITE);
		else if (strchr("s[S", conversion) && width)
			add_bytes(r, after, value, (width + 1) * unit, HOOK_WRITE);
		else if (strchr("s[S", conversion) && is_pointer(value))
			access_add_range(after, (struct range){ .addr = value,
								.kind = HOOK_WRITE,
								.form = RANGE_STRING,
								.unit = unit,
								.other = r->call,
								.plus = done });
		else if (strchr("aAeEfFgG", conversion))
			add_bytes(r, after, value,
				  length == LENGTH_LONG ? 8 :
				  length == LENGTH_MOST ? 16 :
							  4,
				  HOOK_WRITE);
		else
			add_bytes(r, after, value, integer_size(length), HOOK_WRITE);
		done += conversion != 'n';
	}
}

/* "f1", "s1", "v1": the format itself is read; its values are known if it is a constant and they are arguments. */
static void read_format(struct reader *r, struct access *before, struct access *after)
{
	char letter = *r->p++;
	bool wide = skip(r, "W");
	unsigned n = read_number(r);
	LLVMValueRef format = argument(r, n);

	if (!is_pointer(format))
		return;
	if (!select_private(format))
		access_add_range(before, (struct range){ .addr = format,
							 .kind = HOOK_READ,
							 .form = RANGE_STRING,
							 .unit = wide ? 4 : 1 });
	r->p = wide ? NULL : libc_constant_text(format);
	if (r->p && letter == 'f')
		read_printf(r, n + 1, before, after);
	else if (r->p && letter == 's')
		read_scanf(r, n + 1, after);
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

static void read_word(struct reader *r, struct access *before, struct access *after)
{
	if (strchr("fvsS", *r->p)) {
		read_format(r, before, after);
		return;
	}
	struct range range = { .kind = *r->p == 'r' ? HOOK_READ : HOOK_WRITE };
	if (*r->p++ == 'c' || *r->p == '*' || !isdigit((unsigned char)*r->p))
		return;
	range.addr = read_argument(r);
	if (is_pointer(range.addr) && read_size(r, &range))
		access_add_range(range.kind == HOOK_READ ? before : after, range);
}

/* Fills in what a call reads (before) and writes (after). Returns whether it is a function of libc's that does. */
bool libc_ranges(struct module *m, LLVMValueRef call, struct access *before, struct access *after, bool *exact)
{
	const struct row *row = find_row(call);
	char words[200], *next = words;

	if (!row)
		return false;
	strncpy(words, row->memory, sizeof words - 1);
	words[sizeof words - 1] = 0;
	for (char *word; (word = strsep(&next, " "));) {
		struct reader r = { m, call, word };
		read_word(&r, before, after);
	}
	*exact = !may_wait(row) && known_before(after);
	return true;
}

/*
 * What the binary tells about itself: the table of sites and the note (see hooks.h).
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/DebugInfo.h>
#include "compiler/internal.h"

/* ---- strings: each once ------------------------------------------------------------------------------------------ */

struct strings {
	struct string {
		char *text;
		LLVMValueRef global;
	} * slots;
	size_t count, room; /* room is a power of two */
};

static size_t hash(const char *text, size_t len)
{
	size_t h = 1469598103934665603u;

	while (len--)
		h = (h ^ (unsigned char)*text++) * 1099511628211u;
	return h;
}

static struct string *find(struct strings *s, const char *text, size_t len)
{
	size_t i = hash(text, len);

	for (;; i++) {
		struct string *slot = &s->slots[i & (s->room - 1)];
		if (!slot->text || (!strncmp(slot->text, text, len) && !slot->text[len]))
			return slot;
	}
}

static void grow(struct strings *s)
{
	struct strings larger = { NULL, s->count, s->room ? s->room * 2 : 256 };

	larger.slots = calloc(larger.room, sizeof *larger.slots);
	for (size_t i = 0; i < s->room; i++)
		if (s->slots[i].text)
			*find(&larger, s->slots[i].text, strlen(s->slots[i].text)) = s->slots[i];
	free(s->slots);
	*s = larger;
}

static LLVMValueRef string(struct module *m, struct strings *s, const char *text, size_t len)
{
	if (!text || !len)
		return NULL;
	if (s->count * 2 >= s->room)
		grow(s);
	struct string *slot = find(s, text, len);
	if (!slot->text) {
		LLVMValueRef value = LLVMConstStringInContext2(m->context, text, len, false);
		slot->text = strndup(text, len);
		slot->global = LLVMAddGlobal(m->module, LLVMTypeOf(value), "heddle_text");
		LLVMSetInitializer(slot->global, value);
		LLVMSetGlobalConstant(slot->global, true);
		LLVMSetLinkage(slot->global, LLVMPrivateLinkage);
		LLVMSetUnnamedAddress(slot->global, LLVMGlobalUnnamedAddr);
		s->count++;
	}
	return slot->global;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static LLVMTypeRef site_type(struct module *m)
{
	LLVMTypeRef members[] = { m->i32, m->i32, m->i32, m->i32, m->i16, m->i8, m->i8, m->i32, m->i32 };

	_Static_assert(sizeof(struct hook_site) == 28, "as laid out here");
	return LLVMStructTypeInContext(m->context, members, 9, false);
}

LLVMValueRef sites_of(struct module *m, size_t id)
{
	LLVMValueRef at[] = { LLVMConstInt(m->i64, 0, false), LLVMConstInt(m->i64, id, false) };

	return LLVMConstInBoundsGEP2(m->sites_type, m->sites, at, 2);
}

/* The distance from member n of a site to a string. */
static LLVMValueRef offset(struct module *m, size_t id, unsigned n, LLVMValueRef text)
{
	LLVMValueRef at[] = { LLVMConstInt(m->i64, 0, false), LLVMConstInt(m->i64, id, false),
			      LLVMConstInt(m->i32, n, false) };

	if (!text)
		return LLVMConstInt(m->i32, 0, false);
	LLVMValueRef member = LLVMConstPtrToInt(LLVMConstInBoundsGEP2(m->sites_type, m->sites, at, 3), m->i64);
	return LLVMConstTrunc(LLVMConstSub(LLVMConstPtrToInt(text, m->i64), member), m->i32);
}

/* "dir/file" of the place, or NULL. */
const char *sites_file(LLVMValueRef inst, char *room, size_t size)
{
	unsigned dir_len = 0, file_len = 0;
	const char *file = LLVMGetDebugLocFilename(inst, &file_len), *dir = LLVMGetDebugLocDirectory(inst, &dir_len);

	if (!file || !file_len)
		return NULL;
	if (*file == '/' || !dir_len)
		snprintf(room, size, "%.*s", (int)file_len, file);
	else
		snprintf(room, size, "%.*s/%.*s", (int)dir_len, dir, (int)file_len, file);
	return room;
}

/* What the compiler has put together from several places has no line: that of what follows will do, or of what comes
   before. */
LLVMValueRef sites_line(LLVMValueRef inst)
{
	LLVMValueRef after = inst, before = inst;

	if (!LLVMGetSubprogram(LLVMGetBasicBlockParent(LLVMGetInstructionParent(inst))))
		return inst;
	while (after && !LLVMGetDebugLocLine(after))
		after = LLVMGetNextInstruction(after);
	while (!after && before && !LLVMGetDebugLocLine(before))
		before = LLVMGetPreviousInstruction(before);
	return after ? after : before ? before : inst;
}

static LLVMValueRef site(struct module *m, struct strings *s, LLVMTypeRef type, size_t id)
{
	const struct access *a = &m->accesses[id];
	LLVMValueRef place = sites_line(a->inst);
	LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(a->inst));
	char room[4200];
	size_t name_len;
	const char *file = sites_file(place, room, sizeof room), *name = LLVMGetValueName2(function, &name_len);
	unsigned column = place == a->inst ? LLVMGetDebugLocColumn(place) : 0;
	LLVMValueRef members[] = {
		offset(m, id, 0, string(m, s, file, file ? strlen(file) : 0)),
		offset(m, id, 1, string(m, s, name, name_len)),
		offset(m, id, 2, string(m, s, a->why, a->why ? strlen(a->why) : 0)),
		LLVMConstInt(m->i32, LLVMGetDebugLocLine(place), false),
		LLVMConstInt(m->i16, column > UINT16_MAX ? 0 : column, false),
		LLVMConstInt(m->i8, a->kind, false),
		LLVMConstInt(m->i8, a->flags, false),
		LLVMConstInt(m->i32, a->size, false),
		LLVMConstInt(m->i32, a->element, false),
	};
	(void)type;
	return LLVMConstStructInContext(m->context, members, 9, false);
}

static LLVMValueRef add_section(struct module *m, LLVMValueRef value, const char *name, const char *section,
				unsigned align)
{
	LLVMValueRef global = LLVMAddGlobal(m->module, LLVMTypeOf(value), name);

	LLVMSetInitializer(global, value);
	LLVMSetGlobalConstant(global, true);
	LLVMSetLinkage(global, LLVMInternalLinkage);
	LLVMSetSection(global, section);
	LLVMSetAlignment(global, align);
	return global;
}

void sites_keep_text(struct module *m, const char *text, size_t size, const char *name, const char *section)
{
	LLVMValueRef value = LLVMConstStringInContext2(m->context, text, size, true);

	plugin_keep(m->module, add_section(m, value, name, section, 1));
}

static void build_table(struct module *m)
{
	LLVMTypeRef type = site_type(m);
	LLVMValueRef *rows = malloc(m->count * sizeof *rows);
	struct strings strings = { 0 };

	m->sites_type = LLVMArrayType2(type, m->count);
	m->sites = add_section(m, LLVMGetUndef(m->sites_type), "heddle_site_table", "heddle_sites", 4);
	for (size_t i = 0; i < m->count; i++)
		rows[i] = site(m, &strings, type, i);
	LLVMSetInitializer(m->sites, LLVMConstArray2(type, rows, m->count));
	plugin_keep(m->module, m->sites);
	for (size_t i = 0; i < strings.room; i++)
		free(strings.slots[i].text);
	free(strings.slots);
	free(rows);
}

/* ---- the note ---------------------------------------------------------------------------------------------------- */

static void build_note(struct module *m)
{
	static const char *const selects[] = { "none", "all", "escape", "races" };
	size_t hooked = 0, room = 256 + (settings.foreign ? strlen(settings.foreign) : 0);
	char *text = calloc(1, room);

	for (size_t i = 0; i < m->count; i++)
		hooked += m->accesses[i].shape != SHAPE_NONE;
	int len = snprintf(text, room, "version=%d\nselect=%s\nmode=%s\nsites=%zu\nhooked=%zu\n", HOOK_VERSION,
			   selects[settings.select], settings.per_file ? "per-file" : "lto", m->count, hooked);
	if (settings.foreign && *settings.foreign)
		len += snprintf(text + len, room - (size_t)len, "foreign=%s\n", settings.foreign);
	size_t padded = ((size_t)len + 3) & ~3ul;
	text = realloc(text, padded + 4);
	memset(text + len, 0, padded - (size_t)len);
	LLVMValueRef parts[] = {
		LLVMConstInt(m->i32, sizeof HOOK_NOTE_NAME, false),
		LLVMConstInt(m->i32, (unsigned)len, false),
		LLVMConstInt(m->i32, HOOK_NOTE_TYPE, false),
		LLVMConstStringInContext2(m->context, HOOK_NOTE_NAME "\0", 8, true),
		LLVMConstStringInContext2(m->context, text, padded, true),
	};
	_Static_assert(sizeof HOOK_NOTE_NAME <= 8, "the name is padded to 8 bytes");
	LLVMValueRef note = LLVMConstStructInContext(m->context, parts, 5, true);
	plugin_keep(m->module, add_section(m, note, "heddle_note", ".note.heddle", 4));
	free(text);
}

void sites_build(struct module *m)
{
	if (m->count)
		build_table(m);
	build_note(m);
}

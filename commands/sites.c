/*
 * What a binary built by heddle-cc tells about itself: the note, and the table of sites (compiler/hooks.h). Nothing in
 * the file is trusted: what points out of it is not followed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "meta.h"
#include "commands/sites.h"
#include "compiler/hooks.h"

struct binary {
	const char *path, *data;
	size_t size;
	Elf *elf;
};

static void open_binary(struct binary *b, const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* nobody may be writing to a pipe */

	*b = (struct binary){ .path = path };
	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		die("%s is not a regular file", path);
	b->size = (size_t)st.st_size;
	b->data = b->size ? mmap(NULL, b->size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	if (b->data == MAP_FAILED)
		die("%s: %s", path, strerror(errno));
	close(fd);
	elf_version(EV_CURRENT);
	b->elf = b->size ? elf_memory((char *)b->data, b->size) : NULL;
	if (!b->elf || elf_kind(b->elf) != ELF_K_ELF)
		die("%s is not a program or library (ELF)", path);
	if (b->data[EI_CLASS] != ELFCLASS64)
		die("%s is not for a 64-bit machine", path);
}

static void close_binary(struct binary *b)
{
	elf_end(b->elf);
	munmap((void *)b->data, b->size);
}

/* The section of that name; its contents are in the file. */
static bool find_section(const struct binary *b, const char *name, GElf_Shdr *shdr)
{
	size_t names;

	if (elf_getshdrstrndx(b->elf, &names))
		return false;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(b->elf, scn));) {
		const char *its = gelf_getshdr(scn, shdr) ? elf_strptr(b->elf, names, shdr->sh_name) : NULL;
		if (its && !strcmp(its, name) && shdr->sh_type != SHT_NOBITS && shdr->sh_offset <= b->size &&
		    shdr->sh_size <= b->size - shdr->sh_offset)
			return true;
	}
	return false;
}

/* The string at an address of the loaded program, or NULL. */
static const char *string_at(const struct binary *b, uint64_t address)
{
	size_t count;
	GElf_Phdr p;

	if (elf_getphdrnum(b->elf, &count))
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(b->elf, (int)i, &p) || p.p_type != PT_LOAD || address < p.p_vaddr ||
		    address - p.p_vaddr >= p.p_filesz || p.p_offset > b->size || p.p_filesz > b->size - p.p_offset)
			continue;
		const char *s = b->data + p.p_offset + (address - p.p_vaddr);
		return memchr(s, 0, p.p_filesz - (address - p.p_vaddr)) ? s : NULL;
	}
	return NULL;
}

/* ---- the note --------------------------------------------------------------------------------------------------- */

static void read_line(struct sites_note *n, char *line)
{
	char *value = strchr(line, '=');

	if (!value)
		return;
	*value++ = 0;
	if (!strcmp(line, "version"))
		n->version = n->objects > 1 && atoi(value) == HOOK_VERSION ? n->version : atoi(value); /* the odd one */
	else if (!strcmp(line, "select"))
		snprintf(n->select, sizeof n->select, "%s",
			 n->objects > 1 && strcmp(n->select, value) ? "different ones" : value);
	else if (!strcmp(line, "mode"))
		snprintf(n->mode, sizeof n->mode, "%s", value);
	else if (!strcmp(line, "sites"))
		n->sites += strtoul(value, NULL, 10);
	else if (!strcmp(line, "hooked"))
		n->hooked += strtoul(value, NULL, 10);
	else if (!strcmp(line, "foreign"))
		snprintf(n->foreign, sizeof n->foreign, "%s", value);
}

/* One note for each object that the pass has seen: one with LTO, many in per-file mode. */
static void read_notes(struct sites_note *n, const char *p, size_t left)
{
	while (left >= 12) {
		uint32_t head[3];
		memcpy(head, p, 12);
		size_t name = (head[0] + 3ul) & ~3ul, text = (head[1] + 3ul) & ~3ul;
		if (name > left - 12 || text > left - 12 - name)
			return;
		if (head[2] == HOOK_NOTE_TYPE && head[0] == sizeof HOOK_NOTE_NAME &&
		    !memcmp(p + 12, HOOK_NOTE_NAME, head[0])) {
			char *copy = strndup(p + 12 + name, head[1]), *next = copy;
			n->objects++;
			for (char *line; (line = strsep(&next, "\n"));)
				read_line(n, line);
			free(copy);
		}
		p += 12 + name + text;
		left -= 12 + name + text;
	}
}

bool sites_read_note(const char *path, struct sites_note *note)
{
	struct binary b;
	GElf_Shdr shdr;

	memset(note, 0, sizeof *note);
	open_binary(&b, path);
	if (find_section(&b, ".note.heddle", &shdr))
		read_notes(note, b.data + shdr.sh_offset, shdr.sh_size);
	close_binary(&b);
	return note->objects;
}

/* ---- the level -------------------------------------------------------------------------------------------------- */

/* libc's own: what they read and write for the program is hooked at the call. */
static bool is_libc(const char *library)
{
	static const char *const names[] = { "libc.",	    "libm.",	 "libdl.",  "librt.",
					     "libpthread.", "libgcc_s.", "ld-linux" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strncmp(library, names[i], strlen(names[i])))
			return true;
	return false;
}

static void add_name(char *text, size_t room, const char *name)
{
	size_t n = strlen(text);

	snprintf(text + n, room - n, "%s%s", n ? ", " : "", name);
}

/* Libraries that were there when the program was linked. Whether one was built by heddle-cc is told by its own note,
   but where it will be found is ld.so's affair: they are named. */
static void add_libraries(const struct binary *b, char *text, size_t room)
{
	GElf_Shdr shdr;
	GElf_Dyn d;

	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(b->elf, scn));) {
		Elf_Data *data = gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_DYNAMIC ? elf_getdata(scn, NULL) :
											   NULL;
		for (int i = 0; data && gelf_getdyn(data, i, &d) && d.d_tag != DT_NULL; i++) {
			const char *name = d.d_tag == DT_NEEDED ? elf_strptr(b->elf, shdr.sh_link, d.d_un.d_val) : NULL;
			if (name && !is_libc(name))
				add_name(text, room, name);
		}
	}
}

static bool is_elf(const char *path)
{
	char magic[SELFMAG] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool yes = fd >= 0 && read(fd, magic, sizeof magic) == sizeof magic && !memcmp(magic, ELFMAG, SELFMAG);

	if (fd >= 0)
		close(fd);
	return yes;
}

void sites_level(const char *path, bool every, char *text, size_t room)
{
	struct sites_note note = { 0 };
	struct binary b;
	char except[1024] = "";

	if (!is_elf(path) || !sites_read_note(path, &note) || !strcmp(note.select, "none")) {
		snprintf(text, room, every ? "every access except inside libc" : "locks and system calls only");
		return;
	}
	open_binary(&b, path);
	for (char *next = note.foreign, *one; next && (one = strsep(&next, ":"));)
		if (*one)
			add_name(except, sizeof except, one);
	if (!every)
		add_libraries(&b, except, sizeof except);
	close_binary(&b);
	snprintf(text, room, *except ? "race-complete except inside %s" : "race-complete", except);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const char *const kinds[] = {
	[HOOK_LOAD] = "load", [HOOK_STORE] = "store",	   [HOOK_RMW] = "rmw",
	[HOOK_CAS] = "cas",   [HOOK_RANGE_READ] = "reads", [HOOK_RANGE_WRITE] = "writes",
	[HOOK_ASM] = "asm",   [HOOK_CALLED] = "called",	   [HOOK_POLL] = "poll",
};

const char *sites_kind(unsigned kind)
{
	return kind < sizeof kinds / sizeof *kinds ? kinds[kind] : "?";
}

static const char *member_string(const struct binary *b, uint64_t site, size_t at, int32_t offset)
{
	return offset ? string_at(b, site + at + (uint64_t)(int64_t)offset) : NULL;
}

static const char *flag_text(unsigned flags)
{
	static char text[64];

	snprintf(text, sizeof text, "%s%s", flags & HOOK_SITE_ATOMIC ? " atomic" : "",
		 flags & HOOK_SITE_VOLATILE ? " volatile" : "");
	return text;
}

struct line {
	size_t id;
	const struct hook_site *site;
	const char *file, *function, *why, *kind;
};

static void print_text(const struct line *l, bool why)
{
	const struct hook_site *s = l->site;

	printf("%6zu  ", l->id);
	if (l->file && s->line)
		printf("%s:%u:%u", l->file, s->line, s->column);
	else
		fputs("?", stdout);
	printf("  %s  %s", l->function ? l->function : "?", l->kind);
	if (s->size)
		printf(" %u", s->size);
	fputs(flag_text(s->flags), stdout);
	if (s->flags & HOOK_SITE_LEFT_OUT)
		printf("  left out%s%s", why && l->why ? ": " : "", why && l->why ? l->why : "");
	putchar('\n');
}

static void print_json(const struct line *l)
{
	const struct hook_site *s = l->site;
	json_t *o = json_pack("{sI ss si si ss si si sb sb sb}", "id", (json_int_t)l->id, "function",
			      l->function ? l->function : "", "line", (int)s->line, "column", (int)s->column, "kind",
			      l->kind, "size", (int)s->size, "element", (int)s->element, "atomic",
			      !!(s->flags & HOOK_SITE_ATOMIC), "volatile", !!(s->flags & HOOK_SITE_VOLATILE), "hooked",
			      !(s->flags & HOOK_SITE_LEFT_OUT));

	if (!o) { /* a name that is not UTF-8 */
		printf("{\"id\": %zu}\n", l->id);
		return;
	}
	if (l->file)
		json_object_set_new(o, "file", text_to_json(l->file, strlen(l->file)));
	if (l->why)
		json_object_set_new(o, "why", text_to_json(l->why, strlen(l->why)));
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(o);
}

int sites_dump(const char *path, bool why, bool json)
{
	struct binary b;
	struct sites_note note;
	GElf_Shdr shdr;

	if (!sites_read_note(path, &note))
		die("%s was not built by heddle-cc: it has no sites", path);
	open_binary(&b, path);
	size_t count = find_section(&b, "heddle_sites", &shdr) ? shdr.sh_size / sizeof(struct hook_site) : 0;
	for (size_t i = 0; i < count; i++) {
		struct hook_site s;
		uint64_t at = shdr.sh_addr + i * sizeof s;
		memcpy(&s, b.data + shdr.sh_offset + i * sizeof s, sizeof s);
		struct line l = { i,
				  &s,
				  member_string(&b, at, offsetof(struct hook_site, file), s.file),
				  member_string(&b, at, offsetof(struct hook_site, function), s.function),
				  member_string(&b, at, offsetof(struct hook_site, why), s.why),
				  sites_kind(s.kind) };
		if (json)
			print_json(&l);
		else
			print_text(&l, why);
	}
	close_binary(&b);
	return 0;
}

char *sites_races(const char *path, size_t *size)
{
	struct binary b;
	GElf_Shdr shdr;
	char *text = NULL;

	open_binary(&b, path);
	if (find_section(&b, "heddle_races", &shdr)) {
		text = strndup(b.data + shdr.sh_offset, shdr.sh_size);
		*size = shdr.sh_size;
	}
	close_binary(&b);
	return text;
}

void sites_place(const char *path, uint64_t address, char *text, size_t room)
{
	struct hook_site s;
	struct binary b;
	GElf_Shdr shdr;

	open_binary(&b, path);
	if (find_section(&b, "heddle_sites", &shdr) && address >= shdr.sh_addr && shdr.sh_size >= sizeof s &&
	    address - shdr.sh_addr <= shdr.sh_size - sizeof s) {
		memcpy(&s, b.data + shdr.sh_offset + (address - shdr.sh_addr), sizeof s);
		const char *file = member_string(&b, address, offsetof(struct hook_site, file), s.file),
			   *function = member_string(&b, address, offsetof(struct hook_site, function), s.function);
		if (file && s.line)
			snprintf(text, room, "%s (%s:%u:%u)", function ? function : "?", file, s.line, s.column);
		else
			snprintf(text, room, "%s (no line: compile with -g)", function ? function : "?");
	}
	close_binary(&b);
}

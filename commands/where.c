/*
 * From an address in a recorded process to "function (file:line)".
 *
 * The trace tells which saved file lay where: the start of the image names program and interpreter, its mmap entries
 * the libraries, and a forked image goes on with what its parent had. libdw then reads symbols, lines and how to unwind
 * from those saved files, and from separate debug files if their build id is found below /usr/lib/debug.
 *
 * Nothing here dies: whoever asks for a source line is about to print something more important.
 */
#define _GNU_SOURCE
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "meta.h"
#include "runtime/memory/map.h"

#define MAPPINGS  4096 /* more are not remembered */
#define KEY_ROOM  64
#define FORKS_MAX 64 /* generations of forks that are followed */
#define ALIGN_TO  0x1000ull

struct mapping {
	uint64_t from, to, offset; /* of the file's byte at `from` */
	bool whole;		   /* placed by the loader: `offset` is the bias of all segments */
	bool program;
	char key[KEY_ROOM]; /* in files/ */
};

struct where {
	const struct meta *meta;
	struct mapping *maps;
	size_t count;
	Dwfl *dwfl;
	const struct place *stopped; /* while where_frames() runs */
	bool attached;		     /* it has run before */
};

/* ---- which file lay where -------------------------------------------------------------------- */

static struct mapping *new_mapping(struct where *w)
{
	return w->count < MAPPINGS ? &w->maps[w->count++] : NULL;
}

/* Takes [from, to) out of all mappings. */
static void unmap(struct where *w, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < w->count; i++) {
		struct mapping *m = &w->maps[i], *rest;
		if (m->to <= from || m->from >= to || m->whole)
			continue;
		if (m->to > to && (rest = new_mapping(w))) {
			*rest = *m;
			rest->offset += to - m->from;
			rest->from = to;
		}
		m->to = m->from < from ? from : m->from; /* empty if nothing is left in front */
	}
}

static void copy_key(char key[KEY_ROOM], const struct block *file)
{
	snprintf(key, KEY_ROOM, "%s", (const char *)(file + 1));
}

static void map(struct where *w, const struct entry *e)
{
	uint64_t from = (uint64_t)e->result, len = (trace_args(e)[1] + ALIGN_TO - 1) & ~(ALIGN_TO - 1);
	struct mapping *m;

	unmap(w, from, from + len);
	for (const struct block *b = NULL; (b = trace_next_block(e, b));)
		if (b->kind == BLOCK_FILE && (m = new_mapping(w))) {
			*m = (struct mapping){ .from = from, .to = from + len, .offset = trace_args(e)[5] };
			copy_key(m->key, b);
			return;
		}
}

static Elf *open_elf(const struct where *w, const char *key, int *fd)
{
	char path[PATH_ROOM + 100];

	snprintf(path, sizeof path, "%s/files/%s", w->meta->dir, key);
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	Elf *elf = *fd >= 0 ? elf_begin(*fd, ELF_C_READ_MMAP, NULL) : NULL;
	if (elf && elf_kind(elf) == ELF_K_ELF)
		return elf;
	elf_end(elf);
	if (*fd >= 0)
		close(*fd);
	return NULL;
}

/* As the loader does it: the lowest segment of a file that may lie anywhere comes to `base`. */
static void map_at_start(struct where *w, const struct block *file)
{
	uint64_t low = ~0ull, high = 0;
	struct mapping *m = new_mapping(w);
	GElf_Ehdr header;
	GElf_Phdr part;
	int fd;

	if (!m)
		return;
	*m = (struct mapping){ .whole = true, .program = file->arg == START_PROGRAM };
	copy_key(m->key, file);
	Elf *elf = open_elf(w, m->key, &fd);
	if (!elf || !gelf_getehdr(elf, &header))
		return;
	for (int i = 0; i < header.e_phnum && gelf_getphdr(elf, i, &part); i++)
		if (part.p_type == PT_LOAD) {
			low = part.p_vaddr < low ? part.p_vaddr : low;
			high = part.p_vaddr + part.p_memsz > high ? part.p_vaddr + part.p_memsz : high;
		}
	uint64_t base = file->arg == START_PROGRAM ? MAP_PIE_BASE : MAP_MMAP_BASE;
	m->offset = header.e_type == ET_DYN ? base - (low & ~(ALIGN_TO - 1)) : 0;
	m->from = m->offset + low;
	m->to = m->offset + high;
	elf_end(elf);
	close(fd);
}

static void follow_entry(struct where *w, const struct entry *e)
{
	if (e->kind == ENTRY_START)
		for (const struct block *b = NULL; (b = trace_next_block(e, b));)
			if (b->kind == BLOCK_FILE)
				map_at_start(w, b);
	if (e->kind != ENTRY_SYSCALL || (uint64_t)e->result > -4096ull)
		return;
	if (e->nr == SYS_mmap && ENTRY_ARGS(e->flags) == 6)
		map(w, e);
	else if (e->nr == SYS_munmap && ENTRY_ARGS(e->flags) >= 2)
		unmap(w, trace_args(e)[0], trace_args(e)[0] + trace_args(e)[1]);
}

static void follow_stream(struct where *w, unsigned image, unsigned slot, uint64_t until)
{
	struct trace_problem problem;
	struct trace_reader reader;
	const struct entry *e;

	if (trace_reader_open(&reader, w->meta->dir, image, slot, &problem))
		return;
	while (trace_read(&reader, &e, &problem) > 0 && reader.event < until)
		follow_entry(w, e);
	trace_reader_close(&reader);
}

/* ---- forks ----------------------------------------------------------------------------------- */

struct moment {
	unsigned image, slot;
	uint64_t event;
};

static bool starts(const struct entry *e, unsigned image)
{
	/* of a thread, BLOCK_CHILD is the slot */
	if (e->kind != ENTRY_SYSCALL || (e->nr == SYS_clone && ENTRY_ARGS(e->flags) && trace_args(e)[0] & CLONE_THREAD))
		return false;
	for (const struct block *b = NULL; (b = trace_next_block(e, b));)
		if (b->kind == BLOCK_CHILD && b->addr == image)
			return true;
	return false;
}

/* Who started the image, and at which event. */
static bool find_parent(const struct meta *meta, unsigned image, struct moment *parent)
{
	struct trace_problem problem;
	struct trace_reader reader;
	const struct entry *e;
	bool found = false;

	for (size_t i = 0; i < meta->list.nstreams && !found; i++) {
		const struct trace_stream *s = &meta->list.streams[i];
		if (s->image >= image || trace_reader_open(&reader, meta->dir, s->image, s->slot, &problem))
			continue;
		while (!found && trace_read(&reader, &e, &problem) > 0)
			found = starts(e, image);
		*parent = (struct moment){ s->image, s->slot, reader.event };
		trace_reader_close(&reader);
	}
	return found;
}

static bool began_by_fork(const struct meta *meta, unsigned image)
{
	struct trace_problem problem;
	struct trace_reader reader;
	const struct entry *e;
	bool forked = false;

	if (trace_reader_open(&reader, meta->dir, image, 0, &problem))
		return false;
	if (trace_read(&reader, &e, &problem) > 0 && e->kind == ENTRY_START)
		forked = ((const struct start_info *)(trace_next_block(e, NULL) + 1))->forked;
	trace_reader_close(&reader);
	return forked;
}

/* What thread `slot` had around it at `event`. Of the other threads all mappings count: libraries hardly ever go. */
static void follow_image(struct where *w, struct moment at, int depth)
{
	struct moment parent;

	if (depth < FORKS_MAX && began_by_fork(w->meta, at.image) && find_parent(w->meta, at.image, &parent))
		follow_image(w, parent, depth + 1);
	for (size_t i = 0; i < w->meta->list.nstreams; i++) {
		const struct trace_stream *s = &w->meta->list.streams[i];
		if (s->image == at.image && s->slot != at.slot)
			follow_stream(w, s->image, s->slot, UINT64_MAX);
	}
	follow_stream(w, at.image, at.slot, at.event);
}

/* ---- libdw ----------------------------------------------------------------------------------- */

/* How far the file's addresses are from where this mapping put them. */
static bool find_bias(const struct where *w, const struct mapping *m, uint64_t *bias)
{
	GElf_Phdr part;
	size_t parts = 0;
	bool found = false;
	int fd;

	*bias = m->offset;
	if (m->whole)
		return m->to > m->from;
	Elf *elf = open_elf(w, m->key, &fd);
	if (!elf)
		return false;
	elf_getphdrnum(elf, &parts);
	for (int i = 0; i < (int)parts && !found && gelf_getphdr(elf, i, &part); i++) {
		uint64_t start = part.p_offset & ~(ALIGN_TO - 1);
		/* only what begins as the segment does: the rests of a mapping may be where no segment is */
		found = part.p_type == PT_LOAD && m->offset == start;
		*bias = m->from - (part.p_vaddr & ~(ALIGN_TO - 1));
	}
	elf_end(elf);
	close(fd);
	return found;
}

/* The segments of one file come one after the other. */
struct reported {
	const char *key;
	uint64_t bias;
};

static bool is_reported(const char *key, uint64_t bias, struct reported *last)
{
	bool is = last->key && !strcmp(last->key, key) && last->bias == bias;

	*last = (struct reported){ key, bias };
	return is;
}

static void report_modules(struct where *w)
{
	struct reported last = { 0 };
	char path[PATH_ROOM + 100];
	uint64_t bias;

	dwfl_report_begin(w->dwfl);
	for (size_t i = 0; i < w->count; i++) {
		const struct mapping *m = &w->maps[i];
		if (m->from == m->to || !find_bias(w, m, &bias))
			continue;
		snprintf(path, sizeof path, "%s/files/%s", w->meta->dir, m->key);
		if (!is_reported(m->key, bias, &last))
			dwfl_report_elf(w->dwfl, m->key, m->program && w->meta->symbols ? w->meta->symbols : path, -1,
					bias, true);
	}
	dwfl_report_end(w->dwfl, NULL, NULL);
}

struct where *where_open(const struct meta *meta, unsigned image, unsigned slot, uint64_t event)
{
	static char *debug_path; /* libdw's own default */
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &debug_path,
	};
	struct where *w = calloc(1, sizeof *w);

	if (!w || !(w->maps = calloc(MAPPINGS, sizeof *w->maps))) {
		free(w);
		return NULL;
	}
	unsetenv("DEBUGINFOD_URLS"); /* replay asks no network, and neither do we */
	elf_version(EV_CURRENT);
	w->meta = meta;
	follow_image(w, (struct moment){ image, slot, event }, 0);
	w->dwfl = dwfl_begin(&callbacks);
	if (w->dwfl)
		report_modules(w);
	return w;
}

void where_close(struct where *w)
{
	if (!w)
		return;
	dwfl_end(w->dwfl);
	free(w->maps);
	free(w);
}

/* clang writes no table of addresses (.debug_aranges), without which libdw finds no line: then each unit is asked. */
static const char *line_by_unit(Dwfl_Module *module, uint64_t pc, int *line)
{
	Dwarf_Addr bias;

	for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(module, unit, &bias));)
		if (dwarf_haspc(unit, pc - bias) == 1) {
			Dwarf_Line *found = dwarf_getsrc_die(unit, pc - bias);
			return found && !dwarf_lineno(found, line) ? dwarf_linesrc(found, NULL, NULL) : NULL;
		}
	return NULL;
}

bool where_describe(struct where *w, uint64_t pc, char *text, size_t room)
{
	Dwfl_Module *module = w && w->dwfl ? dwfl_addrmodule(w->dwfl, pc) : NULL;
	GElf_Off offset = 0;
	GElf_Sym symbol;
	int line = 0;

	snprintf(text, room, "%#llx", (unsigned long long)pc);
	if (!module)
		return false;
	const char *name = dwfl_module_addrinfo(module, pc, &offset, &symbol, NULL, NULL, NULL);
	Dwfl_Line *source = dwfl_module_getsrc(module, pc);
	const char *file = source ? dwfl_lineinfo(source, NULL, &line, NULL, NULL, NULL) : NULL;
	if (!file)
		file = line_by_unit(module, pc, &line);
	int length = name ? (int)strcspn(name, "@") : 1; /* without a symbol's version */
	if (file)
		snprintf(text, room, "%.*s (%s:%d)", length, name ? name : "?", file, line);
	else if (name)
		snprintf(text, room, "%.*s+%#llx", length, name, (unsigned long long)offset);
	return file || name;
}

static const char *function_at(struct where *w, uint64_t pc)
{
	Dwfl_Module *module = w && w->dwfl ? dwfl_addrmodule(w->dwfl, pc) : NULL;

	return module ? dwfl_module_addrname(module, pc) : NULL;
}

bool where_is_function(struct where *w, uint64_t pc, const char *function)
{
	const char *name = function_at(w, pc);

	return name && strcspn(name, "@") == strlen(function) && !strncmp(name, function, strlen(function));
}

/* What the dynamic section says. */
static const char *soname(Elf *elf)
{
	GElf_Shdr header;
	GElf_Dyn d;

	for (Elf_Scn *part = NULL; (part = elf_nextscn(elf, part));) {
		if (!gelf_getshdr(part, &header) || header.sh_type != SHT_DYNAMIC)
			continue;
		Elf_Data *data = elf_getdata(part, NULL);
		for (int i = 0; gelf_getdyn(data, i, &d) && d.d_tag != DT_NULL; i++)
			if (d.d_tag == DT_SONAME)
				return elf_strptr(elf, header.sh_link, d.d_un.d_val);
	}
	return NULL;
}

const char *where_object(struct where *w, uint64_t pc)
{
	Dwfl_Module *module = w && w->dwfl ? dwfl_addrmodule(w->dwfl, pc) : NULL;
	GElf_Addr bias;
	Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
	const char *name = elf ? soname(elf) : NULL;

	return name ? name : "";
}

bool where_file(struct where *w, uint64_t addr, char *path, size_t room, uint64_t *address)
{
	Dwfl_Module *module = w && w->dwfl ? dwfl_addrmodule(w->dwfl, addr) : NULL;
	GElf_Addr bias;

	if (!module || !dwfl_module_getelf(module, &bias))
		return false;
	*address = addr - bias;
	const char *key =
		dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL); /* its name: report_modules() */
	return key && snprintf(path, room, "%s/files/%s", w->meta->dir, key) < (int)room;
}

/* ---- the stack of a thread that stopped ---------------------------------------------------------- */

#define FRAMES_SHOWN 12

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return 1;
}

static bool read_stack(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	const struct where *w = arg;
	const struct place *p = w->stopped;
	uint64_t at = addr - p->stack_at;

	(void)dwfl;
	if (addr < p->stack_at || at + sizeof *result > p->stack_len || at > sizeof p->stack - 8)
		return false;
	memcpy(result, p->stack + at, sizeof *result);
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct where *w = arg;

	dwfl_thread_state_register_pc(thread, w->stopped->pc);
	return dwfl_thread_state_registers(thread, 0, WHERE_REGISTERS, w->stopped->registers);
}

struct frames {
	struct where *w;
	void (*show)(const char *text);
	unsigned shown;
};

/* Between the program and libc, or, of a thread's first access, between the program and the runtime. */
static bool is_ours(struct where *w, uint64_t pc)
{
	const char *name = function_at(w, pc);

	return !strcmp(where_object(w, pc), "libheddle.so") || (name && !strncmp(name, "__heddle_", 9));
}

static int show_frame(Dwfl_Frame *frame, void *arg)
{
	struct frames *f = arg;
	Dwarf_Addr pc;
	bool exact;
	char text[PATH_ROOM];

	if (!dwfl_frame_pc(frame, &pc, &exact))
		return DWARF_CB_ABORT;
	if (is_ours(f->w, pc))
		return DWARF_CB_OK;
	/* a return address is behind its call */
	if (!where_describe(f->w, exact ? pc : pc - 1, text, sizeof text) && f->shown)
		return DWARF_CB_ABORT;
	f->show(text);
	return ++f->shown < FRAMES_SHOWN ? DWARF_CB_OK : DWARF_CB_ABORT;
}

void where_frames(struct where *w, const struct place *place, void (*show)(const char *text))
{
	static const Dwfl_Thread_Callbacks callbacks = {
		.next_thread = next_thread,
		.memory_read = read_stack,
		.set_initial_registers = set_registers,
	};
	struct frames f = { w, show, 0 };
	char text[PATH_ROOM];

	if (!w || !w->dwfl)
		return;
	w->stopped = place;
	if (!w->attached)
		w->attached = dwfl_attach_state(w->dwfl, NULL, 1, &callbacks, w);
	if (w->attached)
		dwfl_getthread_frames(w->dwfl, 1, show_frame, &f);
	if (!f.shown && where_describe(w, place->pc, text, sizeof text))
		show(text);
}

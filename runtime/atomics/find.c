/*
 * Finds the atomic instructions of the code that is mapped, and leads each to a stub.
 *
 * Looked at: shared objects and dynamic programs, between the first and the last instruction of each function that
 * .eh_frame describes. Tables of numbers in .text may look like any instruction, but no unwinder needs to know about
 * them. Left out: libc and the dynamic linker, whose locks are ordered by what calls them (interpose/); what heddle-cc
 * has built, whose accesses are hooked; static programs, where libc cannot be told from the rest; and code that the
 * program writes itself.
 *
 * Of the libraries in `with_plain` every load and store is led away, not only the atomic ones: see there. With
 * --every-access, of all.
 *
 * All of an object or nothing: a load-exclusive that is led away and a store-exclusive that is not would never agree.
 */
#include "compiler/hooks.h"
#include "loader/arch/arch.h"
#include "loader/patch.h"
#include "runtime/atomics/atomics.h"
#include "runtime/memory/maps.h"
#include "runtime/runtime.h"
#include <elf.h>

/* One mapped file. */
struct object {
	uint64_t base, end; /* where its first byte is, and behind its last */
	uint64_t bias;	    /* from its addresses to ours */
	uint64_t frames;    /* its index of functions: struct frame_index; 0: is not looked at */
	bool plain;	    /* one of `with_plain` */
	bool needs_plain;   /* linked to one */
	bool fixed;	    /* its addresses are those of its file: there is no list of where the linker puts them */
	uint64_t relocations, relocations_size;
	bool fresh; /* it is being mapped: what is to be written later still lies as in the file */
};

static const char *const left_out[] = {
	"libc.so", "ld-linux", "libheddle.so", "libpthread.so", "librt.so", "libdl.so"
};

/*
 * The libraries behind OpenMP, libgomp of gcc, libomp of LLVM (also as libiomp5). Their threads look at counters and
 * flags by relaxed loads, which are plain instructions, before they choose an atomic one, spin or sleep. What they do
 * with a word is then in an order only if all of it is. They are small, and what they do is rare beside the program's
 * own work.
 */
static const char *const with_plain[] = { "libgomp.so", "libomp.so", "libiomp5.so" };

static bool is_listed(const char *name, const char *const *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!strncmp(name, list[i], strlen(list[i])))
			return true;
	return false;
}

/* The linker has relocated the addresses in the dynamic section, or has not. */
static uint64_t relocated(const struct object *o, uint64_t address)
{
	return address >= o->bias ? address : address + o->bias;
}

/* Entry number i of the dynamic section; false: there is none. */
static bool entry(uint64_t dynamic, unsigned i, Elf64_Dyn *d)
{
	return !user_copy(d, (void *)(dynamic + i * sizeof *d), sizeof *d) && d->d_tag != DT_NULL;
}

/* What it is called, and what it is linked to. */
static bool look_at_names(struct object *o, uint64_t dynamic, char soname[32])
{
	uint64_t strings = 0;
	bool named = false;
	char name[32] = { 0 };
	Elf64_Dyn d;
	for (unsigned i = 0; entry(dynamic, i, &d); i++) {
		if (d.d_tag == DT_STRTAB)
			strings = relocated(o, d.d_un.d_ptr);
		if (d.d_tag == DT_RELA)
			o->relocations = relocated(o, d.d_un.d_ptr);
		if (d.d_tag == DT_RELASZ)
			o->relocations_size = d.d_un.d_val;
	}
	for (unsigned i = 0; strings && entry(dynamic, i, &d); i++) {
		bool is_name = d.d_tag == DT_SONAME;
		if ((!is_name && d.d_tag != DT_NEEDED) ||
		    user_copy(name, (void *)(strings + d.d_un.d_val), sizeof name - 1))
			continue;
		if (is_name)
			memcpy(soname, name, sizeof name);
		named |= is_name;
		o->needs_plain |= !is_name && is_listed(name, with_plain, COUNT(with_plain));
	}
	return named;
}

static bool is_ours_by_note(uint64_t note, uint64_t size)
{
	Elf64_Nhdr h;
	char name[sizeof HOOK_NOTE_NAME];
	for (uint64_t end = note + size; note + sizeof h <= end && !user_copy(&h, (void *)note, sizeof h);) {
		if (h.n_namesz == sizeof name && h.n_type == HOOK_NOTE_TYPE &&
		    !user_copy(name, (void *)(note + sizeof h), sizeof name) &&
		    !memcmp(name, HOOK_NOTE_NAME, sizeof name))
			return true;
		note += sizeof h + ALIGN_UP(h.n_namesz, 4) + ALIGN_UP(h.n_descsz, 4);
	}
	return false;
}

/* Program header number i; false: there is none. */
static bool header(const struct object *o, unsigned i, Elf64_Phdr *p)
{
	Elf64_Ehdr e;
	return !user_copy(&e, (void *)o->base, sizeof e) && !memcmp(e.e_ident, ELFMAG, SELFMAG) && i < e.e_phnum &&
	       !user_copy(p, (void *)(o->base + e.e_phoff + i * sizeof *p), sizeof *p);
}

static void examine(struct object *o)
{
	Elf64_Phdr p;
	uint64_t frames = 0;
	/* linked: by an interpreter, or as a library; not so a static program */
	bool linked = false, out = false, library = o->base >= MAP_MMAP_BASE;
	char name[32];
	for (unsigned i = 0; header(o, i, &p); i++)
		if (p.p_type == PT_LOAD && !p.p_offset)
			o->bias = o->base - p.p_vaddr;
	o->fixed = !o->bias;
	for (unsigned i = 0; header(o, i, &p); i++) {
		uint64_t at = o->bias + p.p_vaddr;
		bool named = p.p_type == PT_DYNAMIC && look_at_names(o, o->fresh ? o->base + p.p_offset : at, name);
		linked |= (library && p.p_type == PT_DYNAMIC) || p.p_type == PT_INTERP;
		out |= named && is_listed(name, left_out, COUNT(left_out));
		o->plain |= named && is_listed(name, with_plain, COUNT(with_plain));
		out |= p.p_type == PT_NOTE && is_ours_by_note(at, p.p_memsz);
		if (p.p_type == PT_GNU_EH_FRAME)
			frames = at;
		if (p.p_type == PT_LOAD)
			o->end = MAX(o->end, at + p.p_memsz);
	}
	o->plain |= control->every;
	o->frames = linked && !out && (atomics_told || o->plain || o->needs_plain) ? frames : 0;
}

/* ---- the functions of an object --------------------------------------------------------------------------------- */

static bool is_op(const uint8_t *code, bool plain)
{
	return unlikely(atomic_is(code) || (plain && plain_is(code)));
}

static void patch_function(uint64_t from, uint64_t to, bool plain)
{
	unsigned n;
	bool any = false;
	for (uint64_t at = from; (n = instruction_length((const uint8_t *)at, to - at)); at += n)
		if (is_op((const uint8_t *)at, plain)) {
			patch_atomic(at);
			any = true;
		}
	/* `from`: what lies before may have been replaced */
	for (uint64_t at = from; any && (n = instruction_length((const uint8_t *)at, to - at));)
		at = is_op((const uint8_t *)at, plain) ? from = patch_lead(at, from, to) : at + n;
}

static void look_at_function(uint64_t from, uint64_t to, bool plain)
{
	(void)plain;
	stub_look(from, to);
}

/* .eh_frame_hdr, in the one form that linkers write: a sorted table of (function, description), as distances from
   here. */
struct frame_index {
	uint8_t version, pointer, count_form, table_form;
	int32_t frames;
	uint32_t count;
	struct frame_row {
		int32_t function, description;
	} rows[];
};
/* The beginning of a description: `function` is a distance from its own place. */
struct description {
	uint32_t size, common;
	int32_t function;
	uint32_t bytes;
};

typedef void visitor(uint64_t from, uint64_t to, bool plain);

static void visit_described(const struct object *o, const struct frame_row *row, const struct mapped *code,
			    visitor *visit)
{
	uint64_t index = o->frames, at = index + (uint64_t)(int64_t)row->description;
	uint64_t function = index + (uint64_t)(int64_t)row->function;
	struct description d;
	if (user_copy(&d, (void *)at, sizeof d) || d.size == UINT32_MAX)
		return;
	/* in another form than distances of four bytes, the two disagree */
	if (at + offsetof(struct description, function) + (uint64_t)(int64_t)d.function != function ||
	    function % INSTRUCTION_LEAST)
		return;
	if (function >= code->from && function < code->to && d.bytes <= code->to - function)
		visit(function, function + d.bytes, o->plain);
}

static void visit_functions(const struct object *o, const struct mapped *code, visitor *visit)
{
	struct frame_index index;
	struct frame_row row;
	if (user_copy(&index, (void *)o->frames, sizeof index) || index.version != 1 || index.count_form != 0x03 ||
	    index.table_form != 0x3b)
		return;
	uint64_t rows = o->frames + sizeof index;
	for (uint32_t i = 0; i < index.count && !user_copy(&row, (void *)(rows + i * sizeof row), sizeof row); i++)
		visit_described(o, &row, code, visit);
}

/* Where somebody may jump to: the functions tell, and the linker's list of addresses. */
static void look_at_object(const struct object *o, const struct mapped *code)
{
	Elf64_Rela r;
	for (uint64_t at = o->relocations, end = at + o->relocations_size; at < end; at += sizeof r)
		if (!user_copy(&r, (void *)at, sizeof r))
			stub_look_at_address(o->bias + (uint64_t)r.r_addend);
	visit_functions(o, code, look_at_function);
}

static void patch_object(const struct object *o, const struct mapped *code)
{
	if (stub_look_begin(code->from, code->to, o->fixed))
		look_at_object(o, code);
	visit_functions(o, code, patch_function);
}

/* ---- what is mapped ---------------------------------------------------------------------------------------------- */

static void look(uint64_t from, uint64_t to, bool fresh)
{
	if (!control->atomics)
		return;
	patch_lock();
	const char *maps = maps_read(), *text = maps;
	struct object o = { 0 };
	for (struct mapped m; text && maps_next(&text, &m);) {
		/* each part of a file may have been saved as one of its own */
		if (m.inode && !m.offset && m.from >= o.end) {
			o = (struct object){ .base = m.from, .end = m.to, .fresh = fresh };
			examine(&o);
		}
		bool is_code = m.executable && m.readable && !m.writable && !is_ours(m.from, m.to - m.from);
		if (is_code && m.inode && m.from < o.end && o.frames && m.from < to && m.to > from)
			patch_object(&o, &m);
	}
	if (maps)
		maps_done();
	patch_unlock();
}

static bool begun;

void atomics_begin(void)
{
	if (!begun)
		look(0, UINT64_MAX, false);
	begun = true;
}

void atomics_mapped(uint64_t from, uint64_t to)
{
	if (begun)
		look(from, to, true);
}

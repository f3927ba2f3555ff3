/*
 * What stubs do before and after the real libc function.
 *
 * Invariants
 *   1 Every use of a lock of libc's lies inside the section of the same object, so while there
 *     are several threads libc never finds its lock taken, and never calls futex for it.
 *   2 Sections are entered in one order: dl, FILEs, groups (generate.py). `files` is held only
 *     around changes of the list of FILEs, never while something may wait for another party.
 *   3 Nothing here depends on anything but the calling thread's own history: at replay the same
 *     ops come in the same order. Frames are bytes of the program's memory, the same at replay.
 *   4 libc_enter() and libc_leave() use general registers only (-mgeneral-regs-only): vector
 *     registers hold arguments and results. Where they call libc, no function has any.
 *
 * A frame ends in one of four ways: the real function returns; an exception, pthread_exit or
 * cancellation passes (libc_personality); longjmp leaves it (found by the stack pointer at the
 * next stub or wait: settle); the thread ends (libc_thread_ends).
 */
#define _GNU_SOURCE
#include "interpose/libc/libc.h"
#include "interpose/libc/functions.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>

#define REAL(name) ((__typeof__(&name))libc_real[LIBC_##name])

__thread struct libc_shadow libc_shadow __attribute__((tls_model("initial-exec"), aligned(64)));

/* stubs call these */
void libc_enter(struct libc_frame *frame) HIDDEN;
uint64_t libc_leave(struct libc_frame *frame) HIDDEN;
int libc_personality(int version, int actions, uint64_t class, void *exception, void *context) HIDDEN;
void libc_resolve(unsigned index) HIDDEN;

void _IO_un_link(void *file);
_Noreturn void exit(int status);

static bool equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;
	while (*name)
		hash = hash * 33 + (uint8_t)*name++;
	return hash;
}

/* ---- objects ---------------------------------------------------------------------------- */

static uint64_t object_of(const struct libc_frame *frame, unsigned how, unsigned value)
{
	switch (how) {
	case 1: return frame->args[value];
	case 2: return (uint64_t)stdin;
	case 3: return (uint64_t)stdout;
	case 4: return (uint64_t)stderr;
	case 5: return value; /* a group: no address is that small */
	default: return 0;
	}
}

/* _flags of a FILE: part of glibc's interface to C++ streams, and never changed */
enum { IO_UNBUFFERED = 2, IO_NO_WRITES = 8, IO_LINKED = 0x80, IO_LINE_BUF = 0x200 };

/*
 * A FILE that is not fully buffered flushes stdout before it reads. Inside the section of one FILE
 * that would touch another, so it is done here, in the section of stdout, but not held while the
 * read waits; the flags that would make libc do it are off meanwhile. (Input streams do not use
 * them otherwise, once they have a buffer.)
 */
static void before_input(struct libc_frame *frame)
{
	FILE *f = (FILE *)frame->object[0];
	unsigned flags = f->_flags & (IO_LINE_BUF | IO_UNBUFFERED);
	if (!flags || f == stdout)
		return;
	libc_section_enter((uint64_t)stdout, 0);
	if ((stdout->_flags & (IO_LINKED | IO_NO_WRITES | IO_LINE_BUF)) == (IO_LINKED | IO_LINE_BUF))
		REAL(fflush)(stdout);
	libc_section_leave((uint64_t)stdout, 0);
	if (!f->_IO_buf_base)
		flags &= ~IO_UNBUFFERED; /* says which buffer it gets */
	f->_flags &= ~flags;
	frame->extra = flags;
}

/* Takes a FILE off the list now, so that fclose() and pclose(), which may wait, need not. */
static void before_close(struct libc_frame *frame)
{
	libc_section_enter(GROUP_files, 0);
	_IO_un_link((void *)frame->object[0]);
	libc_section_leave(GROUP_files, 0);
}

/* The first place in this code that brings us back: see libc_stub_caller. */
static uint64_t gadget_in(uint64_t at, uint64_t end)
{
#ifdef __aarch64__
	for (at = (at + 3) & ~3ul; at + 8 <= end; at += 4)
		if (*(const uint32_t *)at == 0xa8c17bfd && *(const uint32_t *)(at + 4) == 0xd65f03c0)
			return at;
#else
	for (; at + 2 <= end; at++)
		if (*(const uint8_t *)at == 0x5d && *(const uint8_t *)(at + 1) == 0xc3)
			return at;
#endif
	return 0;
}

/* An address in the caller's object that brings us back. 0: there is none, and the function takes libheddle.so for its
   caller. */
static uint64_t find_gadget(uint64_t caller)
{
	struct dl_find_object found;
	if (_dl_find_object((void *)caller, &found))
		return 0;
	const ElfW(Ehdr) *head = found.dlfo_map_start;
	const uint32_t elf = 0x464c457f;	     /* "\177ELF" */
	if (*(const uint32_t *)head->e_ident != elf) /* parts with gaps between them: this is the one with the caller */
		return gadget_in((uint64_t)found.dlfo_map_start, (uint64_t)found.dlfo_map_end);
	const ElfW(Phdr) *part = (const void *)((const char *)head + head->e_phoff);
	for (unsigned i = 0; i < head->e_phnum; i++, part++) {
		uint64_t at = found.dlfo_link_map->l_addr + part->p_vaddr;
		if (part->p_type == PT_LOAD && part->p_flags & PF_X && caller >= at && caller < at + part->p_filesz)
			return gadget_in(at, at + part->p_filesz);
	}
	return 0;
}

/* ---- frames ----------------------------------------------------------------------------- */

static void leave_sections(struct libc_frame *frame)
{
	const struct libc_ordered *o = &libc_ordered[frame->index];
	if (o->flags & FLAG_INPUT && frame->extra)
		((FILE *)frame->object[0])->_flags |= (int)frame->extra;
	for (int i = 1; i >= 0; i--)
		if (frame->object[i])
			libc_section_leave(frame->object[i], o->flags & FLAG_CLOSES && i == 0 ? SECTION_FORGET : 0);
	frame->object[0] = frame->object[1] = frame->extra = 0;
	frame->index = FRAME_FREE;
	/* registers that carried no argument may have held anything; at replay, something else */
	for (unsigned i = 2; i < sizeof frame->args / sizeof *frame->args; i++)
		frame->args[i] = 0;
}

/* How many frames count when those at the top are free. */
static uint64_t depth_in_use(uint64_t depth)
{
	while (depth && libc_shadow.frames[depth - 1].index == FRAME_FREE)
		depth--;
	return depth;
}

/*
 * Leaves the frames below `depth` that a longjmp has left behind, seen from a function that was called with stack
 * pointer `sp` and return address `ret`: their stack pointer is below, so they are gone. If it is equal they are gone,
 * too, unless the real function has ended by jumping to a callback, and that by jumping here: then we would return into
 * a stub. Only on the thread's own stack: a handler on a stack of its own, or a coroutine, says nothing.
 */
static void settle(uint64_t depth, uint64_t sp, uint64_t ret)
{
	extern const char libc_stub[] HIDDEN, libc_stubs_end[] HIDDEN;
	bool from_stub = ret - (uint64_t)libc_stub < (uint64_t)(libc_stubs_end - libc_stub);
	uint64_t low, high;
	libc_thread_stack(&low, &high);
	if (sp < low || sp >= high)
		return;
	while (depth) {
		struct libc_frame *frame = &libc_shadow.frames[--depth];
		if (frame->index == FRAME_FREE)
			continue;
		if (frame->sp < low || frame->sp > sp || (frame->sp == sp && from_stub))
			return;
		leave_sections(frame);
	}
}

void libc_enter(struct libc_frame *frame)
{
	const struct libc_ordered *o = &libc_ordered[frame->index];
	uint64_t below = (uint64_t)(frame - libc_shadow.frames);
	if (below)
		settle(below, frame->sp, frame->ret);
	libc_resolve((unsigned)frame->index);
	if (libc_is_foreign((unsigned)frame->index))
		return;
	/* `object` is set first: a handler that begins right after the op may jump away. */
	for (int i = 0; i < 2; i++) {
		frame->object[i] = object_of(frame, o->object[i][0], o->object[i][1]);
		if (frame->object[i])
			libc_section_enter(frame->object[i], 0);
	}
	if (!o->flags)
		return;
	if (o->flags & FLAG_INPUT && frame->object[0])
		before_input(frame);
	if (o->flags & FLAG_LISTED && frame->object[0])
		before_close(frame);
	if (o->flags & FLAG_CALLER)
		frame->extra = find_gadget(frame->ret);
	if (o->flags & FLAG_SYMBOL)
		frame->args[8] = frame->args[1]; /* the name; the results will lie over it */
	if (o->flags & FLAG_STATUS) {
		frame->extra = frame->args[0];
		frame->args[0] = 0;
	}
}

/*
 * A function that we wrap, found by dlsym() past us: the program gets the stub. Not if another library's function comes
 * between: that one is calling the next, and would call itself. And one that we have instead of libc's (threads,
 * memory): the program gets ours, since memory of one is not to be freed by the other.
 */
static uint64_t after_symbol(const char *wanted, uint64_t result)
{
	uint32_t hash = hash_of(wanted);
	for (unsigned i = 0; i < LIBC_COUNT; i++) {
		if (libc_wanted[i].hash != hash || !equal(libc_names + libc_wanted[i].name, wanted))
			continue;
		libc_resolve(i);
		if ((uint64_t)libc_real[i] == result)
			return (uint64_t)(libc_is_foreign(i) ? libc_real[i] : libc_stubs[i]);
	}
	void *ours = (uint64_t)libc_find(wanted) == result ? libc_find_in("libheddle.so", wanted) : 0;
	return ours ? (uint64_t)ours : result;
}

uint64_t libc_leave(struct libc_frame *frame)
{
	unsigned flags = libc_is_foreign((unsigned)frame->index) ? 0 : libc_ordered[frame->index].flags;
	uint64_t status = frame->extra;
	if (flags & FLAG_SYMBOL && frame->args[0])
		frame->args[0] = after_symbol((const char *)frame->args[8], frame->args[0]);
	leave_sections(frame);
	uint64_t depth = depth_in_use(libc_shadow.depth);
	if (flags & FLAG_STATUS && status) {
		libc_shadow.depth = depth;
		exit((int)status);
	}
	return depth;
}

/* The unwinder passes a stub: frames end from the top, so this one is the uppermost in use. */
int libc_personality(int version, int actions, uint64_t class, void *exception, void *context)
{
	(void)version, (void)class, (void)exception, (void)context;
	uint64_t depth = depth_in_use(libc_shadow.depth);
	if (actions & 2 /* _UA_CLEANUP_PHASE */ && depth) {
		leave_sections(&libc_shadow.frames[depth - 1]);
		libc_shadow.depth = depth_in_use(depth);
	}
	return 8; /* _URC_CONTINUE_UNWIND */
}

void libc_settle_at(uint64_t sp, uint64_t ret)
{
	if (!libc_shadow.depth)
		return;
	settle(libc_shadow.depth, sp, ret);
	libc_shadow.depth = depth_in_use(libc_shadow.depth);
}

void libc_thread_ends(void)
{
	for (uint64_t depth; (depth = depth_in_use(libc_shadow.depth)); libc_shadow.depth = depth - 1)
		leave_sections(&libc_shadow.frames[depth - 1]);
}

/* ---- the real functions -------------------------------------------------------------------- */

/*
 * What RTLD_NEXT would find, without calling dlsym(), which is wrapped, locks, and is not ready for the calls that
 * constructors of other libraries make before ours. Only objects of the start are looked at, up to libc: they stay.
 * A definition that is not libc's (another preloaded library, or one that has a function of that name by chance) is
 * called as if we were not there.
 */
struct object {
	const ElfW(Sym) * symbols;
	const char *names;
	const uint16_t *versions;
	const uint32_t *hash;
	uint64_t base;
};
#define OBJECTS 256
static struct object objects[OBJECTS]; /* those behind us, libc the last */
static unsigned object_count;
static uint8_t foreign[(LIBC_COUNT + 7) / 8], resolved[(LIBC_COUNT + 7) / 8];

bool libc_is_foreign(unsigned index)
{
	return foreign[index / 8] >> index % 8 & 1;
}

/* Is it the library of that name? */
static bool read_object(const struct link_map *map, struct object *o, const char *soname)
{
	*o = (struct object){ .base = map->l_addr };
	const char *name = 0;
	uint64_t name_at = 0;
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		/* ld.so has relocated these, except in objects whose dynamic section is read-only */
		uint64_t value = d->d_un.d_ptr, at = value < map->l_addr ? value + map->l_addr : value;
		switch (d->d_tag) {
		case DT_SYMTAB: o->symbols = (const void *)at; break;
		case DT_STRTAB: o->names = (const void *)at; break;
		case DT_VERSYM: o->versions = (const void *)at; break;
		case DT_GNU_HASH: o->hash = (const void *)at; break;
		case DT_SONAME: name_at = value; break;
		}
	}
	if (name_at && o->names)
		name = o->names + name_at;
	return name && equal(name, soname);
}

static void *find_symbol(const struct object *o, const char *name, uint32_t hash)
{
	if (!o->hash || !o->symbols || !o->names)
		return 0;
	uint32_t buckets = o->hash[0], first = o->hash[1], words = o->hash[2], shift = o->hash[3];
	const uint64_t *bloom = (const uint64_t *)(o->hash + 4);
	const uint32_t *bucket = (const uint32_t *)(bloom + words), *chain = bucket + buckets;
	uint64_t word = bloom[hash / 64 % words];
	if (!(word >> hash % 64 & word >> (hash >> shift) % 64 & 1))
		return 0;
	uint32_t i = bucket[hash % buckets];
	void *old = 0;
	for (; i >= first; i++) {
		const ElfW(Sym) *s = &o->symbols[i];
		if ((chain[i - first] | 1) == (hash | 1) && s->st_shndx && equal(o->names + s->st_name, name)) {
			void *at = (void *)(o->base + s->st_value);
			if (!o->versions || !(o->versions[i] & 0x8000))
				return at;
			old = at; /* not the default version, but maybe there is no other */
		}
		if (chain[i - first] & 1)
			break;
	}
	return old;
}

static void missing(void)
{
	__builtin_trap(); /* this libc does not have the function, so nobody can have linked to it */
}

static void read_objects(void)
{
	bool found = false;
	const struct link_map *map = _r_debug.r_map;
	while (map && map->l_ld != _DYNAMIC)
		map = map->l_next;
	for (map = map ? map->l_next : 0; map && !found && object_count < OBJECTS; map = map->l_next)
		found = read_object(map, &objects[object_count++], "libc.so.6");
}

/* `of_libc`: not of a library between us and it. */
static void *find_behind_us(const char *name, uint32_t hash, bool *of_libc)
{
	void *real = 0;
	unsigned k = 0;
	if (!object_count)
		read_objects();
	while (k < object_count && !(real = find_symbol(&objects[k], name, hash)))
		k++;
	*of_libc = k + 1 >= object_count;
	return real;
}

/*
 * Looks for the function when it is called first: most programs call few of them, and to look for all costs each
 * process 0.1 ms. As long as there is one thread, that is the same at replay; before there are more, all are looked
 * for.
 */
void libc_resolve(unsigned i)
{
	bool of_libc;
	if (resolved[i / 8] >> i % 8 & 1)
		return;
	void *real = find_behind_us(libc_names + libc_wanted[i].name, libc_wanted[i].hash, &of_libc);
	resolved[i / 8] |= (uint8_t)(1 << i % 8);
	if (real && !of_libc)
		foreign[i / 8] |= (uint8_t)(1 << i % 8);
	libc_real[i] = real ? real : (void *)missing;
	libc_entry[i] = !real || libc_is_foreign(i) ? libc_real[i] : libc_stubs[i];
}

void *libc_find(const char *name)
{
	bool of_libc;
	return find_behind_us(name, hash_of(name), &of_libc);
}

void *libc_find_in(const char *soname, const char *name)
{
	struct object o;
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
		if (read_object(map, &o, soname))
			return find_symbol(&o, name, hash_of(name));
	return 0;
}

/* ---- for the rest of libheddle.so ------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

void libc_before_first_thread(void)
{
	/* qsort() asks for the size of memory when it first sorts more than 1 KiB; wide characters load
	   the tables of the locale: both would happen in whichever thread comes first. */
	extern void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
	extern int btowc(int);
	static char bytes[1100];
	for (unsigned i = 0; i < LIBC_COUNT; i++)
		libc_resolve(i);
	qsort(bytes, sizeof bytes, 1, compare);
	btowc(0xe9);
}

void libc_before_unwinding(void)
{
	extern int backtrace(void **, int);
	static bool done;
	void *here;
	libc_section_enter(GROUP_dl, 0);
	if (!done)
		REAL(backtrace)(&here, 1);
	done = true;
	libc_section_leave(GROUP_dl, 0);
}

/*
 * pthread_create() takes ld.so's lock of thread-local storage, which dlopen() holds while it maps: natively for a
 * moment, but at replay dlopen() may wait in there for a system call of the creator. So creators enter `dl`, and before
 * any section of their own, since constructors that dlopen() runs create threads inside it.
 */
void libc_before_create(void)
{
	libc_section_enter(GROUP_dl, 0);
}

void libc_after_create(void)
{
	libc_section_leave(GROUP_dl, 0);
}

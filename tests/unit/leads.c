/*
 * What loader/arch/x86_64/access.c puts in place of the instructions of a library, without Heddle: LIBRARY. A line for each lead: the
 * range that it replaces, and its size; in addresses of the file.
 */
#define _GNU_SOURCE
#include "loader/arch/x86_64/access.c"
#include "loader/arch/x86_64/decode.c"
#include "loader/arch/x86_64/plain.c"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STUBS = 1 << 18 };
static uint64_t sites[STUBS];
static unsigned site_count;
static uint8_t *stubs;

/* ---- what access.c has from others --------------------------------------------------------------------------------- */

uint64_t patch_trapped(uint64_t pc)
{
	unsigned from = 0, to = site_count;
	while (from < to) {
		unsigned middle = (from + to) / 2;
		if (sites[middle] < pc)
			from = middle + 1;
		else
			to = middle;
	}
	return from < site_count && sites[from] == pc ? (uint64_t)stubs + from * STUB_SIZE : 0;
}

void atomic_entry(void)
{
}

long user_copy(void *to, const void *from, size_t n)
{
	memcpy(to, from, n);
	return 0;
}

long instruction_run(const uint8_t *code, struct regs *r)
{
	(void)code, (void)r;
	return 0;
}

/* ---- the library -------------------------------------------------------------------------------------------------------- */

static struct {
	uint64_t base, frames, from, to;
} library;

static int find(struct dl_phdr_info *info, size_t size, void *name)
{
	(void)size;
	if (strcmp(info->dlpi_name, name))
		return 0;
	library.base = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_GNU_EH_FRAME)
			library.frames = library.base + p->p_vaddr;
		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			library.from = library.base + p->p_vaddr;
			library.to = library.from + p->p_memsz;
		}
	}
	return 1;
}

static void each_function(void (*visit)(uint64_t from, uint64_t to))
{
	const struct {
		uint8_t form[4];
		int32_t frames;
		uint32_t count;
		int32_t rows[][2];
	} *index = (const void *)library.frames;
	for (uint32_t i = 0; i < index->count; i++) {
		uint64_t from = library.frames + (uint64_t)(int64_t)index->rows[i][0];
		const uint32_t *description = (const uint32_t *)(library.frames + (uint64_t)(int64_t)index->rows[i][1]);
		visit(from, from + description[3]);
	}
}

static void give_stubs(uint64_t from, uint64_t to)
{
	unsigned n;
	for (uint64_t at = from; (n = instruction_length((const uint8_t *)at, to - at)); at += n)
		if (plain_is((const uint8_t *)at)) {
			stub_write_atomic(stubs + site_count * STUB_SIZE, at);
			sites[site_count++] = at;
		}
}

static void tell_leads(uint64_t from, uint64_t to)
{
	unsigned n;
	for (uint64_t at = from; (n = instruction_length((const uint8_t *)at, to - at));) {
		if (!plain_is((const uint8_t *)at)) {
			at += n;
			continue;
		}
		struct lead lead = stub_lead((uint8_t *)patch_trapped(at), at, from, to);
		printf("%lx %lx %u\n", (long)(lead.from - library.base), (long)(lead.to - library.base), lead.size);
		memcpy((void *)lead.from, lead.bytes, lead.size);
		at = from = lead.to;
	}
}

int main(int argc, char **argv)
{
	if (argc != 2 || !dlopen(argv[1], RTLD_NOW) || !dl_iterate_phdr(find, argv[1]))
		return 1;
	uint64_t page = library.from & -4096ul;
	stubs = mmap((void *)(page - (1 << 30)), STUBS * STUB_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	if (mprotect((void *)page, library.to - page, PROT_READ | PROT_WRITE | PROT_EXEC))
		return 1;
	stub_look_begin(library.from, library.to, false);
	each_function(stub_look);
	each_function(give_stubs);
	each_function(tell_leads);
	fflush(stdout);
	_exit(0); /* the library's own end would go to stubs without a runtime */
}

/* Mapping an ELF file as the kernel would, and saying no as the kernel would. */
#include "loader/loader.h"
#include "loader/patch.h"
#include <linux/elf.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/stat.h>

#define HEADERS 64

static int protection(uint32_t flags)
{
	return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) | (flags & PF_X ? PROT_EXEC : 0);
}

static long read_headers(long fd, Elf64_Ehdr *eh, Elf64_Phdr ph[HEADERS])
{
	if (file_read(fd, eh, sizeof *eh, 0) != sizeof *eh || memcmp(eh->e_ident, "\177ELF", 4))
		return -ENOEXEC;
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_machine != TRACE_ARCH)
		return -ENOEXEC;
	if ((eh->e_type != ET_EXEC && eh->e_type != ET_DYN) || eh->e_phentsize != sizeof *ph || !eh->e_phnum ||
	    eh->e_phnum > HEADERS)
		return -ENOEXEC;
	long n = eh->e_phnum * (long)sizeof *ph;
	return file_read(fd, ph, (size_t)n, eh->e_phoff) == n ? 0 : -ENOEXEC;
}

static void note_range(uint64_t range[2], uint64_t from, uint64_t to)
{
	range[0] = range[0] ? MIN(range[0], from) : from;
	range[1] = MAX(range[1], to);
}

/* The file's part, the zeros behind it in the same page, and whole pages of zeros. */
static long map_segment(long fd, const Elf64_Phdr *ph, uint64_t base)
{
	uint64_t va = base + ph->p_vaddr, start = ALIGN_DOWN(va, page_size);
	uint64_t file_end = va + ph->p_filesz, end = va + ph->p_memsz;
	uint64_t zero_from = start;
	int prot = protection(ph->p_flags);
	if (ph->p_filesz) {
		long r = SYS6(__NR_mmap, start, file_end - start, prot, MAP_PRIVATE | MAP_FIXED, fd,
			      ph->p_offset - (va - start));
		if (is_error(r))
			return r;
		zero_from = ALIGN_UP(file_end, page_size);
		if (end > file_end && (prot & PROT_WRITE))
			memset((void *)file_end, 0, zero_from - file_end);
	}
	if (end > zero_from) {
		long r = SYS6(__NR_mmap, zero_from, ALIGN_UP(end - zero_from, page_size), prot,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		if (is_error(r))
			return r;
	}
	return 0;
}

long elf_map(long fd, const char *key, uint64_t at, struct elf_image *out)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph[HEADERS];
	long r = read_headers(fd, &eh, ph);
	if (r < 0)
		return r;
	uint64_t low = ~0ull, high = 0;
	memset(out, 0, sizeof *out);
	for (int i = 0; i < eh.e_phnum; i++) {
		if (ph[i].p_type != PT_LOAD)
			continue;
		/* nor may a segment of a hostile file come to lie outside of the span that is looked at below */
		if (ph[i].p_filesz > ph[i].p_memsz || ph[i].p_vaddr + ph[i].p_memsz < ph[i].p_vaddr)
			return -ENOEXEC;
		low = MIN(low, ALIGN_DOWN(ph[i].p_vaddr, page_size));
		high = MAX(high, ph[i].p_vaddr + ph[i].p_memsz);
	}
	if (low >= high)
		return -ENOEXEC;
	out->base = eh.e_type == ET_DYN ? at - low : 0;
	uint64_t from = out->base + low;
	if (from > MAP_PROGRAM_END || high - low > MAP_PROGRAM_END - from || is_ours(from, high - low))
		return -EFAULT;
	/* the whole span first, so that nothing else comes between */
	r = SYS6(__NR_mmap, from, ALIGN_UP(high - low, page_size), PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (is_error(r))
		return r;
	for (int i = 0; i < eh.e_phnum; i++) {
		uint64_t va = out->base + ph[i].p_vaddr;
		if (ph[i].p_type == PT_PHDR)
			out->phdr = va;
		if (ph[i].p_type == PT_GNU_STACK)
			out->executable_stack = ph[i].p_flags & PF_X;
		if (ph[i].p_type != PT_LOAD)
			continue;
		if ((r = map_segment(fd, &ph[i], out->base)) < 0)
			return r;
		known_sites_mapped(key, va, ph[i].p_filesz, ph[i].p_offset, (uint64_t)protection(ph[i].p_flags));
		note_range(ph[i].p_flags & PF_X ? out->code : out->data, va, va + ph[i].p_memsz);
		if (!out->phdr && eh.e_phoff >= ph[i].p_offset && eh.e_phoff < ph[i].p_offset + ph[i].p_filesz)
			out->phdr = va + eh.e_phoff - ph[i].p_offset;
	}
	out->entry = out->base + eh.e_entry;
	out->phnum = eh.e_phnum;
	out->end = out->base + high;
	return 0;
}

void elf_map_code(long fd, uint64_t from, uint64_t to)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph[HEADERS];
	if (read_headers(fd, &eh, ph) < 0)
		return;
	for (int i = 0; i < eh.e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_vaddr == from && ph[i].p_filesz == to - from)
			map_segment(fd, &ph[i], 0);
}

/* "#! interpreter argument": as the kernel splits it. */
static long parse_script(const char *line, struct elf_script *s)
{
	const char *p = line + 2, *end = strchr(p, '\n');
	if (!end)
		end = p + strlen(p);
	while (end > p && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (p == end)
		return -ENOEXEC;
	unsigned n = 0;
	while (p < end && *p != ' ' && *p != '\t' && n < sizeof s->interpreter - 1)
		s->interpreter[n++] = *p++;
	s->interpreter[n] = 0;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	for (n = 0; p < end && n < sizeof s->argument - 1;)
		s->argument[n++] = *p++;
	s->argument[n] = 0;
	return 0;
}

long elf_interpreter(long fd, char *path, size_t room)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph[HEADERS];
	long r = read_headers(fd, &eh, ph);
	if (r < 0)
		return r;
	for (int i = 0; i < eh.e_phnum; i++) {
		if (ph[i].p_type != PT_INTERP)
			continue;
		if (ph[i].p_filesz >= room)
			return -ENOEXEC;
		memset(path, 0, room);
		return file_read(fd, path, ph[i].p_filesz, ph[i].p_offset);
	}
	return 0;
}

long elf_check(long fd, struct elf_script *script)
{
	char head[257];
	struct statx st;
	memset(&st, 0, sizeof st);
	memset(head, 0, sizeof head);
	memset(script, 0, sizeof *script);
	long r = SYS5(__NR_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st);
	if (r < 0)
		return r;
	if ((st.stx_mode & S_IFMT) != S_IFREG || !(st.stx_mode & 0111))
		return -EACCES;
	r = file_read(fd, head, sizeof head - 1, 0);
	if (r < 0)
		return r;
	if (head[0] == '#' && head[1] == '!')
		return parse_script(head, script);
	char path[256];
	r = elf_interpreter(fd, path, sizeof path);
	return r <= 0 ? r : SYS4(__NR_faccessat, AT_FDCWD, path, 1, 0);
}

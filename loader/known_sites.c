/*
 * System call sites that earlier runs have met, so that they need not trap again.
 *
 * Beside the cached copies of mapped files (memory/saved_files.c) lies KEY.sites: the offset of each site in the file,
 * and a call that it made. A site gets there when it has trapped and was patched, so it is proven to be an instruction;
 * the key changes with the file. When code of the file is mapped, its known sites are patched at once, in the pages
 * that nobody has used yet. Who adds a site writes one record with O_APPEND, so that several processes may do so at
 * once; a record too many does no harm, and one that was cut is not read.
 */
#include "loader/arch/arch.h"
#include "loader/patch.h"
#include "runtime/runtime.h"
#include <linux/fcntl.h>
#include <linux/mman.h>

#define FILES	 64
#define KNOWN	 1024 /* sites of one file that are read */
#define KEY_ROOM SAVED_KEY_ROOM

struct known_site {
	uint32_t offset, nr;
};

static struct code {
	uint64_t from, to, offset;
	char key[KEY_ROOM];
} codes[FILES];
static unsigned code_count, next_code;

static void sites_path(struct text *path, const char *key)
{
	text_add(path, "%s/%s.sites", control->sites, key);
}

/* The list of the file; how many there are. */
static unsigned read_known(const char *key, struct known_site known[KNOWN])
{
	TEXT(path, PATH_ROOM);
	sites_path(&path, key);
	long fd = file_open(TEXT_OF(path), O_RDONLY, 0);
	if (fd < 0)
		return 0;
	long n = SYS3(__NR_read, fd, known, KNOWN * sizeof *known);
	file_close(fd);
	return n < 0 ? 0 : (unsigned)((size_t)n / sizeof *known);
}

static void patch_known(const struct code *code, uint64_t prot)
{
	struct known_site known[KNOWN];
	uint64_t len = code->to - code->from;
	unsigned n = read_known(code->key, known);
	/* with its pages writable; a system that refuses that has the sites trap */
	if (!n || SYS3(__NR_mprotect, code->from, len, prot | PROT_WRITE))
		return;
	for (unsigned i = 0; i < n; i++)
		if (known[i].offset >= code->offset && known[i].offset - code->offset + SYSCALL_SIZE <= len)
			patch_ahead(code->from + (known[i].offset - code->offset), known[i].nr);
	SYS3(__NR_mprotect, code->from, len, prot);
}

void known_sites_mapped(const char *key, uint64_t addr, uint64_t len, uint64_t offset, uint64_t prot)
{
	uint64_t before = addr % page_size;
	if (!*key || *key == 'r' || !*control->sites || !control->patch || !(prot & PROT_EXEC))
		return;
	patch_lock();
	/* the oldest is forgotten: its sites then trap each time anew, in each process */
	struct code *code = &codes[next_code];
	next_code = (next_code + 1) % FILES;
	code_count = MAX(code_count, next_code ? next_code : FILES);
	*code = (struct code){ .from = addr - before, .to = addr + len, .offset = offset - before };
	memcpy(code->key, key, strlen(key) + 1);
	patch_known(code, prot);
	patch_unlock();
}

/* Less than a whole mapping: ld.so cuts the code's mapping where its data will be. */
void known_sites_unmapped(uint64_t addr, uint64_t len)
{
	uint64_t end = addr + len;
	if (!code_count)
		return;
	patch_lock();
	for (struct code *c = codes; c < codes + code_count; c++)
		if (c->from < end && c->to > addr) {
			if (c->from < addr)
				c->to = addr;
			else
				c->from = MIN(end, c->to), c->offset = ~0ull;
		}
	patch_unlock();
}

void known_sites_learn(uint64_t address, uint32_t nr)
{
	for (const struct code *c = codes; c < codes + code_count; c++) {
		if (address < c->from || address >= c->to || c->offset == ~0ull)
			continue;
		const struct known_site site = { (uint32_t)(address - c->from + c->offset), nr };
		TEXT(path, PATH_ROOM);
		sites_path(&path, c->key);
		long fd = file_open(TEXT_OF(path), O_WRONLY | O_APPEND | O_CREAT, 0600);
		if (fd < 0)
			return;
		limit_lift(LIMIT_FILE);
		SYS3(__NR_write, fd, &site, sizeof site);
		limit_restore(LIMIT_FILE);
		file_close(fd);
		return;
	}
}

/* The program that the loader maps, in record and replay: its first line or its ELF headers. */
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include "loader/loader.h"
#include "loader/patch.h"
#include <linux/stat.h>
#include "fuzz.h"

static const uint8_t *file;
static size_t file_size;

/* Stand-ins for the runtime. */
uint64_t page_size = 4096;

long gate(long nr, long a, long b, long c, long d, long e, long f)
{
	(void)a, (void)b, (void)c, (void)d, (void)f;
	if (nr == __NR_statx)
		((struct statx *)e)->stx_mode = 0100755; /* a file that may be executed */
	return 0;
}

long file_read(long fd, void *to, size_t n, uint64_t from)
{
	(void)fd;
	if (from >= file_size)
		return 0;
	n = n < file_size - from ? n : file_size - from;
	memcpy(to, file + from, n);
	return (long)n;
}

bool is_ours(uint64_t addr, uint64_t n)
{
	(void)addr, (void)n;
	return true; /* nothing is mapped here */
}

void known_sites_mapped(const char *key, uint64_t addr, uint64_t len, uint64_t offset, uint64_t prot)
{
	(void)key, (void)addr, (void)len, (void)offset, (void)prot;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_script script;
	struct elf_image image;
	char path[256];

	file = data;
	file_size = size;
	if (elf_interpreter(0, path, sizeof path) > 0 && memchr(path, 0, sizeof path) == NULL)
		abort();
	elf_check(0, &script);
	elf_map(0, "", 0x10000, &image);
	return 0;
}

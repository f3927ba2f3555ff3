/*
 * heddle replay --program=FILE: the same program, with more symbols. What runs is the program that the trace keeps; a
 * file of another build would name the wrong functions and lines, so it is refused. Its build id tells: the linker
 * makes it from all that is in the file, and stripping leaves it as it is.
 */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "meta.h"

#define ID_ROOM 129 /* in hexadecimal; linkers make 8, 16 or 20 bytes */

/* Whether it is an ELF file; "": one without a build id. */
static bool read_id(Elf *elf, char id[ID_ROOM])
{
	const unsigned char *bytes = NULL;
	bool is_elf = elf && elf_kind(elf) == ELF_K_ELF;
	ssize_t n = is_elf ? dwelf_elf_gnu_build_id(elf, (const void **)&bytes) : 0;

	*id = 0;
	for (ssize_t i = 0; i < n && 2 * i + 2 < ID_ROOM; i++)
		snprintf(id + 2 * i, 3, "%02x", bytes[i]);
	elf_end(elf);
	return is_elf;
}

static bool read_file_id(const char *path, char id[ID_ROOM])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* nobody may be writing to a pipe */
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		die("%s is not a regular file", path);
	bool is_elf = read_id(elf_begin(fd, ELF_C_READ_MMAP, NULL), id);
	close(fd);
	return is_elf;
}

/* The program stands in the first entry of its image, or is kept under the name that stands there. */
static void read_recorded_id(const struct meta *meta, unsigned image, char id[ID_ROOM])
{
	struct trace_problem problem;
	struct trace_reader reader;
	const struct entry *e;
	char path[PATH_ROOM + 300];

	*id = 0;
	if (trace_reader_open(&reader, meta->dir, image, 0, &problem) || trace_read(&reader, &e, &problem) != 1)
		die("%s", problem.text);
	for (const struct block *b = NULL; e->kind == ENTRY_START && (b = trace_next_block(e, b));) {
		char *data = (char *)(b + 1);
		if (b->arg == START_PROGRAM && b->kind == BLOCK_CONTENT)
			read_id(elf_memory(data, b->len), id);
		if (b->arg != START_PROGRAM || b->kind != BLOCK_FILE)
			continue;
		snprintf(path, sizeof path, "%s/files/%.*s", meta->dir, (int)b->len, data);
		read_file_id(path, id);
	}
	trace_reader_close(&reader);
}

void build_need_same(const struct meta *meta, unsigned image, const char *file)
{
	char given[ID_ROOM], recorded[ID_ROOM];

	elf_version(EV_CURRENT);
	if (!read_file_id(file, given))
		die("%s: not an ELF file; --program wants another copy of the recorded program", file);
	read_recorded_id(meta, image, recorded);
	if (!*recorded)
		die("the recorded program has no build id, so nobody can tell whether %s (build id %s) is the same; "
		    "link "
		    "it with -Wl,--build-id and record it again, or replay without --program",
		    file, *given ? given : "none");
	if (strcmp(given, recorded))
		die("%s is another build of the program: its build id is %s, and that of the recorded program %s; give "
		    "the build that was recorded, or record this one",
		    file, *given ? given : "none", recorded);
}

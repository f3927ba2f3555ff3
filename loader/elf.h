/* ELF programs and #! scripts: what exec accepts, and where it is mapped. */
#ifndef LOADER_ELF_H
#define LOADER_ELF_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image {
	uint64_t base; /* what was added to its addresses */
	uint64_t entry, phdr, phnum, end;
	uint64_t code[2], data[2]; /* begin and end, for the kernel's view */
	bool executable_stack;
};
/* Maps the ELF file, which is saved as `key`; position independent ones at `at`. Returns 0 or an error; -EFAULT: it is
   linked to where a recorded program has nothing. */
long elf_map(long fd, const char *key, uint64_t at, struct elf_image *out);
/* Maps the part of the file that lies at [from, to), if it has one of exactly that size, over what is there. */
void elf_map_code(long fd, uint64_t from, uint64_t to);
/* Copies the path of the program's interpreter; its length, 0 if it has none, or an error. */
long elf_interpreter(long fd, char *path, size_t room);
/* 0 if exec would accept this open file as a program, else the error it would give. Fills
   `interpreter` from a #! line (empty for ELF) and its one argument. */
#define SCRIPTS_MAX 5 /* #! lines that lead to one another, as the kernel has it; more give ELOOP */
struct elf_script {
	char interpreter[256], argument[256];
};
long elf_check(long fd, struct elf_script *script);

#endif

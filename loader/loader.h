/*
 * The loader: a static program at a fixed address that becomes the recorded
 * process. It maps the user's program itself, prepares memory, signals and the
 * system call filter, and jumps. exec inside the program comes back here.
 */
#ifndef LOADER_H
#define LOADER_H
#include "runtime/runtime.h"

/* ---- elf.c ------------------------------------------------------------------- */

struct elf_image {
	uint64_t base;	/* what was added to its addresses */
	uint64_t entry, phdr, phnum, end;
	uint64_t code[2], data[2]; /* begin and end, for the kernel's view */
};
/* Maps the ELF file; position independent ones at `at`. Returns 0 or an error. */
long elf_map(long fd, uint64_t at, struct elf_image *out);
/* Copies the path of the program's interpreter; its length, 0 if it has none, or an error. */
long elf_interpreter(long fd, char *path, size_t room);
/* 0 if exec would accept this open file as a program, else the error it would give. Fills
   `interpreter` from a #! line (empty for ELF) and its one argument. */
struct elf_script {
	char interpreter[256], argument[256];
};
long elf_check(long fd, struct elf_script *script);

/* ---- stack.c -------------------------------------------------------------------- */

struct stack_strings {
	const char *path, *platform;
	uint64_t argc, envc;
	const char *const *argv, *const *envp;
	const uint8_t *random;
};
/* Builds the program's first stack; returns its stack pointer. */
uint64_t stack_build(const struct start_info *info, const struct stack_strings *s, const struct elf_image *program,
		     uint64_t interpreter_base);
/* Tells the kernel where arguments, environment, code and heap are. */
void stack_tell_kernel(const struct elf_image *program, long exe_fd);

/* ---- filter.c --------------------------------------------------------------------- */
long filter_install(void);

/* ---- start.c ----------------------------------------------------------------------- */
_Noreturn void loader_start(uint64_t *sp);
#endif

/*
 * The loader: a static program at a fixed address that becomes the recorded
 * process. It maps the user's program itself, prepares memory, signals and the
 * system call filter, and jumps. exec inside the program comes back here.
 */
#ifndef LOADER_H
#define LOADER_H
#include "loader/elf.h"
#include "runtime/runtime.h"

/* ---- stack.c -------------------------------------------------------------------- */

struct stack_strings {
	const char *path, *platform;
	const char *preload; /* "LD_PRELOAD=..." for ld.so alone, or empty */
	uint64_t argc, envc;
	const char *const *argv, *const *envp;
	const uint8_t *random;
};
/* Builds the program's first stack; returns its stack pointer. */
uint64_t stack_build(const struct start_info *info, const struct stack_strings *s, const struct elf_image *program,
		     uint64_t interpreter_base);
/* Tells the kernel where arguments, environment, code and heap are. */
void stack_tell_kernel(const struct elf_image *program, long exe_fd);
/* The same in another process that goes on with the memory of the one that was told; the heap has grown to
   `heap_end`. */
void stack_tell_kernel_again(uint64_t heap_end);

/* ---- filter.c --------------------------------------------------------------------- */
long filter_install(void);

/* ---- checkpoint_file.c ------------------------------------------------------------- */
/* The process becomes the one whose checkpoint control->begin_at has. */
_Noreturn void checkpoint_file_begin(void);

/* ---- start.c ----------------------------------------------------------------------- */
/* What the kernel is to do for us: the counter traps, system calls enter from the gate alone. */
void kernel_prepare(void);
_Noreturn void loader_start(uint64_t *sp);
#endif

/*
 * The program's first stack: strings, auxiliary vector, environment, arguments,
 * at a fixed address, and what the kernel is told about it.
 *
 * ld.so alone is to see LD_BIND_NOW (who resolves a symbol first would vary),
 * libheddle.so in LD_PRELOAD, and a false entry point, which leads to
 * program_started(): that takes all of them away before the program's own first
 * instruction.
 */
#include "loader/loader.h"
#include "loader/arch/arch.h"
#include <linux/auxvec.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/prctl.h>

#ifndef AT_HWCAP3
#define AT_HWCAP3 29
#define AT_HWCAP4 30
#endif
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

#define FIRST_STACK (256ul << 10) /* grows by itself, up to the stack limit */

static const char bind_now[] = "LD_BIND_NOW=1";

static struct {
	uint64_t arg_start, arg_end, env_start, env_end;
	uint64_t *auxv;
	unsigned auxv_words;
	uint64_t entry;	     /* the program's own */
	uint64_t *entry_aux; /* where ld.so found the false one, or 0 */
	uint64_t *env;
	struct {
		uint64_t shown;	   /* the string that ld.so finds in the environment */
		uint64_t restored; /* what the program is to find in its place; 0: nothing */
	} hidden[2];
	unsigned hidden_count;
	uint64_t sp;
} built;

static struct prctl_mm_map told; /* to the kernel */

static uint64_t push(uint64_t *top, const void *data, size_t n)
{
	*top -= n;
	memcpy((void *)*top, data, n);
	return *top;
}

static uint64_t push_string(uint64_t *top, const char *s)
{
	return push(top, s, strlen(s) + 1);
}

/* Which variable of the environment begins with `name`; envc if none. */
static uint64_t find_variable(const struct stack_strings *s, const char *name)
{
	uint64_t i = 0;
	while (i < s->envc && strncmp(s->envp[i], name, strlen(name)))
		i++;
	return i;
}

/* Until the program starts, the variable at `at` is another one. */
static void hide(uint64_t *at, uint64_t shown_to_loader)
{
	built.hidden[built.hidden_count].shown = shown_to_loader;
	built.hidden[built.hidden_count++].restored = *at;
	*at = shown_to_loader;
}

static void map_stack(uint64_t strings, bool executable)
{
	int protection = PROT_READ | PROT_WRITE | (executable ? PROT_EXEC : 0);
	uint64_t size = ALIGN_UP(FIRST_STACK + strings, page_size);
	long r = SYS6(__NR_mmap, MAP_STACK_TOP - size, size, protection,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN | MAP_STACK, -1, 0);
	if (is_error(r))
		no_memory("the program's stack", r);
}

static uint64_t strings_size(const struct stack_strings *s)
{
	uint64_t n = 0;
	for (uint64_t i = 0; i < s->argc; i++)
		n += strlen(s->argv[i]) + 9;
	for (uint64_t i = 0; i < s->envc; i++)
		n += strlen(s->envp[i]) + 9;
	return n;
}

static unsigned fill_auxv(uint64_t *aux, const struct start_info *info, const struct elf_image *program,
			  uint64_t interpreter_base, uint64_t execfn, uint64_t platform, uint64_t random)
{
	const uint64_t table[][2] = {
		{ AT_MINSIGSTKSZ, info->minsigstksz },
		{ AT_HWCAP, info->hwcap },
		{ AT_PAGESZ, info->pagesz },
		{ AT_CLKTCK, info->clktck },
		{ AT_PHDR, program->phdr },
		{ AT_PHENT, 56 },
		{ AT_PHNUM, program->phnum },
		{ AT_BASE, interpreter_base },
		{ AT_FLAGS, 0 },
		{ AT_ENTRY, interpreter_base ? (uint64_t)program_entry : program->entry },
		{ AT_UID, info->uid },
		{ AT_EUID, info->euid },
		{ AT_GID, info->gid },
		{ AT_EGID, info->egid },
		{ AT_SECURE, info->secure },
		{ AT_RANDOM, random },
		{ AT_HWCAP2, info->hwcap2 },
		{ AT_HWCAP3, info->hwcap3 },
		{ AT_HWCAP4, info->hwcap4 },
		{ AT_EXECFN, execfn },
		{ AT_PLATFORM, platform },
		{ AT_NULL, 0 },
	};
	memcpy(aux, table, sizeof table);
	for (unsigned i = 0; i < COUNT(table); i++)
		if (aux[2 * i] == AT_ENTRY && interpreter_base)
			built.entry_aux = &aux[2 * i + 1];
	return 2 * COUNT(table);
}

uint64_t stack_build(const struct start_info *info, const struct stack_strings *s, const struct elf_image *program,
		     uint64_t interpreter_base)
{
	map_stack(strings_size(s), program->executable_stack);
	uint64_t top = MAP_STACK_TOP - 8; /* the kernel, too, ends with a word of zeros */
	uint64_t execfn = push_string(&top, s->path);
	built.env_end = top;
	uint64_t env_bytes = 0, arg_bytes = 0;
	for (uint64_t i = 0; i < s->envc; i++)
		env_bytes += strlen(s->envp[i]) + 1;
	for (uint64_t i = 0; i < s->argc; i++)
		arg_bytes += strlen(s->argv[i]) + 1;
	built.env_start = built.arg_end = top - env_bytes;
	built.arg_start = built.arg_end - arg_bytes;
	top = built.arg_start;
	uint64_t platform = push_string(&top, s->platform);
	uint64_t random = push(&top, s->random, 16);
	uint64_t bind_at = push_string(&top, bind_now);
	uint64_t preload_at = push_string(&top, s->preload);
	uint64_t words = 1 + s->argc + 1 + s->envc + 2 + 1 + 64;
	uint64_t *v = (uint64_t *)ALIGN_DOWN(top - words * 8, 16);
	built.sp = (uint64_t)v;
	*v++ = s->argc;
	uint64_t at = built.arg_start;
	for (uint64_t i = 0; i < s->argc; i++) {
		size_t n = strlen(s->argv[i]) + 1;
		memcpy((void *)at, s->argv[i], n);
		*v++ = at;
		at += n;
	}
	*v++ = 0;
	for (uint64_t i = 0; i < s->envc; i++) {
		size_t n = strlen(s->envp[i]) + 1;
		memcpy((void *)at, s->envp[i], n);
		*v++ = at;
		at += n;
	}
	built.env = v - s->envc;
	*v = 0;
	if (interpreter_base && find_variable(s, "LD_BIND_NOW=") == s->envc) {
		hide(v++, bind_at);
		*v = 0;
	}
	if (interpreter_base && *s->preload) {
		uint64_t theirs = find_variable(s, "LD_PRELOAD=");
		bool adds = theirs == s->envc;
		hide(adds ? v : built.env + theirs, preload_at);
		if (adds)
			*++v = 0;
	}
	v++;
	built.entry = program->entry;
	built.auxv = v;
	built.auxv_words = fill_auxv(v, info, program, interpreter_base, execfn, platform, random);
	return built.sp;
}

static uint64_t restored(uint64_t string)
{
	for (unsigned i = 0; i < built.hidden_count; i++)
		if (built.hidden[i].shown == string)
			return built.hidden[i].restored;
	return string;
}

static void restore_environment(uint64_t *list)
{
	uint64_t *to = list;
	for (uint64_t *from = list; *from; from++)
		if (restored(*from))
			*to++ = restored(*from);
	while (*to)
		*to++ = 0;
}

/* Called from program_entry, after ld.so and before the program: see the top. A library that has set a variable when it
   was loaded has left the program a copy of the list. */
uint64_t program_started(uint64_t *sp);
uint64_t program_started(uint64_t *sp)
{
	(void)sp;
	restore_environment(built.env);
	if (ENTRIES->environment && *ENTRIES->environment)
		restore_environment(*ENTRIES->environment);
	for (unsigned i = 0; i < built.hidden_count; i++)
		memset((void *)built.hidden[i].shown, 0, strlen((char *)built.hidden[i].shown));
	if (built.entry_aux)
		*built.entry_aux = built.entry;
	return built.entry;
}

void stack_tell_kernel(const struct elf_image *program, long exe_fd)
{
	static uint64_t auxv[64]; /* also for who is told again */
	memcpy(auxv, built.auxv, built.auxv_words * 8);
	for (unsigned i = 0; i < built.auxv_words; i += 2)
		if (auxv[i] == AT_ENTRY)
			auxv[i + 1] = built.entry;
	told = (struct prctl_mm_map){
		.start_code = program->code[0],
		.end_code = program->code[1],
		.start_data = program->data[0] ? program->data[0] : program->code[0],
		.end_data = program->data[0] ? program->data[1] : program->code[1],
		.start_brk = MAP_BRK_BASE,
		.brk = MAP_BRK_BASE,
		.start_stack = built.sp,
		.arg_start = built.arg_start,
		.arg_end = built.arg_end,
		.env_start = built.env_start,
		.env_end = built.env_end,
		.auxv = (void *)auxv,
		.auxv_size = built.auxv_words * 8,
		.exe_fd = (uint32_t)exe_fd,
	};
	/* with the exe link where the kernel lets us, else without; then special_readlink() answers */
	exe_link_set = SYS5(__NR_prctl, PR_SET_MM, PR_SET_MM_MAP, &told, sizeof told, 0) == 0;
	if (!exe_link_set) {
		told.exe_fd = ~0u;
		SYS5(__NR_prctl, PR_SET_MM, PR_SET_MM_MAP, &told, sizeof told, 0);
	}
}

/* Without the exe link, which only the program would ask for, and replay answers. A debugger asks for auxv. */
void stack_tell_kernel_again(uint64_t heap_end)
{
	told.brk = heap_end;
	told.exe_fd = ~0u;
	long r = SYS5(__NR_prctl, PR_SET_MM, PR_SET_MM_MAP, &told, sizeof told, 0);
	if (r < 0)
		cannot("the kernel cannot be told where the heap of the checkpoint ends: error %d", -r);
}

/*
 * The loader's way from its first instruction to the program's.
 *
 *   loader_start     on the kernel's stack: control page, stacks of our own
 *   start_recording  from arguments, environment and files to a START entry
 *   start_replaying  from the START entry back to the same
 *   launch           map, tell the kernel, signals, filter, jump: the same for both
 */
#include "loader/loader.h"
#include "loader/arch/arch.h"
#include "runtime/memory/heap.h"
#include <linux/auxvec.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/wait.h>

#ifndef AT_HWCAP3
#define AT_HWCAP3 29
#define AT_HWCAP4 30
#endif
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#ifndef PR_SET_TSC
#define PR_SET_TSC 26
#endif

#define INTERPRETER_ROOM (16ul << 20)

struct control *control;
struct process process;
uint32_t image_number, process_id;
uint64_t tickets;
uint64_t fork_base;
bool one_thread = true;
uint64_t page_size = 4096;
char program_path[PATH_ROOM];
bool exe_link_set, replaying;

struct launch {
	struct start_info info;
	struct stack_strings strings;
	long program_fd, interpreter_fd;
	char program_key[SAVED_KEY_ROOM], interpreter_key[SAVED_KEY_ROOM];
	const char *name; /* what ps shows */
};

/* What the kernel gave the loader. */
static struct {
	uint64_t argc;
	const char *const *argv, *const *envp;
	const uint64_t *auxv;
} given;

/* ---- the loader itself ------------------------------------------------------------ */

static void map_control(const char *path)
{
	long fd = file_open(path, O_RDWR, 0);
	long r = fd < 0 ? fd :
			  SYS6(__NR_mmap, MAP_CONTROL_BASE, CONTROL_SIZE, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_FIXED, fd, 0);
	if (r == -EACCES)
		cannot("the program has changed its user and then started another program, which may not open the "
		       "trace "
		       "(%s); record it as that user, as in: su USER -c 'heddle record ...'",
		       path);
	if (is_error(r))
		cannot("the loader is started by heddle record and heddle replay, not by hand (control file '%s': "
		       "error %d)",
		       path, -r);
	file_close(fd);
	struct control *c = (void *)r;
	if (c->magic != CONTROL_MAGIC || c->version != TRACE_VERSION || c->arch != TRACE_ARCH)
		cannot("the control file '%s' belongs to another version of Heddle", path);
	control = c;
	replaying = c->mode == MODE_REPLAY;
}

/*
 * No mapping of the loader's file may be left, else the kernel refuses another exe link. It goes by the name: beside
 * the loader lies a second link to it, from which the same code is mapped. Where that is missing, exe_link_set will be
 * false.
 */
static void leave_own_file(void)
{
	TEXT(path, PATH_ROOM);
	text_add(&path, "%s-mapped", control->loader);
	long fd = file_open(TEXT_OF(path), O_RDONLY, 0);
	if (fd < 0)
		return;
	/* replaces the pages that run this very call by equal ones */
	elf_map_code(fd, MAP_LOADER_BASE, (uint64_t)image_text_end);
	file_close(fd);
	/* the data has changed since: it moves to memory without a file */
	uint64_t n = ALIGN_UP(image_file_end, page_size) - (uint64_t)image_data;
	long copy = SYS6(__NR_mmap, MAP_CLAIMS_BASE, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
			 -1, 0);
	if (is_error(copy))
		return;
	memcpy((void *)copy, image_data, n);
	SYS5(__NR_mremap, copy, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, image_data);
}

/* Everything that is neither ours nor the program's: the kernel's stack, the vdso. */
static void unmap_rest(void)
{
	SYS2(__NR_munmap, MAP_PROGRAM_END, MAP_OURS_BASE - MAP_PROGRAM_END);
	/* up to the end of user addresses, which differs */
	for (unsigned bits = 52; bits >= 47; bits--)
		if (!SYS2(__NR_munmap, MAP_OURS_END, (1ul << bits) - MAP_OURS_END) ||
		    !SYS2(__NR_munmap, MAP_OURS_END, (1ul << bits) - page_size - MAP_OURS_END))
			break;
}

static uint64_t aux(uint64_t type)
{
	for (const uint64_t *a = given.auxv; a[0] != AT_NULL; a += 2)
		if (a[0] == type)
			return a[1];
	return 0;
}

/* ---- record --------------------------------------------------------------------------- */

static uint64_t ignored_signals(void)
{
	uint64_t mask = 0;
	for (int sig = 1; sig <= SIGNALS; sig++) {
		struct kernel_action a = { 0 };
		if (SYS4(__NR_rt_sigaction, sig, 0, &a, 8) == 0 && a.handler == 1)
			mask |= SIGNAL_BIT(sig);
	}
	return mask;
}

static void fill_start_info(struct start_info *info)
{
	*info = (struct start_info){
		.pid = (uint64_t)SYS0(__NR_getpid),
		.ppid = (uint64_t)SYS0(__NR_getppid),
		.ignored = ignored_signals(),
		.hwcap = aux(AT_HWCAP),
		.hwcap2 = hide_random(aux(AT_HWCAP2)),
		.hwcap3 = aux(AT_HWCAP3),
		.hwcap4 = aux(AT_HWCAP4),
		.uid = aux(AT_UID),
		.euid = aux(AT_EUID),
		.gid = aux(AT_GID),
		.egid = aux(AT_EGID),
		.secure = aux(AT_SECURE),
		.clktck = aux(AT_CLKTCK),
		.minsigstksz = aux(AT_MINSIGSTKSZ),
		.pagesz = page_size,
	};
	SYS4(__NR_rt_sigprocmask, 0, 0, &info->blocked, 8);
	if (aux(AT_RANDOM))
		memcpy(info->random, (void *)aux(AT_RANDOM), 16);
	for (unsigned fd = 0; fd < 64; fd++)
		if (shown_class(&process, fd))
			info->shown[shown_class(&process, fd) - 1] |= 1ull << fd;
}

/*
 * A script becomes its interpreter with the script as an argument, again and
 * again if need be. Returns the open program. The words before argv[0] are free, also those below the kernel's list:
 * nobody else is on that stack.
 */
static long open_program(struct launch *l, const char **path)
{
	static struct elf_script scripts[SCRIPTS_MAX + 1];
	for (int depth = 0;; depth++) {
		long fd = file_open(*path, O_RDONLY, 0);
		if (fd < 0)
			cannot("cannot open the program %s: error %d", *path, -fd);
		long r = elf_check(fd, &scripts[depth]);
		if (r < 0)
			cannot("%s is not a program that this machine can run: error %d", *path, -r);
		if (!scripts[depth].interpreter[0])
			return fd;
		if (depth == SCRIPTS_MAX)
			cannot("%s: too many #! lines lead to one another", *path);
		file_close(fd);
		/* argv[0] gives way to: interpreter, argument, script */
		const char **v = (const char **)l->strings.argv;
		*v = *path;
		if (scripts[depth].argument[0])
			*--v = scripts[depth].argument;
		*--v = scripts[depth].interpreter;
		l->strings.argc += (uint64_t)((const char **)l->strings.argv - v);
		l->strings.argv = v;
		*path = scripts[depth].interpreter;
	}
}

static void log_file(struct call *c, unsigned which, long fd, char key[SAVED_KEY_ROOM])
{
	long r = saved_file_log(c, which, fd, key);
	if (r < 0)
		cannot("cannot save the program in the trace: error %d", -r);
}

static void log_string(struct call *c, unsigned which, const char *s)
{
	size_t n = strlen(s);
	entry_room(c, n);
	call_block(c, BLOCK_STRING, which, 0, (uint32_t)n, s);
}

/* What is masked never comes near the trace. */
static void log_variable(struct call *c, const char *s)
{
	if (!control->masks || !mask_wanted(control->mask, s)) {
		log_string(c, START_ENV, s);
		return;
	}
	size_t n = strlen(s);
	entry_room(c, n);
	char *to = (char *)c->at + sizeof(struct block);
	mask_copy(to, s);
	call_block(c, BLOCK_STRING, START_ENV, 0, (uint32_t)n, to);
}

static void log_start(struct launch *l)
{
	char cwd[PATH_ROOM] = "";
	struct call c = { .t = thread_of(0) };
	SYS2(__NR_getcwd, cwd, sizeof cwd);
	entry_begin(&c, ENTRY_START);
	call_block(&c, BLOCK_START, 0, 0, sizeof l->info, &l->info);
	log_file(&c, START_PROGRAM, l->program_fd, l->program_key);
	if (l->interpreter_fd >= 0)
		log_file(&c, START_INTERPRETER, l->interpreter_fd, l->interpreter_key);
	log_string(&c, START_PATH, l->strings.path);
	log_string(&c, START_CWD, cwd);
	log_string(&c, START_PLATFORM, l->strings.platform);
	log_string(&c, START_PRELOAD, l->strings.preload);
	for (uint64_t i = 0; i < l->strings.argc; i++)
		log_string(&c, START_ARG, l->strings.argv[i]);
	for (uint64_t i = 0; i < l->strings.envc; i++)
		log_variable(&c, l->strings.envp[i]);
	entry_finish(&c);
}

static const char *last_part(const char *path)
{
	const char *name = path;
	for (const char *p = path; *p; p++)
		if (*p == '/')
			name = p + 1;
	return name;
}

/* Under its usual name, or by its version: ld-2.31.so. */
static bool is_glibc_loader(const char *path)
{
	const char *name = last_part(path);
	return !strncmp(name, "ld-linux", 8) || (!strncmp(name, "ld-", 3) && name[3] >= '0' && name[3] <= '9');
}

/* libheddle.so lies beside the loader; the program's own LD_PRELOAD comes after it. */
static const char *preload_variable(const struct launch *l, const char *interpreter)
{
	static char room[2 * PATH_ROOM];
	struct text out = { room, room + sizeof room - 1 };
	size_t n = strlen(control->loader);
	while (n && control->loader[n - 1] != '/')
		n--;
	/* only glibc's ld.so: the library is built on glibc */
	if (!is_glibc_loader(interpreter))
		return "";
	text_add(&out, "LD_PRELOAD=");
	memcpy(out.at, control->loader, n);
	out.at += n;
	text_add(&out, "libheddle.so");
	if (SYS4(__NR_faccessat, AT_FDCWD, room + strlen("LD_PRELOAD="), 4, 0) < 0)
		return "";
	for (uint64_t i = 0; i < l->strings.envc; i++)
		if (!strncmp(l->strings.envp[i], "LD_PRELOAD=", 11))
			text_add(&out, ":%s", l->strings.envp[i] + 11);
	return room;
}

/* ld.so itself is the program, and starts another: it takes its options out of that one's arguments. */
static void preload_by_option(struct launch *l, const char *program)
{
	const char *variable = preload_variable(l, program);
	if (!*variable)
		return;
	const char **v = (const char **)l->strings.argv;
	v[-2] = v[0];
	v[-1] = "--preload";
	v[0] = variable + strlen("LD_PRELOAD=");
	l->strings.argv = v - 2;
	l->strings.argc += 2;
}

/* The interpreter's path is in the program; it is read before anything is mapped. */
static long open_interpreter(struct launch *l, const char *program)
{
	char path[256];
	l->strings.preload = "";
	if (elf_interpreter(l->program_fd, path, sizeof path) <= 0) {
		preload_by_option(l, program);
		return -1;
	}
	l->strings.preload = preload_variable(l, path);
	long fd = file_open(path, O_RDONLY, 0);
	if (fd < 0)
		cannot("cannot open the program's interpreter %s: error %d", path, -fd);
	return fd;
}

static void close_listed(const char *list)
{
	while (*list) {
		uint64_t fd = parse_number(&list);
		if (*list++ != ':')
			return;
		if (parse_number(&list) == FD_CLOSE)
			file_close((long)fd);
		if (*list == ',')
			list++;
	}
}

/* argv: loader, control, image, descriptors, program, argv[0], ... */
static void start_recording(struct launch *l)
{
	if (given.argc < 6)
		cannot("the loader was started without a program");
	const char *descriptors = given.argv[3], *path = given.argv[4];
	shown_parse(&process, descriptors);
	l->name = l->strings.path = path;
	l->strings.argc = given.argc - 5;
	l->strings.argv = &given.argv[5];
	while (given.envp[l->strings.envc])
		l->strings.envc++;
	l->strings.envp = given.envp;
	l->strings.platform = aux(AT_PLATFORM) ? (const char *)aux(AT_PLATFORM) : "";
	fill_start_info(&l->info);
	l->strings.random = l->info.random;
	process_id = (uint32_t)l->info.pid;
	l->program_fd = open_program(l, &path);
	l->interpreter_fd = open_interpreter(l, path);
	l->info.argc = l->strings.argc;
	l->info.envc = l->strings.envc;
	turns_start();
	order_start();
	log_open(thread_of(0), image_number);
	log_start(l);
	close_listed(descriptors);
	__atomic_fetch_add(&control->processes, 1, __ATOMIC_RELAXED);
}

/* ---- replay ------------------------------------------------------------------------------ */

/* Strings of the START entry, with their final 0, in memory that lasts until the stack is built. */
struct string_room {
	char *at;
	const char **list;
	uint64_t count;
};
#define STRINGS_BASE MAP_CLAIMS_BASE
#define STRINGS_ROOM (64ul << 20)

static const char *keep_string(struct string_room *room, const struct block *b)
{
	char *s = room->at;
	if (room->at + b->len + 1 > (char *)STRINGS_BASE + STRINGS_ROOM / 2 || room->count >= STRINGS_ROOM / 2 / 8)
		damaged("wrong START entry");
	memcpy(s, block_data(b), b->len);
	s[b->len] = 0;
	room->at += b->len + 1;
	room->list[room->count++] = s;
	return s;
}

static void take_start_block(struct launch *l, struct string_room *room, const struct block *b)
{
	if (b->kind == BLOCK_START && b->len == sizeof l->info) {
		memcpy(&l->info, block_data(b), sizeof l->info);
	} else if (b->kind == BLOCK_FILE) {
		uint64_t size;
		long fd = saved_file_open(b, &size);
		const char *key = saved_file_key(b);
		*(b->arg == START_PROGRAM ? &l->program_fd : &l->interpreter_fd) = fd;
		memcpy(b->arg == START_PROGRAM ? l->program_key : l->interpreter_key, key, strlen(key) + 1);
	} else if (b->kind == BLOCK_STRING) {
		const char *s = keep_string(room, b);
		if (b->arg == START_PATH)
			l->strings.path = s;
		else if (b->arg == START_PLATFORM)
			l->strings.platform = s;
		else if (b->arg == START_PRELOAD)
			l->strings.preload = s;
		if (b->arg < START_ARG)
			room->count = 0; /* the list holds arguments and environment only */
	}
}

static void start_replaying(struct launch *l)
{
	struct thread *t = thread_of(0);
	long r = SYS6(__NR_mmap, STRINGS_BASE, STRINGS_ROOM, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	if (is_error(r))
		no_memory("the arguments of the program", r);
	struct string_room room = { .at = (char *)STRINGS_BASE, .list = (void *)(STRINGS_BASE + STRINGS_ROOM / 2) };
	order_start();
	log_open(t, image_number);
	const struct entry *e = log_peek(t);
	if (!e)
		replay_ended(t);
	l->program_fd = l->interpreter_fd = -1;
	for (bool more = true, first = true; more; first = false) {
		e = log_peek(t);
		if (!e || e->kind != (first ? ENTRY_START : ENTRY_MORE))
			damaged("wrong START entry");
		for (const struct block *b = entry_blocks(e); b < entry_end(e); b = block_next(b))
			take_start_block(l, &room, b);
		more = e->flags & ENTRY_CONTINUED;
		log_take(t);
	}
	if (l->program_fd < 0 || l->info.argc > room.count || l->info.envc != room.count - l->info.argc ||
	    !l->strings.path || !l->strings.platform || !l->strings.preload)
		damaged("wrong START entry");
	process_id = (uint32_t)l->info.pid;
	l->strings.argc = l->info.argc;
	l->strings.envc = l->info.envc;
	l->strings.argv = room.list;
	l->strings.envp = room.list + l->info.argc;
	l->strings.random = l->info.random;
	l->name = l->strings.path;
}

/* ---- both ---------------------------------------------------------------------------------- */

/* Where the kernel's link does not lead to the program, special_readlink() answers with its path. */
static void find_program_path(long fd)
{
	TEXT(link, 64);
	text_add(&link, "/proc/self/fd/%d", fd);
	long n = SYS4(__NR_readlinkat, AT_FDCWD, TEXT_OF(link), program_path, sizeof program_path - 1);
	program_path[n > 0 ? n : 0] = 0;
}

static void set_name(const char *path)
{
	SYS5(__NR_prctl, PR_SET_NAME, last_part(path), 0, 0, 0);
}

/* As the vdso has it, which the program does not see. */
static void map_signal_return(void)
{
	long r = SYS6(__NR_mmap, MAP_SIGNAL_RETURN, page_size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (is_error(r))
		no_memory("the end of signal handlers", r);
	signal_return_code((uint8_t *)MAP_SIGNAL_RETURN);
	SYS3(__NR_mprotect, MAP_SIGNAL_RETURN, page_size, PROT_READ | PROT_EXEC);
}

void kernel_prepare(void)
{
	SYS5(__NR_prctl, PR_SET_TSC, 2 /* PR_TSC_SIGSEGV */, 0, 0, 0);
	cpuid_prepare();
	if (control->filtered)
		return;
	long r = filter_install();
	if (r < 0)
		cannot("the kernel refuses a seccomp filter (error %d), without which nothing can be recorded\n"
		       "heddle: `heddle doctor` tells more",
		       -r);
	control->filtered = 1;
}

static _Noreturn void launch(struct launch *l)
{
	struct elf_image program, interpreter = { 0 };
	uint64_t interpreter_at = mmap_place(INTERPRETER_ROOM);
	long r = elf_map(l->program_fd, l->program_key, MAP_PIE_BASE, &program);
	if (!r && l->interpreter_fd >= 0)
		r = elf_map(l->interpreter_fd, l->interpreter_key, interpreter_at, &interpreter);
	if (r == -EFAULT)
		cannot("the program %s is linked to addresses that Heddle needs for itself", l->strings.path);
	if (r < 0)
		cannot("cannot map the program %s: error %d", l->strings.path, -r);
	uint64_t sp = stack_build(&l->info, &l->strings, &program, interpreter.entry ? interpreter.base : 0);
	map_signal_return();
	set_name(l->name);
	unmap_rest();
	if (replaying)
		SYS2(__NR_munmap, STRINGS_BASE, STRINGS_ROOM);
	stack_tell_kernel(&program, l->program_fd);
	if (!exe_link_set)
		find_program_path(l->program_fd);
	file_close(l->program_fd);
	if (l->interpreter_fd >= 0)
		file_close(l->interpreter_fd);
	counter_prepare();
	kernel_prepare();
	checkpoint_start();
	if (replaying && image_number == control->root_image && control->repeat > 1 && !checkpoint_wanted)
		run_copies();
	if (replaying && image_number == control->root_image && debug_wanted()) {
		debug_start(0);
		thread_of(0)->real_tid = (uint32_t)SYS0(__NR_gettid);
	}
	struct thread *t = thread_of(0);
	t->front->tid = process_id;
	t->front->quick = !replaying && !control->chaos && !order_syncs();
	if (order_syncs())
		order_thread_begins(t);
	t->front->chaos = control->chaos;
	t->chaos = control->chaos * 0x9e3779b97f4a7c15ull + 1;
	arch_thread_start(t);
	sync_fill_entries();
	if (program.executable_stack)
		threads_make_executable();
	heap_thread_started(t);
	signals_start(&l->info);
	control->entered = 1;
	debug_entered();
	enter_program(interpreter.entry ? interpreter.entry : program.entry, sp, 0);
}

/* This process was another image before, all of whose threads are gone; `number` is the ring of one of them. */
static void end_image_before(uint64_t number)
{
	char path[PATH_ROOM];
	long fd = log_open_ring((uint32_t)number, path);
	if (fd < 0)
		return;
	uint32_t done = RING_IMAGE_OVER;
	SYS4(__NR_pwrite64, fd, &done, sizeof done, offsetof(struct ring_header, done));
	file_close(fd);
}

static void on_our_stack(void *unused)
{
	static struct launch l;
	(void)unused;
	signals_early();
	leave_own_file();
	if (*control->begin_at) {
		unmap_rest();
		checkpoint_file_begin();
	}
	const char *image = given.argv[2];
	image_number = (uint32_t)parse_number(&image);
	if (*image == '<') { /* "IMAGE<RING" */
		image++;
		end_image_before(parse_number(&image));
	}
	l.interpreter_fd = -1;
	if (replaying)
		start_replaying(&l);
	else
		start_recording(&l);
	launch(&l);
}

_Noreturn void loader_start(uint64_t *sp)
{
	given.argc = sp[0];
	given.argv = (void *)(sp + 1);
	given.envp = given.argv + given.argc + 1;
	const char *const *e = given.envp;
	while (*e)
		e++;
	given.auxv = (const uint64_t *)(e + 1);
	if (aux(AT_PAGESZ))
		page_size = aux(AT_PAGESZ);
	if (given.argc < 3)
		cannot("this is Heddle's loader: heddle record and heddle replay start it");
	map_control(given.argv[1]);
	struct thread *t = thread_prepare(0);
	t->state = THREAD_RUNS;
	t->real_tid = (uint32_t)SYS0(__NR_gettid);
	run_on_stack(t->stack, on_our_stack, 0);
}

/*
 * heddle replay --gdb: a replay under gdb, or under gdbserver for whatever speaks to that.
 *
 * The loader forks a run whenever a debugger wants one (trace/debug.h), so going back is a new run. gdb attaches to it
 * before its first instruction, when it looks like any program that has just begun: auxv, exe link and ld.so are where
 * gdb expects them. What gdb must not take from this machine are the files: the program and its libraries are those of
 * the trace, under their names in a directory that gdb takes for the root (`set sysroot`).
 *
 * debug/heddle/ does the rest, inside gdb.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "gdb.h"
#include "trace/debug.h"

static struct session {
	const struct meta *meta;
	struct tree *tree;
	const char *work_dir;
	char root[PATH_ROOM], names[PATH_ROOM]; /* work_dir/root, work_dir/names */
	char program[2 * PATH_ROOM];		/* of the trace */
	char script[PATH_ROOM];
	char lib[PATH_ROOM]; /* where the loader, its symbols and gdb/heddle/ are */
	int ended_by;	     /* the signal that told heddle to end; 0: none */
} s;

enum { LOOK_MS = 50, PATIENCE_MS = 2000 };

static struct debug_area *area(const struct control *control)
{
	return (struct debug_area *)((char *)control + DEBUG_AT);
}

void debug_switch_on(struct control *control)
{
	area(control)->on = 1;
}

/* ---- the files of the trace, under their names ------------------------------------------------ */

/* Puts what the block stands for at `path`. What is there already stays: ld.so opens a library once. */
static void place_file(const char *path, const struct block *b)
{
	char target[2 * PATH_ROOM];
	const char *data = (const char *)(b + 1);

	if (b->kind == BLOCK_FILE) {
		snprintf(target, sizeof target, "%s/files/%.*s", s.meta->dir, (int)b->len, data);
		if (symlink(target, path) && errno != EEXIST)
			warn("%s: %s", path, strerror(errno));
	} else if (b->kind == BLOCK_CONTENT) {
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0 && write(fd, data, b->len) != (ssize_t)b->len)
			warn("%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
	}
}

/* Below the root, and once more by its last name alone, for libraries that were named without a leading /, or by a way
   that leads up and could leave the root. */
static void place_library(const char *name, const struct block *b)
{
	char path[3 * PATH_ROOM];
	const char *last = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;

	if (!*last || !strcmp(last, ".") || !strcmp(last, "..") || strlen(name) >= PATH_ROOM)
		return;
	snprintf(path, sizeof path, "%s/%s", s.names, last);
	place_file(path, b);
	if (*name != '/' || strstr(name, "/../"))
		return;
	snprintf(path, sizeof path, "%s%.*s", s.root, (int)(last - name), name);
	if (make_directories(path))
		return;
	strcat(path, last);
	place_file(path, b);
}

static const struct block *find_block(const struct entry *e, enum block_kind kind, int arg)
{
	const struct block *b = NULL;

	while ((b = trace_next_block(e, b)))
		if (b->kind == kind && (arg < 0 || b->arg == arg))
			break;
	return b;
}

/* The name of the interpreter stands in the program. */
static void place_interpreter(const struct block *b)
{
	char name[PATH_ROOM] = "";
	GElf_Phdr part;
	size_t parts = 0;
	int fd = open(s.program, O_RDONLY | O_CLOEXEC);

	elf_version(EV_CURRENT);
	Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	if (elf)
		elf_getphdrnum(elf, &parts);
	for (int i = 0; i < (int)parts && gelf_getphdr(elf, i, &part); i++)
		if (part.p_type == PT_INTERP && part.p_filesz < sizeof name &&
		    pread(fd, name, part.p_filesz, (off_t)part.p_offset) > 0)
			place_library(name, b);
	elf_end(elf);
	if (fd >= 0)
		close(fd);
}

static void place_start(const struct entry *e)
{
	for (const struct block *b = NULL; (b = trace_next_block(e, b));)
		if (b->kind == BLOCK_FILE || b->kind == BLOCK_CONTENT) {
			if (b->arg == START_PROGRAM)
				place_file(s.program, b);
			else
				place_interpreter(b);
		}
}

#define DESCRIPTORS 1024

/* A library is opened, then mapped. */
static void place_mapped(const struct entry *e, char *opened[DESCRIPTORS])
{
	const struct block *b;

	if (e->kind != ENTRY_SYSCALL || (uint64_t)e->result > -4096ull)
		return;
	if (e->nr == SYS_openat && (uint64_t)e->result < DESCRIPTORS && (b = find_block(e, BLOCK_STRING, 1))) {
		free(opened[e->result]);
		opened[e->result] = strndup((const char *)(b + 1), b->len);
	}
	if (e->nr != SYS_mmap || ENTRY_ARGS(e->flags) != 6 || trace_args(e)[4] >= DESCRIPTORS)
		return;
	const char *name = opened[trace_args(e)[4]];
	b = find_block(e, BLOCK_FILE, -1);
	if (!b)
		b = find_block(e, BLOCK_CONTENT, -1);
	if (name && b)
		place_library(name, b);
}

static void place_stream(unsigned image, unsigned slot)
{
	static char *opened[DESCRIPTORS];
	struct trace_problem problem;
	struct trace_reader reader;
	const struct entry *e;

	if (trace_reader_open(&reader, s.meta->dir, image, slot, &problem))
		die("%s", problem.text);
	while (trace_read(&reader, &e, &problem) > 0)
		if (e->kind == ENTRY_START)
			place_start(e);
		else
			place_mapped(e, opened);
	trace_reader_close(&reader);
	for (size_t i = 0; i < DESCRIPTORS; i++) {
		free(opened[i]);
		opened[i] = NULL;
	}
}

static void place_files(long image)
{
	snprintf(s.root, sizeof s.root, "%.3000s/root", s.work_dir);
	snprintf(s.names, sizeof s.names, "%.3000s/names", s.work_dir);
	snprintf(s.program, sizeof s.program, "%s/program", s.work_dir);
	if (make_directories(s.root) || make_directories(s.names))
		die("%s: %s", s.work_dir, strerror(errno));
	for (size_t i = 0; i < s.meta->list.nstreams; i++)
		if (s.meta->list.streams[i].image == image)
			place_stream((unsigned)image, s.meta->list.streams[i].slot);
}

/* ---- what gdb reads first ------------------------------------------------------------------------ */

static void find_parts(void)
{
	char path[PATH_ROOM + 32];

	tree_find_loader(s.lib);
	*strrchr(s.lib, '/') = 0;
	snprintf(path, sizeof path, "%s/gdb/heddle/__init__.py", s.lib);
	if (access(path, R_OK))
		die("%s: %s; install heddle again", path, strerror(errno));
}

/* How a debugger must see the process, whoever it is: the first call of each site raises SIGSYS, and SIGPWR stops
   threads; both are ours. */
static const char settings[] = "handle SIGSYS SIGPWR nostop noprint pass\n"
			       "set breakpoint pending on\n";

/* For a gdb without our Python: on x86-64, reading the cycle counter, asking the processor what it is and some accesses
   of OpenMP's libraries raise SIGSEGV, and what gave way to a patch SIGILL (debug/heddle/replay.py, traps_for_us). */
#ifdef __x86_64__
static const char settings_alone[] =
	"handle SIGSEGV SIGILL nostop noprint pass\n"
	"catch signal SIGSEGV SIGILL\n"
	"condition $bpnum $rip < 0x600000000000 && *(unsigned short *)$rip != 0x310f"
	" && *(unsigned short *)$rip != 0xa20f && (*(unsigned *)$rip & 0xffffff) != 0xf9010f"
	" && *(unsigned short *)($rip - 2) != 0xe948 && *(unsigned char *)$rip != 0xf4\n";
#else
static const char settings_alone[] = "";
#endif

static void put_command(FILE *f, const char *command, const char *path)
{
	fprintf(f, "%s ", command);
	quote_for_gdb(f, path);
	fputc('\n', f);
}

static void put_name(FILE *f, const char *before, const char *path)
{
	fputs(before, f);
	quote_for_python(f, path);
}

/* debug/heddle/ and what it must know. */
static void put_python(FILE *f, long image)
{
	char parts[PATH_ROOM + 16], symbols[PATH_ROOM + 16];

	snprintf(parts, sizeof parts, "%s/gdb", s.lib);
	snprintf(symbols, sizeof symbols, "%s/loader.sym", s.lib);
	fputs("python import sys\n"
	      "python sys.dont_write_bytecode = True\n",
	      f);
	put_name(f, "python sys.path.insert(0, ", parts);
	put_name(f, ")\npython import heddle\npython heddle.begin(control=", s.tree->control_path);
	put_name(f, ", symbols=", symbols);
	put_name(f, ", trace=", s.meta->dir);
#define DEBUG_NAME(name) #name " "
	fprintf(f, ", at=%d, members='%s', image=%ld, checkpoint=%d)\n", DEBUG_AT, DEBUG_MEMBERS(DEBUG_NAME), image,
		*s.tree->control->begin_at != 0);
#undef DEBUG_NAME
}

/* `set` takes the rest of its line as it is. */
static void write_script(bool attached, long image)
{
	snprintf(s.script, sizeof s.script, "%.3000s/start.gdb", s.work_dir);
	FILE *f = fopen(s.script, "we");
	if (!f)
		die("%s: %s", s.script, strerror(errno));
	fprintf(f, "set sysroot %s\nset solib-search-path %s\n%s", s.root, s.names, settings);
	put_command(f, "file", s.program);
	if (s.meta->symbols)
		put_command(f, "symbol-file", s.meta->symbols);
	if (attached)
		put_python(f, image);
	else
		fputs(settings_alone, f);
	if (fclose(f))
		die("%s: %s", s.script, strerror(errno));
}

/* ---- the run ----------------------------------------------------------------------------------------- */

static pid_t start_program(char **argv, bool silent)
{
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid)
		return pid;
	if (s.tree)
		tree_restore(s.tree);
	int null = silent ? open("/dev/null", O_RDWR) : -1;
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	execvp(argv[0], argv);
	_exit(127);
}

/* Does the program run and end well? Its wait status. */
static int try_program(char **argv)
{
	pid_t pid = start_program(argv, true);
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static void need_gdb(void)
{
	int status = try_program((char *[]){ "gdb", "-nx", "-batch", "-ex", "python import gdb", NULL });

	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		die("gdb is not there; install it: `apt-get install gdb`");
	if (status)
		die("this gdb has no Python, which heddle's commands are written in; install another: `apt-get install "
		    "gdb`");
}

static void need_gdbserver(void)
{
	if (try_program((char *[]){ "gdbserver", "--version", NULL }))
		die("gdbserver is not there; install it: `apt-get install gdbserver`");
}

/* Ctrl-C is the debugger's; what is to end heddle ends the session. */
static void wait_a_little(int milliseconds)
{
	siginfo_t info;
	int sig = tree_signal(s.tree, &info, milliseconds);

	if (sig == SIGTERM || sig == SIGHUP)
		s.ended_by = sig;
}

/* Has it ended? It is not reaped. */
static bool has_ended(pid_t debugger, int *status)
{
	siginfo_t info = { .si_pid = 0 };

	if (waitid(P_PID, (id_t)debugger, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
		return false;
	*status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
	return true;
}

/* Until the debugger ends, or has had time to because heddle was told to; then everybody. The wait status of the
   session. */
static int run_until_end_of(pid_t debugger)
{
	int status = 0, told = 0;
	bool over = false;

	for (;;) {
		over = over || has_ended(debugger, &status);
		if (s.ended_by && !told++)
			kill(debugger, s.ended_by);
		if (!tree_reap(s.tree))
			return s.ended_by ? s.ended_by : status;
		if (over || told > PATIENCE_MS / LOOK_MS)
			tree_kill();
		wait_a_little(LOOK_MS);
		told += told > 0;
	}
}

/* Of gdb, or `count` words of the user's for it. */
static int run_gdb(char **words, int count)
{
	char **argv = calloc((size_t)count + 5, sizeof *argv);

	if (!argv)
		die("not enough memory");
	argv[0] = "gdb";
	argv[1] = "-q";
	argv[2] = "-x";
	argv[3] = s.script;
	memcpy(argv + 4, words, (size_t)count * sizeof *words);
	int status = run_until_end_of(start_program(argv, false));
	free(argv);
	return status;
}

/* Is it stopped by whoever traces it? */
static bool is_traced(pid_t pid)
{
	char path[64], line[256];
	bool traced = false, stopped = false;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f)) {
		traced |= !strncmp(line, "TracerPid:", 10) && atoi(line + 10);
		stopped |= !strncmp(line, "State:\tt", 8);
	}
	if (f)
		fclose(f);
	return traced && stopped;
}

static int run_gdbserver(long port)
{
	struct debug_area *a = area(s.tree->control);
	char where[32], pid[24];

	a->wanted = 1;
	while (!s.ended_by && __atomic_load_n(&a->started, __ATOMIC_ACQUIRE) != 1)
		if (!tree_reap(s.tree))
			die("the replay ended before a debugger could have it");
		else
			wait_a_little(10);
	if (s.ended_by)
		return run_until_end_of(s.tree->root);
	snprintf(where, sizeof where, "127.0.0.1:%ld", port);
	snprintf(pid, sizeof pid, "%d", (int)a->pid);
	pid_t server = start_program((char *[]){ "gdbserver", "--once", "--attach", where, pid, NULL }, false);
	while (!s.ended_by && !is_traced((pid_t)a->pid) && !kill(server, 0))
		if (!tree_reap(s.tree))
			break;
		else
			wait_a_little(10);
	if (s.ended_by)
		return run_until_end_of(server);
	if (!is_traced((pid_t)a->pid)) {
		tree_kill();
		die("gdbserver has not taken the replay; is port %ld in use? Choose another", port);
	}
	a->go = 1; /* it is stopped, and goes when the debugger says so */
	char *script = quote_for_shell((char *[]){ s.script, NULL });
	note("the replay waits for a debugger: `gdb -x %s -ex 'target remote %s'`", script, where);
	free(script);
	return run_until_end_of(server);
}

int debug_session(struct tree *tree, const struct meta *meta, const struct debug_options *options, const char *work_dir)
{
	s.meta = meta;
	s.tree = tree;
	s.work_dir = work_dir;
	find_parts();
	place_files(options->image);
	write_script(!options->port, options->image);
	return options->port ? run_gdbserver(options->port) : run_gdb(options->words, options->count);
}

int debug_read_words(struct debug_options *options, int argc, char **argv)
{
	int ours = argc && argv[0][0] != '-'; /* the trace's name, or at once an option of gdb's */

	options->gdb = true;
	options->count = argc - ours;
	options->words = calloc((size_t)options->count + 1, sizeof *argv);
	if (!options->words)
		die("not enough memory");
	memcpy(options->words, argv + ours, (size_t)options->count * sizeof *argv);
	argv[ours] = NULL;
	if (options->port && options->count)
		usage("--gdb-port starts no gdb, so '%s' is for nobody", options->words[0]);
	if (options->port)
		need_gdbserver();
	else
		need_gdb();
	return ours;
}

/*
 * What heddle needs of a machine, a check each. Every line is the outcome of really doing the thing, in a child process
 * where it would change us; nothing is concluded from version numbers or configuration files.
 */
#define _GNU_SOURCE
#ifdef __x86_64__
#include <asm/prctl.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include "commands.h"
#include "doctor.h"
#include "compiler/hooks.h"
#include "runtime/memory/map.h"

static void found(struct finding *f, enum verdict verdict, const char *advice, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static void found(struct finding *f, enum verdict verdict, const char *advice, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->text, sizeof f->text, format, args);
	va_end(args);
	f->verdict = verdict;
	snprintf(f->advice, sizeof f->advice, "%s", advice);
}

/* Runs a probe in a child. It returns 0 if the thing works, else an errno. A probe that was
   killed gives -signal. */
static int in_child(int (*probe)(void))
{
	int status;

	fflush(NULL);
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_DUMPABLE, 0); /* no core files from probes */
		_exit(probe() & 255);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0)
		return errno;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static const char *why(int outcome)
{
	static char text[64];

	if (outcome >= 0)
		return strerror(outcome);
	snprintf(text, sizeof text, "killed by SIG%s", sigabbrev_np(-outcome));
	return text;
}

/* ---- the kernel --------------------------------------------------------------------------- */

static void check_kernel(struct finding *f)
{
	struct utsname u;

	uname(&u);
	found(f, FINE, "", "%s %s on %s", u.sysname, u.release, u.machine);
}

static volatile sig_atomic_t trapped;

static void note_trap(int sig)
{
	trapped = sig;
}

/* A filter that traps one call, as the gate does. */
static int probe_seccomp(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof code / sizeof *code, code };

	signal(SIGSYS, note_trap);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		return errno;
	syscall(SYS_getppid);
	return trapped == SIGSYS ? 0 : ENOSYS;
}

static void check_seccomp(struct finding *f)
{
	int e = in_child(probe_seccomp);

	if (e)
		found(f, MISSING, "use a kernel with CONFIG_SECCOMP_FILTER, or a container profile that allows seccomp",
		      "a filter cannot be installed or does not trap: %s", why(e));
	else
		found(f, FINE, "", "a filter can trap system calls");
}

#ifndef PR_SET_TSC
#define PR_SET_TSC     26
#define PR_TSC_SIGSEGV 2
#endif
static sigjmp_buf after_trap;

static void leave_trap(int sig)
{
	(void)sig;
	siglongjmp(after_trap, 1);
}

static void read_counter(void)
{
#if defined __aarch64__
	uint64_t value;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
#elif defined __x86_64__
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
#endif
}

/* In a child: 0 if the instruction traps, as it was asked to. */
static int traps(void (*instruction)(void))
{
	signal(SIGSEGV, leave_trap);
	if (sigsetjmp(after_trap, 1))
		return 0;
	instruction();
	return ENOSYS;
}

static int probe_counter(void)
{
	return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) ? errno : traps(read_counter);
}

static void check_counter(struct finding *f)
{
	int e = in_child(probe_counter);

	if (e)
		found(f, LIMITED,
		      "instructions that read it are patched where heddle finds them; a newer kernel traps them",
		      "the cycle counter cannot be made to trap (PR_SET_TSC): %s", why(e));
	else
		found(f, FINE, "", "reading the cycle counter can be made to trap");
}

#ifdef __x86_64__
static void ask_processor(void)
{
	unsigned a = 0, b, c = 0, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
}

static int probe_cpuid(void)
{
	return syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0) ? errno : traps(ask_processor);
}

static void check_cpuid(struct finding *f)
{
	int e = in_child(probe_cpuid);

	if (e)
		found(f, LIMITED,
		      "programs see which core asks, and may use rdrand and rdseed, which are not recorded; most do "
		      "not",
		      "cpuid cannot be made to trap (ARCH_SET_CPUID): %s", why(e));
	else
		found(f, FINE, "", "cpuid can be made to trap");
}
#endif

static int probe_addresses(void)
{
	static const unsigned long places[] = { MAP_PIE_BASE,	     MAP_MMAP_BASE,    MAP_STACK_TOP - 65536,
						MAP_LOADER_BASE,     MAP_STREAMS_BASE, MAP_CLAIMS_BASE,
						MAP_OURS_END - 65536 };

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		void *want = (void *)places[i];
		void *got = mmap(want, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (got == MAP_FAILED)
			return errno;
		if (got != want)
			return ENOMEM;
	}
	return 0;
}

static void check_addresses(struct finding *f)
{
	int e = in_child(probe_addresses);

	if (e)
		found(f, MISSING,
		      "heddle needs a kernel with 47 bits of addresses (not 39) and no RLIMIT_AS below that",
		      "the address space of recorded programs is not to be had: %s", why(e));
	else
		found(f, FINE, "", "47 bits, and the places heddle uses are free");
}

/* What the kernel knows of us now, so that setting it changes nothing. */
static int present_mm(struct prctl_mm_map *map)
{
	char text[2048], *at;
	unsigned long long field[52] = { 0 };
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (n <= 0)
		return errno ? errno : ENOENT;
	close(fd);
	text[n] = 0;
	at = strrchr(text, ')');
	if (!at || strlen(at) < 4)
		return EINVAL;
	at += 4; /* past ") S" */
	for (int i = 4; i <= 51; i++)
		field[i] = strtoull(at, &at, 10);
	*map = (struct prctl_mm_map){ .start_code = field[26],
				      .end_code = field[27],
				      .start_stack = field[28],
				      .start_data = field[45],
				      .end_data = field[46],
				      .start_brk = field[47],
				      .arg_start = field[48],
				      .arg_end = field[49],
				      .env_start = field[50],
				      .env_end = field[51],
				      .exe_fd = (uint32_t)-1,
				      .brk = (uintptr_t)sbrk(0) };
	return 0;
}

static int probe_mm_map(void)
{
	static uint64_t auxv[128];
	struct prctl_mm_map map;
	int e = present_mm(&map);

	if (e)
		return e;
	int fd = open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, auxv, sizeof auxv);
	if (n <= 0)
		return ENOENT;
	map.auxv = (void *)auxv;
	map.auxv_size = (uint32_t)n;
	return prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0) ? errno : 0;
}

static void check_mm_map(struct finding *f)
{
	int e = in_child(probe_mm_map);

	if (e)
		found(f, LIMITED,
		      "ps and /proc show the loader instead of the program; a kernel with "
		      "CONFIG_CHECKPOINT_RESTORE has it",
		      "PR_SET_MM_MAP does not work: %s", why(e));
	else
		found(f, FINE, "", "/proc can be made to show the program (PR_SET_MM_MAP)");
}

static int probe_membarrier(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) ||
	    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		return errno;
	return 0;
}

static void check_membarrier(struct finding *f)
{
	int e = in_child(probe_membarrier);

	if (e)
		found(f, LIMITED, "allow the system call membarrier in the container's profile", "not available: %s",
		      why(e));
	else
		found(f, FINE, "", "membarrier works");
}

static void check_page_size(struct finding *f)
{
	long size = sysconf(_SC_PAGESIZE);

	if (RING_HEADER % size || CONTROL_SIZE % size)
		found(f, MISSING, "use a kernel with pages of at most 64 KiB", "%ld bytes", size);
	else
		found(f, FINE, "", "%ld bytes; traces replay on machines with the same", size);
}

/* ---- what heddle does without --------------------------------------------------------------- */

static int probe_personality(void)
{
	return personality(ADDR_NO_RANDOMIZE) < 0 ? errno : 0;
}

static int probe_ptrace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? errno : 0;
}

static int probe_perf(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
					.size = sizeof attr,
					.config = PERF_COUNT_HW_INSTRUCTIONS,
					.exclude_kernel = 1 };
	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0 ? errno : 0;
}

static void not_needed(struct finding *f, int e)
{
	found(f, FINE, "", e ? "refused (%s); heddle does not need it" : "allowed; heddle does not need it", why(e));
}

static void check_personality(struct finding *f)
{
	not_needed(f, in_child(probe_personality));
}

static void check_ptrace(struct finding *f)
{
	not_needed(f, in_child(probe_ptrace));
}

static void check_perf(struct finding *f)
{
	not_needed(f, in_child(probe_perf));
}

/* ---- memory -------------------------------------------------------------------------------------- */

static long read_number(const char *path)
{
	FILE *file = fopen(path, "re");
	long number = -1;

	if (file && fscanf(file, "%ld", &number) != 1)
		number = -1;
	if (file)
		fclose(file);
	return number;
}

/* As large as a thread's table of claims. */
static int probe_overcommit(void)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	void *got = mmap(NULL, MAP_PROGRAM_END >> HOOK_PAGE_SHIFT, PROT_READ | PROT_WRITE, flags, -1, 0);

	return got == MAP_FAILED ? errno : 0;
}

static void check_overcommit(struct finding *f)
{
	long mode = read_number("/proc/sys/vm/overcommit_memory");
	int e = in_child(probe_overcommit);

	if (e)
		found(f, LIMITED, "raise RLIMIT_AS, or set vm.overcommit_memory to 0 or 1",
		      "2 GiB of address space are not to be had (overcommit mode %ld): %s", mode, why(e));
	else if (mode == 2)
		found(f, LIMITED, "programs with many threads may need vm.overcommit_memory=0",
		      "strict overcommit (mode 2), but 2 GiB at once are given");
	else
		found(f, FINE, "", "overcommit mode %ld", mode);
}

/* Of a thread: heddle's are the ring of its log, twice, its runtime's stack, its hooks' part, and what lies between the
   last two; then come its own stack and guard, and some of what it allocates. */
enum { OUR_MAPPINGS = 5, ITS_MAPPINGS = 3 };

static void check_map_count(struct finding *f)
{
	long most = read_number("/proc/sys/vm/max_map_count");

	if (most < 0)
		found(f, LIMITED, "", "/proc/sys/vm/max_map_count cannot be read");
	else if (most < 16384)
		found(f, LIMITED, "sysctl vm.max_map_count=65530", "%ld mappings a process: room for %ld threads", most,
		      most / (OUR_MAPPINGS + ITS_MAPPINGS));
	else
		found(f, FINE, "", "%ld mappings a process; heddle takes %d a thread", most, OUR_MAPPINGS);
}

/* ---- files ------------------------------------------------------------------------------------------ */

/* Rings are shared mappings and control is locked: not every file system can. */
static int try_file(const char *dir)
{
	char path[PATH_ROOM + 32];

	snprintf(path, sizeof path, "%s/.doctor-XXXXXX", dir);
	int fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return errno;
	unlink(path);
	int e = ftruncate(fd, 65536) || flock(fd, LOCK_EX | LOCK_NB) ? errno : 0;
	char *map = e ? MAP_FAILED : mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		e = e ? e : errno;
	else {
		memset(map, 1, 65536);
		munmap(map, 65536);
	}
	close(fd);
	return e;
}

static void check_directory(struct finding *f)
{
	const char *home = home_directory();
	struct statvfs v;
	int e = make_directories(home) ? errno : try_file(home);

	if (e)
		found(f, MISSING, "choose another place with HEDDLE_TRACE_DIR, or use record -o", "%s: %s", home,
		      strerror(e));
	else if (!statvfs(home, &v) && v.f_bavail * v.f_frsize < 100000000)
		found(f, LIMITED, "remove traces with `heddle rm`, or choose another disk with HEDDLE_TRACE_DIR",
		      "%s is writable, but only %s are free", home, size_text(v.f_bavail * v.f_frsize));
	else
		found(f, FINE, "", "%s is writable, %s are free", home, size_text(v.f_bavail * v.f_frsize));
}

static char loader[PATH_ROOM];

static int probe_loader(void)
{
	tree_find_loader(loader); /* says itself what is wrong */
	return 0;
}

static void check_loader(struct finding *f)
{
	if (in_child(probe_loader)) {
		found(f, MISSING, "install heddle again, or set HEDDLE_LOADER", "not found");
		return;
	}
	probe_loader();
	found(f, FINE, "", "%s", loader);
}

/* ---- all together ------------------------------------------------------------------------------------- */

static char trial_dir[PATH_ROOM];

/* Runs this heddle with output thrown away; returns its exit status as an outcome. */
static int run_self(char **argv)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		int null = open("/dev/null", O_RDWR);
		dup2(null, 1);
		dup2(null, 2);
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid < 0 ? 255 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void check_trial(struct finding *f)
{
	const char *tmp = getenv("TMPDIR");
	char trace[PATH_ROOM + 16];

	snprintf(trial_dir, sizeof trial_dir, "%.3900s/heddle-doctor-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(trial_dir)) {
		found(f, MISSING, "set TMPDIR to a directory that can be written", "%s: %s", trial_dir,
		      strerror(errno));
		return;
	}
	snprintf(trace, sizeof trace, "%s/t", trial_dir);
	int recorded = run_self((char *[]){ "heddle", "record", "-o", trace, "--", "sh", "-c", "exit 7", NULL });
	int replayed = run_self((char *[]){ "heddle", "replay", trace, NULL });
	remove_all(trial_dir);
	if (recorded != 7 || replayed != 7)
		found(f, MISSING, "run `heddle record sh -c 'exit 7'` and `heddle replay` to see the messages",
		      "`sh -c 'exit 7'` gave %d recorded and %d replayed", recorded, replayed);
	else
		found(f, FINE, "", "recorded and replayed `sh -c 'exit 7'`");
}

const struct check doctor_checks[] = {
	{ "kernel", check_kernel },
	{ "seccomp", check_seccomp },
	{ "cycle counter", check_counter },
#ifdef __x86_64__
	{ "cpuid", check_cpuid },
#endif
	{ "address space", check_addresses },
	{ "process names", check_mm_map },
	{ "membarrier", check_membarrier },
	{ "page size", check_page_size },
	{ "overcommit", check_overcommit },
	{ "mappings", check_map_count },
	{ "personality", check_personality },
	{ "ptrace", check_ptrace },
	{ "perf counters", check_perf },
	{ "trace directory", check_directory },
	{ "loader", check_loader },
	{ "trial", check_trial },
	{ 0 },
};

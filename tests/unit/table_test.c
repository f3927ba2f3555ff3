/*
 * The table of system calls is complete and sane. What could go wrong: a row with
 * an argument that its letters do not have, a rule without its size, gaps in the
 * list of rules (the engine stops at the first), a call that this machine's
 * kernel headers know and the table does not, a shape that overflows.
 */
// run: sources="runtime/syscalls/shape_ioctl.c runtime/syscalls/shape_fcntl.c runtime/syscalls/shape_prctl.c runtime/syscalls/shape_wait.c runtime/syscalls/shape_ipc.c"
#include "runtime/syscalls/table.c"

#include <stdio.h>
#include <string.h>

static int failures;
#define EXPECT(condition, ...)                              \
	do {                                                \
		if (!(condition)) {                         \
			printf("table_test: " __VA_ARGS__); \
			printf(" (%s)\n", #condition);      \
			failures++;                         \
		}                                           \
	} while (0)

/* Numbers that the headers know and that have no row, each with its reason. */
static const struct {
	unsigned nr;
	const char *why;
} left_out[] = {
	{ 4000, "none at present" },
};

static int needs_size(unsigned rule)
{
	return rule == OUT_RESULT || rule == OUT_ARG || rule == INOUT_ARG || rule == OUT_LENGTH || rule == IN_IOV ||
	       rule == OUT_IOV;
}

static void check_io(const char *name, unsigned nargs, const struct sys_io *io)
{
	int ended = 0;
	for (int i = 0; i < IO_MAX; i++) {
		if (io[i].rule == IO_NONE) {
			ended = 1;
			continue;
		}
		EXPECT(!ended, "%s: a gap before rule %d", name, i);
		EXPECT(io[i].rule <= OUT_EINTR, "%s: rule %d is unknown", name, i);
		EXPECT(io[i].arg < nargs, "%s: rule %d names argument %d of %u", name, i, io[i].arg, nargs);
		EXPECT(io[i].unit > 0, "%s: rule %d has no size", name, i);
		if (needs_size(io[i].rule))
			EXPECT(io[i].size_arg < nargs, "%s: rule %d takes its size from argument %d of %u", name, i,
			       io[i].size_arg, nargs);
		else
			EXPECT(io[i].size_arg == NO_ARG || (io[i].rule == IN_BYTES && io[i].size_arg < nargs),
			       "%s: rule %d has a size argument that nobody reads", name, i);
		EXPECT(io[i].size_arg != io[i].arg, "%s: rule %d is its own size", name, i);
	}
}

static void check_row(unsigned nr, const struct sys_row *row)
{
	unsigned nargs = (unsigned)strlen(row->args);
	EXPECT(row->name && *row->name, "number %u has no name", nr);
	EXPECT(nargs <= 6, "%s has %u arguments", row->name, nargs);
	EXPECT(strspn(row->args, "duxpfsog") == nargs, "%s: unknown letter in \"%s\"", row->name, row->args);
	check_io(row->name, nargs, row->io);
	for (int i = 0; i < IO_MAX; i++) {
		const struct sys_io *io = &row->io[i];
		if (io->rule == IN_STRING)
			EXPECT(row->args[io->arg] == 's', "%s: argument %d is text, its letter is %c", row->name,
			       io->arg, row->args[io->arg]);
		else if (io->rule)
			EXPECT(row->args[io->arg] == 'p', "%s: argument %d is a pointer, its letter is %c", row->name,
			       io->arg, row->args[io->arg]);
	}
	if (row->flags & (SYS_MASK | SYS_NOT_TO_SHOWN))
		EXPECT(row->mask_arg < nargs, "%s: mask_arg %d of %u", row->name, row->mask_arg, nargs);
	if (row->flags & SYS_NOT_TO_SHOWN)
		EXPECT(row->args[row->mask_arg] == 'f', "%s: mask_arg is no descriptor", row->name);
	if (row->flags & SYS_WRITES)
		EXPECT(row->args[0] == 'f', "%s writes, but not to its first argument", row->name);
	EXPECT((row->flags & (SYS_MASK | SYS_NOT_TO_SHOWN)) != (SYS_MASK | SYS_NOT_TO_SHOWN),
	       "%s: mask_arg means two things", row->name);
	EXPECT((row->how == SYS_REFUSED) == (row->refuse_errno != 0),
	       "%s: refused without an error, or the other way round", row->name);
	EXPECT(!row->special, "%s: the tool has no special functions", row->name);
}

/* What a shape says for some arguments: every one of them must be sane. */
static void check_shape(const struct sys_row *row)
{
	static const uint64_t values[] = {
		0,	1,	    2,		3,	    7,		64,	     1024,	     0x5401, 0x5413,
		0x541B, 0x80045430, 0xc0104551, 0x7fffffff, 0xffffffff, 0x100000000, 0x7fffffffffff, ~0ull
	};
	unsigned n = sizeof values / sizeof *values;
	for (unsigned seed = 0; seed < n * n * n; seed++) {
		uint64_t args[6];
		for (unsigned i = 0, rest = seed; i < 6; i++, rest = rest / n + i)
			args[i] = values[rest % n];
		struct sys_io io[IO_MAX];
		memset(io, 0, sizeof io);
		int r = row->shape(args, io);
		EXPECT(r >= -1 && r < 200, "%s: its shape returned %d", row->name, r);
		if (r == 0)
			check_io(row->name, (unsigned)strlen(row->args), io);
		if (failures)
			return;
	}
	for (uint64_t option = 0; option < 70000; option++) {
		uint64_t args[6] = { option, option, option, option, option, option };
		struct sys_io io[IO_MAX];
		memset(io, 0, sizeof io);
		if (row->shape(args, io) == 0)
			check_io(row->name, (unsigned)strlen(row->args), io);
		if (failures)
			return;
	}
}

static uint32_t size_of(const char *name, unsigned arg)
{
	for (unsigned nr = 0; nr < sys_table_len; nr++)
		if (sys_find(nr) && !strcmp(sys_table[nr].name, name))
			for (int i = 0; i < IO_MAX; i++)
				if (sys_table[nr].io[i].rule && sys_table[nr].io[i].arg == arg)
					return sys_table[nr].io[i].unit;
	return 0;
}

static uint32_t ioctl_size(uint32_t request, unsigned rule)
{
	uint64_t args[6] = { 0, request, 0x1000 };
	struct sys_io io[IO_MAX];
	memset(io, 0, sizeof io);
	if (shape_ioctl(args, io))
		return ~0u;
	return io[0].rule == rule ? io[0].unit : 0;
}

/* Every __NR_ that the headers define, by asking the preprocessor. */
static void check_complete(void)
{
	FILE *f = popen("echo '#include <asm/unistd.h>' | cc -E -dM - | sed -n 's/#define __NR_//p'", "r");
	char name[100], value[100], line[200];
	unsigned seen = 0;
	while (f && fgets(line, sizeof line, f)) {
		unsigned nr, known = 0;
		if (sscanf(line, "%99s %99s", name, value) != 2 || sscanf(value, "%u", &nr) != 1)
			continue; /* defined through another macro, such as __NR3264_mmap: seen below */
		if (!strcmp(name, "syscalls") || !strcmp(name, "arch_specific_syscall"))
			continue; /* a count, and the first of a range that is empty here */
		seen++;
		for (unsigned i = 0; i < sizeof left_out / sizeof *left_out; i++)
			known |= left_out[i].nr == nr;
		const struct sys_row *row = sys_find(nr);
		EXPECT(row || known, "%s (%u) has no row", name, nr);
		if (row)
			EXPECT(!strcmp(row->name, name), "%u is %s, not %s", nr, name, row->name);
	}
	if (f)
		pclose(f);
	if (seen < 200)
		printf("table_test: no compiler here, completeness not checked\n");
}

int main(void)
{
	unsigned rows = 0, refused = 0, special = 0;
	for (unsigned nr = 0; nr < sys_table_len; nr++) {
		const struct sys_row *row = sys_find(nr);
		if (!row)
			continue;
		EXPECT(row == &sys_table[nr], "sys_find(%u)", nr);
		check_row(nr, row);
		if (row->shape)
			check_shape(row);
		rows++;
		refused += row->how == SYS_REFUSED;
		special += row->how == SYS_SPECIAL;
	}
	EXPECT(sys_find(sys_table_len) == 0 && sys_find(~0u) == 0, "beyond the end");
	EXPECT(sys_find(__NR_mmap) && sys_find(__NR_fcntl) && sys_find(__NR_newfstatat) && sys_find(__NR_sendfile),
	       "renamed calls");
	check_complete();

	EXPECT(size_of("uname", 0) == 390 && size_of("rt_sigtimedwait", 1) == 128 && size_of("getrusage", 1) == 144,
	       "sizes");
	EXPECT(size_of("rt_sigprocmask", 1) == 8 && size_of("sysinfo", 0) == 112 && size_of("adjtimex", 0) == 208,
	       "sizes");
	EXPECT(size_of("statfs", 1) == 120 && size_of("times", 0) == 32 && size_of("mq_open", 3) == 64, "sizes");
	EXPECT(size_of("semop", 1) == 6 && size_of("prlimit64", 3) == 16 && size_of("timer_create", 1) == 64, "sizes");
	EXPECT(ioctl_size(0x5401, OUT_FIXED) == 36 && ioctl_size(0x5413, OUT_FIXED) == 8, "old ioctls");
	EXPECT(ioctl_size(0x80045430, INOUT_FIXED) == 4 /* TIOCGPTN */, "ioctls that tell their size");
	EXPECT(ioctl_size(0x80086601, OUT_FIXED) == 4 /* FS_IOC_GETFLAGS */, "ioctls that lie about it");
	EXPECT(ioctl_size(0x40049409, IO_NONE) == 0 /* FICLONE */, "ioctls that pass a value");
	EXPECT(ioctl_size(0x12345678 & ~(0x3fffu << 16), OUT_FIXED) == ~0u, "unknown ioctls");

	if (failures)
		return 1;
	printf("table_test: ok, %u rows, %u special, %u refused\n", rows, special, refused);
	return 0;
}

/*
 * Finding the program to record, and saying before it starts why it cannot.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "commands.h"
#include "compiler/hooks.h"
#include "sites.h"

#define SCRIPT_DEPTH 4 /* as the kernel: an interpreter may be a script itself, four times */

static const char *machine_name(unsigned machine)
{
	switch (machine) {
	case EM_AARCH64: return "aarch64";
	case EM_X86_64: return "x86-64";
	case EM_386: return "x86, 32 bits";
	case EM_ARM: return "arm, 32 bits";
	case EM_RISCV: return "riscv";
	case EM_PPC64: return "ppc64";
	case EM_S390: return "s390";
	default: return "another";
	}
}

/* The dynamic linker that the program asks for must be there. False: it asks for none. */
static bool check_interpreter(const char *path, int fd, const Elf64_Ehdr *elf)
{
	Elf64_Phdr p;
	char name[PATH_ROOM];
	bool asks = false;

	for (unsigned i = 0; i < elf->e_phnum; i++) {
		off_t at = (off_t)(elf->e_phoff + i * sizeof p);
		if (elf->e_phentsize != sizeof p || pread(fd, &p, sizeof p, at) != sizeof p)
			die("%s: damaged ELF file: its program headers (byte %lld) are not there", path, (long long)at);
		if (p.p_type != PT_INTERP)
			continue;
		ssize_t n = p.p_filesz < sizeof name ? pread(fd, name, p.p_filesz, (off_t)p.p_offset) : -1;
		if (n <= 0 || (size_t)n != p.p_filesz || name[n - 1])
			die("%s: damaged ELF file: no interpreter's name at byte %llu", path,
			    (unsigned long long)p.p_offset);
		if (access(name, R_OK))
			die("%s: its dynamic linker %s: %s; install the C library it was built for", path, name,
			    strerror(errno));
		asks = true;
	}
	return asks;
}

/* What heddle-cc has put into it must be for this runtime, and must be able to find it. */
static void check_hooks(const char *path, bool dynamic)
{
	struct sites_note note;

	if (!sites_read_note(path, &note))
		return;
	if (note.version != HOOK_VERSION)
		die("%s: built by a heddle-cc with hooks of version %d; this heddle has version %d: rebuild it with "
		    "this heddle-cc",
		    path, note.version, HOOK_VERSION);
	if (!dynamic && note.hooked)
		die("%s: linked statically, so its hooks cannot find Heddle and its races would not be recorded; link "
		    "it without -static, or use a plain compiler to record its system calls alone",
		    path);
}

static bool check_elf(const char *path, int fd, const unsigned char *head, size_t n)
{
	Elf64_Ehdr elf;

	if (n >= EI_NIDENT + 4u) { /* class and machine lie at the same place in both classes */
		unsigned machine = head[18] | (unsigned)head[19] << 8;
		if (head[EI_DATA] != ELFDATA2LSB)
			die("%s: a big-endian program; this machine is %s", path, machine_name(TRACE_ARCH));
		if (machine != TRACE_ARCH)
			die("%s: a program for %s (ELF machine %u); this machine is %s: build it for this one", path,
			    machine_name(machine), machine, machine_name(TRACE_ARCH));
		if (head[EI_CLASS] != ELFCLASS64)
			die("%s: a 32-bit program; heddle records 64-bit programs only", path);
	}
	if (n < sizeof elf)
		die("%s: damaged ELF file: it ends at byte %zu, inside its header", path, n);
	memcpy(&elf, head, sizeof elf);
	if (elf.e_type != ET_EXEC && elf.e_type != ET_DYN)
		die("%s: an ELF file, but not a program (type %u)", path, elf.e_type);
	bool dynamic = check_interpreter(path, fd, &elf);
	check_hooks(path, dynamic);
	return dynamic;
}

static bool check_file(const char *path, unsigned depth);

static bool check_script(const char *path, char *line, unsigned depth)
{
	char *name = line + 2 + strspn(line + 2, " \t");

	name[strcspn(name, " \t\n")] = 0;
	if (!*name)
		die("%s: its first line names no interpreter after #!", path);
	if (depth == SCRIPT_DEPTH)
		die("%s: its interpreter is a script, whose interpreter is a script, and so on; five are too many",
		    path);
	if (access(name, F_OK))
		die("%s: its interpreter %s: %s; correct its first line or install that", path, name, strerror(errno));
	return check_file(name, depth + 1);
}

static bool check_contents(const char *path, unsigned depth)
{
	union {
		unsigned char bytes[257];
		char text[257];
	} head;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool dynamic = false;

	if (fd < 0)
		die("%s: heddle must read a program to load it: %s", path, strerror(errno));
	ssize_t n = read(fd, head.bytes, sizeof head - 1);
	head.bytes[n > 0 ? n : 0] = 0;
	if (n >= 4 && !memcmp(head.bytes, ELFMAG, SELFMAG))
		dynamic = check_elf(path, fd, head.bytes, (size_t)n);
	else if (n >= 2 && !memcmp(head.text, "#!", 2))
		dynamic = check_script(path, head.text, depth);
	else
		die("%s: neither an ELF program nor a script that begins with #!; a shell script without that line is "
		    "recorded with `heddle record sh %s`",
		    path, path);
	close(fd);
	return dynamic;
}

static bool check_file(const char *path, unsigned depth)
{
	struct stat st;

	if (stat(path, &st))
		die("%s: %s", path, errno == ENOENT ? "no such program" : strerror(errno));
	if (S_ISDIR(st.st_mode))
		die("%s: a directory, not a program", path);
	if (!S_ISREG(st.st_mode))
		die("%s: not a regular file, so not a program", path);
	if (access(path, X_OK))
		die("%s: not executable (%s); `chmod +x` makes it so", path, strerror(errno));
	bool dynamic = check_contents(path, depth);
	if (st.st_mode & (S_ISUID | S_ISGID) && geteuid() && !depth)
		warn("%s is set-%s-id: it runs without its privilege while it is recorded", path,
		     st.st_mode & S_ISUID ? "user" : "group");
	return dynamic;
}

static bool may_run(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* Looks along PATH as execvp does; an empty part is the current directory. What is found but
   not executable is remembered, since its message says more than "no such program". */
static bool search(const char *name, char path[PATH_ROOM])
{
	const char *dirs = getenv("PATH");
	char found[PATH_ROOM] = "";

	if (!dirs)
		dirs = "/bin:/usr/bin";
	for (;; dirs++) {
		size_t n = strcspn(dirs, ":");
		int len = snprintf(path, PATH_ROOM, "%.*s%s%s", (int)n, dirs, n ? "/" : "", name);
		if (len < PATH_ROOM && may_run(path))
			return true;
		if (len < PATH_ROOM && !*found && !access(path, F_OK))
			strcpy(found, path);
		dirs += n;
		if (!*dirs)
			break;
	}
	strcpy(path, found);
	return *found;
}

bool find_program(const char *name, char path[PATH_ROOM])
{
	if (!*name)
		die("no such program: its name is empty");
	if (strlen(name) >= PATH_ROOM)
		die("the program's name is too long");
	if (strchr(name, '/'))
		strcpy(path, name);
	else if (!search(name, path))
		die("%s: no such program in PATH", name);
	return check_file(path, 0);
}

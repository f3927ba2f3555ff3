/*
 * heddle-cc, heddle-c++: clang with our pass. It reads only what it must of the command line, adds its own options, and
 * becomes clang, whose messages and status are therefore unchanged. heddle-ar, heddle-ranlib and heddle-nm become
 * LLVM's, which read the objects that heddle-cc makes.
 *
 * Three ways to go:
 *   compile   make bitcode; vectorising waits until the link, where the whole program is seen
 *   link      lld, with the pass; whatever would lose the pass on the way (another linker, thin LTO) is overruled
 *   neither   -E, -M, --version, no input, ...: clang as it is
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "compiler/hooks.h"

#define LLVM	 "-19" /* what the names of LLVM's programs end in */
#define ENV_PASS "HEDDLE_CC_PASS"

static const char help[] =
	"usage: heddle-cc  [OPTIONS] FILES...     C, as clang" LLVM " or gcc\n"
	"       heddle-c++ [OPTIONS] FILES...     C++\n"
	"\n"
	"Compiles programs whose accesses to shared memory can be recorded by `heddle record`. Outside heddle they "
	"behave as\n"
	"usual. All options of clang work (clang" LLVM " --help). Of its own:\n"
	"\n"
	"      --select=all     hook every access that may be to shared memory (the default)\n"
	"      --select=escape  leave out what the whole program shows not to be shared; looked at when linking\n"
	"      --select=races   leave out what the whole program shows not to race; looked at when linking\n"
	"      --races-report=FILE  write what was found there (see heddle races), as JSON\n"
	"      --barrier=NAME   this function is a barrier that all threads pass (with --select=races)\n"
	"      --without=STEP   without that step of the analysis, to see what it saves: locks, threads, phases, "
	"partitions or initialisation\n"
	"      --select=none    hook nothing: only locks and system calls are recorded\n"
	"      --per-file       without link-time optimisation: each object is finished by itself\n"
	"      --show           print the command instead of running it\n"
	"\n"
	"`heddle doctor PROGRAM` tells how a program was built, `heddle dump --sites PROGRAM` what is hooked in it.\n"
	"heddle-ar, heddle-ranlib and heddle-nm are for archives of its objects.\n";

enum mode { AS_IS, COMPILE, ASSEMBLE, LINK };

struct words {
	char **at;
	size_t count, room;
};

struct command {
	struct words in;  /* as typed, with the contents of response files: only looked at */
	struct words out; /* as passed on */
	struct words inputs, directories, libraries;
	const char *select, *report, *barriers, *without;
	bool per_file, show, verbose, debug, has_sources, static_link, headers;
	enum mode mode;
};

static void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void die(const char *format, ...)
{
	va_list args;

	fputs("heddle-cc: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static void add(struct words *w, const char *word)
{
	if (w->count + 2 > w->room) {
		w->room = w->room ? w->room * 2 : 64;
		w->at = realloc(w->at, w->room * sizeof *w->at);
		if (!w->at)
			die("out of memory");
	}
	w->at[w->count++] = (char *)word;
	w->at[w->count] = NULL;
}

static void add_all(struct words *w, const char *const *words)
{
	for (; *words; words++)
		add(w, *words);
}

static char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text(const char *format, ...)
{
	char *result;
	va_list args;

	va_start(args, format);
	if (vasprintf(&result, format, args) < 0)
		die("out of memory");
	va_end(args);
	return result;
}

static bool starts(const char *word, const char *with)
{
	return !strncmp(word, with, strlen(with));
}

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(word, *list))
			return true;
	return false;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

struct file {
	const char *data;
	size_t size;
};

static bool map_file(const char *path, struct file *f)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*f = (struct file){ "", 0 };
	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
		void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map != MAP_FAILED)
			*f = (struct file){ map, (size_t)st.st_size };
	}
	close(fd);
	return f->size;
}

static void unmap_file(struct file *f)
{
	if (f->size)
		munmap((void *)f->data, f->size);
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

/* Options whose value is the next word. */
static const char *const with_value[] = { "-o",
					  "-x",
					  "-I",
					  "-D",
					  "-U",
					  "-L",
					  "-l",
					  "-T",
					  "-u",
					  "-B",
					  "-z",
					  "-e",
					  "-h",
					  "-A",
					  "-F",
					  "-G",
					  "-MF",
					  "-MT",
					  "-MQ",
					  "-MJ",
					  "-include",
					  "-imacros",
					  "-include-pch",
					  "-isystem",
					  "-iquote",
					  "-idirafter",
					  "-isysroot",
					  "-iprefix",
					  "-iwithprefix",
					  "-iwithprefixbefore",
					  "-isystem-after",
					  "-ivfsoverlay",
					  "-iframework",
					  "-Xlinker",
					  "-Xclang",
					  "-Xassembler",
					  "-Xpreprocessor",
					  "-Xanalyzer",
					  "-mllvm",
					  "-target",
					  "--param",
					  "-arch",
					  "-aux-info",
					  "-dumpbase",
					  "-dumpdir",
					  "-wrapper",
					  "-specs",
					  "--sysroot",
					  "-working-directory",
					  "-rpath",
					  "-serialize-diagnostics",
					  "--serialize-diagnostics",
					  "-mthread-model",
					  "--config",
					  "-fplugin",
					  "-gcc-toolchain",
					  "-Tbss",
					  "-Tdata",
					  "-Ttext",
					  "-current_version",
					  "-compatibility_version",
					  "-install_name",
					  "-framework",
					  "-soname",
					  NULL };

/* What ends before code is made, or makes something that is never linked. */
static const char *const not_code[] = {
	"-E",	     "-M",	     "-MM",	      "-fsyntax-only",	"-###", "--precompile",	 "-help", "--analyze",
	"-analyze",  "-dumpversion", "-dumpmachine",  "-dumpspecs",	"-P",	"--target-help", "-cc1",  "-cc1as",
	"--version", "-emit-ast",    "-rewrite-objc", "-print-targets", NULL
};

/* Words of a response file, as the GNU tools read them: blanks separate, quotes and backslashes protect. */
static void read_response(struct words *w, const char *path, int depth);
static void add_typed(struct words *w, const char *word, int depth)
{
	struct stat st;

	if (*word == '@' && word[1] && depth < 8 && !stat(word + 1, &st))
		read_response(w, word + 1, depth + 1);
	else
		add(w, word);
}

static void read_response(struct words *w, const char *path, int depth)
{
	struct file f;

	map_file(path, &f);
	const char *p = f.data, *end = f.data + f.size;
	while (p < end) {
		while (p < end && strchr(" \t\r\n\f\v", *p) && *p)
			p++;
		if (p == end)
			break;
		char *word = malloc((size_t)(end - p) + 1), *to = word, quote = 0;
		for (; p < end && (quote || !strchr(" \t\r\n\f\v", *p)); p++)
			if (*p == '\\' && p + 1 < end)
				*to++ = *++p;
			else if (quote ? *p == quote : (*p == '"' || *p == '\''))
				quote = quote ? 0 : *p;
			else
				*to++ = *p;
		*to = 0;
		add_typed(w, word, depth);
	}
	unmap_file(&f);
}

/* The linker may run elsewhere. */
static const char *absolute(const char *path)
{
	char here[PATH_MAX];

	return *path == '/' || !getcwd(here, sizeof here) ? path : text("%s/%s", here, path);
}

static bool own_option(struct command *c, const char *word)
{
	static const char *const selects[] = { "none", "all", "escape", "races", NULL };
	static const char *const steps[] = { "locks", "threads", "phases", "partitions", "initialisation", NULL };

	if (starts(word, "--select=")) {
		c->select = word + 9;
		if (!is_one_of(c->select, selects))
			die("--select=%s: choose none, all, escape or races", c->select);
	} else if (starts(word, "--races-report="))
		c->report = text("%s", absolute(word + 15));
	else if (starts(word, "--barrier="))
		c->barriers = text("%s%s%s", c->barriers, *c->barriers ? ":" : "", word + 10);
	else if (starts(word, "--without=")) {
		if (!is_one_of(word + 10, steps))
			die("%s: choose locks, threads, phases, partitions or initialisation", word);
		c->without = text("%s%s:", c->without, word + 10);
	} else if (!strcmp(word, "--per-file"))
		c->per_file = true;
	else if (!strcmp(word, "--show"))
		c->show = true;
	else if (!strcmp(word, "-ffat-lto-objects"))
		; /* left out: clang then makes no bitcode at all, if the opposite comes after it */
	else
		return false;
	return true;
}

static bool is_source(const char *name)
{
	static const char *const endings[] = { ".c",  ".i", ".cc", ".cpp", ".cxx", ".c++", ".C", ".cp",	 ".CPP", ".ii",
					       ".ll", ".m", ".mm", ".h",   ".hh",  ".hpp", ".H", ".hxx", ".tcc", NULL };
	const char *dot = strrchr(name, '.');

	return !strcmp(name, "-") || (dot && !strchr(dot, '/') && is_one_of(dot, endings));
}

static bool is_header(const char *name)
{
	static const char *const endings[] = { ".h", ".hh", ".hpp", ".H", ".hxx", ".tcc", NULL };
	const char *dot = strrchr(name, '.');

	return dot && is_one_of(dot, endings);
}

/* Would the linker that this asks for not run our pass? */
static void check_linker(const char *word)
{
	static const char *const losing[] = { "--lto-emit-llvm",
					      "--lto-emit-asm",
					      "--plugin-opt=emit-llvm",
					      "--plugin-opt=emit-asm",
					      "-plugin-opt=emit-llvm",
					      "-plugin-opt=emit-asm",
					      NULL };

	if (starts(word, "--ld-path=") && !strstr(word, "lld"))
		die("%s: only lld runs heddle's pass; leave the option out, or link with --select=none and clang",
		    word);
	if (starts(word, "-Wl,"))
		for (const char *const *l = losing; *l; l++)
			if (strstr(word, *l))
				die("%s: the result would not be instrumented; leave the option out", word);
}

static void look_at(struct command *c, const char *word, const char *value)
{
	if (word[0] != '-' || !word[1]) {
		add(&c->inputs, word);
		c->has_sources |= is_source(word);
	} else if (!strcmp(word, "-c") || !strcmp(word, "-emit-llvm")) {
		if (c->mode == LINK)
			c->mode = COMPILE;
	} else if (!strcmp(word, "-S")) {
		if (c->mode != AS_IS)
			c->mode = ASSEMBLE;
	} else if (is_one_of(word, not_code) || starts(word, "-print-") || starts(word, "--print-"))
		c->mode = AS_IS;
	else if (starts(word, "-x")) {
		c->has_sources = true;
		c->headers = strstr(word[2] ? word + 2 : value, "-header");
	} else if (!strcmp(word, "-v"))
		c->verbose = true;
	else if (!strcmp(word, "-static"))
		c->static_link = true;
	else if (starts(word, "-g") && !starts(word, "-gcc"))
		c->debug = true;
	else if (starts(word, "-L"))
		add(&c->directories, word[2] ? word + 2 : value);
	else if (starts(word, "-l"))
		add(&c->libraries, word[2] ? word + 2 : value);
	else
		check_linker(word);
}

static void read_command(struct command *c, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help")) {
			fputs(help, stdout);
			exit(0);
		}
		if (!own_option(c, argv[i]))
			add(&c->out, argv[i]);
	}
	for (size_t i = 1; i < c->out.count; i++)
		add_typed(&c->in, c->out.at[i], 0);
	for (size_t i = 0; i < c->in.count; i++) {
		bool pair = is_one_of(c->in.at[i], with_value) && i + 1 < c->in.count;
		look_at(c, c->in.at[i], pair ? c->in.at[i + 1] : "");
		i += pair;
	}
	if (!c->inputs.count)
		c->mode = AS_IS;
	if (c->mode == LINK && (c->headers || is_header(c->inputs.at[0])))
		c->mode = COMPILE; /* to be precompiled */
}

/* ---- objects of other compilers in the link ---------------------------------------------------------------------- */

static bool has(const struct file *f, const char *magic, size_t len)
{
	return f->size >= len && !memcmp(f->data, magic, len);
}

/* Ours are bitcode, or say so in a note (after -r, or in per-file mode). */
static bool is_foreign(const struct file *f)
{
	return has(f, ELFMAG, SELFMAG) && !memmem(f->data, f->size, ".note.heddle", sizeof ".note.heddle") &&
	       !memmem(f->data, f->size, ".llvm.lto", sizeof ".llvm.lto");
}

/* Members: a header of 60 bytes with the size at 48, then the data, to an even place. */
static bool archive_is_foreign(const struct file *f)
{
	for (size_t at = 8; at + 60 <= f->size;) {
		struct file member = { f->data + at + 60, strtoul(f->data + at + 48, NULL, 10) };
		if (member.size > f->size - at - 60)
			break;
		if (is_foreign(&member))
			return true;
		at += 60 + member.size + (member.size & 1);
	}
	return false;
}

static bool file_is_foreign(const char *path)
{
	struct file f;
	bool foreign = false;

	if (!map_file(path, &f))
		return false;
	if (has(&f, "!<arch>\n", 8))
		foreign = archive_is_foreign(&f);
	else if (has(&f, ELFMAG, SELFMAG) && f.size > sizeof(Elf64_Ehdr))
		foreign = ((const Elf64_Ehdr *)f.data)->e_type == ET_REL && is_foreign(&f);
	unmap_file(&f);
	return foreign;
}

/* An archive of this name in one of the directories given by -L. The system's own are foreign in any case. */
static const char *find_archive(const struct command *c, const char *name)
{
	for (size_t i = 0; i < c->directories.count; i++) {
		const char *dir = c->directories.at[i];
		char *shared = text("%s/lib%s.so", dir, name), *archive = text("%s/lib%s.a", dir, name);
		if (!c->static_link && !access(shared, F_OK))
			return NULL;
		if (!access(archive, F_OK))
			return archive;
	}
	return NULL;
}

/* Their names, separated by ':', for the note in the binary. */
static char *list_foreign(const struct command *c)
{
	size_t size = 0;
	char *list = NULL;
	FILE *out = open_memstream(&list, &size);
	struct words files = { 0 };

	for (size_t i = 0; i < c->inputs.count; i++)
		add(&files, c->inputs.at[i]);
	for (size_t i = 0; i < c->libraries.count; i++) {
		const char *archive = find_archive(c, c->libraries.at[i]);
		if (archive)
			add(&files, archive);
	}
	for (size_t i = 0; i < files.count; i++)
		if (file_is_foreign(files.at[i])) {
			fprintf(out, "%s%s", ftell(out) ? ":" : "", files.at[i]);
			if (c->verbose)
				fprintf(stderr, "heddle-cc: %s is of another compiler: its accesses are not recorded\n",
					files.at[i]);
		}
	fclose(out);
	return list;
}

/* ---- what is passed on ------------------------------------------------------------------------------------------- */

/* Our parts lie in ../lib/heddle, seen from this program. */
static char *find_part(const char *name)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

	if (len < 0)
		die("/proc/self/exe: %s", strerror(errno));
	self[len] = 0;
	for (int i = 0; i < 2; i++)
		*strrchr(self, '/') = 0;
	char *path = text("%s/lib/heddle/%s", self, name);
	if (access(path, R_OK))
		die("%s: %s; install heddle again", path, strerror(errno));
	return path;
}

static bool whole_program(const struct command *c)
{
	return !strcmp(c->select, "escape") || !strcmp(c->select, "races");
}

/* Then a name is not the function that the analysis takes it for. */
static void refuse_wrapping(const struct command *c)
{
	for (size_t i = 0; i < c->in.count; i++) {
		const char *word = c->in.at[i];
		bool given = i && !strcmp(c->in.at[i - 1], "-Xlinker") &&
			     (starts(word, "--wrap") || starts(word, "-wrap"));
		if (given || (starts(word, "-Wl,") && (strstr(word, ",--wrap") || strstr(word, ",-wrap"))))
			die("%s: --select=%s knows functions by name, and this changes what a name means; link with "
			    "--select=all",
			    word, c->select);
	}
}

static void set_pass(const struct command *c, const char *foreign)
{
	const char *select = c->per_file && whole_program(c) ? "all" : c->select;

	setenv(ENV_PASS,
	       text("select=%s;mode=%s;fast=%s;replaced=%s;report=%s;barriers=%s;without=%s;foreign=%s", select,
		    c->per_file ? "per-file" : "lto", find_part("fast.bc"), find_part("replaced.bc"), c->report,
		    c->barriers, c->without, foreign),
	       1);
}

/* clang must not complain that it has no use for an option that the user did not type. */
static void add_quietly(struct words *w, const char *const *words)
{
	add(w, "--start-no-unused-arguments");
	add_all(w, words);
	add(w, "--end-no-unused-arguments");
}

/* Or LLVM would move the preparations of calls that hardly ever happen out of loops, and run out of registers. */
#define COLD_STAYS_COLD "-disable-hoisting-to-hotter-blocks=all"

/* A loop of a few rounds is unrolled whole, which folds what depends on the round. More copies would only be copies of
   its hooks. */
#define UNROLL_WHOLE   "-unroll-full-max-count=8"
#define UNROLL_NO_PART "-unroll-allow-partial=0"
#define UNROLL_NO_LOOP "-unroll-runtime=0"
#define UNROLL_NO_PEEL "-unroll-peel-max-count=0"

/* Atomics of 16 bytes are then instructions, which have hooks, and not calls of libatomic. All but the first of these
   processors have it. */
static bool wants_cx16(const struct command *c)
{
#ifdef __x86_64__
	for (size_t i = 0; i < c->out.count; i++)
		if (!strncmp(c->out.at[i], "--target", 8) || !strcmp(c->out.at[i], "-target") ||
		    !strcmp(c->out.at[i], "-m32"))
			return false;
	return true;
#else
	(void)c;
	return false;
#endif
}

static void prepare_compile(struct command *c)
{
	static const char *const later[] = {
		"-flto=full", "-fno-fat-lto-objects", "-fno-vectorize", "-fno-slp-vectorize", "-mllvm", UNROLL_WHOLE,
		"-mllvm",     UNROLL_NO_PART,	      "-mllvm",		UNROLL_NO_LOOP,	      "-mllvm", UNROLL_NO_PEEL,
		NULL
	};

	if (!c->debug)
		add_quietly(&c->out, (const char *[]){ "-gline-tables-only", NULL });
	if (wants_cx16(c))
		add_quietly(&c->out, (const char *[]){ "-mcx16", NULL });
	if (c->per_file)
		add_quietly(&c->out,
			    (const char *[]){ "-fno-lto", text("-fpass-plugin=%s", find_part("heddle-pass.so")),
					      "-mllvm", COLD_STAYS_COLD, NULL });
	else
		add_quietly(&c->out, later);
	if (!c->per_file && !strcmp(c->select, "races")) /* see compiler/races/prepare.c */
		add_quietly(&c->out, (const char *[]){ text("-fpass-plugin=%s", find_part("heddle-pass.so")), NULL });
}

static void prepare_link(struct command *c)
{
	const char *const link[] = { "-flto=full",
				     "-fuse-ld=lld",
				     "-Wl,--fat-lto-objects", /* take the bitcode of objects that have both */
				     text("-Wl,--load-pass-plugin=%s", find_part("heddle-pass.so")),
				     "-Wl,-mllvm," COLD_STAYS_COLD,
				     "-Wl,-mllvm," UNROLL_NO_PART,
				     "-Wl,-mllvm," UNROLL_NO_LOOP,
				     "-Wl,--build-id",
				     NULL };

	if (c->per_file)
		add_quietly(&c->out, (const char *[]){ "-Wl,--build-id", NULL });
	else
		add_quietly(&c->out, link);
}

/* See there. Also for who only preprocesses, and compiles the result. */
static void add_headers(struct command *c)
{
	if (c->has_sources && !starts(c->in.at[0], "-cc1"))
		add_quietly(&c->out, (const char *[]){ "-isystem", find_part("include"), NULL });
}

static void prepare(struct command *c)
{
	add_headers(c);
	if (c->mode == AS_IS)
		return;
	if (c->mode == ASSEMBLE)
		c->per_file = true; /* assembler text can only be finished now */
	if (c->per_file && whole_program(c) && c->mode != ASSEMBLE)
		die("--select=%s looks at the whole program, --per-file at one file: choose one of them", c->select);
	if (c->mode == LINK && whole_program(c))
		refuse_wrapping(c);
	if (c->mode != LINK || c->has_sources)
		prepare_compile(c);
	if (c->mode == LINK)
		prepare_link(c);
	set_pass(c, c->mode == LINK ? list_foreign(c) : "");
}

static void print_word(const char *word)
{
	if (*word && !strpbrk(word, " \t\n\"'\\$&;|<>()*?[]#~`!{}"))
		printf(" %s", word);
	else {
		fputs(" '", stdout);
		for (; *word; word++)
			*word == '\'' ? (void)fputs("'\\''", stdout) : (void)putchar(*word);
		putchar('\'');
	}
}

static int show(const struct words *w)
{
	if (getenv(ENV_PASS)) {
		printf("%s='%s'", ENV_PASS, getenv(ENV_PASS));
		print_word(w->at[0]);
	} else
		fputs(w->at[0], stdout);
	for (size_t i = 1; i < w->count; i++)
		print_word(w->at[i]);
	putchar('\n');
	return 0;
}

static int become(char **argv)
{
	execvp(argv[0], argv);
	fprintf(stderr, "heddle-cc: %s: %s; install the packages clang" LLVM " lld" LLVM " llvm" LLVM "\n", argv[0],
		strerror(errno));
	return 1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *ours, *theirs;
	} tools[] = { { "heddle-ar", "llvm-ar" LLVM },
		      { "heddle-ranlib", "llvm-ranlib" LLVM },
		      { "heddle-nm", "llvm-nm" LLVM } };
	const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
	struct command c = { .select = "all", .report = "", .barriers = "", .without = "", .mode = LINK };

	for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
		if (!strcmp(name, tools[i].ours)) {
			argv[0] = (char *)tools[i].theirs;
			return become(argv);
		}
	unsetenv(ENV_PASS); /* of a heddle-cc that runs us */
	add(&c.out, strstr(name, "++") ? "clang++" LLVM : "clang" LLVM);
	read_command(&c, argc, argv);
	prepare(&c);
	if (c.show)
		return show(&c.out);
	fflush(NULL);
	return become(c.out.at);
}

/*
 * The few ordered libc functions that need more than a section around them.
 *
 * fflush(0) and exit are about all FILEs: they go through the list one by one, in the section
 * of each. fopen() may wait in open() for the other end of a pipe with a name; err() ends in
 * exit() and assert() in abort(), which run handlers that may wait for other threads; flockfile()
 * keeps its section; fork() runs handlers, too, and holds locks of libc's over a system call, as
 * system() does.
 */
#define _GNU_SOURCE
#include "interpose/libc/libc.h"
#include "interpose/libc/functions.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libintl.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#define REAL(name) ((__typeof__(&name))libc_real[LIBC_##name])
#define STUB(name) libc_stub_##name
/* Declares libc_special_NAME, to which the exported NAME jumps unless it is foreign, and the stub of the same name. */
#define SPECIAL(name)                                       \
	extern __typeof__(name) libc_special_##name HIDDEN; \
	extern __typeof__(name) libc_stub_##name HIDDEN

extern FILE *_IO_list_all;
enum { IO_LINE_BUF = 0x200, IO_CURRENTLY_PUTTING = 0x800 };

/* ---- all FILEs ---------------------------------------------------------------------------- */

struct files {
	FILE **file;
	size_t count;
};

/* The list as it is now. It changes only in the section `files`, so at replay it is the same. */
static struct files list_files(void)
{
	struct files files = { 0 };
	libc_section_enter(GROUP_files, 0);
	for (FILE *f = _IO_list_all; f; f = f->_chain)
		files.count++;
	files.file = malloc(files.count * sizeof(FILE *) + 1);
	files.count = 0;
	for (FILE *f = _IO_list_all; f && files.file; f = f->_chain)
		files.file[files.count++] = f;
	libc_section_leave(GROUP_files, 0);
	return files;
}

static bool is_listed(const FILE *f)
{
	libc_section_enter(GROUP_files, 0);
	const FILE *there = _IO_list_all;
	while (there && there != f)
		there = there->_chain;
	libc_section_leave(GROUP_files, 0);
	return there;
}

static bool has_output(const FILE *f)
{
	if (f->_mode <= 0)
		return f->_IO_write_ptr > f->_IO_write_base;
	wchar_t *const *wide = (wchar_t *const *)f->_wide_data; /* read ptr, end, base; write base, ptr */
	return wide[4] > wide[3];
}

/* What fflush(0) does: each FILE with output, in its section. One that was closed meanwhile is left out. */
static int flush_all(int only_with_flag)
{
	struct files files = list_files();
	int result = 0;
	for (size_t i = 0; i < files.count; i++) {
		FILE *f = files.file[i];
		libc_section_enter((uint64_t)f, 0);
		if (is_listed(f) && has_output(f) && (!only_with_flag || f->_flags & only_with_flag) && REAL(fflush)(f))
			result = EOF;
		libc_section_leave((uint64_t)f, 0);
	}
	free(files.file);
	return result;
}

extern int _IO_fflush(FILE *);
extern int _IO_flush_all(void);
extern void _IO_flush_all_linebuffered(void);
extern void _flushlbf(void);
SPECIAL(fflush);
SPECIAL(_IO_fflush);
SPECIAL(_IO_flush_all);
SPECIAL(_IO_flush_all_linebuffered);
SPECIAL(_flushlbf);
SPECIAL(fcloseall);

int libc_special_fflush(FILE *f)
{
	if (!*libc_threads)
		return REAL(fflush)(f);
	return f ? STUB(fflush)(f) : flush_all(0);
}

int libc_special__IO_fflush(FILE *f)
{
	return libc_special_fflush(f);
}

int libc_special__IO_flush_all(void)
{
	return *libc_threads ? flush_all(0) : REAL(_IO_flush_all)();
}

void libc_special__IO_flush_all_linebuffered(void)
{
	if (*libc_threads)
		flush_all(IO_LINE_BUF);
	else
		REAL(_IO_flush_all_linebuffered)();
}

void libc_special__flushlbf(void)
{
	libc_special__IO_flush_all_linebuffered();
}

int libc_special_fcloseall(void)
{
	if (*libc_threads)
		flush_all(0);
	return REAL(fcloseall)();
}

static bool contains(const struct files *files, const FILE *f)
{
	for (size_t i = 0; i < files->count; i++)
		if (files->file[i] == f)
			return true;
	return false;
}

/* Not of a reader: of one who writes, or is about to use it for the first time. */
static bool is_output(const FILE *f)
{
	/* Looked at without its section: at replay another answer does no harm, since the outcome is logged. */
	return f->_flags & IO_CURRENTLY_PUTTING || !f->_IO_buf_base;
}

static void take_from_list(const FILE *file)
{
	libc_section_enter(GROUP_files, 0);
	FILE **at = &_IO_list_all;
	while (*at && *at != file)
		at = &(*at)->_chain;
	if (*at)
		*at = file->_chain;
	libc_section_leave(GROUP_files, 0);
}

/* What another thread may be changing, as a system call sees it: then it is in the recording. */
static bool look(void *to, const void *from, size_t n)
{
	struct iovec here = { to, n }, there = { (void *)from, n };
	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)n;
}

static void write_all(int fd, const char *from, size_t n)
{
	while (n) {
		ssize_t written = write(fd, from, n);
		if (written < 0)
			return;
		from += written;
		n -= (size_t)written;
	}
}

/* Writes what is in the buffer of a FILE that another thread has. Not of one without a descriptor, or of wide
   characters. */
static void write_beside(const FILE *file)
{
	FILE f;
	if (!look(&f, file, sizeof f) || f._mode > 0 || f._fileno < 0 || f._IO_write_ptr <= f._IO_write_base)
		return;
	size_t n = (size_t)(f._IO_write_ptr - f._IO_write_base);
	char *bytes = malloc(n);
	if (bytes && look(bytes, f._IO_write_base, n)) {
		if (f._IO_read_end != f._IO_write_base) /* it was read before */
			lseek(f._fileno, f._IO_write_base - f._IO_read_end, SEEK_CUR);
		write_all(f._fileno, bytes, n);
	}
	free(bytes);
}

static void give_up(const FILE *file)
{
	if (is_listed(file))
		write_beside(file);
	take_from_list(file);
}

/*
 * The last handler of exit(). What comes after it in exit() flushes all FILEs without their locks; so that it finds
 * the same bytes at replay, other threads are kept out: their sections, and `files`, are taken and never given back.
 * Who is inside one now is waited for if it writes, but not long; a reader, who may be blocked for ever, is not.
 * A FILE that could not be had is taken from the list: exit() would ask for its lock, and yield if it is taken, and
 * nothing orders that. So what exit() would write of it, whoever has it, is written here.
 */
static void close_stdio(void *unused)
{
	(void)unused;
	struct files taken = { 0 };
	bool again = *libc_threads;
	while (again) {
		struct files now = list_files();
		for (size_t i = 0; i < now.count; i++)
			if (!contains(&taken, now.file[i]) &&
			    libc_section_enter((uint64_t)now.file[i],
					       is_output(now.file[i]) ? SECTION_BRIEFLY : SECTION_TRY))
				give_up(now.file[i]);
		free(taken.file);
		taken = now;
		libc_section_enter(GROUP_files, 0);
		again = false;
		for (FILE *f = _IO_list_all; f && !again; f = f->_chain)
			again = taken.file && !contains(&taken, f);
		if (again)
			libc_section_leave(GROUP_files, 0);
	}
}

/* ---- fork ------------------------------------------------------------------------------------ */

/*
 * libc takes four locks around the system call of fork: of the list of handlers, which finalizers of shared objects
 * take, too, of the user database, of the list of FILEs, and of an allocator that nobody uses. At replay the call waits
 * for other threads with these locks held, so nobody may want one meanwhile.
 *
 * The section `fork` is around all of a fork, so also around the program's handlers, which may wait for a thread that
 * itself wants to fork: not for ever, therefore. The others are entered by a handler of ours, the first in the list,
 * and so the last before fork and the first after it. Those that other threads may hold for long are not waited for.
 */
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);
extern pid_t __fork(void);
SPECIAL(fork);
SPECIAL(__fork);
SPECIAL(forkpty);
SPECIAL(daemon);
SPECIAL(__register_atfork);
extern void __cxa_finalize(void *);
SPECIAL(__cxa_finalize);

static const struct {
	uint64_t group;
	unsigned how;
} around_fork[] = { { GROUP_files, 0 }, { GROUP_nss, SECTION_BRIEFLY }, { GROUP_finalize, SECTION_BRIEFLY } };
enum { AROUND_FORK = sizeof around_fork / sizeof *around_fork };
static bool around[AROUND_FORK]; /* which are entered; written inside `files`, and the child has it, too */

static void before_fork(void)
{
	if (!*libc_threads)
		return;
	for (unsigned i = 0; i < AROUND_FORK; i++)
		around[i] = !libc_section_enter(around_fork[i].group, around_fork[i].how);
}

static void after_fork(void)
{
	for (unsigned i = AROUND_FORK; i-- > 0;) {
		bool entered = around[i];
		around[i] = false;
		if (entered)
			libc_section_leave(around_fork[i].group, 0);
	}
}

static void register_ours(void)
{
	static bool done;
	if (!done)
		REAL(__register_atfork)(before_fork, after_fork, after_fork, 0);
	done = true;
}

/* In the child, too, although its count of threads begins anew. */
#define IN_FORK(call)                                                                           \
	({                                                                                      \
		bool in_ = *libc_threads && !libc_section_enter(GROUP_fork, SECTION_PATIENTLY); \
		__typeof__(call) result_ = call;                                                \
		if (in_)                                                                        \
			libc_section_leave(GROUP_fork, 0);                                      \
		result_;                                                                        \
	})

pid_t libc_special_fork(void)
{
	return IN_FORK(REAL(fork)());
}

pid_t libc_special___fork(void)
{
	return IN_FORK(REAL(__fork)());
}

int libc_special_forkpty(int *master, char *name, const struct termios *settings, const struct winsize *size)
{
	return IN_FORK(REAL(forkpty)(master, name, settings, size));
}

int libc_special_daemon(int stay, int keep_open)
{
	return IN_FORK(REAL(daemon)(stay, keep_open));
}

/* The first may come from a constructor before ours. */
int libc_special___register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *object)
{
	register_ours();
	return IN_FORK(REAL(__register_atfork)(before, parent, child, object));
}

/* Runs the destructors of a shared object, which may wait for threads that fork, and then takes its handlers off. */
void libc_special___cxa_finalize(void *object)
{
	bool in = object && *libc_threads && !libc_section_enter(GROUP_finalize, SECTION_BRIEFLY);
	REAL(__cxa_finalize)(object);
	if (in)
		libc_section_leave(GROUP_finalize, 0);
}

void libc_resolve(unsigned index) HIDDEN;
__attribute__((constructor)) static void start(void)
{
	extern int __cxa_atexit(void (*)(void *), void *, void *);
	/* the exported names of these jump to the real function until it is known */
	for (unsigned i = 0; i < LIBC_SPECIALS; i++)
		libc_resolve(i);
	/* Before the handlers of the program and of ld.so, so it runs after them. */
	REAL(__cxa_atexit)(close_stdio, 0, 0);
	register_ours();
}

/* ---- fopen --------------------------------------------------------------------------------- */

static int flags_of(const char *mode)
{
	int flags = *mode == 'r' ? O_RDONLY :
		    *mode == 'w' ? O_WRONLY | O_CREAT | O_TRUNC :
				   O_WRONLY | O_CREAT | O_APPEND;
	for (const char *m = mode + 1; *m && *m != ','; m++)
		switch (*m) {
		case '+': flags = (flags & ~O_ACCMODE) | O_RDWR; break;
		case 'x': flags |= O_EXCL; break;
		case 'e': flags |= O_CLOEXEC; break;
		}
	return flags;
}

extern FILE *_IO_fopen(const char *, const char *);
SPECIAL(fopen);
SPECIAL(fopen64);
SPECIAL(_IO_fopen);
extern __typeof__(fdopen) STUB(fdopen) HIDDEN;

/*
 * A pipe with a name is opened first, since the section would keep out the thread that opens its other end. The look
 * costs a system call, when there are several threads.
 */
FILE *libc_special_fopen(const char *path, const char *mode)
{
	struct stat about;
	if (!*libc_threads || !mode || !strchr("rwa", *mode) || !path)
		return REAL(fopen)(path, mode);
	int error = errno;
	bool waits = stat(path, &about) == 0 && S_ISFIFO(about.st_mode);
	errno = error;
	if (!waits)
		return STUB(fopen)(path, mode);
	int fd = open(path, flags_of(mode), 0666);
	if (fd < 0)
		return 0;
	FILE *f = STUB(fdopen)(fd, mode);
	if (!f)
		close(fd);
	return f;
}

FILE *libc_special_fopen64(const char *path, const char *mode)
{
	return libc_special_fopen(path, mode); /* the same function on machines of 64 bits */
}

FILE *libc_special__IO_fopen(const char *path, const char *mode)
{
	return libc_special_fopen(path, mode);
}

/* ---- system -------------------------------------------------------------------------------------- */

/*
 * As libc's, whose lock is held over system calls, and whose count of those who wait for a shell decides who makes
 * them: the first takes SIGINT and SIGQUIT away from the process, the last gives them back.
 */
SPECIAL(system);
static struct {
	unsigned waiting;
	struct sigaction interrupt, quit;
} shells; /* used inside the section `system` */

struct shell {
	pid_t child; /* until it was waited for */
	sigset_t before;
};

static void begin_shell(struct shell *s, sigset_t *defaults)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t child;
	libc_section_enter(GROUP_system, 0);
	if (!shells.waiting++) {
		sigaction(SIGINT, &ignore, &shells.interrupt);
		sigaction(SIGQUIT, &ignore, &shells.quit);
	}
	sigemptyset(defaults);
	if (shells.interrupt.sa_handler != SIG_IGN)
		sigaddset(defaults, SIGINT);
	if (shells.quit.sa_handler != SIG_IGN)
		sigaddset(defaults, SIGQUIT);
	libc_section_leave(GROUP_system, 0);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &s->before);
}

/* Also when the thread is cancelled. */
static void end_shell(struct shell *s)
{
	if (s->child > 0) {
		kill(s->child, SIGKILL);
		while (waitpid(s->child, 0, 0) < 0 && errno == EINTR)
			;
	}
	libc_section_enter(GROUP_system, 0);
	if (!--shells.waiting) {
		sigaction(SIGINT, &shells.interrupt, 0);
		sigaction(SIGQUIT, &shells.quit, 0);
	}
	libc_section_leave(GROUP_system, 0);
	sigprocmask(SIG_SETMASK, &s->before, 0);
}

static int run_shell(const char *line)
{
	char *words[] = { (char *)"sh", (char *)"-c", (char *)line, 0 };
	int status = 127 << 8; /* as if a shell that cannot be started had ended so */
	struct shell s __attribute__((cleanup(end_shell))) = { 0 };
	posix_spawnattr_t attributes;
	sigset_t defaults;
	begin_shell(&s, &defaults);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &s.before);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	int error = posix_spawn(&s.child, "/bin/sh", 0, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	if (error) {
		s.child = 0;
		errno = error;
		return status;
	}
	pid_t ended;
	while ((ended = waitpid(s.child, &status, 0)) < 0 && errno == EINTR)
		;
	if (ended != s.child)
		status = -1;
	s.child = 0;
	return status;
}

int libc_special_system(const char *line)
{
	if (!*libc_threads)
		return REAL(system)(line);
	return line ? run_shell(line) : run_shell("exit 0") == 0;
}

/* ---- FILEs held by the program ------------------------------------------------------------------ */

extern void _IO_flockfile(FILE *);
extern int _IO_ftrylockfile(FILE *);
extern void _IO_funlockfile(FILE *);
SPECIAL(flockfile);
SPECIAL(ftrylockfile);
SPECIAL(funlockfile);
SPECIAL(_IO_flockfile);
SPECIAL(_IO_ftrylockfile);
SPECIAL(_IO_funlockfile);

/* Also with one thread: it may create others while it holds the FILE, and these would wait inside the section. */
void libc_special_flockfile(FILE *f)
{
	libc_section_enter((uint64_t)f, 0);
	REAL(flockfile)(f);
}

int libc_special_ftrylockfile(FILE *f)
{
	long busy = libc_section_enter((uint64_t)f, SECTION_TRY);
	return busy ? (int)busy : REAL(ftrylockfile)(f);
}

void libc_special_funlockfile(FILE *f)
{
	REAL(funlockfile)(f);
	libc_section_leave((uint64_t)f, 0);
}

void libc_special__IO_flockfile(FILE *f)
{
	libc_special_flockfile(f);
}

int libc_special__IO_ftrylockfile(FILE *f)
{
	return libc_special_ftrylockfile(f);
}

void libc_special__IO_funlockfile(FILE *f)
{
	libc_special_funlockfile(f);
}

/* Who only asks, or asks for what is decided, does not wait for who has the FILE. */
extern int fwide(FILE *, int);
SPECIAL(fwide);
int libc_special_fwide(FILE *f, int mode)
{
	return mode && !f->_mode ? STUB(fwide)(f, mode) : REAL(fwide)(f, mode);
}

/* ---- messages that end in exit() or abort() -------------------------------------------------------- */

extern _Noreturn void err(int, const char *, ...);
extern _Noreturn void errx(int, const char *, ...);
extern _Noreturn void verr(int, const char *, va_list);
extern _Noreturn void verrx(int, const char *, va_list);
extern void vwarn(const char *, va_list);
extern void vwarnx(const char *, va_list);
extern __typeof__(vwarn) STUB(vwarn) HIDDEN;
extern __typeof__(vwarnx) STUB(vwarnx) HIDDEN;
SPECIAL(err);
SPECIAL(errx);
SPECIAL(verr);
SPECIAL(verrx);

void libc_special_verr(int status, const char *format, va_list args)
{
	STUB(vwarn)(format, args);
	exit(status);
}

void libc_special_verrx(int status, const char *format, va_list args)
{
	STUB(vwarnx)(format, args);
	exit(status);
}

void libc_special_err(int status, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	STUB(vwarn)(format, args);
	exit(status);
}

void libc_special_errx(int status, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	STUB(vwarnx)(format, args);
	exit(status);
}

extern _Noreturn void __assert(const char *, const char *, int);
SPECIAL(__assert);
SPECIAL(__assert_fail);
SPECIAL(__assert_perror_fail);

/* As libc's, whose own ends in abort() with our sections held: a handler of SIGABRT may print, or wait for who does. */
static _Noreturn void assertion(const char *format, const char *what, const char *file, unsigned line, const char *in)
{
	const char *name = program_invocation_short_name;
	char *text;
	int length;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, 0);
	if (asprintf(&text, dgettext("libc", format), name, *name ? ": " : "", file, line, in ? in : "", in ? ": " : "",
		     what, &length) >= 0) {
		if (fwide(stderr, 0) > 0)
			fwprintf(stderr, L"%s", text);
		else
			fprintf(stderr, "%s", text);
		fflush(stderr);
		free(text);
	}
	abort();
}

void libc_special___assert_fail(const char *what, const char *file, unsigned line, const char *function)
{
	if (!*libc_threads)
		REAL(__assert_fail)(what, file, line, function);
	assertion("%s%s%s:%u: %s%sAssertion `%s' failed.\n%n", what, file, line, function);
}

void libc_special___assert(const char *what, const char *file, int line)
{
	libc_special___assert_fail(what, file, (unsigned)line, 0);
}

void libc_special___assert_perror_fail(int error, const char *file, unsigned line, const char *function)
{
	char room[100];
	if (!*libc_threads)
		REAL(__assert_perror_fail)(error, file, line, function);
	assertion("%s%s%s:%u: %s%sUnexpected error: %s.\n%n", strerror_r(error, room, sizeof room), file, line,
		  function);
}

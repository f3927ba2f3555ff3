/*
 * What the programs of this folder share. Each checks the kernel's contract and
 * prints as much of what differs from run to run as it can: a replay that runs
 * a call again instead of answering from the log prints something else.
 */
#ifndef CHECK_H
#define CHECK_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

/* The contract: what does not hold ends the program with 1. */
#define CHECK(condition)                                              \
	do {                                                          \
		if (!(condition))                                     \
			check_failed(__FILE__, __LINE__, #condition); \
	} while (0)

/* A call that must fail with exactly this error. */
#define FAILS(call, error)                                     \
	do {                                                   \
		errno = 0;                                     \
		CHECK((long)(call) == -1 && errno == (error)); \
	} while (0)

static UNUSED _Noreturn void check_failed(const char *file, int line, const char *what)
{
	int error = errno;
	const char *name = strrchr(file, '/');
	printf("FAIL %s:%d: %s (errno %d, %s)\n", name ? name + 1 : file, line, what, error, strerror(error));
	fflush(stdout);
	_exit(1);
}

/* Prints a line at once, so that a child never inherits buffered text. */
static UNUSED __attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
	va_list list;
	va_start(list, format);
	vprintf(format, list);
	va_end(list);
	putchar('\n');
	fflush(stdout);
}

static UNUSED void say_bytes(const char *what, const void *data, size_t n)
{
	const unsigned char *p = data;
	printf("%s", what);
	for (size_t i = 0; i < n; i++)
		printf("%s%02x", i % 4 ? "" : " ", p[i]);
	putchar('\n');
	fflush(stdout);
}

static UNUSED uint64_t hash_bytes(const void *data, size_t n)
{
	const unsigned char *p = data;
	uint64_t h = 14695981039346656037u;
	while (n--)
		h = (h ^ *p++) * 1099511628211u;
	return h;
}

/* Nothing is mapped there; volatile, or the compiler would know and warn. */
static void *volatile bad_pointer UNUSED = (void *)16;

static UNUSED void skipped(const char *what)
{
	say("skipped: %s (%s)", what, strerror(errno));
}

/* A fresh directory, which is the working directory until done(). */
static char check_home[PATH_MAX], check_temp[] = "/tmp/heddle-XXXXXX";
static UNUSED void enter_temp(void)
{
	CHECK(getcwd(check_home, sizeof check_home));
	CHECK(mkdtemp(check_temp));
	CHECK(chdir(check_temp) == 0);
	say("directory %s", check_temp);
}

static UNUSED void leave_temp(void)
{
	CHECK(chdir(check_home) == 0);
	CHECK(rmdir(check_temp) == 0);
}

static UNUSED int done(void)
{
	say("done");
	return 0;
}
#endif

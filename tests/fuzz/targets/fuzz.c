/* See fuzz.h. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zstd.h>
#include "commands/commands.h"
#include "fuzz.h"

/* ---- messages: those of commands/messages.c have other names here ----------------------- */

static jmp_buf back;
static bool reading;

void die(const char *format, ...)
{
	(void)format;
	if (!reading)
		abort();
	longjmp(back, 1);
}

void usage(const char *format, ...)
{
	die("%s", format);
}

void warn(const char *format, ...)
{
	(void)format;
}

void note(const char *format, ...)
{
	(void)format;
}

bool fuzz_read(void (*read)(const void *), const void *with)
{
	static int free_one = -1;
	if (free_one < 0) {
		free_one = open("/dev/null", O_RDONLY | O_CLOEXEC);
		close(free_one);
	}
	reading = true;
	bool died = setjmp(back);
	if (!died)
		read(with);
	else
		syscall(SYS_close_range, free_one, ~0u, 0); /* a reader that dies leaves its files open */
	reading = false;
	return !died;
}

/* ---- the directory ------------------------------------------------------------------------- */

static char dir[64];
static pid_t owner;

static void remove_dir(void)
{
	if (getpid() == owner)
		remove_all(dir);
}

const char *fuzz_dir(void)
{
	return dir;
}

void fuzz_new(void)
{
	char files[80];

	if (owner != getpid()) { /* AFL forks */
		owner = getpid();
		snprintf(dir, sizeof dir, "/dev/shm/heddle-fuzz-%d", owner);
		atexit(remove_dir);
		if (!freopen("/dev/null", "w", stdout))
			abort();
	}
	remove_all(dir);
	snprintf(files, sizeof files, "%s/files", dir);
	if (mkdir(dir, 0700) || mkdir(files, 0700))
		abort();
}

void fuzz_write(const char *name, const void *data, size_t size)
{
	char path[400];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

void fuzz_write_log(unsigned slot, const void *entries, size_t size)
{
	static uint8_t file[sizeof(struct log_header) + sizeof(struct chunk_header) + CHUNK_MAX * 2];
	struct log_header *header = (void *)file;
	struct chunk_header *chunk = (void *)(header + 1);
	char name[40];
	uint32_t events = 0;

	for (size_t at = 0; size - at >= sizeof(struct entry); events++) {
		uint32_t n;
		memcpy(&n, (const uint8_t *)entries + at, sizeof n);
		if (n < sizeof(struct entry) || n % 8 || n > size - at)
			break;
		at += n;
	}
	trace_log_header(header, 0, slot);
	size_t packed = ZSTD_compress(chunk + 1, sizeof file - sizeof *header - sizeof *chunk, entries, size, 1);
	if (ZSTD_isError(packed))
		abort();
	*chunk = (struct chunk_header){
		.magic = CHUNK_MAGIC, .packed = (uint32_t)packed, .raw = (uint32_t)size, .events = events
	};
	chunk->hash = trace_chunk_hash(chunk, chunk + 1);
	snprintf(name, sizeof name, "p0.t%u.log", slot);
	fuzz_write(name, file, sizeof *header + sizeof *chunk + packed);
}

/*
 * One system call many times: syscall_loop KIND COUNT.
 * Prints what a call took, in nanoseconds of this thread's CPU time and of wall
 * time. Under replay these are the recorded figures, so replay is timed from
 * outside, by the difference of two lengths.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	if (fd < 0) {
		perror(path);
		exit(1);
	}
	return fd;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: syscall_loop getppid|clock|zero64|zero4k|file64|file4k COUNT\n");
		return 121;
	}
	const char *kind = argv[1];
	long count = atol(argv[2]);
	size_t size = strstr(kind, "4k") ? 4096 : 64;
	static char buf[4096];
	struct timespec t;

	if (!strncmp(kind, "file", 4)) {
		FILE *f = fopen("loop.data", "w");
		if (!f || fwrite(buf, 1, sizeof buf, f) != sizeof buf || fclose(f))
			return 1;
	}
	int fd = !strncmp(kind, "zero", 4) ? open_file("/dev/zero") :
		 !strncmp(kind, "file", 4) ? open_file("loop.data") :
					     -1;

	long cpu = now(CLOCK_THREAD_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
	if (!strcmp(kind, "getppid")) {
		for (long i = 0; i < count; i++)
			syscall(SYS_getppid);
	} else if (!strcmp(kind, "clock")) {
		for (long i = 0; i < count; i++)
			syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	} else if (!strncmp(kind, "zero", 4)) {
		for (long i = 0; i < count; i++)
			if (read(fd, buf, size) != (ssize_t)size)
				return 1;
	} else {
		for (long i = 0; i < count; i++)
			if (pread(fd, buf, size, 0) != (ssize_t)size)
				return 1;
	}
	cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	wall = now(CLOCK_MONOTONIC) - wall;
	printf("%.1f %.1f\n", (double)cpu / count, (double)wall / count);
	return 0;
}

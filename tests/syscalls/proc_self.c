/*
 * What the kernel shows a process about itself. What could go wrong: the loader
 * shows where the program should be (exe, cmdline, comm, maps), pids and times
 * of the replaying process, files that are made while they are read, in pieces.
 */
// run: varies args="'first argument' second"
#include "check.h"
#include <dirent.h>

static char text[1 << 20];

static long slurp(const char *path, size_t piece)
{
	int fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	long n = 0, got;
	while (n + (long)piece < (long)sizeof text && (got = read(fd, text + n, piece)) > 0)
		n += got;
	text[n] = 0;
	close(fd);
	return n;
}

int main(int argc, char **argv)
{
	long n = slurp("/proc/self/cmdline", 7);
	char *p = text;
	for (int i = 0; i < argc; i++, p += strlen(p) + 1)
		CHECK(p < text + n && !strcmp(p, argv[i]));
	CHECK(p == text + n);

	char path[PATH_MAX], again[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
	CHECK(len > 0);
	path[len] = 0;
	CHECK(realpath(argv[0], again) && !strcmp(path, again));
	snprintf(again, sizeof again, "/proc/%d/exe", getpid());
	char other[PATH_MAX];
	CHECK(readlink(again, other, sizeof other) == len && !memcmp(other, path, (size_t)len));
	int exe = open("/proc/self/exe", O_RDONLY);
	CHECK(exe >= 0 && read(exe, other, 4) == 4 && !memcmp(other, "\177ELF", 4));
	struct stat a, b;
	CHECK(fstat(exe, &a) == 0 && stat(path, &b) == 0 && a.st_ino == b.st_ino);
	close(exe);

	n = slurp("/proc/self/stat", 100);
	CHECK(n > 0 && atoi(text) == getpid());
	char *name = strrchr(path, '/') + 1;
	CHECK(strchr(text, '(') && !strncmp(strchr(text, '(') + 1, name, strlen(name) < 15 ? strlen(name) : 15));
	printf("stat %s", text);
	slurp("/proc/self/comm", 100);
	CHECK(!strncmp(text, name, strlen(name) < 15 ? strlen(name) : 15));
	n = slurp("/proc/self/status", 300);
	CHECK(n > 0 && strstr(text, "Pid:"));
	printf("%s", text);

	/* Our code, our data and our stack lie in mappings with these rights. */
	n = slurp("/proc/self/maps", 4096);
	int code = 0, stack = 0, lines = 0;
	for (char *line = strtok(text, "\n"); line; line = strtok(0, "\n"), lines++) {
		unsigned long from, to;
		char rights[8];
		CHECK(sscanf(line, "%lx-%lx %7s", &from, &to, rights) == 3);
		if ((unsigned long)main >= from && (unsigned long)main < to)
			code = rights[0] == 'r' && rights[2] == 'x' && strstr(line, name);
		if ((unsigned long)&lines >= from && (unsigned long)&lines < to)
			stack = !strncmp(rights, "rw", 2);
		say("%s", line);
	}
	CHECK(code && stack && lines > 5);

	DIR *d = opendir("/proc/self/fd");
	CHECK(d);
	struct dirent *e;
	while ((e = readdir(d))) {
		len = readlinkat(dirfd(d), e->d_name, again, sizeof again - 1);
		if (len > 0)
			say("descriptor %s %.*s", e->d_name, (int)len, again);
	}
	closedir(d);
	slurp("/proc/uptime", 100);
	printf("uptime %s", text);
	slurp("/proc/self/environ", 1000);
	n = slurp("/proc/self/auxv", 1000);
	CHECK(n >= 16 * 10);
	FAILS(open("/proc/self/none", O_RDONLY), ENOENT);
	return done();
}

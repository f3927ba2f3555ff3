/*
 * Directories. What could go wrong: entries come in another order or with other
 * inode numbers at replay, the position of a directory is not the recorded one,
 * getcwd returns a pointer's worth too much or too little.
 */
// run: varies
#include "check.h"
#include <dirent.h>

static void list(const char *path)
{
	DIR *d = opendir(path);
	CHECK(d);
	struct dirent *e;
	int n = 0;
	while ((e = readdir(d)))
		say("entry %d ino %lu off %ld type %d %s", n++, (unsigned long)e->d_ino, (long)e->d_off, e->d_type,
		    e->d_name);
	rewinddir(d);
	CHECK(readdir(d));
	long place = telldir(d);
	struct dirent *second = readdir(d);
	char name[256];
	CHECK(second);
	strcpy(name, second->d_name);
	seekdir(d, place);
	CHECK((second = readdir(d)) && !strcmp(second->d_name, name));
	closedir(d);
}

int main(void)
{
	enter_temp();
	CHECK(mkdir("one", 0755) == 0 && mkdirat(AT_FDCWD, "one/two", 0700) == 0);
	FAILS(mkdir("one", 0755), EEXIST);
	for (int i = 0; i < 40; i++) {
		char name[32];
		snprintf(name, sizeof name, "one/file-%d-%d", i, getpid());
		int fd = open(name, O_CREAT | O_WRONLY, 0644);
		CHECK(fd >= 0);
		close(fd);
	}
	list(".");
	list("one");

	int fd = open("one", O_RDONLY | O_DIRECTORY);
	CHECK(fd >= 0);
	FAILS(read(fd, check_home, 10), EISDIR);
	char b[4096], tiny[8];
	FAILS(syscall(SYS_getdents64, fd, tiny, sizeof tiny), EINVAL);
	long n, total = 0;
	while ((n = syscall(SYS_getdents64, fd, b, 200)) > 0)
		total += n;
	CHECK(n == 0);
	say("getdents64 gave %ld bytes in pieces", total);

	char cwd[PATH_MAX];
	CHECK(fchdir(fd) == 0 && getcwd(cwd, sizeof cwd));
	say("in %s", cwd);
	FAILS(getcwd(tiny, 3) ? 0 : -1, ERANGE);
	CHECK(chdir("two") == 0 && getcwd(cwd, sizeof cwd) && !strcmp(strrchr(cwd, '/'), "/two"));
	CHECK(chdir("../..") == 0);
	FAILS(chdir("one/none"), ENOENT);
	FAILS(rmdir("one"), ENOTEMPTY);
	FAILS(unlink("one"), EISDIR);
	CHECK(rename("one/two", "three") == 0 && renameat(AT_FDCWD, "three", fd, "three") == 0);
	CHECK(unlinkat(fd, "three", AT_REMOVEDIR) == 0);
	close(fd);
	for (int i = 0; i < 40; i++) {
		char name[32];
		snprintf(name, sizeof name, "one/file-%d-%d", i, getpid());
		CHECK(unlink(name) == 0);
	}
	CHECK(rmdir("one") == 0);
	FAILS(opendir("one") ? 0 : -1, ENOENT);
	leave_temp();
	return done();
}

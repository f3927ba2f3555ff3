/*
 * Links and extended attributes. What could go wrong: a result that is a size
 * although nothing was written (getxattr with room 0), readlink cut to its room,
 * /proc/self/exe naming the loader.
 */
// run: varies
#include "check.h"
#include <sys/xattr.h>

int main(int argc UNUSED, char **argv)
{
	enter_temp();
	int fd = open("a", O_CREAT | O_RDWR, 0600);
	CHECK(fd >= 0);
	CHECK(link("a", "b") == 0 && symlink("somewhere/else", "s") == 0 && symlinkat("t", AT_FDCWD, "u") == 0);
	CHECK(linkat(AT_FDCWD, "a", AT_FDCWD, "c", 0) == 0);
	struct stat s;
	CHECK(fstat(fd, &s) == 0 && s.st_nlink == 3);
	char b[100];
	memset(b, '.', sizeof b);
	CHECK(readlink("s", b, sizeof b) == 14 && !memcmp(b, "somewhere/else.", 15));
	memset(b, '.', sizeof b);
	CHECK(readlink("s", b, 4) == 4 && !memcmp(b, "some..", 6));
	CHECK(readlinkat(AT_FDCWD, "u", b, sizeof b) == 1 && b[0] == 't');
	FAILS(readlink("a", b, sizeof b), EINVAL);
	FAILS(readlink("none", b, sizeof b), ENOENT);
	FAILS(link("a", "b"), EEXIST);
	FAILS(open("loop", O_RDONLY), ENOENT);
	CHECK(symlink("loop", "loop") == 0);
	FAILS(open("loop", O_RDONLY), ELOOP);
	CHECK(rename("b", "d") == 0);
	if (syscall(SYS_renameat2, AT_FDCWD, "d", AT_FDCWD, "c", 1u /* RENAME_NOREPLACE */) == 0)
		CHECK(!"renamed over an existing file");
	CHECK(errno == EEXIST || errno == EINVAL);

	/* Links of the kernel's own: of descriptors, and of the program. */
	char path[PATH_MAX], name[64];
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(name, path, sizeof path - 1);
	CHECK(n > 2 && !memcmp(path + n - 2, "/a", 2));
	path[n] = 0;
	say("descriptor %d is %s", fd, path);
	n = readlink("/proc/self/exe", path, sizeof path - 1);
	CHECK(n > 0);
	path[n] = 0;
	const char *mine = strrchr(argv[0], '/');
	CHECK(strrchr(path, '/') && !strcmp(strrchr(path, '/') + 1, mine ? mine + 1 : argv[0]));
	n = readlink("/proc/self", path, sizeof path - 1);
	CHECK(n > 0 && (path[n] = 0, atoi(path) == getpid()));
	say("self is %s", path);

	if (setxattr("a", "user.first", "value one", 9, 0)) {
		skipped("extended attributes");
	} else {
		CHECK(lsetxattr("a", "user.second", "", 0, 0) == 0 &&
		      fsetxattr(fd, "user.third", "333", 3, XATTR_CREATE) == 0);
		FAILS(setxattr("a", "user.third", "3", 1, XATTR_CREATE), EEXIST);
		memset(b, '.', sizeof b);
		CHECK(getxattr("a", "user.first", b, 0) == 9 && b[0] == '.');
		CHECK(getxattr("a", "user.first", 0, 0) == 9);
		CHECK(lgetxattr("a", "user.first", b, sizeof b) == 9 && !memcmp(b, "value one.", 10));
		FAILS(fgetxattr(fd, "user.first", b, 3), ERANGE);
		CHECK(fgetxattr(fd, "user.second", b, sizeof b) == 0);
		FAILS(getxattr("a", "user.none", b, sizeof b), ENODATA);
		ssize_t size = listxattr("a", 0, 0);
		CHECK(size >= 11 + 12 + 11);
		char *names = calloc(1, (size_t)size + 8);
		CHECK(names && llistxattr("a", names, (size_t)size) == size &&
		      flistxattr(fd, names, (size_t)size) == size);
		for (char *p = names; p < names + size; p += strlen(p) + 1)
			say("attribute %s", p);
		free(names);
		CHECK(removexattr("a", "user.first") == 0 && lremovexattr("a", "user.second") == 0 &&
		      fremovexattr(fd, "user.third") == 0);
	}
	close(fd);
	unlink("a");
	unlink("c");
	unlink("d");
	unlink("s");
	unlink("u");
	unlink("loop");
	leave_temp();
	return done();
}

/*
 * What is known about files: stat in all its forms, statfs, times, modes.
 * What could go wrong: libc's struct size in place of the kernel's, bytes
 * beyond the struct touched, times and inode numbers asked again at replay.
 */
// run: varies
#include "check.h"
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <utime.h>

static void show(const char *what, const struct stat *s)
{
	say("%s dev %lx ino %lu mode %o links %lu uid %u gid %u rdev %lx size %ld blksize %ld blocks %ld "
	    "atime %ld.%09ld mtime %ld.%09ld ctime %ld.%09ld",
	    what, (unsigned long)s->st_dev, (unsigned long)s->st_ino, s->st_mode, (unsigned long)s->st_nlink, s->st_uid,
	    s->st_gid, (unsigned long)s->st_rdev, (long)s->st_size, (long)s->st_blksize, (long)s->st_blocks,
	    (long)s->st_atim.tv_sec, s->st_atim.tv_nsec, (long)s->st_mtim.tv_sec, s->st_mtim.tv_nsec,
	    (long)s->st_ctim.tv_sec, s->st_ctim.tv_nsec);
}

int main(void)
{
	enter_temp();
	int fd = open("file", O_CREAT | O_RDWR, 0640);
	CHECK(fd >= 0 && write(fd, "12345", 5) == 5 && symlink("file", "link") == 0);
	struct {
		struct stat s;
		char guard[64];
	} g;
	memset(&g, 0x5a, sizeof g);
	CHECK(stat("file", &g.s) == 0 && g.s.st_size == 5 && S_ISREG(g.s.st_mode));
	for (size_t i = 0; i < sizeof g.guard; i++)
		CHECK(g.guard[i] == 0x5a);
	show("stat", &g.s);
	CHECK(lstat("link", &g.s) == 0 && S_ISLNK(g.s.st_mode));
	show("lstat", &g.s);
	CHECK(fstat(fd, &g.s) == 0 && fstatat(AT_FDCWD, "link", &g.s, 0) == 0 && g.s.st_size == 5);
	CHECK(fstatat(fd, "", &g.s, AT_EMPTY_PATH) == 0 && g.s.st_size == 5);
	FAILS(stat("none", &g.s), ENOENT);
	FAILS(stat("file/x", &g.s), ENOTDIR);
	FAILS(fstat(999, &g.s), EBADF);
	const char *others[] = { "/", "/dev/null", "/proc/self", "/tmp", "/proc/self/fd/0" };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (stat(others[i], &g.s) == 0)
			show(others[i], &g.s);

	struct {
		struct statx s;
		char guard[64];
	} x;
	memset(&x, 0x5a, sizeof x);
	CHECK(statx(AT_FDCWD, "file", 0, STATX_ALL, &x.s) == 0 && x.s.stx_size == 5 && x.guard[0] == 0x5a);
	say("statx ino %lu mask %x btime %ld.%09u ", (unsigned long)x.s.stx_ino, x.s.stx_mask,
	    (long)x.s.stx_btime.tv_sec, x.s.stx_btime.tv_nsec);
	say_bytes("statx raw", &x.s, sizeof x.s);

	struct {
		struct statfs s;
		char guard[64];
	} f;
	memset(&f, 0x5a, sizeof f);
	CHECK(statfs(".", &f.s) == 0 && f.guard[0] == 0x5a && fstatfs(fd, &f.s) == 0);
	say("statfs type %lx free %lu files %lu", (unsigned long)f.s.f_type, (unsigned long)f.s.f_bfree,
	    (unsigned long)f.s.f_ffree);
	struct statvfs v;
	CHECK(statvfs("/", &v) == 0);
	say("root free %lu", (unsigned long)v.f_bavail);

	CHECK(chmod("file", 0604) == 0 && fchmod(fd, 0600) == 0 && fchmodat(AT_FDCWD, "file", 0644, 0) == 0);
	CHECK(chown("file", getuid(), getgid()) == 0 && lchown("link", (uid_t)-1, (gid_t)-1) == 0 &&
	      fchown(fd, (uid_t)-1, getgid()) == 0);
	CHECK(stat("file", &g.s) == 0 && (g.s.st_mode & 0777) == 0644);
	CHECK(access("file", R_OK) == 0 && faccessat(AT_FDCWD, "file", W_OK, AT_EACCESS) == 0);
	FAILS(access("none", F_OK), ENOENT);
	struct timespec both[2] = { { 1000, 5 }, { 2000, 7 } };
	CHECK(utimensat(AT_FDCWD, "file", both, 0) == 0 && stat("file", &g.s) == 0);
	CHECK(g.s.st_atim.tv_sec == 1000 && g.s.st_mtim.tv_nsec == 7);
	CHECK(futimens(fd, 0) == 0 && fstat(fd, &g.s) == 0 && g.s.st_mtim.tv_sec > 2000);
	show("touched", &g.s);
	struct utimbuf old = { 11, 12 };
	CHECK(utime("file", &old) == 0 && stat("file", &g.s) == 0 && g.s.st_mtime == 12);
	mode_t mask = umask(027);
	CHECK(umask(mask) == 027);
	close(fd);
	unlink("file");
	unlink("link");
	leave_temp();
	return done();
}

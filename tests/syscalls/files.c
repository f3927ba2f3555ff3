/*
 * Reading and writing files. What could go wrong: a short or empty read logged
 * with the wrong size, a large read cut at the log's limits, an output written
 * where the call failed, an offset that the kernel updates (sendfile,
 * copy_file_range, splice) not brought back, a wrong errno.
 */
// run: varies
#include "check.h"
#include <sys/sendfile.h>
#include <sys/uio.h>

#define BIG (700 << 10)

static char pattern(size_t i)
{
	return (char)(i * 7 + i / 251);
}

static void small_reads(void)
{
	int fd = open("small", O_CREAT | O_EXCL | O_RDWR, 0640);
	CHECK(fd >= 0);
	FAILS(open("small", O_CREAT | O_EXCL | O_RDWR, 0640), EEXIST);
	FAILS(open("nothing/here", O_RDONLY), ENOENT);
	CHECK(write(fd, "0123456789", 10) == 10);
	char b[64];
	memset(b, '-', sizeof b);
	CHECK(read(fd, b, sizeof b) == 0 && b[0] == '-');
	CHECK(lseek(fd, 4, SEEK_SET) == 4);
	CHECK(read(fd, b, sizeof b) == 6 && !memcmp(b, "456789--", 8));
	CHECK(pread(fd, b, 3, 1) == 3 && !memcmp(b, "123789--", 8));
	CHECK(pwrite(fd, "ab", 2, 20) == 2);
	CHECK(lseek(fd, 0, SEEK_END) == 22 && lseek(fd, -2, SEEK_CUR) == 20);
	CHECK(pread(fd, b, sizeof b, 8) == 14 && !memcmp(b, "89\0\0\0\0\0\0\0\0\0\0ab-", 15));
	CHECK(read(fd, b, 0) == 0);
	FAILS(lseek(fd, -1, SEEK_SET), EINVAL);
	FAILS(read(fd, bad_pointer, 10), EFAULT);
	FAILS(write(fd, bad_pointer, 10), EFAULT);
	FAILS(read(999, b, 1), EBADF);
	CHECK(ftruncate(fd, 5) == 0 && truncate("small", 4) == 0 && lseek(fd, 0, SEEK_END) == 4);
	int more = open("small", O_WRONLY | O_APPEND);
	CHECK(more >= 0 && write(more, "xyz", 3) == 3 && close(more) == 0);
	CHECK(pread(fd, b, sizeof b, 0) == 7 && !memcmp(b, "0123xyz", 7));
	if (fallocate(fd, 0, 0, 10000) == 0)
		CHECK(lseek(fd, 0, SEEK_END) == 10000);
	else
		skipped("fallocate");
	CHECK(fsync(fd) == 0 && fdatasync(fd) == 0);
	CHECK(posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED) == 0);
	close(fd);
	FAILS(close(fd), EBADF);
}

static void large_reads(void)
{
	char *out = malloc(BIG), *in = malloc(BIG + 1);
	CHECK(out && in);
	for (size_t i = 0; i < BIG; i++)
		out[i] = pattern(i);
	int fd = open("large", O_CREAT | O_RDWR, 0600);
	CHECK(fd >= 0 && write(fd, out, BIG) == BIG);
	memset(in, 0, BIG + 1);
	CHECK(pread(fd, in, BIG, 0) == BIG && !memcmp(in, out, BIG) && in[BIG] == 0);
	memset(in, 1, BIG + 1);
	CHECK(pread(fd, in, BIG, BIG - 300000) == 300000);
	CHECK(!memcmp(in, out + BIG - 300000, 300000) && in[300000] == 1 && in[BIG] == 1);
	size_t total = 0;
	for (size_t n = 1; total < BIG; n = n * 3 + 1) {
		ssize_t got = pread(fd, in, n < BIG ? n : BIG, (off_t)total);
		CHECK(got > 0 && !memcmp(in, out + total, (size_t)got));
		total += (size_t)got;
	}
	say("large %016lx", (unsigned long)hash_bytes(in, 1000));
	free(in);
	free(out);
	close(fd);
	unlink("large");
}

/* The offset lies in the program's memory and is advanced by the kernel. */
static void between_descriptors(void)
{
	int from = open("from", O_CREAT | O_RDWR, 0600), to = open("to", O_CREAT | O_RDWR, 0600);
	CHECK(from >= 0 && to >= 0 && write(from, "the quick brown fox", 19) == 19);
	off_t at = 4, other = 100;
	CHECK(sendfile(to, from, &at, 5) == 5 && at == 9);
	ssize_t n = copy_file_range(from, &at, to, &other, 6, 0);
	if (n < 0)
		skipped("copy_file_range");
	else
		CHECK(n == 6 && at == 15 && other == 106);
	int p[2];
	CHECK(pipe(p) == 0);
	off_t in = 0;
	CHECK(splice(from, &in, p[1], 0, 9, 0) == 9 && in == 9);
	char b[128] = { 0 };
	CHECK(read(p[0], b, sizeof b) == 9 && !memcmp(b, "the quick", 9));
	CHECK(pread(to, b, 5, 0) == 5 && !memcmp(b, "quick", 5));
	CHECK(lseek(from, 0, SEEK_DATA) == 0 && lseek(from, 0, SEEK_HOLE) == 19);
	close(p[0]);
	close(p[1]);
	close(from);
	close(to);
	unlink("from");
	unlink("to");
}

static void descriptors(void)
{
	int fd = open("small", O_RDONLY), two = dup(fd), three = fcntl(fd, F_DUPFD, 50);
	CHECK(fd >= 0 && two >= 0 && three >= 50);
	CHECK(dup2(fd, 60) == 60 && dup3(fd, 61, O_CLOEXEC) == 61 && fcntl(61, F_GETFD) == FD_CLOEXEC);
	FAILS(dup3(fd, fd, 0), EINVAL);
	CHECK(lseek(fd, 3, SEEK_SET) == 3 && lseek(61, 0, SEEK_CUR) == 3);
	CHECK(fcntl(fd, F_GETFL) >= 0 && fcntl(two, F_SETFL, O_NONBLOCK) == 0);
	CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	say("descriptors %d %d %d", fd, two, three);
	close(fd);
	close(two);
	close(three);
	if (syscall(SYS_close_range, 60u, 61u, 0u))
		skipped("close_range");
	close(60);
	close(61);
	int hidden = open(".", O_TMPFILE | O_RDWR, 0600);
	if (hidden < 0)
		skipped("O_TMPFILE");
	else
		CHECK(write(hidden, "x", 1) == 1 && close(hidden) == 0);
	char name[] = "made-XXXXXX";
	int made = mkstemp(name);
	CHECK(made >= 0 && unlink(name) == 0);
	say("made %s", name);
	close(made);
	int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_RDWR);
	char b[100];
	CHECK(read(zero, b, 100) == 100 && b[99] == 0 && read(null, b, 100) == 0 && write(null, b, 100) == 100);
	close(zero);
	close(null);
}

int main(void)
{
	enter_temp();
	small_reads();
	large_reads();
	between_descriptors();
	descriptors();
	unlink("small");
	leave_temp();
	return done();
}

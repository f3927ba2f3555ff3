/*
 * Buffers that go beyond the end of their mapping. What could go wrong: the recorder reads as many bytes as were asked
 * for, finds no place for the last ones, and they are lost to the program; or the call says EFAULT where the kernel
 * would have given the bytes that fit.
 */
#include "check.h"
#include <sys/mman.h>
#include <sys/uio.h>

int main(void)
{
	char name[] = "partial-XXXXXX", rest[64];
	long page = sysconf(_SC_PAGESIZE);
	int fd = mkstemp(name);
	CHECK(fd >= 0 && !unlink(name));
	for (int i = 0; i < 1000; i++)
		CHECK(dprintf(fd, "%07d\n", i) == 8);
	char *two = mmap(0, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(two != MAP_FAILED && !munmap(two + page, (size_t)page));
	char *end = two + page, *at = end - 20;

	CHECK(pread(fd, at, 64, 8) == 20 && !memcmp(at, "0000001\n0000002\n0000", 20));
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	CHECK(read(fd, at, 64) == 20 && !memcmp(at, "0000000\n0000001\n0000", 20));
	/* the next read goes on where that one stopped */
	CHECK(read(fd, rest, 8) == 8 && !memcmp(rest, "002\n0000", 8));
	struct iovec parts[2] = { { rest, 4 }, { at, 64 } };
	CHECK(lseek(fd, 16, SEEK_SET) == 16);
	CHECK(readv(fd, parts, 2) == 24 && !memcmp(rest, "0000", 4) && !memcmp(at, "002\n0000003\n00000004", 7));
	CHECK(lseek(fd, 0, SEEK_CUR) == 40);
	FAILS(read(fd, end, 8), EFAULT);
	CHECK(lseek(fd, 0, SEEK_CUR) == 40);
	/* a large one goes another way */
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	CHECK(read(fd, two + 8, 1 << 20) == page - 8 && !memcmp(two + 8, "0000000\n", 8));
	say("%ld", (long)lseek(fd, 0, SEEK_CUR));
	return 0;
}

/*
 * Files that are mapped shared, and changed by calls. What could go wrong: at replay the mapping is a copy, which only
 * follows what the log tells of, also of a mapping with a hole in it, or one that moves and stays; advice by which
 * memory forgets its bytes, while the file keeps them, for a range of both kinds; a copy of the file that was kept for
 * its times, which stores to a mapping need not change.
 */
// run: varies
#include "check.h"
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

enum { SIZE = 8192, LARGE = 200000 };

static int file(const char *name, off_t size)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0 && ftruncate(fd, size) == 0);
	return fd;
}

static char *map(int fd, size_t size)
{
	char *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void cut(int fd, char *at)
{
	strcpy(at, "hello");
	CHECK(ftruncate(fd, 0) == 0 && ftruncate(fd, SIZE) == 0);
	say("cut and grown: '%s'", at);
	strcpy(at, "hello");
	CHECK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0);
	say("with a hole: '%s'", at);
	strcpy(at, "hello");
	CHECK(close(open("mapped", O_RDWR | O_TRUNC)) == 0 && ftruncate(fd, SIZE) == 0);
	say("opened to be cut: '%s'", at);
	strcpy(at, "hello");
	CHECK(truncate("mapped", 3) == 0);
	say("cut by name: '%s'", at);
	CHECK(ftruncate(fd, SIZE) == 0);
}

/* What is mapped has no bytes, until the file grows again: then zeros, and what is written. */
static void written_after_cut(int fd, char *at)
{
	struct open_how how = { .flags = O_RDWR | O_TRUNC };

	strcpy(at, "hello, world");
	CHECK(close(open("mapped", O_RDWR | O_TRUNC)) == 0 && pwrite(fd, "bye", 3, 0) == 3);
	say("cut and written: '%s'", at);
	strcpy(at, "hello, world");
	int again = (int)syscall(SYS_openat2, AT_FDCWD, "mapped", &how, sizeof how);
	if (again < 0)
		CHECK((again = open("mapped", O_RDWR | O_TRUNC)) >= 0);
	CHECK(close(again) == 0 && pwrite(fd, "", 1, SIZE - 1) == 1);
	say("cut otherwise, and written far behind: '%s'", at);
}

static void moved(int fd, const char *at)
{
	int from = file("source", 0), ends[2];
	off_t zero = 0, start = 0;

	say("from a file, %d:", getpid());
	CHECK(write(from, "from a file", 12) == 12);
	CHECK(copy_file_range(from, &zero, fd, &start, 12, 0) == 12);
	say("copied: '%s'", at);
	zero = 5;
	CHECK(lseek(fd, 0, SEEK_SET) == 0 && sendfile(fd, from, &zero, 7) == 7);
	say("sent: '%s'", at);
	start = 0;
	CHECK(pipe(ends) == 0 && write(ends[1], "from a pipe", 12) == 12 &&
	      splice(ends[0], 0, fd, &start, 12, 0) == 12);
	say("spliced: '%s'", at);
}

static void appended(int fd, const char *at)
{
	int end = open("mapped", O_RDWR | O_APPEND);

	CHECK(ftruncate(fd, 4096) == 0 && pwrite(end, "appended", 9, 0) == 9);
	say("appended: '%s' '%s'", at, at + 4096);

	struct iovec part = { (void *)"at the end", 11 };
	ssize_t r = pwritev2(fd, &part, 1, 0, RWF_APPEND);
	say("by a flag: %zd '%s' '%s'", r, at, at + 4096 + 9);
}

/* The middle goes; what is behind it is still the file's. */
static void holed(size_t page)
{
	int fd = file("holed", (off_t)(3 * page));
	char *at = map(fd, 3 * page);

	CHECK(munmap(at + page, page) == 0);
	CHECK(pwrite(fd, "front", 6, 0) == 6 && pwrite(fd, "back", 5, (off_t)(2 * page)) == 5);
	say("around a hole: '%s' '%s'", at, at + 2 * page);
}

/* Mapped at another place, and still at the first one. */
static void doubled(size_t page)
{
	int fd = file("doubled", (off_t)(2 * page));
	char *at = map(fd, 2 * page);
	char *also = mremap(at, 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);

	say("mapped twice: %d", also != MAP_FAILED); /* older kernels do this for memory without a file only */
	CHECK(pwrite(fd, "front", 6, 0) == 6 && pwrite(fd, "back", 5, (off_t)page) == 5);
	say("at the first place: '%s' '%s'", at, at + page);
	if (also != MAP_FAILED)
		say("at the other: '%s' '%s'", also, also + page);
}

static void advised(char *at)
{
	strcpy(at, "hello");
	CHECK(madvise(at, 4096, MADV_DONTNEED) == 0);
	say("not needed: '%s'", at);

	int fd = memfd_create("memory", 0);
	CHECK(ftruncate(fd, SIZE) == 0);
	at = map(fd, SIZE);
	strcpy(at, "hello");
	CHECK(madvise(at, 4096, MADV_REMOVE) == 0);
	say("removed: '%s'", at);
}

/* Memory of its own, a file's, and memory of its own again. */
static void advised_together(size_t page, int advice)
{
	int fd = file("between", (off_t)page);
	char *at = mmap(0, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED &&
	      mmap(at + page, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == at + page);
	for (int i = 0; i < 3; i++)
		strcpy(at + (size_t)i * page, "hello");
	int r = madvise(at, 3 * page, advice);
	say("advice %d: %d '%s' '%s' '%s'", advice, r, at, at + page, at + 2 * page);
	r = madvise(at + page, 2 * page, advice);
	say("from the file on: %d '%s' '%s'", r, at + page, at + 2 * page);
}

/* Large, and some seconds old, so that its copy may be kept for others. */
static void stored(void)
{
	int fd = file("large", LARGE);
	char *at = map(fd, LARGE), *copy;

	strcpy(at, "one");
	sleep(3);
	CHECK((copy = mmap(0, LARGE, PROT_READ, MAP_PRIVATE, fd, 0)) != MAP_FAILED);
	say("first: '%s'", copy);
	CHECK(munmap(copy, LARGE) == 0);
	strcpy(at, "two");
	CHECK((copy = mmap(0, LARGE, PROT_READ, MAP_PRIVATE, fd, 0)) != MAP_FAILED);
	say("second: '%s'", copy);
}

int main(void)
{
	int fd = file("mapped", SIZE);
	char *at = map(fd, SIZE);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	cut(fd, at);
	written_after_cut(fd, at);
	moved(fd, at);
	appended(fd, at);
	advised(at);
	holed(page);
	doubled(page);
	advised_together(page, MADV_DONTNEED);
	advised_together(page, MADV_DONTNEED_LOCKED);
	advised_together(page, MADV_REMOVE);
	stored();
	return 0;
}

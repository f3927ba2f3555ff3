/*
 * Files that are mapped shared, and changed by calls. What could go wrong: at replay the mapping is a copy, which only
 * follows what the log tells of; advice by which memory forgets its bytes, while the file keeps them; a copy of the file
 * that was kept for its times, which stores to a mapping need not change.
 */
// run: varies
#include "check.h"
#include <sys/mman.h>
#include <sys/sendfile.h>

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

	cut(fd, at);
	moved(fd, at);
	appended(fd, at);
	advised(at);
	stored();
	return 0;
}

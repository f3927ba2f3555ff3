/*
 * The address space. What could go wrong: mappings at other addresses at replay,
 * a file that is gone then, a private page shared or a shared one private, a
 * write to a mapped file not seen through the mapping, memory after mremap, brk
 * or MADV_DONTNEED that is not what it was.
 */
// run: varies
#include "check.h"
#include <sys/mman.h>

static size_t page;

static void anonymous(void)
{
	char *p = mmap(0, 5 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	say("anonymous %p", (void *)p);
	for (size_t i = 0; i < 5 * page; i++)
		CHECK(p[i] == 0);
	memset(p, 'a', 5 * page);
	CHECK(munmap(p + 2 * page, page) == 0);
	char *q = mmap(p + 2 * page, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(q == p + 2 * page && q[0] == 0 && q[-1] == 'a' && q[page] == 'a');
	CHECK(mprotect(p, page, PROT_READ) == 0);
	FAILS(read(open("/dev/zero", O_RDONLY), p, 10), EFAULT);
	CHECK(mprotect(p, page, PROT_READ | PROT_WRITE) == 0);
	p[0] = 'b';
	CHECK(madvise(p, page, MADV_DONTNEED) == 0 && p[0] == 0 && p[page] == 'a');
	memset(p, 'f', page);
	if (madvise(p, page, MADV_FREE) == 0)
		say("after MADV_FREE %d", p[0]);
	unsigned char core[5];
	CHECK(mincore(p, 5 * page, core) == 0 && (core[1] & 1));
	say_bytes("in core", core, 5);
	FAILS(mincore(p + 1, page, core), EINVAL);
	CHECK(mlock(p, page) == 0 || errno == ENOMEM || errno == EPERM);
	CHECK(munlock(p, page) == 0 || errno == ENOMEM);
	FAILS(mmap(0, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0, EINVAL);
	FAILS(munmap(p + 1, page), EINVAL);

	p[4 * page] = 'z';
	char *bigger = mremap(p, 5 * page, 900 * page, MREMAP_MAYMOVE);
	CHECK(bigger != MAP_FAILED && bigger[4 * page] == 'z' && bigger[899 * page] == 0 && bigger[page] == 'a');
	say("grown %p", (void *)bigger);
	char *smaller = mremap(bigger, 900 * page, 2 * page, 0);
	CHECK(smaller == bigger && smaller[page] == 'a');
	char *place = mmap(0, 8 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(place != MAP_FAILED &&
	      mremap(smaller, 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED, place + page) == place + page);
	CHECK(place[2 * page] == 'a');
	CHECK(munmap(place, 8 * page) == 0);
#ifdef MAP_FIXED_NOREPLACE
	p = mmap(0, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mmap(p, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED &&
	      errno == EEXIST);
	munmap(p, page);
#endif
}

static void files(void)
{
	int fd = open("mapped", O_CREAT | O_RDWR, 0600);
	char *text = malloc(3 * page);
	CHECK(fd >= 0 && text);
	/* contents that no second run has */
	for (size_t i = 0; i < 3 * page; i++)
		text[i] = (char)('a' + (i + (size_t)getpid()) % 23);
	CHECK(write(fd, text, 2 * page + 100) == (ssize_t)(2 * page + 100));
	char *private = mmap(0, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	char *second = mmap(0, page, PROT_READ, MAP_PRIVATE, fd, (off_t)page);
	CHECK(private != MAP_FAILED && second != MAP_FAILED);
	CHECK(!memcmp(private, text, 2 * page + 100) && private[2 * page + 100] == 0 && private[3 * page - 1] == 0);
	CHECK(!memcmp(second, text + page, page));
	say("private file %p %016lx", (void *)private, (unsigned long)hash_bytes(private, 3 * page));
	private[5] = '!';
	char b[10];
	CHECK(pread(fd, b, 10, 0) == 10 && b[5] == text[5]);

	char *shared = mmap(0, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED) {
		skipped("shared mapping of a file");
	} else {
		CHECK(shared[5] == text[5]);
		shared[7] = '#';
		CHECK(pread(fd, b, 10, 0) == 10 && b[7] == '#');
		CHECK(pwrite(fd, "written", 7, 20) == 7 && !memcmp(shared + 20, "written", 7));
		CHECK(msync(shared, 2 * page, MS_SYNC) == 0);
		say("shared file %016lx", (unsigned long)hash_bytes(shared, 2 * page));
		CHECK(munmap(shared, 2 * page) == 0);
	}
	FAILS(mmap(0, page, PROT_READ, MAP_PRIVATE, 999, 0) == MAP_FAILED ? -1 : 0, EBADF);
	close(fd);
	CHECK(private[page] == text[page]); /* outlives its descriptor */
	munmap(private, 3 * page);
	munmap(second, page);
	free(text);
	unlink("mapped");
}

/* A mapped file grows, and its mapping follows it to another place; a write then changes that place, not the old one. */
static void growing_file(void)
{
	int fd = open("growing", O_CREAT | O_RDWR, 0600);
	char text[64];
	snprintf(text, sizeof text, "%d", getpid()); /* that no second run has */
	CHECK(fd >= 0 && ftruncate(fd, (off_t)page) == 0);
	char *p = mmap(0, page, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	char *above = mmap(p + page, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(ftruncate(fd, 5 * (off_t)page) == 0 && pwrite(fd, text, 20, 3 * (off_t)page) == 20);
	char *q = mremap(p, page, 6 * page, MREMAP_MAYMOVE);
	CHECK(q != MAP_FAILED && q != p && !strcmp(q + 3 * page, text) && q[4 * page] == 0);
	CHECK(pwrite(fd, text, 20, 100) == 20 && !strcmp(q + 100, text));
	CHECK(pwrite(fd, text, 20, 2 * (off_t)page - 3) == 20 && !strcmp(q + 2 * page - 3, text));
	say("growing file %p %016lx", (void *)q, (unsigned long)hash_bytes(q, 5 * page));
	CHECK(mprotect(q, page, PROT_NONE) == 0 && pwrite(fd, "unread", 6, 200) == 6);
	CHECK(mprotect(q, page, PROT_READ) == 0 && !memcmp(q + 200, "unread", 6));
	CHECK(mremap(q, 6 * page, 2 * page, 0) == q && pwrite(fd, "cut", 3, 3 * (off_t)page) == 3);
	char *second = mremap(q, 0, 2 * page, MREMAP_MAYMOVE); /* the same file once more */
	CHECK(second != MAP_FAILED && pwrite(fd, "both", 4, 300) == 4);
	CHECK(!memcmp(q + 300, "both", 4) && !memcmp(second + 300, "both", 4));
	munmap(second, 2 * page);
	munmap(q, 2 * page);
	if (above != MAP_FAILED)
		munmap(above, page);
	CHECK(pwrite(fd, "gone", 4, 0) == 4);
	close(fd);
	unlink("growing");
}

static void memory_file(void)
{
	int fd = memfd_create("in memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0) {
		skipped("memfd_create");
		return;
	}
	CHECK(ftruncate(fd, (off_t)page) == 0 && write(fd, "in memory", 9) == 9);
	char *p = mmap(0, page, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED && !strcmp(p, "in memory"));
	CHECK(fcntl(fd, F_GET_SEALS) == 0);
	munmap(p, page);
	close(fd);
	char *shared = mmap(0, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	strcpy(shared, "shared with nobody");
	say("%s at %p", shared, (void *)shared);
	munmap(shared, page);
}

static void heap(void)
{
	char *end = sbrk(0);
	CHECK(end != (void *)-1);
	say("brk %p", (void *)end);
	CHECK(sbrk((intptr_t)(10 * page)) == end);
	for (size_t i = 0; i < 10 * page; i++)
		CHECK(end[i] == 0);
	memset(end, 'x', 10 * page);
	CHECK(sbrk(-(intptr_t)(10 * page)) != (void *)-1 && sbrk(0) == end);
	CHECK(sbrk((intptr_t)(10 * page)) == end && end[9 * page] == 0); /* fresh again */
	CHECK(brk(end) == 0);
	void *big[4];
	for (int i = 0; i < 4; i++) {
		big[i] = malloc(200000u << i);
		CHECK(big[i]);
		say("malloc %p", big[i]);
	}
	for (int i = 0; i < 4; i++)
		free(big[i]);
}

int main(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	enter_temp();
	anonymous();
	files();
	growing_file();
	memory_file();
	heap();
	leave_temp();
	return done();
}

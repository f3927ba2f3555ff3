/*
 * Calls on memory that do a part, or need more than there is. What could go wrong: what a call did before it failed is
 * not done at replay; limits that the program has set do not hold there; all memory is locked, Heddle's too.
 */
// run: varies
#include "check.h"
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>

static size_t page;
static sigjmp_buf back;

static char *with_hole(void)
{
	char *p = mmap(0, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	memset(p, 'x', 3 * page);
	CHECK(munmap(p + page, page) == 0);
	return p;
}

static void on_fault(int number)
{
	siglongjmp(back, number);
}

static void holes(void)
{
	char *p = with_hole();

	FAILS(madvise(p, 3 * page, MADV_DONTNEED), ENOMEM);
	say("left of it: %d %d", p[0], p[2 * page]);
	p = with_hole();
	FAILS(mprotect(p, 3 * page, PROT_READ), ENOMEM);
	signal(SIGSEGV, on_fault);
	if (!sigsetjmp(back, 1)) {
		*(volatile char *)p = 'y';
		say("the first page can be written");
	} else {
		say("the first page cannot be written");
	}
	signal(SIGSEGV, SIG_DFL);
}

static void advice_for_files(void)
{
	int fd = open("mapped", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *p;

	CHECK(ftruncate(fd, (off_t)page) == 0);
	CHECK((p = mmap(0, page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0)) != MAP_FAILED);
	strcpy(p, "mine");
	FAILS(madvise(p, page, MADV_FREE), EINVAL);
	say("'%s'", p);
}

static int deep(int n)
{
	volatile char frame[65536];

	frame[0] = (char)n;
	frame[65535] = 1;
	return n ? deep(n - 1) + frame[65535] : frame[0];
}

static void limits(void)
{
	struct rlimit limit;

	CHECK(getrlimit(RLIMIT_STACK, &limit) == 0);
	if (limit.rlim_max >= 128 << 20) {
		limit.rlim_cur = 128 << 20;
		CHECK(setrlimit(RLIMIT_STACK, &limit) == 0);
		say("%d deep", deep(600));
	}
	CHECK(getrlimit(RLIMIT_DATA, &limit) == 0);
	limit.rlim_cur = 64 << 20;
	CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
	CHECK(sbrk(128 << 20) == (void *)-1);
	say("the heap ends at %p", sbrk(0));
}

static void locked(void)
{
	FAILS(mlockall(0), EINVAL);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) == 0)
		CHECK(munlockall() == 0);
	say("locked, by %d", getpid());
}

/* What is readable may be executed: a function that returns 7. */
static void executable(void)
{
	static const unsigned char code[] = {
#ifdef __aarch64__
		0xe0, 0x00, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6
#else
		0xb8, 0x07, 0x00, 0x00, 0x00, 0xc3
#endif
	};
	union {
		char *at;
		int (*call)(void);
	} made;

	CHECK(personality(READ_IMPLIES_EXEC) >= 0);
	CHECK((made.at = mmap(0, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED);
	memcpy(made.at, code, sizeof code);
	__builtin___clear_cache(made.at, made.at + sizeof code);
	say("returns %d", made.call());
}

int main(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	holes();
	advice_for_files();
	locked();
	executable();
	limits();
	return 0;
}

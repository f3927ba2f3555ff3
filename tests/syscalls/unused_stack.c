/*
 * Bytes that a program finds in stack it has not yet used. What could go wrong:
 * the recorder, a signal frame or a stub leaves something there, in one mode or
 * at one place only. Every kind of call is made first, deep and shallow.
 */
// run: varies
#include "check.h"
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>

static __attribute__((noinline)) uint64_t look(size_t n)
{
	volatile unsigned char room[48 << 10];
	__asm__ volatile("" : : "r"(room) : "memory");
	/* the upper end is nearest to what ran last */
	return hash_bytes((const unsigned char *)room + sizeof room - n, n);
}

static void after(const char *what)
{
	uint64_t near_by = look(256), page = look(4096), far = look(48 << 10);
	say("after %s: %016lx %016lx %016lx", what, (unsigned long)near_by, (unsigned long)page, (unsigned long)far);
}

static volatile sig_atomic_t count;
static void handler(int sig UNUSED)
{
	count++;
}

int main(void)
{
	char b[256];
	struct timespec t;
	struct stat s;
	after("start");
	CHECK(clock_gettime(CLOCK_REALTIME, &t) == 0);
	after("clock_gettime");
	CHECK(getppid() >= 0);
	after("getppid");
	CHECK(stat("/proc/self", &s) == 0);
	after("stat");
	int fd = open("/dev/urandom", O_RDONLY);
	CHECK(fd >= 0 && read(fd, b, sizeof b) == sizeof b && close(fd) == 0);
	after("read");
	void *p = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED && munmap(p, 4096) == 0);
	after("mmap");
	CHECK(poll(0, 0, 1) == 0);
	after("poll");
	signal(SIGUSR1, handler);
	CHECK(raise(SIGUSR1) == 0 && count == 1);
	after("a handler");
	pid_t child = fork();
	CHECK(child >= 0);
	if (!child) {
		after("fork, in the child");
		_exit(0);
	}
	CHECK(waitpid(child, 0, 0) == child);
	after("fork and wait");
	CHECK(system("true") == 0);
	after("system");
	FAILS(open("/none/such", O_RDONLY), ENOENT);
	after("a failing open");
	return done();
}

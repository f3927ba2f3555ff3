/*
 * Threads that come to system calls for the first time at the same moment: each site traps once and is patched while others run it. On
 * x86-64 a patch covers the instruction behind the call, too, to which some jump; a part of a patch must never be run.
 */
// run: same
#include "threads.h"
#include <stdbool.h>
#include <sys/syscall.h>

enum { THREADS = 8, SITES = 256 };
/* All of the same length. With `call` it makes the call, else it begins behind it, and gives the number. */
long site_0(long number, long call);
extern char site_1[];
#define NUMBER SYS_getppid
#ifdef __x86_64__
__asm__(".text\n"
	".balign 64\n"
	"site_0:\n"
	".set n, 0\n"
	".rept 256\n"
	".if n == 1\n"
	"site_1:\n"
	".endif\n"
	".set n, n + 1\n"
	"mov %rdi, %rax\n"
	"test %rsi, %rsi\n"
	"jz 1f\n"
	"syscall\n"
	"1: cmp $-4095, %rax\n"
	"jae 2f\n"
	"ret\n"
	"2: mov $-1, %rax\n"
	"ret\n"
	".balign 64\n"
	".endr\n");
#else
__asm__(".text\n"
	".balign 64\n"
	"site_0:\n"
	".set n, 0\n"
	".rept 256\n"
	".if n == 1\n"
	"site_1:\n"
	".endif\n"
	".set n, n + 1\n"
	"mov x8, x0\n"
	"cbz x1, 1f\n"
	"svc #0\n"
	"1: cmn x0, #4095\n"
	"b.hi 2f\n"
	"ret\n"
	"2: mov x0, #-1\n"
	"ret\n"
	".balign 64\n"
	".endr\n");
#endif

static long parent;

static void *work(void *argument)
{
	size_t size = (size_t)(site_1 - (char *)site_0);

	for (unsigned i = 0; i < SITES; i++) {
		long (*at)(long, long) = (long (*)(long, long))((uintptr_t)site_0 + i * size);
		bool calls = (i + ME(argument)) % 4;
		long r = at(NUMBER, calls);
		CHECK(r == (calls ? parent : NUMBER));
	}
	return NULL;
}

int main(void)
{
	parent = getppid();
	crew_start(THREADS, work);
	crew_join(THREADS);
	puts("all calls were made");
	return 0;
}

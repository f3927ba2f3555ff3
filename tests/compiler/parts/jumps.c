/* setjmp, longjmp, a fault inside a hook that is left by siglongjmp, one whose handler mends the memory and returns, asm goto,
   computed goto, loops with two heads. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

jmp_buf here;
sigjmp_buf after_fault;
int global, depth, faults;
char *wall;

__attribute__((noinline)) static void down(int n)
{
	depth = n;
	if (!n)
		longjmp(here, global + 1);
	down(n - 1);
	global++;
}

static void leave(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	faults++;
	siglongjmp(after_fault, info->si_addr == wall ? 1 : 2);
}

static void mend(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	faults += 100;
	mprotect(wall, 4096, PROT_READ | PROT_WRITE);
}

__attribute__((noinline)) static int touch(char *p)
{
	return ++*p;
}

static int computed(const unsigned char *program)
{
	static void *const labels[] = { &&add, &&twice, &&stop };
	int value = 1;

	goto *labels[*program++];
add:
	value += global;
	goto *labels[*program++];
twice:
	value *= 2;
	goto *labels[*program++];
stop:
	return value;
}

/* No loop that compilers know: it is entered in two places. */
__attribute__((noinline)) static int tangled(int n)
{
	int k = 0;

	if (n & 1)
		goto second;
first:
	k += 3;
	global += n & 1;
second:
	k++;
	if (--n > 0)
		goto first;
	return k;
}

__attribute__((noinline)) static int jumps_out(int *p)
{
#if defined __aarch64__
	__asm__ goto("ldr w9, [%0]\n\tcbz w9, %l1" : : "r"(p) : "w9", "memory" : zero);
#elif defined __x86_64__
	__asm__ goto("cmpl $0, (%0)\n\tje %l1" : : "r"(p) : "cc", "memory" : zero);
#endif
	return 1;
zero:
	return 0;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = leave, .sa_flags = SA_SIGINFO };
	volatile int rounds = 0;
	int got = setjmp(here);

	if (rounds++ < 5) {
		global += got;
		down(rounds);
	}
	printf("%d %d %d\n", got, global, depth);

	sigaction(SIGSEGV, &action, NULL);
	wall = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (volatile int i = 0; i < 3; i++)
		if (!sigsetjmp(after_fault, 1))
			touch(wall);
	action.sa_sigaction = mend;
	sigaction(SIGSEGV, &action, NULL);
	int v = touch(wall);
	printf("%d %d %d\n", faults, v, touch(wall));
	printf("%d\n", computed((const unsigned char[]){ 0, 1, 0, 1, 1, 2 }));
	for (int i = 0; i < 6; i++)
		printf("%d ", tangled(i));
	printf("%d\n", global);
	int zero = 0;
	printf("%d %d\n", jumps_out(&global), jumps_out(&zero));
}

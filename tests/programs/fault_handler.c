/*
 * A program that lives from its faults: it protects pages, writes to them, and
 * unprotects them in the handler, on an alternate stack; then it jumps out of
 * one with siglongjmp. Faults are not delivered by us: they must happen again.
 */
// run: same
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 16 };
static char *area;
static long page;
static volatile int faults;
static sigjmp_buf out;
static void *volatile nowhere = (void *)16;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	faults++;
	char *at = info->si_addr;
	if (at < area || at >= area + PAGES * page)
		siglongjmp(out, 1);
	mprotect(area + (at - area) / page * page, page, PROT_READ | PROT_WRITE);
}

int main(void)
{
	page = sysconf(_SC_PAGESIZE);
	area = mmap(0, PAGES * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
	sigaltstack(&stack, 0);
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	sigaction(SIGSEGV, &act, 0);
	sigaction(SIGBUS, &act, 0);
	for (int i = 0; i < PAGES * 2; i++)
		area[i * page / 2] = (char)i;
	if (!sigsetjmp(out, 1))
		*(volatile int *)nowhere = 1;
	printf("%d faults\n", faults);
	return faults == PAGES + 1 ? 0 : 1;
}

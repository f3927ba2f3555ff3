/*
 * One thread takes pages away and gives them back; others read and write them, and their handler gives the page back itself.
 * What could go wrong: these calls wait for one another, as calls that change the address space do, while each has to wait for
 * accesses of the others, whose next access lies in such a call: at replay all wait in a circle.
 */
// run: fails
#include "pages.h"

/* Every second fault waits for the other thread instead. */
static void fault(int sig, siginfo_t *info, void *context)
{
	char *page = page_of(info);

	(void)sig, (void)context;
	if (faults[who] % 2)
		mprotect(page, page_size, PROT_READ | PROT_WRITE);
	else
		sched_yield();
}

static void use(unsigned me, unsigned i)
{
	volatile char *at = text(i / 6);

	note(&seen[me], (uint64_t)at[i * 5 % TEXT]);
}

int main(int argc, char **argv)
{
	return pages_run(argc, argv, fault, use);
}

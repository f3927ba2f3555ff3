/*
 * Dies of a breakpoint that nobody has set. On x86-64 the instruction is over when it traps: whoever ran it again to die of it
 * would go on behind it.
 */
// run: signal=5
#include <stdio.h>
#include <time.h>

int main(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	printf("before the trap %ld\n", t.tv_nsec);
	fflush(stdout);
#ifdef __x86_64__
	__asm__ volatile("int3");
#else
	__asm__ volatile("brk #0");
#endif
	puts("still here");
	return 0;
}

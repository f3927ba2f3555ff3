/*
 * Reads the cycle counter by an instruction, not by a call. Where the kernel
 * lets it trap, its values are recorded, in order with the calls around it.
 */
// run: varies needs="cycle counter"
#include <stdio.h>
#include <unistd.h>

static unsigned long counter(void)
{
#if defined __aarch64__
	unsigned long value;
	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(value));
	return value;
#else
	return __builtin_ia32_rdtsc();
#endif
}

int main(void)
{
	unsigned long before = counter();
	for (int i = 0; i < 5; i++) {
		getppid();
		unsigned long now = counter();
		printf("%lu %lu\n", now, now - before);
		before = now;
	}
	return 0;
}

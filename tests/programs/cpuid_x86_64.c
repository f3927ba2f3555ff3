/*
 * What the processor says of itself: not which core it is, which differs from run to run, and not that it has instructions
 * with random results, which libraries then use. (Where the kernel can make cpuid trap: else `heddle doctor` says so.)
 */
// run: no-plain
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>

#ifdef __x86_64__
#include <cpuid.h>

static unsigned cores[64]; /* also in the memory that is compared at exit */

int main(void)
{
	unsigned a, b, c, d, random = 0;

	for (unsigned i = 0; i < 64; i++) {
		cpu_set_t one;
		CPU_ZERO(&one);
		CPU_SET(i % 2, &one);
		sched_setaffinity(0, sizeof one, &one);
		__cpuid(1, a, b, c, d);
		cores[i] = b >> 24;
		random |= c & bit_RDRND;
		__cpuid_count(7, 0, a, b, c, d);
		random |= b & bit_RDSEED;
		__cpuid_count(0xb, 0, a, b, c, d);
		cores[i] += d;
	}
	for (unsigned i = 0; i < 64; i++)
		printf("%u ", cores[i]);
	printf("random %x\n", random);
	return 0;
}
#else
int main(void)
{
	printf("another machine\n");
	return 0;
}
#endif

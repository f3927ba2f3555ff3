/*
 * Atomic updates, reads, writes and captures, of integers and of floating-point numbers, which are loops around a compare and
 * swap: what each capture returned is printed as a hash, and the rounding of a sum, whose order is that of the additions.
 * Built by heddle-cc alone: a relaxed read, and the one before a compare and swap, are plain instructions in an
 * unmodified program.
 */
// run: heddle-cc varies
#include "openmp.h"

enum { ROUNDS = 300 };
static unsigned next, last;
static double sum;
static long double wide;

int main(void)
{
	uint64_t seen[TEAM] = { 0 };

#pragma omp parallel num_threads(TEAM)
	{
		uint64_t hash = 0;
		for (int i = 0; i < ROUNDS; i++) {
			unsigned mine, there;
			stumble();
#pragma omp atomic capture
			mine = next++;
#pragma omp atomic write
			last = mine;
#pragma omp atomic
			sum += 1.0 / (1 + mine) + (double)ME_IN_TEAM;
#pragma omp atomic
			wide += 1.0L / (1 + mine);
#pragma omp atomic read
			there = last;
			hash = (hash ^ mine ^ (uint64_t)there << 32) * 0x100000001b3ull;
		}
		seen[ME_IN_TEAM] = hash;
	}
	for (int i = 0; i < TEAM; i++)
		printf("thread %d: %016llx\n", i, (unsigned long long)seen[i]);
	printf("%u, last %u, sum %a, wide %La\n", next, last, sum, wide);
	CHECK(next == TEAM * ROUNDS);
	return 0;
}

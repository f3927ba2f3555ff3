/*
 * Loops over arrays that the compiler makes vectors of, whose ranges overlap between threads. What could go wrong: an
 * access of 16 or 32 bytes is several words; a range that is claimed before a loop is wanted by another thread in the
 * middle of it.
 */
// run: fails
#include "bugs.h"

enum { CELLS = 3000, ROUNDS = 6 };
static uint32_t cells[CELLS];
static uint8_t small[CELLS];
static uint64_t sums[TEAM_MAX];

static __attribute__((noinline)) void add(uint32_t *from, unsigned n, uint32_t value)
{
	for (unsigned i = 0; i < n; i++)
		from[i] += value;
}

static __attribute__((noinline)) uint64_t sum(const uint32_t *from, unsigned n)
{
	uint64_t s = 0;

	sched_yield();
	for (unsigned i = 0; i < n; i++)
		s += from[i];
	return s;
}

static __attribute__((noinline)) void shift(uint8_t *to, const uint8_t *from, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		to[i] = (uint8_t)(from[i] + 1);
}

static void work(unsigned me)
{
	unsigned share = CELLS / (team + 1), first = me * share;

	for (int r = 0; r < ROUNDS; r++) {
		add(cells + first, 2 * share, 1); /* the second half is the neighbour's first */
		note(&sums[me], sum(cells + first, 2 * share));
		shift(small + first, small + first + share / 2, share);
		for (unsigned i = first; i < first + 2 * share; i += 64)
			note(&sums[me], small[i]);
	}
}

int main(int argc, char **argv)
{
	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u: %016llx\n", i, (unsigned long long)sums[i]);
	uint64_t full = 2ull * ROUNDS * team * (CELLS / (team + 1)), got = sum(cells, CELLS);
	return verdict(full - got, "additions lost");
}

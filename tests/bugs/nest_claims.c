/*
 * Loops in loops, over arrays of many pages: each thread mostly in its own part, now and then in another's. What could
 * go wrong: a nest that runs without hooks accesses more than was bounded before it, or loses pages in the middle; it
 * counts other accesses, or polls, than the nest with hooks.
 */
// run: fails
#include "bugs.h"

enum { SIDE = 64, PART = SIDE * SIDE, ROUNDS = 60 };
static uint32_t cells[TEAM_MAX * PART];
static uint64_t sums[TEAM_MAX], rows[TEAM_MAX * SIDE * 8];

static __attribute__((noinline)) void add(uint32_t *from, unsigned height, unsigned width, uint32_t value)
{
	for (unsigned y = 0; y < height; y++)
		for (unsigned x = 0; x < width; x++)
			from[y * SIDE + x] += value;
}

/* In steps from each of the first on: what the last is, the limit says. */
static __attribute__((noinline)) void stride(uint64_t *row, unsigned side, unsigned half)
{
	for (unsigned k = 0; k < half; k++)
		for (unsigned i = k; i < side; i += 2 * half) {
			uint64_t t = row[i + half];
			row[i + half] = row[i] ^ (t >> 1);
			row[i] += t;
		}
}

static __attribute__((noinline)) uint64_t sum_back(const uint32_t *from, int height, int width)
{
	uint64_t s = 0;

	for (int y = height - 1; y >= 0; y--)
		for (int x = width; x > 0; x--)
			s = s * 7 + from[y * SIDE + x - 1];
	return s;
}

static void work(unsigned me)
{
	uint32_t state = me + 1;

	for (int r = 0; r < ROUNDS; r++) {
		uint32_t pick = draw(&state), other = pick % 4 ? me : (pick >> 8) % team;
		unsigned height = (pick >> 12) % SIDE, width = draw(&state) % SIDE;
		add(cells + other * PART, height, width, me + 1);
		note(&sums[me], sum_back(cells + other * PART, (int)height, (int)width));
		for (unsigned half = 1; half < SIDE * 4; half *= 2)
			stride(rows + other * SIDE * 8, SIDE * 8 - 2 * half, half);
		breathe((unsigned)r);
	}
}

int main(int argc, char **argv)
{
	uint64_t full = 0, got = 0;

	team_size(argc, argv);
	for (unsigned i = 0; i < team * SIDE * 8; i++)
		rows[i] = i * 0x9e3779b97f4a7c15ull;
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		uint32_t state = i + 1;
		for (int r = 0; r < ROUNDS; r++) {
			uint32_t pick = draw(&state);
			full += (uint64_t)((pick >> 12) % SIDE) * (draw(&state) % SIDE) * (i + 1);
		}
		printf("thread %u: %016llx\n", i, (unsigned long long)sums[i]);
	}
	for (unsigned i = 0; i < team * PART; i++)
		got += cells[i];
	for (unsigned i = 0; i < team * SIDE * 8; i++)
		sums[0] = sums[0] * 31 + rows[i];
	printf("%016llx\n", (unsigned long long)sums[0]);
	return verdict(full - got, "additions lost");
}

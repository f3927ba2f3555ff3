/*
 * Loops over arrays of many pages, each thread mostly in its own part, now and then in another's. What could go wrong: a
 * loop that runs without hooks loses its pages in the middle; who takes a page follows too little of a loop that has
 * passed through many regions; the loop with hooks and the one without count differently.
 */
// run: fails
#include "bugs.h"

enum { PART = 6000, ROUNDS = 60 };
static uint32_t cells[TEAM_MAX * PART];
static uint64_t sums[TEAM_MAX];
static struct pair {
	uint32_t a, b;
} pairs[TEAM_MAX * PART / 4];

static __attribute__((noinline)) void add(uint32_t *from, unsigned n, uint32_t value)
{
	for (unsigned i = 0; i < n; i++)
		from[i] += value;
}

static __attribute__((noinline)) uint64_t sum(const uint32_t *from, unsigned n, unsigned step)
{
	uint64_t s = 0;

	for (unsigned i = 0; i < n; i += step)
		s = s * 7 + from[i];
	return s;
}

static __attribute__((noinline)) void turn(struct pair *to, unsigned n)
{
	for (unsigned i = n - 1; i > 0; i--) {
		uint32_t was = to[i].a;
		to[i].a = to[i - 1].b + 1;
		to[i].b = was;
	}
}

static void work(unsigned me)
{
	uint32_t state = me + 1;

	for (int r = 0; r < ROUNDS; r++) {
		uint32_t pick = draw(&state), other = pick % 4 ? me : (pick >> 8) % team;
		unsigned first = (pick >> 12) % (PART / 2), n = 1 + (draw(&state) % (PART / 2));
		add(cells + other * PART + first, n, me + 1);
		note(&sums[me], sum(cells + other * PART + first, n, 1 + pick % 3));
		turn(pairs + other * PART / 4, 2 + n / 8);
		if (pick % 16 == 5)
			note(&sums[me], sum(cells, team * PART, 1000));
		breathe((unsigned)r);
	}
}

int main(int argc, char **argv)
{
	uint64_t full = 0, got = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		uint32_t state = i + 1;
		for (int r = 0; r < ROUNDS; r++) {
			draw(&state);
			full += (uint64_t)(1 + draw(&state) % (PART / 2)) * (i + 1);
		}
		printf("thread %u: %016llx\n", i, (unsigned long long)sums[i]);
	}
	for (unsigned i = 0; i < team * PART; i++)
		got += cells[i];
	printf("%016llx\n", (unsigned long long)sum((uint32_t *)pairs, team * PART / 2, 1));
	return verdict(full - got, "additions lost");
}

/*
 * Loops whose addresses depend on what they read, over pages that threads take from each other: counts, a permutation,
 * records that change places, a walk through a list, and a loop that seldom accesses anything. What could go wrong: in a
 * bracket that is held over a loop an access counts on the claim of another, or on one that is gone; the loop counts
 * differently after a miss in its middle; who waits for the bracket waits for ever, or follows too little of it.
 */
// run: fails
#include "bugs.h"

enum { KEYS = 1200, DIGITS = 512, RECORDS = 300, ROUNDS = 4 };
static uint32_t keys[TEAM_MAX][KEYS], counts[DIGITS], sorted[TEAM_MAX * KEYS], places[DIGITS];
static struct record {
	uint64_t number, name, next;
} records[RECORDS];
static uint64_t sums[TEAM_MAX], seldom[64];

static __attribute__((noinline)) void count(const uint32_t *from, unsigned n, unsigned shift)
{
	for (unsigned i = 0; i < n; i++)
		counts[from[i] >> shift & (DIGITS - 1)]++;
}

static __attribute__((noinline)) void put(const uint32_t *from, unsigned n, unsigned room)
{
	for (unsigned i = 0; i < n; i++)
		sorted[places[from[i] % DIGITS]++ % room] = from[i];
}

static __attribute__((noinline)) void change_places(uint32_t state)
{
	for (unsigned i = 0; i < RECORDS; i++) {
		unsigned j = (i * 2654435761u ^ state) % RECORDS;
		if (records[i].number <= records[j].number) {
			struct record was = records[i];
			records[i] = records[j];
			records[j] = was;
		}
	}
}

static __attribute__((noinline)) uint64_t walk(uint64_t at, unsigned most)
{
	uint64_t s = 0;

	for (; most && records[at].name % 97; most--) {
		s = s * 31 + records[at].number;
		at = records[at].next % RECORDS;
	}
	return s + at;
}

static __attribute__((noinline)) uint64_t hardly_ever(uint32_t state, unsigned n)
{
	uint64_t s = 0;

	for (unsigned i = 0; i < n; i++) {
		state = state * 1664525 + 1013904223;
		if (state >> 22 == 5)
			s += seldom[state % 64]++;
	}
	return s;
}

static void work(unsigned me)
{
	uint32_t state = me + 1;

	for (int r = 0; r < ROUNDS; r++) {
		uint32_t pick = draw(&state);
		unsigned other = pick % 3 ? me : (pick >> 8) % team, n = 1 + (pick >> 4) % (KEYS - 1);
		count(keys[other], n, pick % 8);
		put(keys[other], n, team * KEYS);
		if (pick % 4 == 1)
			change_places(pick);
		note(&sums[me], walk(pick % RECORDS, 300) + hardly_ever(pick, 4000));
		note(&sums[me], sorted[pick % (team * KEYS)]);
		breathe((unsigned)r * 8);
	}
}

int main(int argc, char **argv)
{
	uint64_t full = 0, got = 0;
	uint32_t state = 77;

	team_size(argc, argv);
	for (unsigned i = 0; i < team; i++)
		for (unsigned k = 0; k < KEYS; k++)
			keys[i][k] = draw(&state);
	for (unsigned i = 0; i < RECORDS; i++)
		records[i] = (struct record){ draw(&state), draw(&state), draw(&state) };
	for (unsigned i = 0; i < DIGITS; i++)
		places[i] = draw(&state);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		uint32_t again = i + 1;
		for (int r = 0; r < ROUNDS; r++)
			full += 1 + (draw(&again) >> 4) % (KEYS - 1);
		printf("thread %u: %016llx\n", i, (unsigned long long)sums[i]);
	}
	for (unsigned i = 0; i < DIGITS; i++)
		got += counts[i];
	for (unsigned i = 0; i < TEAM_MAX * KEYS; i++)
		note(&sums[0], sorted[i]);
	printf("%016llx %016llx\n", (unsigned long long)walk(0, 500), (unsigned long long)sums[0]);
	return verdict(full - got, "counts lost");
}

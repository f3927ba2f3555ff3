/*
 * A table that is read all the time and written now and then, each entry and its mirror in two stores. What could go
 * wrong: reads that share a word are not ordered among themselves, but each must come before the next write; a scheme
 * that loses a reader lets that write come early.
 */
// run: fails
#include "bugs.h"

enum { ENTRIES = 64, ROUNDS = 60, WRITES = 150 };
static unsigned table[ENTRIES], mirror[ENTRIES];
static uint64_t seen[TEAM_MAX];
static unsigned wrong[TEAM_MAX];

static void change(unsigned me)
{
	uint32_t state = 5;

	for (unsigned i = 0; i < WRITES; i++) {
		unsigned at = draw(&state) % ENTRIES;
		table[at] = i + 1;
		breathe(i);
		mirror[at] = i + 1;
		for (int n = 0; n < 100; n++)
			LOOK_AGAIN();
	}
	seen[me] = state;
}

static void read_all(unsigned me)
{
	for (unsigned r = 0; r < ROUNDS; r++)
		for (unsigned i = 0; i < ENTRIES; i++) {
			unsigned value = table[i];
			LOOK_AGAIN();
			wrong[me] += value != mirror[i];
			note(&seen[me], value);
		}
}

static void work(unsigned me)
{
	me ? read_all(me) : change(me);
}

int main(int argc, char **argv)
{
	unsigned sum = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 1; i < team; i++) {
		printf("thread %u saw %016llx, %u wrong\n", i, (unsigned long long)seen[i], wrong[i]);
		sum += wrong[i];
	}
	return verdict(sum, "entries unlike their mirror");
}

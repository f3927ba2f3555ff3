/*
 * Lost update: counter++ without a lock. What could go wrong: an increment that was lost in the recording is not lost
 * at replay, or another one is; each thread hashes every value that it read.
 */
// run: fails check
#include "bugs.h"

enum { ROUNDS = 2000 };
static unsigned long counter;
static uint64_t seen[TEAM_MAX];

static void work(unsigned me)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned long old = counter;
		note(&hash, old);
		breathe(i);
		counter = old + 1;
		LOOK_AGAIN();
	}
	seen[me] = hash;
}

int main(int argc, char **argv)
{
	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
	return verdict(team * ROUNDS - counter, "updates lost");
}

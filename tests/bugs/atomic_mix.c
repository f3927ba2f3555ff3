/*
 * Atomic counter mix: most threads add atomically, one forgot and writes back what it read. What could go wrong: plain
 * and atomic accesses of one location take different ways through the hooks, yet must be in one order; the value that
 * each addition returned is printed as a hash.
 */
// run: fails
#include "bugs.h"

enum { ROUNDS = 1500 };
static unsigned long counter;
static uint64_t seen[TEAM_MAX];

static void work(unsigned me)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		if (me) {
			note(&hash, __atomic_fetch_add(&counter, 1, i % 2 ? __ATOMIC_RELAXED : __ATOMIC_SEQ_CST));
		} else {
			unsigned long old = counter;
			note(&hash, old);
			breathe(i);
			counter = old + 1;
			LOOK_AGAIN();
		}
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

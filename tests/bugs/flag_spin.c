/*
 * Racy flag: `while (busy) ; busy = 1` taken for a lock. Two that see it free together both go in. What could go wrong:
 * a plain flag is read over and over while it does not change; replay must leave the loop at the same read, neither
 * spin for ever nor skip.
 */
// run: fails
#include "bugs.h"

enum { ROUNDS = 300 };
static volatile int busy;
static unsigned long counter, inside;
static unsigned spins[TEAM_MAX], met[TEAM_MAX];

static void work(unsigned me)
{
	unsigned turns = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		while (busy)
			spin(&turns);
		breathe(i);
		busy = 1;
		met[me] += inside++ != 0;
		unsigned long old = counter;
		breathe(i + 2);
		counter = old + 1;
		inside = 0;
		busy = 0;
	}
	spins[me] = turns;
}

int main(int argc, char **argv)
{
	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u went round %u times, met others %u times\n", i, spins[i], met[i]);
	return verdict(team * ROUNDS - counter, "updates lost");
}

/*
 * Peterson's lock with two lines in the wrong order: who wants to enter gives way first and says so afterwards. All
 * accesses to the lock are atomic and in one order, so this is no matter of weak memory. What could go wrong: how often
 * a thread went round its waiting loop is an outcome, too, and it must enter at the same turn.
 */
// run: fails
#include "bugs.h"
#include <stdatomic.h>

enum { ROUNDS = 400 };
static struct pair {
	_Alignas(64) atomic_int wants[2], turn;
	unsigned long counter;
} pairs[TEAM_MAX / 2];
static unsigned waits[TEAM_MAX];

static void enter(struct pair *p, int side, unsigned i, unsigned *waited)
{
	atomic_store(&p->turn, !side);
	breathe(i);
	atomic_store(&p->wants[side], 1); /* belongs before the line above */
	while (atomic_load(&p->wants[!side]) && atomic_load(&p->turn) == !side)
		spin(waited);
}

static void work(unsigned me)
{
	struct pair *p = &pairs[me / 2];
	unsigned waited = 0;

	if ((me ^ 1) >= team)
		return; /* an odd one has nobody to wait for */
	for (unsigned i = 0; i < ROUNDS; i++) {
		enter(p, me % 2, i, &waited);
		unsigned long old = p->counter;
		breathe(i + 64);
		p->counter = old + 1;
		atomic_store(&p->wants[me % 2], 0);
	}
	waits[me] = waited;
}

int main(int argc, char **argv)
{
	unsigned long wrong = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team / 2; i++) {
		printf("pair %u: %lu, waited %u and %u\n", i, pairs[i].counter, waits[2 * i], waits[2 * i + 1]);
		wrong += 2 * ROUNDS - pairs[i].counter;
	}
	return verdict(wrong, "updates lost inside the lock");
}

/*
 * Spinning for one's turn, on a plain volatile flag and on an atomic one, at once. Nothing fails; what varies is how
 * often each thread looked before its turn came. What could go wrong: a spin that is recorded as so many reads must be
 * so many at replay, and the writer must not starve behind its readers.
 */
#include "bugs.h"

enum { ROUNDS = 60 };
static volatile unsigned plain_turn;
static unsigned atomic_turn;
static unsigned long log_of_turns;
static unsigned looked[2][TEAM_MAX];

static void work(unsigned me)
{
	unsigned turns[2] = { 0, 0 };

	for (unsigned i = 0; i < ROUNDS; i++) {
		while (plain_turn % team != me)
			spin(&turns[0]);
		log_of_turns = log_of_turns * 31 + me;
		LOOK_AGAIN();
		plain_turn++;
		while (__atomic_load_n(&atomic_turn, __ATOMIC_ACQUIRE) % team != me)
			spin(&turns[1]);
		__atomic_fetch_add(&atomic_turn, 1, __ATOMIC_RELEASE);
	}
	looked[0][me] = turns[0];
	looked[1][me] = turns[1];
}

int main(int argc, char **argv)
{
	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u looked %u and %u times\n", i, looked[0][i], looked[1][i]);
	printf("turns %u %u, log %lu\n", plain_turn, atomic_turn, log_of_turns);
	return 0;
}

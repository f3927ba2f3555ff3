/*
 * Deadlock of a ring: each takes the fork on its left and then the one on its right; when all have the left one, nobody eats any more. What could go
 * wrong: as many locks as threads are part of it, and the run that stands still is ended from outside.
 */
// run: fails gallery
// explain: @left before @right
#include "bugs.h"

enum { MEALS = 30 };
static pthread_mutex_t forks[TEAM_MAX];
static unsigned eaten[TEAM_MAX];
static uint64_t order;

static void prepare(void)
{
}

static void act(unsigned me)
{
	for (unsigned i = 0; i < rounds(MEALS); i++) {
		pthread_mutex_lock(&forks[me]); // @left
		breathe(i + 70);
		pthread_mutex_lock(&forks[(me + 1) % team]); // @right
		eaten[me]++;
		if (me == 0)
			note(&order, eaten[1]);
		pthread_mutex_unlock(&forks[(me + 1) % team]);
		pthread_mutex_unlock(&forks[me]);
	}
}

static void judge(void)
{
}

int main(int argc, char **argv)
{
	repeat_size(argc, argv, 4);
	for (unsigned i = 0; i < team; i++)
		pthread_mutex_init(&forks[i], NULL);
	watch("all hold their left fork");
	team_repeat(prepare, act, judge);
	watch_over = 1;
	printf("order %016llx\n", (unsigned long long)order);
	return verdict(0, "deadlocks");
}

/*
 * Atomics of 16 bytes: a stack whose head has a counter beside it, so that ABA cannot happen, while others look at the
 * halves alone with plain reads. What could go wrong: one access has two words, and its order must be one for both.
 */
// run: fails
#if defined __x86_64__ && defined __clang__
#pragma clang attribute push(__attribute__((target("cx16"))), apply_to = function)
#endif
#include "bugs.h"

enum { ROUNDS = 600 };
typedef unsigned __int128 both;
static _Alignas(16) both pair; /* high half = 3 * low half */
static uint64_t seen[TEAM_MAX];
static unsigned odd[TEAM_MAX];

static both next_of(both old)
{
	uint64_t low = (uint64_t)old + 1;

	return (both)(3 * low) << 64 | low;
}

static void step(unsigned me)
{
	both old = __atomic_load_n(&pair, __ATOMIC_ACQUIRE);

	while (!__atomic_compare_exchange_n(&pair, &old, next_of(old), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		note(&seen[me], (uint64_t)old);
}

/* Two plain reads: the halves may be of two moments, which is the bug. */
static void look(unsigned me, unsigned i)
{
	const uint64_t *halves = (const uint64_t *)(const void *)&pair;
	uint64_t low = halves[0];
	breathe(i);
	uint64_t high = halves[1];

	odd[me] += high != 3 * low;
	note(&seen[me], high);
}

static void work(unsigned me)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		me % 2 ? look(me, i) : step(me);
		LOOK_AGAIN();
	}
}

int main(int argc, char **argv)
{
	unsigned wrong = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx, %u odd\n", i, (unsigned long long)seen[i], odd[i]);
		wrong += odd[i];
	}
	if ((uint64_t)pair != (team + 1) / 2 * ROUNDS)
		abort();
	return verdict(wrong, "halves of two moments");
}
#if defined __x86_64__ && defined __clang__
#pragma clang attribute pop
#endif

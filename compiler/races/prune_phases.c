/*
 * Phases: a barrier that both threads pass lies between the two accesses, whenever they are made.
 */
#include "compiler/races/races.h"

/* May two threads of these classes be at the two accesses at the same time? */
bool prune_same_time(const struct party *a, unsigned x, const struct party *b, unsigned y)
{
	return (!races_uses("threads") || threads_parallel(BIT(x), a->alive, BIT(y), b->alive)) &&
	       (!races_uses("phases") || phases_meet(a, x, b, y));
}

static bool removes(const struct party *a, const struct party *b, uint32_t object)
{
	(void)object;
	for (uint64_t c = a->classes; c; c &= c - 1)
		for (uint64_t d = b->classes; d; d &= d - 1)
			if (prune_same_time(a, (unsigned)__builtin_ctzll(c), b, (unsigned)__builtin_ctzll(d)))
				return false;
	return true;
}

const struct step step_phases = {
	"phases", "phases", "a barrier lies between (against %s)", phases_begin, removes, NULL
};

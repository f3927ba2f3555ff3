/*
 * Fork and join: the two never exist at the same time. The first thread has not created the other yet, or has joined
 * it; or it is one of a kind.
 */
#include "compiler/races/races.h"

static bool removes(const struct party *a, const struct party *b, uint32_t object)
{
	(void)object;
	return !threads_parallel(a->classes, a->alive, b->classes, b->alive);
}

const struct step step_threads = {
	"fork and join", "threads", "no other thread that conflicts is alive here (against %s)", NULL, removes, NULL
};

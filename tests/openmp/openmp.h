/*
 * What the programs of this folder share. In each a team of OpenMP threads competes, and who came when, or who got what, is printed: a
 * replay in which the library behind OpenMP decides one thing anew prints something else. All but racy.c are free of data races.
 */
#ifndef OPENMP_H
#define OPENMP_H
#include "../threads/threads.h"
#include <omp.h>

enum { TEAM = 4 };

#define ME_IN_TEAM ((unsigned)omp_get_thread_num())

/* Lets others come in between, also on one core. */
static UNUSED void stumble(void)
{
	dawdle(200);
	if (!chance(5))
		sched_yield();
}

/* Who did each piece of the work, of those that nobody else writes. */
static UNUSED void print_owners(const char *what, const uint8_t *owner, unsigned n)
{
	struct arrivals a = { 0 };

	for (unsigned i = 0; i < n; i++)
		arrive(&a, owner[i]);
	print_arrivals(what, &a);
}
#endif

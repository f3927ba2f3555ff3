/*
 * Teams within teams, teams of another size each time, serial regions between, threadprivate variables, and a thread of the
 * program's own that has a team beside the first one's: threads of the library are taken from its pool and given back. Who did
 * what in which team is printed.
 */
// run: varies
#include "openmp.h"

enum { REGIONS = 12, INNER = 2 };
static struct arrivals outer, inner, beside;
static unsigned kept;
#pragma omp threadprivate(kept)

static void *second(void *unused)
{
	for (int region = 0; region < REGIONS; region++) {
#pragma omp parallel num_threads(2)
		{
			stumble();
#pragma omp critical(beside)
			arrive(&beside, ME_IN_TEAM);
		}
	}
	return unused;
}

static void one_region(int region)
{
#pragma omp parallel num_threads(1 + region % TEAM) if (region != 5)
	{
		unsigned me = ME_IN_TEAM;
		kept += me;
		stumble();
#pragma omp critical(outer)
		arrive(&outer, me);
#pragma omp parallel num_threads(INNER)
		{
			stumble();
#pragma omp critical(inner)
			arrive(&inner, me * INNER + ME_IN_TEAM);
		}
	}
}

int main(void)
{
	pthread_t thread;

	omp_set_max_active_levels(2);
	CHECK(!pthread_create(&thread, NULL, second, NULL));
	for (int region = 0; region < REGIONS; region++)
		one_region(region);
	CHECK(!pthread_join(thread, NULL));
	print_arrivals("outer", &outer);
	print_arrivals("inner", &inner);
	print_arrivals("beside", &beside);
#pragma omp parallel num_threads(TEAM)
#pragma omp critical
	printf("%u kept %u\n", ME_IN_TEAM, kept);
	return 0;
}

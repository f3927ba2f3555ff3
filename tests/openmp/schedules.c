/*
 * Loops whose iterations are given out while they run: dynamic, guided, by a schedule that is set at run time, over numbers
 * of eight bytes and downwards, with and without a barrier behind. Who gets which piece is a matter of chance.
 */
// run: varies
#include "openmp.h"

enum { PIECES = 300 };
static uint8_t dynamic[PIECES], chunks[PIECES], guided[PIECES], fixed[PIECES], chosen[PIECES], large[PIECES],
	down[PIECES];

int main(void)
{
	omp_set_schedule(omp_sched_dynamic, 3);
#pragma omp parallel num_threads(TEAM)
	{
#pragma omp for schedule(dynamic)
		for (int i = 0; i < PIECES; i++) {
			stumble();
			dynamic[i] = (uint8_t)ME_IN_TEAM;
		}
#pragma omp for schedule(dynamic, 7) nowait
		for (int i = 0; i < PIECES; i++)
			chunks[i] = (uint8_t)ME_IN_TEAM;
#pragma omp for schedule(guided) nowait
		for (unsigned i = 0; i < PIECES; i++) {
			stumble();
			guided[i] = (uint8_t)ME_IN_TEAM;
		}
#pragma omp for schedule(static)
		for (int i = 0; i < PIECES; i++)
			fixed[i] = (uint8_t)ME_IN_TEAM;
#pragma omp for schedule(runtime)
		for (int i = 0; i < PIECES; i++) {
			stumble();
			chosen[i] = (uint8_t)ME_IN_TEAM;
		}
#pragma omp for schedule(dynamic, 2)
		for (uint64_t i = 1ull << 40; i < (1ull << 40) + PIECES; i++)
			large[i - (1ull << 40)] = (uint8_t)ME_IN_TEAM;
#pragma omp for schedule(guided, 2)
		for (int i = PIECES - 1; i >= 0; i -= 1)
			down[i] = (uint8_t)ME_IN_TEAM;
	}
	print_owners("dynamic", dynamic, PIECES);
	print_owners("chunks", chunks, PIECES);
	print_owners("guided", guided, PIECES);
	print_owners("static", fixed, PIECES);
	print_owners("runtime", chosen, PIECES);
	print_owners("large", large, PIECES);
	print_owners("down", down, PIECES);
	return 0;
}

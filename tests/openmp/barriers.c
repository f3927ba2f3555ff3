/* Barriers by themselves and behind single, sections and loops: who was last, who did the single and each section, is printed. */
// run: varies
#include "openmp.h"

enum { ROUNDS = 60, SECTIONS = 3 };
static uint8_t singles[ROUNDS], lasts[ROUNDS], sections[ROUNDS * SECTIONS], given[ROUNDS];
static unsigned came, turn[TEAM];

static void one_round(unsigned round)
{
	unsigned copied = 0;

	stumble();
#pragma omp atomic capture
	turn[ME_IN_TEAM] = came++;
#pragma omp barrier
	if (turn[ME_IN_TEAM] == (round + 1) * TEAM - 1)
		lasts[round] = (uint8_t)ME_IN_TEAM;
#pragma omp single copyprivate(copied)
	{
		singles[round] = (uint8_t)ME_IN_TEAM;
		copied = 1 + ME_IN_TEAM + round;
	}
	CHECK(copied == 1u + singles[round] + round);
#pragma omp sections
	{
#pragma omp section
		sections[round * SECTIONS] = (uint8_t)ME_IN_TEAM;
#pragma omp section
		{
			stumble();
			sections[round * SECTIONS + 1] = (uint8_t)ME_IN_TEAM;
		}
#pragma omp section
		sections[round * SECTIONS + 2] = (uint8_t)ME_IN_TEAM;
	}
#pragma omp master
	given[round] = (uint8_t)(came / TEAM);
#pragma omp barrier
	CHECK(given[round] == (uint8_t)(round + 1));
}

int main(void)
{
#pragma omp parallel num_threads(TEAM)
	for (unsigned round = 0; round < ROUNDS; round++)
		one_round(round);
	print_owners("last", lasts, ROUNDS);
	print_owners("single", singles, ROUNDS);
	print_owners("sections", sections, ROUNDS * SECTIONS);
	return 0;
}

/*
 * Ordered loops: the ordered parts come one after the other, whoever does them; and loops in which an iteration waits for others
 * (depend(sink), doacross). Who did each is printed, and the order in which the parts before the ordered ones came.
 */
// run: varies
#include "openmp.h"

enum { PIECES = 120, ROWS = 8, COLUMNS = 8 };
static uint8_t owner[PIECES], grid[ROWS * COLUMNS];
static struct arrivals before, inside;
static unsigned cells[ROWS][COLUMNS];

int main(void)
{
	unsigned next = 0;

#pragma omp parallel num_threads(TEAM)
	{
#pragma omp for ordered schedule(dynamic, 2)
		for (unsigned i = 0; i < PIECES; i++) {
			stumble();
#pragma omp critical
			arrive(&before, i);
#pragma omp ordered
			{
				CHECK(next == i);
				next++;
				owner[i] = (uint8_t)ME_IN_TEAM;
				arrive(&inside, ME_IN_TEAM);
			}
		}
#pragma omp for ordered(2) schedule(dynamic)
		for (int i = 0; i < ROWS; i++)
			for (int j = 0; j < COLUMNS; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
				cells[i][j] = 1 + (i ? cells[i - 1][j] : 0) + (j ? cells[i][j - 1] : 0);
				grid[i * COLUMNS + j] = (uint8_t)ME_IN_TEAM;
#pragma omp ordered depend(source)
			}
	}
	print_owners("ordered", owner, PIECES);
	print_arrivals("before", &before);
	print_arrivals("inside", &inside);
	print_owners("grid", grid, ROWS * COLUMNS);
	printf("%u %u\n", next, cells[ROWS - 1][COLUMNS - 1]);
	CHECK(next == PIECES);
	return 0;
}

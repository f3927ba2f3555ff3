/*
 * Ocean: a grid whose points are drawn to the mean of their neighbours, red ones and black ones in turn, each thread
 * with its rows; neighbours are read over the border. How much moved is added up after each sweep.
 */
#include "kernels.h"
#include <math.h>

enum { SIZE = 514, SWEEPS = 10 };
static double (*grid)[SIZE];
static double moved[THREADS_MAX][8]; /* a cache line each */

static double sweep(unsigned first, unsigned last, unsigned colour)
{
	double sum = 0;

	for (unsigned i = first; i < last; i++)
		for (unsigned j = 1 + (i + colour) % 2; j < SIZE - 1; j += 2) {
			double mean = (grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1]) / 4;
			double step = 1.2 * (mean - grid[i][j]);
			grid[i][j] += step;
			sum += fabs(step);
		}
	return sum;
}

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument, first, last;

	share(me, SIZE - 2, &first, &last);
	for (unsigned n = 0; n < rounds * SWEEPS; n++) {
		double sum = sweep(first + 1, last + 1, 0);
		meet();
		sum += sweep(first + 1, last + 1, 1);
		moved[me][0] = sum;
		meet();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	double sum = 0;

	grid = allocate(sizeof(double[SIZE][SIZE]));
	for (unsigned i = 0; i < SIZE; i++)
		for (unsigned j = 0; j < SIZE; j++)
			grid[i][j] = number((uint64_t)i * SIZE + j);
	run_all(argc, argv, work);
	for (unsigned i = 0; i < threads; i++)
		sum += moved[i][0];
	printf("ocean: moved by %.9f\n", sum);
	return 0;
}

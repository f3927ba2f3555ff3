/*
 * LU decomposition of a dense matrix without pivoting, in blocks of 16 x 16 that are scattered over the threads: the
 * diagonal block, then its row and column, then everything below and right of them.
 */
#include "kernels.h"
#include <math.h>

enum { SIZE = 256, BLOCK = 16, BLOCKS = SIZE / BLOCK };
static double *matrix; /* block after block, each row after row */

static double *block(unsigned i, unsigned j)
{
	return matrix + (size_t)(i * BLOCKS + j) * BLOCK * BLOCK;
}

static unsigned owner(unsigned i, unsigned j)
{
	return (i * 3 + j) % threads;
}

static void diagonal(double *d)
{
	for (unsigned k = 0; k < BLOCK; k++)
		for (unsigned i = k + 1; i < BLOCK; i++) {
			d[i * BLOCK + k] /= d[k * BLOCK + k];
			for (unsigned j = k + 1; j < BLOCK; j++)
				d[i * BLOCK + j] -= d[i * BLOCK + k] * d[k * BLOCK + j];
		}
}

/* Right of the diagonal: solve with its lower half. */
static void row_block(double *x, const double *d)
{
	for (unsigned k = 0; k < BLOCK; k++)
		for (unsigned i = k + 1; i < BLOCK; i++)
			for (unsigned j = 0; j < BLOCK; j++)
				x[i * BLOCK + j] -= d[i * BLOCK + k] * x[k * BLOCK + j];
}

/* Below the diagonal: solve with its upper half. */
static void column_block(double *x, const double *d)
{
	for (unsigned i = 0; i < BLOCK; i++)
		for (unsigned k = 0; k < BLOCK; k++) {
			x[i * BLOCK + k] /= d[k * BLOCK + k];
			for (unsigned j = k + 1; j < BLOCK; j++)
				x[i * BLOCK + j] -= x[i * BLOCK + k] * d[k * BLOCK + j];
		}
}

static void inner(double *x, const double *left, const double *above)
{
	for (unsigned i = 0; i < BLOCK; i++)
		for (unsigned k = 0; k < BLOCK; k++)
			for (unsigned j = 0; j < BLOCK; j++)
				x[i * BLOCK + j] -= left[i * BLOCK + k] * above[k * BLOCK + j];
}

static void decompose(unsigned me)
{
	for (unsigned k = 0; k < BLOCKS; k++) {
		if (owner(k, k) == me)
			diagonal(block(k, k));
		meet();
		for (unsigned i = k + 1; i < BLOCKS; i++) {
			if (owner(k, i) == me)
				row_block(block(k, i), block(k, k));
			if (owner(i, k) == me)
				column_block(block(i, k), block(k, k));
		}
		meet();
		for (unsigned i = k + 1; i < BLOCKS; i++)
			for (unsigned j = k + 1; j < BLOCKS; j++)
				if (owner(i, j) == me)
					inner(block(i, j), block(i, k), block(k, j));
		meet();
	}
}

static void fill(unsigned me)
{
	for (unsigned n = 0; n < BLOCKS * BLOCKS; n++)
		for (unsigned e = 0; e < BLOCK * BLOCK && owner(n / BLOCKS, n % BLOCKS) == me; e++) {
			unsigned i = n / BLOCKS * BLOCK + e / BLOCK, j = n % BLOCKS * BLOCK + e % BLOCK;
			block(n / BLOCKS, n % BLOCKS)[e] = number((uint64_t)i * SIZE + j) + (i == j ? SIZE : 0);
		}
	meet();
}

static void *work(void *argument)
{
	for (unsigned r = 0; r < rounds; r++) {
		fill((unsigned)(uintptr_t)argument);
		decompose((unsigned)(uintptr_t)argument);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	double sum = 0;

	matrix = allocate((size_t)SIZE * SIZE * sizeof *matrix);
	run_all(argc, argv, work);
	for (unsigned k = 0; rounds && k < SIZE; k++)
		sum += log(fabs(block(k / BLOCK, k / BLOCK)[k % BLOCK * (BLOCK + 1)]));
	printf("lu: logarithm of the determinant %.6f\n", sum);
	return 0;
}

/*
 * LU decomposition of a dense matrix without pivoting, in blocks of 16 x 16 that are scattered over the threads: the
 * diagonal block, then its row and column, then everything below and right of them.
 *
 * The result is right if the two factors, applied to a vector one after the other, give what the matrix gives.
 */
#include "kernels.h"
#include <math.h>

enum { BLOCK = 16 };
static unsigned size, blocks; /* rows; blocks in a row */
static double *matrix;	      /* block after block, each row after row */

static double *block(unsigned i, unsigned j)
{
	return matrix + (size_t)(i * blocks + j) * BLOCK * BLOCK;
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
	for (unsigned k = 0; k < blocks; k++) {
		if (owner(k, k) == me)
			diagonal(block(k, k));
		meet();
		for (unsigned i = k + 1; i < blocks; i++) {
			if (owner(k, i) == me)
				row_block(block(k, i), block(k, k));
			if (owner(i, k) == me)
				column_block(block(i, k), block(k, k));
		}
		meet();
		for (unsigned i = k + 1; i < blocks; i++)
			for (unsigned j = k + 1; j < blocks; j++)
				if (owner(i, j) == me)
					inner(block(i, j), block(i, k), block(k, j));
		meet();
	}
}

/* Large enough on the diagonal to do without pivots. */
static double element(unsigned i, unsigned j)
{
	return number((uint64_t)i * size + j) + (i == j ? size : 0);
}

static void fill(unsigned me)
{
	for (unsigned n = 0; n < blocks * blocks; n++)
		for (unsigned e = 0; e < BLOCK * BLOCK && owner(n / blocks, n % blocks) == me; e++) {
			unsigned i = n / blocks * BLOCK + e / BLOCK, j = n % blocks * BLOCK + e % BLOCK;
			block(n / blocks, n % blocks)[e] = element(i, j);
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

/* Of the decomposed matrix: below the diagonal the one factor, whose own diagonal is 1, from there on the other. */
static double factor(unsigned i, unsigned j)
{
	return block(i / BLOCK, j / BLOCK)[i % BLOCK * BLOCK + j % BLOCK];
}

/* How far the factors are from the matrix, seen by one vector: at most, and over its largest value. */
static double off_by(void)
{
	double *upper = allocate(size * sizeof *upper), worst = 0, largest = 0;

	for (unsigned i = 0; i < size; i++) {
		upper[i] = 0;
		for (unsigned j = i; j < size; j++)
			upper[i] += factor(i, j) * number(j);
	}
	for (unsigned i = 0; i < size; i++) {
		double found = upper[i], wanted = 0;
		for (unsigned j = 0; j < i; j++)
			found += factor(i, j) * upper[j];
		for (unsigned j = 0; j < size; j++)
			wanted += element(i, j) * number(j);
		worst = fmax(worst, fabs(found - wanted));
		largest = fmax(largest, fabs(wanted));
	}
	free(upper);
	return worst / largest;
}

int main(int argc, char **argv)
{
	double sum = 0;

	options(argc, argv);
	blocks = (unsigned)(16 * cbrt(percent / 100.0));
	blocks = blocks < 2 ? 2 : blocks;
	size = blocks * BLOCK;
	matrix = allocate((size_t)size * size * sizeof *matrix);
	start(work);
	for (unsigned k = 0; rounds && k < size; k++)
		sum += log(fabs(factor(k, k)));
	double off = rounds ? off_by() : 0;
	printf("lu: logarithm of the determinant %.6f%s\n", sum, off < 1e-9 ? "" : ", WRONG");
	return off >= 1e-9;
}

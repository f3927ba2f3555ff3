/*
 * Fast Fourier transform of 2^16 complex numbers in six steps: as a matrix of 256 rows it is transposed, its rows are
 * transformed and twiddled, transposed, transformed, transposed. Each round goes there and back, so the numbers stay.
 */
#include "kernels.h"
#include <math.h>
#include <stdbool.h>

enum { LOG = 8, ROWS = 1 << LOG, N = ROWS * ROWS };
struct complex {
	double re, im;
};
static struct complex *a, *b, *roots; /* roots: exp(-2 pi i k / N) */

static struct complex times(struct complex x, struct complex y)
{
	return (struct complex){ x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re };
}

static struct complex root(unsigned k, bool back)
{
	struct complex w = roots[k % N];

	return (struct complex){ w.re, back ? -w.im : w.im };
}

static void transpose(struct complex *to, const struct complex *from, unsigned first, unsigned last)
{
	enum { TILE = 8 };

	for (unsigned i = first; i < last; i += TILE)
		for (unsigned j = 0; j < ROWS; j += TILE)
			for (unsigned y = i; y < i + TILE && y < last; y++)
				for (unsigned x = j; x < j + TILE; x++)
					to[y * ROWS + x] = from[x * ROWS + y];
}

static void reverse(struct complex *row)
{
	for (unsigned i = 0; i < ROWS; i++) {
		unsigned j = 0;
		for (unsigned bit = 0; bit < LOG; bit++)
			j |= (i >> bit & 1) << (LOG - 1 - bit);
		if (i < j) {
			struct complex t = row[i];
			row[i] = row[j];
			row[j] = t;
		}
	}
}

static void transform(struct complex *row, bool back)
{
	reverse(row);
	for (unsigned half = 1; half < ROWS; half *= 2)
		for (unsigned k = 0; k < half; k++) {
			struct complex w = root(k * (N / 2 / half), back);
			for (unsigned i = k; i < ROWS; i += 2 * half) {
				struct complex t = times(w, row[i + half]);
				row[i + half] = (struct complex){ row[i].re - t.re, row[i].im - t.im };
				row[i] = (struct complex){ row[i].re + t.re, row[i].im + t.im };
			}
		}
}

static void twiddle(struct complex *row, unsigned i, bool back)
{
	for (unsigned j = 0; j < ROWS; j++)
		row[j] = times(row[j], root(i * j, back));
}

/* From a to a, by way of b. */
static void fft(unsigned first, unsigned last, bool back)
{
	transpose(b, a, first, last);
	for (unsigned i = first; i < last; i++) {
		transform(b + i * ROWS, back);
		twiddle(b + i * ROWS, i, back);
	}
	meet();
	transpose(a, b, first, last);
	for (unsigned i = first; i < last; i++)
		transform(a + i * ROWS, back);
	meet();
	transpose(b, a, first, last);
	meet();
	for (unsigned i = first * ROWS; i < last * ROWS; i++)
		a[i] = (struct complex){ b[i].re / ROWS, b[i].im / ROWS };
	meet();
}

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument, first, last;

	share(me, ROWS, &first, &last);
	for (unsigned r = 0; r < rounds; r++) {
		fft(first, last, false);
		fft(first, last, true);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	double worst = 0;

	a = allocate(N * sizeof *a);
	b = allocate(N * sizeof *b);
	roots = allocate(N * sizeof *roots);
	for (unsigned i = 0; i < N; i++) {
		a[i] = (struct complex){ number(i), number(i + N) };
		roots[i] = (struct complex){ cos(2 * M_PI * i / N), -sin(2 * M_PI * i / N) };
	}
	run_all(argc, argv, work);
	for (unsigned i = 0; i < N; i++)
		worst = fmax(worst, fabs(a[i].re - number(i)));
	printf("fft: %s\n", worst < 1e-9 ? "as before" : "WRONG");
	return worst >= 1e-9;
}

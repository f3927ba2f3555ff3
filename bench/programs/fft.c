/*
 * Fast Fourier transform of 2^16 complex numbers in six steps: as a matrix of 256 rows it is transposed, its rows are
 * transformed and twiddled, transposed, transformed, transposed. Each round goes there and back, so the numbers stay;
 * the last one only goes there. The transposes move the numbers between threads; all else each does to rows of its own.
 *
 * The result is right if some frequencies are what the sum over all numbers says.
 */
#include "kernels.h"
#include <math.h>
#include <stdbool.h>

enum { SOME = 3 };		   /* frequencies that are looked at */
static unsigned bits, side, whole; /* of the number of rows; rows; numbers */
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
	struct complex w = roots[k % whole];

	return (struct complex){ w.re, back ? -w.im : w.im };
}

static void transpose(struct complex *to, const struct complex *from, unsigned first, unsigned last)
{
	enum { TILE = 8 };

	for (unsigned i = first; i < last; i += TILE)
		for (unsigned j = 0; j < side; j += TILE)
			for (unsigned y = i; y < i + TILE && y < last; y++)
				for (unsigned x = j; x < j + TILE; x++)
					to[y * side + x] = from[x * side + y];
}

static void reverse(struct complex *row)
{
	for (unsigned i = 0; i < side; i++) {
		unsigned j = 0;
		for (unsigned bit = 0; bit < bits; bit++)
			j |= (i >> bit & 1) << (bits - 1 - bit);
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
	for (unsigned half = 1; half < side; half *= 2)
		for (unsigned k = 0; k < half; k++) {
			struct complex w = root(k * (whole / 2 / half), back);
			for (unsigned i = k; i < side; i += 2 * half) {
				struct complex t = times(w, row[i + half]);
				row[i + half] = (struct complex){ row[i].re - t.re, row[i].im - t.im };
				row[i] = (struct complex){ row[i].re + t.re, row[i].im + t.im };
			}
		}
}

static void twiddle(struct complex *row, unsigned i, bool back)
{
	for (unsigned j = 0; j < side; j++)
		row[j] = times(row[j], root(i * j, back));
}

/* From a to a, by way of b. */
static void fft(unsigned first, unsigned last, bool back)
{
	transpose(b, a, first, last);
	for (unsigned i = first; i < last; i++) {
		transform(b + i * side, back);
		twiddle(b + i * side, i, back);
	}
	meet();
	transpose(a, b, first, last);
	for (unsigned i = first; i < last; i++)
		transform(a + i * side, back);
	meet();
	transpose(b, a, first, last);
	meet();
	for (unsigned i = first * side; i < last * side; i++)
		a[i] = (struct complex){ b[i].re / side, b[i].im / side };
	meet();
}

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument, first, last;

	share(me, side, &first, &last);
	for (unsigned r = 0; r < rounds; r++) {
		fft(first, last, false);
		if (r + 1 < rounds)
			fft(first, last, true);
	}
	return NULL;
}

static struct complex before(unsigned i)
{
	return (struct complex){ number(i), number(i + whole) };
}

/* How far the result is from the sum over all numbers, at frequency k. */
static double off_by(unsigned k)
{
	struct complex sum = { 0, 0 };

	for (uint64_t i = 0; i < whole; i++) {
		struct complex t = times(before((unsigned)i), root((unsigned)(i * k % whole), false));
		sum.re += t.re;
		sum.im += t.im;
	}
	/* fft() divides by the number of rows */
	return hypot(sum.re / side - a[k].re, sum.im / side - a[k].im);
}

int main(int argc, char **argv)
{
	double worst = 0;

	options(argc, argv);
	for (bits = 8; bits > 3 && (1u << 2 * bits) > scaled(1 << 16); bits--)
		;
	side = 1u << bits;
	whole = side * side;
	a = allocate(whole * sizeof *a);
	b = allocate(whole * sizeof *b);
	roots = allocate(whole * sizeof *roots);
	for (unsigned i = 0; i < whole; i++) {
		a[i] = before(i);
		roots[i] = (struct complex){ cos(2 * M_PI * i / whole), -sin(2 * M_PI * i / whole) };
	}
	start(work);
	for (unsigned i = 0; rounds && i < SOME; i++)
		worst = fmax(worst, off_by((unsigned)((i * 0x9e3779b97f4a7c15ull >> 32) % whole)));
	printf("fft: %s\n", worst < 1e-9 ? "as the sums say" : "WRONG");
	return worst >= 1e-9;
}

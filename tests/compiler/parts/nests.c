/*
 * Loops in loops over arrays, whose bounds the compiler knows before the outer one begins. What could go wrong: the copy
 * without hooks counts other accesses or polls than the one with hooks; it runs although what it accesses was not
 * bounded: where a number of rounds wraps around since the inner loop is not entered, where an index wraps around, goes
 * back, begins elsewhere in each round, or moves on otherwise than what the loop is bounded by.
 */
#include <stdint.h>
#include <stdio.h>

enum { N = 64 };
static uint32_t grid[N][N], words[4 * N];
static uint8_t bytes[1 << 16];
static double a[N * N], b[N * N];
static struct {
	uint32_t number;
	char rest[(1 << 18) - 4];
} far[N];
static uint64_t sum;

static void add(uint64_t value)
{
	sum = sum * 31 + value;
}

__attribute__((noinline)) static void fill(unsigned rows, unsigned columns, uint32_t value)
{
	for (unsigned i = 0; i < rows; i++)
		for (unsigned j = 0; j < columns; j++)
			grid[i][j] += value + i * j;
}

/* The inner loop is not entered at all if n is 0: its rounds are n - 1 and one. */
__attribute__((noinline)) static void perhaps_none(uint32_t *at, long rows, long n)
{
	for (long i = 0; i < rows; i++)
		for (long j = 0; j < n; j++)
			at[i + j] += (uint32_t)j;
}

__attribute__((noinline)) static void triangles(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		grid[i][i] += 3;
		for (unsigned j = i + 1; j < n; j++)
			grid[i][j] += grid[j][i] + grid[i][i];
	}
	for (unsigned i = n; i-- > 0;)
		for (unsigned j = 0; j < i; j++)
			grid[j][i] ^= grid[i][j] + i;
}

__attribute__((noinline)) static void backwards(uint32_t (*at)[N], int rows, int columns)
{
	for (int i = rows - 1; i >= 0; i--)
		for (int j = columns - 1; j > 0; j--)
			at[i][j] += at[i][j - 1];
}

/* As in a Fourier transform: from each of the first numbers on, in steps that do not divide the limit. */
__attribute__((noinline)) static void butterflies(double *row, unsigned side, unsigned half)
{
	for (unsigned k = 0; k < half; k++)
		for (unsigned i = k; i < side; i += 2 * half) {
			double t = row[i + half];
			row[i + half] = row[i] - t;
			row[i] += t;
		}
}

/* `i + step` may pass the end of its type: then it goes on from the beginning, a few times. */
__attribute__((noinline)) static unsigned wraps(uint32_t *at, unsigned rows, uint32_t limit, uint32_t step)
{
	unsigned rounds = 0;

	for (unsigned k = 0; k < rows; k++)
		for (uint32_t i = k; i < limit; i += step) {
			at[i % N]++;
			at[i >> 26] += i;
			if (++rounds > 5000)
				return rounds;
		}
	return rounds;
}

__attribute__((noinline)) static void wraps_often(uint8_t *at, unsigned rows, uint16_t limit, uint16_t step)
{
	for (unsigned k = 0; k < rows; k++)
		for (uint16_t i = (uint16_t)k; i < limit; i = (uint16_t)(i + step))
			at[i]++;
}

__attribute__((noinline)) static void wraps_back(uint32_t *middle, unsigned rows, uint32_t limit, uint32_t step,
						 uint32_t minus)
{
	for (unsigned k = 0; k < rows; k++)
		for (uint32_t i = k; i < limit; i += step)
			middle[(int32_t)(i - minus)] += i;
}

/* What the inner loop says of its number does not bound what moves on by other steps, or by very many of its own. */
__attribute__((noinline)) static void other_steps(uint32_t *at, unsigned long rows, unsigned long limit,
						  unsigned long step)
{
	for (unsigned long k = 0; k < rows; k++) {
		unsigned long j = k;
		for (unsigned long i = k; i < limit; i += step, j++)
			at[i] += at[j] + (uint32_t)k;
		for (unsigned long i = k; i < limit; i += step)
			far[i].number += (uint32_t)(i + k);
	}
}

/* The index of the inner loop wraps in the middle. */
__attribute__((noinline)) static void narrow(uint8_t *at, unsigned rows, uint8_t from, unsigned n)
{
	for (unsigned k = 0; k < rows; k++) {
		uint8_t index = (uint8_t)(from + k);
		for (unsigned i = 0; i < n; i++, index++)
			at[index] += (uint8_t)(i + k);
	}
}

__attribute__((noinline)) static void narrow_product(uint8_t *at, uint16_t rows, uint16_t columns, uint16_t by)
{
	for (uint16_t i = 0; i < rows; i++)
		for (uint16_t j = 0; j < columns; j++)
			at[(uint16_t)(i * by + j)] ^= (uint8_t)(i + j);
}

/* Not in every round, and with a way out in the middle. */
__attribute__((noinline)) static uint32_t some(uint32_t (*at)[N], const uint8_t *which, unsigned rows, unsigned n)
{
	uint32_t last = 0;

	for (unsigned i = 0; i < rows; i++) {
		if (which[i] & 1)
			continue;
		for (unsigned j = 0; j < n; j++)
			if (which[j] & 2)
				last = at[i][j]++;
	}
	for (unsigned i = 0; i < rows; i++)
		for (unsigned j = 0; j < n; j++)
			if (at[i][j] == 77)
				return i * n + j;
	return last;
}

__attribute__((noinline)) static void multiply(double *to, const double *x, const double *y, int n)
{
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			for (int k = 0; k < n; k++)
				to[i * n + j] += x[i * n + k] * y[k * n + j];
}

/* Several loops in one, and loops with steps that are known late. */
__attribute__((noinline)) static void several(uint32_t *at, long rows, long n, long step)
{
	for (long i = 0; i < rows; i++) {
		for (long j = 0; j < n; j += step)
			at[j] += (uint32_t)i;
		at[n] = (uint32_t)i;
		for (long j = n; j > 0; j -= 2)
			at[j] ^= at[j / 2];
		for (long j = 0; j < 3; j++)
			at[j + i]++;
	}
}

static void round_of(unsigned n)
{
	fill(n, n / 2 + 1, n);
	fill(0, n, 1);
	fill(n, 0, 1);
	perhaps_none(words, n, n % 7);
	perhaps_none(words, n, 0);
	triangles(n);
	backwards(grid, (int)n, (int)n - 1);
	backwards(grid, (int)n, 1);
	for (unsigned half = 1; half <= n / 2; half *= 2)
		butterflies(a + 1, n - n % (2 * half), half);
	add(wraps(words, n, n * 3, n / 3 + 1));
	add(wraps(words, 2, 0xffffff00u, 0x01000000u + n));
	wraps_often(bytes, n, 65500, 385);
	wraps_often(bytes, n, 65000, 300);
	wraps_back(words + N, n / 8, n, 3, n / 2);
	other_steps(words, n / 2, n, n / 5 + 1);
	narrow(bytes, n, (uint8_t)(200 + n), 100);
	narrow_product(bytes, (uint16_t)n, (uint16_t)(n * 3), 0x3001);
	add(some(grid, bytes, n, n));
	multiply(a, a + 3, b, (int)(n / 3));
	several(words, n, n, n % 5 + 1);
}

int main(void)
{
	static const unsigned lengths[] = { 1, 2, 3, 7, 8, 16, 33, N };

	for (unsigned i = 0; i < N * N; i++) {
		a[i] = i % 17;
		b[i] = i % 5 / 8.0;
		bytes[i] = (uint8_t)(i * 13 >> 2);
	}
	for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++)
		round_of(lengths[i]);
	for (unsigned i = 0; i < N; i++)
		for (unsigned j = 0; j < N; j++)
			add(grid[i][j]);
	for (unsigned i = 0; i < 4 * N; i++)
		add(words[i]);
	for (unsigned i = 0; i < N; i++)
		add(far[i].number);
	for (unsigned i = 0; i < sizeof bytes; i++)
		add(bytes[i]);
	for (unsigned i = 0; i < N * N; i++)
		add((uint64_t)(int64_t)(a[i] * 64));
	printf("%016llx\n", (unsigned long long)sum);
	return 0;
}

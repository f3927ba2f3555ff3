/*
 * Loops over arrays, in every way that the compiler knows before they begin. What could go wrong: a loop without hooks
 * counts other than the one with hooks; it runs although it does not own what it accesses; a value that it computes does
 * not arrive after it; an index wraps around; a loop that goes back, or nowhere, is taken for one that goes on.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 3000 };
static double a[N], b[N];
static uint32_t words[N];
static uint8_t bytes[N];
static struct pair {
	uint64_t x, y;
} pairs[N], others[N];
static double grid[40][50];
static uint64_t sum;
static volatile uint32_t seen;

static void add(uint64_t value)
{
	sum = sum * 31 + value;
}

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	return bits;
}

__attribute__((noinline)) static void forwards(double *to, const double *from, long n)
{
	for (long i = 0; i < n; i++)
		to[i] = from[i] * 2 + 1;
}

__attribute__((noinline)) static void backwards(uint32_t *at, long n)
{
	for (long i = n - 1; i > 0; i--)
		at[i] += at[i - 1];
}

__attribute__((noinline)) static uint64_t strided(const uint8_t *at, long n, long step)
{
	uint64_t total = 0;

	for (long i = 0; i < n; i += step)
		total = total * 3 + at[i];
	return total;
}

__attribute__((noinline)) static void unsigned_index(double *to, const double *from, unsigned first, unsigned last,
						     unsigned by)
{
	for (unsigned i = first; i < last; i++)
		to[i * by % N] = from[i * 2 - first] + i;
	for (unsigned i = first; i < last; i++)
		to[i * by] = from[i] + 1;
}

/* The index wraps in the middle. */
__attribute__((noinline)) static void wraps(uint8_t *at, uint8_t from, unsigned n)
{
	for (unsigned i = 0; i < n; i++, from++)
		at[from] += (uint8_t)i;
}

__attribute__((noinline)) static void wraps_far(uint8_t *middle, uint32_t from, unsigned n)
{
	for (unsigned i = 0; i < n; i++, from++)
		middle[(int32_t)from] ^= (uint8_t)(i * 7);
}

__attribute__((noinline)) static void structs(struct pair *to, const struct pair *from, long n)
{
	for (long i = 0; i < n; i++)
		to[n - 1 - i] = from[i];
}

__attribute__((noinline)) static void columns(int from, int to)
{
	for (int j = from; j < to; j++)
		for (int i = 1; i < 39; i++)
			grid[i][j] = (grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1]) / 4 + 1;
}

/* Leaves in the middle, or does not always access: these keep their hooks. */
__attribute__((noinline)) static long find(const uint32_t *at, long n, uint32_t what)
{
	for (long i = 0; i < n; i++)
		if (at[i] == what)
			return i;
	return -1;
}

__attribute__((noinline)) static void some(uint32_t *at, const uint8_t *which, long n)
{
	for (long i = 0; i < n; i++)
		if (which[i] & 1)
			at[i]++;
}

__attribute__((noinline)) static void through(uint32_t *at, const uint8_t *index, long n)
{
	for (long i = 0; i < n; i++)
		at[index[i]] += index[i];
}

/* What is found in the loop is used after it. */
__attribute__((noinline)) static uint32_t last_value(const uint32_t *at, long n, uint32_t *largest)
{
	uint32_t v = 0, most = 0;

	for (long i = 0; i < n; i++) {
		v = at[i];
		most = v > most ? v : most;
	}
	*largest = most;
	return v;
}

__attribute__((noinline)) static void with_volatile(uint32_t *at, long n)
{
	for (long i = 0; i < n; i++) {
		at[i] += 3;
		seen = at[i];
	}
}

/* The loop changes how far it goes. */
static long own[100];
__attribute__((noinline)) static void own_bound(long *at, long *limit)
{
	for (long i = 0; i < *limit; i++)
		at[i] = i == 20 ? 40 : *limit - 1;
}

static void round_of(long n)
{
	uint32_t largest;

	forwards(a, b, n);
	forwards(b, a + N - n, n);
	forwards(a + 1, a, n - 1);
	backwards(words, n);
	for (long step = 1; step < 600; step = step * 2 + 1)
		add(strided(bytes, n, step));
	unsigned_index(a, b, (unsigned)n / 3, (unsigned)n / 2, 1);
	unsigned_index(b, a, 0, (unsigned)n / 8, 7);
	wraps(bytes + 100, (uint8_t)n, 300);
	wraps_far(bytes + 1500, (uint32_t) - (int32_t)(n / 2), (unsigned)n);
	structs(others, pairs, n);
	structs(pairs, others, n / 2);
	columns(1, (int)(n % 48) + 1);
	add((uint64_t)find(words, n, 77));
	some(words, bytes, n);
	through(words, bytes, n);
	add(last_value(words, n, &largest));
	add(largest);
	with_volatile(words, n);
	memset(bytes, (int)n, (size_t)n / 2);
	own[60] = n % 60;
	own_bound(own, own + 60);
	own[60] = 61;
	own_bound(own + 30, own + 60); /* the 31st is the limit itself */
	add((uint64_t)own[60]);
}

int main(void)
{
	static const long lengths[] = { 1, 2, 3, 7, 8, 9, 100, 511, 512, 513, 1000, N };

	for (unsigned i = 0; i < N; i++) {
		a[i] = i;
		b[i] = i / 2.0;
		words[i] = i * 2654435761u;
		bytes[i] = (uint8_t)(i * 13);
		pairs[i] = (struct pair){ i, i * 3 };
	}
	for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++)
		round_of(lengths[i]);
	for (unsigned i = 0; i < N; i++) {
		add(words[i]);
		add(bytes[i]);
		add(others[i].x ^ pairs[i].y);
		add(bits_of(a[i]) + bits_of(b[i]));
	}
	for (unsigned i = 0; i < 40; i++)
		for (unsigned j = 0; j < 50; j++)
			add((uint64_t)(grid[i][j] * 1000));
	printf("%016llx %u\n", (unsigned long long)sum, seen);
	return 0;
}

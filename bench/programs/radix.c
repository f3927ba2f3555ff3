/*
 * Radix sort of 2^18 numbers by 8 bits at a time: each thread counts its part, all add up the counts, each puts its
 * numbers where they belong. The last step writes all over the array.
 *
 * The result is right if the numbers are in order and the same as before: their sum and the sum of their squares are.
 */
#include "kernels.h"
#include <string.h>

enum { RADIX = 256 };
static unsigned count;
static uint32_t *keys, *other;
static uint32_t counts[THREADS_MAX][RADIX];

static uint32_t key(unsigned i)
{
	return (uint32_t)((i * 0x9e3779b97f4a7c15ull) >> 24);
}

static void fill(unsigned first, unsigned last)
{
	for (unsigned i = first; i < last; i++)
		keys[i] = key(i);
}

/* Where this thread's first number with each digit goes. */
static void places(unsigned me, uint32_t *to)
{
	uint32_t sum = 0;

	for (unsigned digit = 0; digit < RADIX; digit++)
		for (unsigned t = 0; t < threads; t++) {
			if (t == me)
				to[digit] = sum;
			sum += counts[t][digit];
		}
}

static void pass(unsigned me, unsigned first, unsigned last, unsigned shift, const uint32_t *from, uint32_t *to)
{
	uint32_t place[RADIX];

	memset(counts[me], 0, sizeof counts[me]);
	for (unsigned i = first; i < last; i++)
		counts[me][from[i] >> shift & (RADIX - 1)]++;
	meet();
	places(me, place);
	for (unsigned i = first; i < last; i++)
		to[place[from[i] >> shift & (RADIX - 1)]++] = from[i];
	meet();
}

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument, first, last;

	share(me, count, &first, &last);
	for (unsigned r = 0; r < rounds; r++) {
		fill(first, last);
		meet();
		for (unsigned shift = 0; shift < 32; shift += 16) {
			pass(me, first, last, shift, keys, other);
			pass(me, first, last, shift + 8, other, keys);
		}
	}
	return NULL;
}

/* Where they are not in order, or `count`. */
static unsigned first_wrong(void)
{
	unsigned i = 1;

	while (i < count && keys[i - 1] <= keys[i])
		i++;
	return i;
}

/* Did numbers get lost, or come twice? */
static bool are_the_same(void)
{
	uint64_t sum = 0, squares = 0;

	for (unsigned i = 0; i < count; i++) {
		sum += keys[i] - (uint64_t)key(i);
		squares += (uint64_t)keys[i] * keys[i] - (uint64_t)key(i) * key(i);
	}
	return !sum && !squares;
}

int main(int argc, char **argv)
{
	uint64_t sum = 0;

	options(argc, argv);
	count = scaled(1 << 18);
	keys = allocate(count * sizeof *keys);
	other = allocate(count * sizeof *other);
	fill(0, count);
	start(work);
	if (rounds && (first_wrong() < count || !are_the_same())) {
		printf("radix: WRONG%s at %u\n", are_the_same() ? "" : " numbers", first_wrong());
		return 1;
	}
	for (unsigned i = 0; i < count; i++)
		sum = sum * 31 + keys[i];
	printf("radix: sorted, sum %016llx\n", (unsigned long long)sum);
	return 0;
}

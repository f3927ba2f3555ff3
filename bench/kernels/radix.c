/*
 * Radix sort of 2^18 numbers by 8 bits at a time: each thread counts its part, all add up the counts, each puts its
 * numbers where they belong. The last step writes all over the array.
 */
#include "kernels.h"
#include <string.h>

enum { KEYS = 1 << 18, RADIX = 256 };
static uint32_t *keys, *other;
static uint32_t counts[THREADS_MAX][RADIX];

static void fill(unsigned first, unsigned last)
{
	for (unsigned i = first; i < last; i++)
		keys[i] = (uint32_t)((i * 0x9e3779b97f4a7c15ull) >> 24);
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

	share(me, KEYS, &first, &last);
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

int main(int argc, char **argv)
{
	uint64_t sum = 0;

	keys = allocate(KEYS * sizeof *keys);
	other = allocate(KEYS * sizeof *other);
	fill(0, KEYS);
	run_all(argc, argv, work);
	for (unsigned i = 1; rounds && i < KEYS; i++) {
		if (keys[i - 1] > keys[i]) {
			printf("radix: WRONG at %u\n", i);
			return 1;
		}
		sum = sum * 31 + keys[i];
	}
	printf("radix: sorted, sum %016llx\n", (unsigned long long)sum);
	return 0;
}

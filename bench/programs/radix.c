/*
 * Radix sort of 2^17 records by 8 bits of their keys at a time, as SPLASH's radix does it: each thread counts its part;
 * all add up the counts, each for a share of the digits; each puts its records where they belong. The last step writes
 * all over the array. A record has its key and its place at first.
 *
 * The result is right if the keys are in order, equal keys are in the order that they had, and every record is there
 * once.
 */
#include "kernels.h"
#include <string.h>

enum { BITS = 8, RADIX = 1 << BITS, KEY_BITS = 32 };
struct record {
	uint32_t key, from;
};
static unsigned count;
static struct record *records, *other;
static uint32_t counts[THREADS_MAX][RADIX]; /* of each thread and digit; then how many of smaller threads come before */
static uint32_t totals[RADIX];		    /* of each digit */

static struct {
	unsigned wrong, first; /* records that are not where they belong, and the first of them */
} found[THREADS_MAX];

static uint32_t key(unsigned i)
{
	return (uint32_t)((i * 0x9e3779b97f4a7c15ull) >> 24) % (count / 2 + 1) * 0x9e3779b1u;
}

static unsigned digit_of(const struct record *r, unsigned shift)
{
	return r->key >> shift & (RADIX - 1);
}

static void fill(unsigned first, unsigned last)
{
	for (unsigned i = first; i < last; i++)
		records[i] = (struct record){ key(i), i };
}

static void count_digits(unsigned me, unsigned first, unsigned last, unsigned shift, const struct record *from)
{
	memset(counts[me], 0, sizeof counts[me]);
	for (unsigned i = first; i < last; i++)
		counts[me][digit_of(&from[i], shift)]++;
}

/* For this thread's share of the digits: what each thread has of one becomes what those before it have. */
static void add_up(unsigned me)
{
	unsigned first, last;

	share(me, RADIX, &first, &last);
	for (unsigned digit = first; digit < last; digit++) {
		uint32_t sum = 0;
		for (unsigned t = 0; t < threads; t++) {
			uint32_t own = counts[t][digit];
			counts[t][digit] = sum;
			sum += own;
		}
		totals[digit] = sum;
	}
}

/* Where this thread's first record with each digit goes. */
static void find_places(unsigned me, uint32_t *place)
{
	uint32_t smaller = 0;

	for (unsigned digit = 0; digit < RADIX; digit++) {
		place[digit] = smaller + counts[me][digit];
		smaller += totals[digit];
	}
}

static void pass(unsigned me, unsigned first, unsigned last, unsigned shift, const struct record *from,
		 struct record *to)
{
	uint32_t place[RADIX];

	count_digits(me, first, last, shift, from);
	meet();
	add_up(me);
	meet();
	find_places(me, place);
	for (unsigned i = first; i < last; i++)
		to[place[digit_of(&from[i], shift)]++] = from[i];
	meet();
}

/* Does the record at i follow the one before, and is it one of those that were there? */
static bool is_right(unsigned i)
{
	const struct record *r = &records[i];

	if (r->from >= count || r->key != key(r->from))
		return false;
	return !i || r[-1].key < r->key || (r[-1].key == r->key && r[-1].from < r->from);
}

/* Each follows the one before strictly, so none is there twice; and there are `count`. */
static void check(unsigned me, unsigned first, unsigned last)
{
	for (unsigned i = first; i < last; i++)
		if (!is_right(i)) {
			found[me].first = found[me].wrong ? found[me].first : i;
			found[me].wrong++;
		}
}

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument, first, last;

	share(me, count, &first, &last);
	for (unsigned r = 0; r < rounds; r++) {
		fill(first, last);
		meet();
		for (unsigned shift = 0; shift < KEY_BITS; shift += 2 * BITS) {
			pass(me, first, last, shift, records, other);
			pass(me, first, last, shift + BITS, other, records);
		}
	}
	if (rounds)
		check(me, first, last);
	return NULL;
}

static bool all_right(void)
{
	for (unsigned t = 0; t < threads; t++)
		if (found[t].wrong) {
			printf("radix: WRONG: %u records of thread %u's part, the first at %u\n", found[t].wrong, t,
			       found[t].first);
			return false;
		}
	return true;
}

int main(int argc, char **argv)
{
	uint64_t sum = 0;

	options(argc, argv);
	count = scaled(1 << 17);
	records = allocate(count * sizeof *records);
	other = allocate(count * sizeof *other);
	fill(0, count);
	start(work);
	if (!all_right())
		return 1;
	for (unsigned i = 0; i < count; i++)
		sum = sum * 31 + records[i].key + records[i].from;
	printf("radix: sorted, sum %016llx\n", (unsigned long long)sum);
	return 0;
}

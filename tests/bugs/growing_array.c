/*
 * An array that one thread makes longer with realloc, without a lock, while others write to it: what they write while it
 * is copied is lost, or written to what is somebody else's memory by then; a block of calloc's is not zero any more when
 * it is looked at. What could go wrong: the bytes that realloc copies and calloc clears are accesses like all others,
 * in small blocks and in large ones.
 */
// run: fails
#include "bugs.h"

enum { ROUNDS = 24, SMALL = 40, LARGE = 9000, STEPS = 6 };
static uint64_t *array, *cleared;
static volatile size_t length;
static uint64_t seen[TEAM_MAX];
static unsigned lost, strange;
static volatile int over;

/* Another array: the old one is somebody's for a while, so that its memory is used again. */
static void begin_array(size_t n)
{
	uint64_t *old = array;

	array = calloc(n, sizeof *array);
	length = n;
	free(old);
	cleared = calloc(n / 2, sizeof *cleared);
	for (size_t i = 0; i < n / 2; i++)
		strange += cleared[i] != 0;
	free(cleared);
}

static void grow(unsigned me)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		begin_array(i % 8 == 7 ? LARGE : SMALL);
		for (unsigned step = 0; step < STEPS; step++) {
			size_t n = length;
			breathe(i + 100);
			array = realloc(array, (n + n / 2) * sizeof *array);
			memset(array + n, 0, n / 2 * sizeof *array);
			length = n + n / 2;
			for (size_t k = 0; k < n; k++)
				note(&seen[me], array[k]);
		}
	}
	over = 1;
}

static void change(unsigned me)
{
	unsigned turns = 0;

	for (unsigned i = me; !over; i++) {
		size_t at = i % length;
		array[at]++;
		LOOK_AGAIN();
		note(&seen[me], array[at]);
		lost += !array[at];
		spin(&turns);
	}
}

static void work(unsigned me)
{
	me ? change(me) : grow(me);
}

int main(int argc, char **argv)
{
	team_size(argc, argv);
	begin_array(SMALL);
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
	free(array);
	return verdict(lost + strange, "numbers that were lost or strange");
}

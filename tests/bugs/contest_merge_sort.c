/*
 * ConTest "MergeSort": not atomic. A part is sorted by a helper if one is free, which is looked up without a lock; two threads
 * take the last free helper. What could go wrong: what comes out is sorted all the same, and only the number of helpers at
 * one time shows what happened.
 */
// run: fails gallery
// explain: @look before @take | @take before @take
#include "bugs.h"

enum { ITEMS = 512, HELPERS = 2, SMALL = 32 };
static unsigned items[TEAM_MAX][ITEMS], extra[TEAM_MAX][ITEMS];
static int free_helpers;
static unsigned long wrong, helped[TEAM_MAX], unsorted;
static int least;

static void merge(unsigned *a, unsigned *b, unsigned count)
{
	unsigned i = 0, j = count / 2, k = 0;

	while (k < count)
		b[k++] = j >= count || (i < count / 2 && a[i] <= a[j]) ? a[i++] : a[j++];
	memcpy(a, b, count * sizeof *a);
}

static void sort(unsigned me, unsigned *a, unsigned *b, unsigned count)
{
	if (count < 2)
		return;
	if (count >= SMALL && free_helpers > 0) { // @look
		LOOK_AGAIN();
		free_helpers--; // @take
		if (free_helpers < least)
			least = free_helpers;
		helped[me]++;
		sort(me, a, b, count / 2);
		LOOK_AGAIN();
		free_helpers++;
	} else {
		sort(me, a, b, count / 2);
	}
	sort(me, a + count / 2, b + count / 2, count - count / 2);
	merge(a, b, count);
}

static void prepare(void)
{
	uint32_t random = 1;

	free_helpers = HELPERS;
	for (unsigned t = 0; t < team; t++)
		for (unsigned i = 0; i < ITEMS; i++)
			items[t][i] = draw(&random);
}

static void act(unsigned me)
{
	sort(me, items[me], extra[me], ITEMS);
}

static void judge(void)
{
	wrong += free_helpers != HELPERS || least < 0;
	least = 0;
	for (unsigned t = 0; t < team; t++)
		for (unsigned i = 1; i < ITEMS; i++)
			unsorted += items[t][i - 1] > items[t][i];
}

int main(int argc, char **argv)
{
	repeat_size(argc, argv, 8);
	team_repeat(prepare, act, judge);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u was helped %lu times\n", i, helped[i]);
	return verdict(wrong + unsorted, "rounds with helpers that were not there");
}

/*
 * ConTest "BubbleSort": not atomic, and a thread that nobody waits for. All threads swap neighbours of one array without a lock; two that
 * meet write one number twice, and another is gone. What could go wrong: thousands of reads and writes of the same few words by
 * all threads, and one wrong read shows in what is left at the end.
 */
// run: fails gallery
// explain: @read before @write
#include "bugs.h"

enum { ITEMS = 24 };
static unsigned items[ITEMS];
static unsigned wrong;
static uint64_t left;

static void prepare(void)
{
	for (unsigned i = 0; i < ITEMS; i++)
		items[i] = ITEMS - i;
}

static void act(unsigned me)
{
	for (unsigned n = me % 2; n < ITEMS; n++)
		for (unsigned i = 1; i < ITEMS; i++) {
			unsigned a = items[i - 1], b = items[i]; // @read
			LOOK_AGAIN();
			if (a > b) {
				items[i - 1] = b; // @write
				items[i] = a;
			}
		}
}

static void judge(void)
{
	unsigned seen = 0;

	for (unsigned i = 0; i < ITEMS; i++) {
		seen |= 1u << items[i] % 32;
		note(&left, items[i]);
	}
	wrong += seen != ((1u << ITEMS) - 1) << 1;
}

int main(int argc, char **argv)
{
	repeat_size(argc, argv, 12);
	team_repeat(prepare, act, judge);
	printf("left %016llx\n", (unsigned long long)left);
	return verdict(wrong, "rounds lost a number");
}

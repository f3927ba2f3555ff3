/*
 * Torn read: a number of two halves is written in two stores, and a reader gets one half of each. What could go wrong:
 * the halves share a word of 8 bytes; a scheme that orders words must still give each half its own write.
 */
// run: fails
#include "bugs.h"

enum { ROUNDS = 1500 };
static struct {
	uint32_t high, low;
} number;
static uint64_t seen[TEAM_MAX];
static unsigned torn[TEAM_MAX];

static void work(unsigned me)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (me % 2 == 0) {
			number.high = me * ROUNDS + i;
			breathe(i);
			number.low = me * ROUNDS + i;
			LOOK_AGAIN();
		} else {
			uint32_t high = number.high;
			LOOK_AGAIN();
			uint32_t low = number.low;
			torn[me] += high != low;
			note(&seen[me], (uint64_t)high << 32 | low);
		}
	}
}

int main(int argc, char **argv)
{
	unsigned sum = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 1; i < team; i += 2) {
		printf("thread %u saw %016llx, %u torn\n", i, (unsigned long long)seen[i], torn[i]);
		sum += torn[i];
	}
	return verdict(sum, "torn reads");
}

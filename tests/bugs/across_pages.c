/*
 * Counters in packed records, some of which lie across two pages of claims; of each, some threads change all eight
 * bytes and some the last one alone. What could go wrong: of a counter that is not aligned only the page is asked for
 * in which it begins, while another thread has the one in which it ends; also where the program says that it is
 * aligned, as C wants it, and processors do not.
 */
// run: fails
#include "bugs.h"

enum { RECORDS = 64, APART = 512, ROUNDS = 3000, LAST = 7 };
static struct __attribute__((packed)) record {
	uint8_t rest[APART - 4];
	uint64_t count;
	uint8_t more[4];
} records[RECORDS] __attribute__((aligned(APART)));
static uint64_t sums[TEAM_MAX];

static __attribute__((noinline)) uint64_t count(struct record *r, unsigned round)
{
	uint64_t now = r->count;

	breathe(round);
	r->count = now + 1;
	return now;
}

/* What the compiler takes for aligned. */
static __attribute__((noinline)) uint64_t count_as_aligned(uint64_t *counter, unsigned round)
{
	uint64_t now = *counter;

	breathe(round);
	*counter = now + 1;
	return now;
}

static __attribute__((noinline)) uint64_t count_last(uint8_t *last)
{
	*last += 1;
	return *last;
}

static void work(unsigned me)
{
	uint32_t state = me + 1;

	for (unsigned i = 0; i < rounds(ROUNDS); i++) {
		uint32_t pick = draw(&state);
		struct record *r = &records[pick % RECORDS];
		uint8_t *bytes = (uint8_t *)&r->count;
		uint64_t v = !(pick >> 10 & 1) ? count_last(bytes + LAST) :
			     pick >> 11 & 1    ? count(r, i) :
						 count_as_aligned((uint64_t *)(void *)bytes, i);
		sums[me] = sums[me] * 31 + v;
	}
}

int main(int argc, char **argv)
{
	uint64_t counted = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u: %016llx\n", i, (unsigned long long)sums[i]);
	for (unsigned i = 0; i < RECORDS; i++)
		counted += records[i].count & 0xffffffff;
	uint64_t wanted = 0;
	for (unsigned me = 0; me < team; me++) {
		uint32_t state = me + 1;
		for (unsigned i = 0; i < rounds(ROUNDS); i++)
			wanted += draw(&state) >> 10 & 1;
	}
	return verdict(wanted - counted, "counts lost");
}

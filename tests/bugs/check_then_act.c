/*
 * Check, then act: a seat that is free is sold, and between look and sale somebody else sells it too. What could go
 * wrong: two reads of a free seat get their order from the write after them, and a scheme that does not order a read
 * before the next write sells it once. Seats are bytes: eight share a word.
 */
// run: fails
#include "bugs.h"

enum { SEATS = 4000 };
static unsigned char taken_by[SEATS];
static unsigned first_free; /* a hint, as racy as the rest */
static unsigned sold[TEAM_MAX];

static void work(unsigned me)
{
	for (unsigned seat = first_free; seat < SEATS; seat = first_free) {
		while (seat < SEATS && taken_by[seat])
			seat++;
		first_free = seat;
		if (seat < SEATS) {
			breathe(seat);
			taken_by[seat] = (unsigned char)(me + 1);
			sold[me]++;
		}
		LOOK_AGAIN();
	}
}

int main(int argc, char **argv)
{
	uint64_t plan = 0;
	unsigned sum = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u sold %u\n", i, sold[i]);
		sum += sold[i];
	}
	for (unsigned i = 0; i < SEATS; i++)
		note(&plan, taken_by[i]);
	printf("plan %016llx\n", (unsigned long long)plan);
	return verdict(sum > SEATS ? sum - SEATS : 0, "seats sold twice");
}

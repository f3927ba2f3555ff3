/*
 * Accesses that follow one another without a call between them, and loops whose steps are longer than a page of claims.
 * What could go wrong: a group that is checked as one loses a page of its, or one in the middle of its steps is not
 * asked for; sums in an index are taken apart wrongly, so that another page is asked for.
 */
// run: fails
#include "bugs.h"

enum { RECORDS = 64, ROWS = 40, COLUMNS = 400, ROUNDS = 1500 };
static struct record {
	uint64_t total;
	uint32_t count, last;
	uint8_t rest[40];
} records[RECORDS];
static uint32_t table[ROWS][COLUMNS]; /* a row has more than a page of claims */
static uint32_t cells[1024];
static uint64_t sums[TEAM_MAX];

static __attribute__((noinline)) uint64_t change(struct record *r, struct record *next, uint32_t value)
{
	r->total = r->total * 31 + value;
	r->count++;
	r->last = value;
	next->last ^= value;
	return r->total + next->total;
}

/* Four elements of a block of 16, whose places are put together by `or`. */
static __attribute__((noinline)) uint64_t mix(uint32_t *to, unsigned block, uint32_t value)
{
	unsigned at = block << 4;

	to[at] += value;
	to[at | 5] += to[at];
	to[at | 9] ^= to[at | 5];
	to[at | 14] += to[at | 9];
	return to[at | 14];
}

/* Two words, neither of which can lie in two pages. */
static __attribute__((noinline)) uint64_t swap(uint32_t *a, uint32_t *b)
{
	uint32_t was = *a;

	*a = *b + 1;
	*b = was;
	return was;
}

static __attribute__((noinline)) uint64_t down(unsigned column, uint32_t value)
{
	uint64_t s = 0;

	for (unsigned i = 0; i < ROWS; i++) {
		s = s * 7 + table[i][column];
		table[i][column] += value;
	}
	return s;
}

static void work(unsigned me)
{
	uint32_t state = me + 1;

	for (unsigned r = 0; r < rounds(ROUNDS); r++) {
		uint32_t pick = draw(&state), n = pick % RECORDS;
		sums[me] = sums[me] * 31 + change(&records[n], &records[(n + 1) % RECORDS], me + 1);
		sums[me] = sums[me] * 31 + mix(cells, (pick >> 8) % (COUNT(cells) / 16), me + 1);
		sums[me] = sums[me] * 31 + swap(&cells[pick % COUNT(cells)], &cells[(pick >> 10) % COUNT(cells)]);
		if (pick % 8 == 3)
			sums[me] = sums[me] * 31 + down((pick >> 12) % 4, me + 1);
		breathe(r);
	}
}

int main(int argc, char **argv)
{
	uint64_t count = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u: %016llx\n", i, (unsigned long long)sums[i]);
	for (unsigned i = 0; i < RECORDS; i++)
		count += records[i].count;
	return verdict((uint64_t)team * rounds(ROUNDS) - count, "changes lost");
}

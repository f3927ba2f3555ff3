/*
 * Structs copied as a whole, memcpy, memmove and memset without a lock: a copy is made of parts of several. What could
 * go wrong: a range is many words, each with its own order; source and destination both are shared, and overlap.
 */
// run: fails
#include "bugs.h"

enum { ROUNDS = 250 };
struct block {
	uint32_t words[23]; /* not a multiple of 8 bytes */
};
static struct block shared, other;
static unsigned char wide[600];
static uint64_t seen[TEAM_MAX];
static unsigned mixed[TEAM_MAX];

static void look(unsigned me, const struct block *b)
{
	int torn = 0;

	for (unsigned i = 0; i < COUNT(b->words); i++) {
		torn |= b->words[i] != b->words[0];
		note(&seen[me], b->words[i]);
	}
	mixed[me] += (unsigned)torn;
}

static void work(unsigned me)
{
	struct block mine;
	unsigned char part[300];
	uint32_t state = me + 7;

	for (unsigned i = 0; i < ROUNDS; i++) {
		for (unsigned n = 0; n < COUNT(mine.words); n++)
			mine.words[n] = me << 16 | i;
		LOOK_AGAIN();
		switch (draw(&state) % 6) {
		case 0: shared = mine; break;
		case 1: other = shared; break;
		case 2: memset(wide + draw(&state) % 300, (int)(me + i), 1 + draw(&state) % 300); break;
		case 3: memmove(wide + draw(&state) % 100, wide + draw(&state) % 100, 100 + draw(&state) % 400); break;
		case 4:
			memcpy(part, wide + draw(&state) % 300, sizeof part);
			note(&seen[me], part[draw(&state) % 300]);
			break;
		default: mine = i % 2 ? other : shared; look(me, &mine);
		}
		LOOK_AGAIN();
	}
}

int main(int argc, char **argv)
{
	unsigned sum = 0;
	uint64_t end = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx, %u mixed\n", i, (unsigned long long)seen[i], mixed[i]);
		sum += mixed[i];
	}
	for (unsigned i = 0; i < sizeof wide; i++)
		note(&end, wide[i]);
	printf("in the end %016llx\n", (unsigned long long)end);
	return verdict(sum, "mixed copies");
}

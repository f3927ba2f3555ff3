/*
 * memcmp and memchr over bytes that others change. Each thread has a block of some pages for itself for a while, then the next one;
 * and looks into another's now and then.
 * What could go wrong: where all bytes of such a call are claimed nobody is asked, and a claim of one of the pages may have been
 * taken away meanwhile; a range may be of one page, two or more; and memchr may be told that there is no end, when it must find
 * something before.
 */
// run: fails
#include "bugs.h"

enum { ROUNDS = 300, STAY = 12, BLOCK = 3 * 4096 + 512 };
static char block[TEAM_MAX + 1][BLOCK] __attribute__((aligned(64)));
static uint64_t seen[TEAM_MAX];
static unsigned torn[TEAM_MAX];

/* From somewhere on to the end of the block all bytes are the same: where does another one begin? */
static void look(unsigned me, const char *at, size_t n)
{
	const char *other = memchr(at, at[0] ^ 1, n);
	int order = memcmp(at, at + n / 2, n / 2);

	torn[me] += other || order;
	note(&seen[me], other ? (uint64_t)(other - at) : 0);
	note(&seen[me], (uint64_t)((order > 0) - (order < 0)));
}

/* Behind the last block there is one of each. */
static void look_without_end(unsigned me)
{
	const char *at = block[team] - 200;

	note(&seen[me], (uint64_t)((const char *)memchr(at, at[0] ^ 1, SIZE_MAX) - at));
}

static void work(unsigned me)
{
	uint32_t random = me + 1;

	for (unsigned i = 0; i < rounds(ROUNDS); i++) {
		unsigned mine = (me + i / STAY) % team, others = (mine + draw(&random)) % team;
		size_t n = 64 << draw(&random) % 8;
		char value = draw(&random) % 2 ? 'a' : 'a' ^ 1;
		for (char *at = block[mine], *end = at + BLOCK; at < end; at += 64) {
			memset(at, value, 64);
			LOOK_AGAIN();
		}
		look(me, block[mine] + draw(&random) % 64, n);
		look(me, block[others] + draw(&random) % (BLOCK - n), n);
		look_without_end(me);
	}
}

int main(int argc, char **argv)
{
	unsigned long wrong = 0;

	team_size(argc, argv);
	memset(block, 'a', sizeof block);
	block[team][1] = 'a' ^ 1;
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
		wrong += torn[i];
	}
	return verdict(wrong, "blocks of two values");
}

/*
 * Strings that a thread has for itself for a while, with a look at those of others now and then: strlen, strcmp, strcpy, strcat, snprintf.
 * What could go wrong: where a string is claimed up to its end nobody is asked; the claim may have been taken away meanwhile, the end
 * may lie behind the page, or exactly at its end, and what is written may be on other pages than what is read.
 */
// run: fails
#include "bugs.h"

enum { ROUNDS = 200, STAY = 12, BLOCK = 2 * 4096 };
static char block[TEAM_MAX][BLOCK] __attribute__((aligned(4096)));
static uint64_t seen[TEAM_MAX];
static unsigned torn[TEAM_MAX];

/* A string that ends near the end of the first page, before or behind it. */
static char *place_of(char *at, size_t n)
{
	return at + 4096 + 8 - n;
}

static void change(char *at, size_t n, char letter)
{
	char *text = place_of(at, n);

	memset(text, letter, n);
	text[n] = 0;
	LOOK_AGAIN();
	strcpy(at, text);
	strcat(at, text + n / 2);
}

static void look(unsigned me, const char *at)
{
	size_t length = strlen(at);
	char copy[200];

	snprintf(copy, sizeof copy, "%s", at);
	torn[me] += length && (copy[0] != copy[strlen(copy) - 1]);
	note(&seen[me], length);
	note(&seen[me], (uint64_t)(unsigned char)copy[0]);
	note(&seen[me], (uint64_t)(strcmp(at, copy) != 0));
	note(&seen[me], (uint64_t)(strncmp(at, at + 1, 20) != 0));
}

static void work(unsigned me)
{
	uint32_t random = me + 1;

	for (unsigned i = 0; i < rounds(ROUNDS); i++) {
		unsigned mine = (me + i / STAY) % team, others = (mine + draw(&random)) % team;
		size_t n = 4 + draw(&random) % 32;
		change(block[mine], n, (char)('a' + draw(&random) % 26));
		look(me, block[mine]);
		look(me, place_of(block[mine], n));
		if (draw(&random) % 4 == 0)
			look(me, place_of(block[others], n));
		look(me, block[others]);
	}
}

int main(int argc, char **argv)
{
	unsigned long wrong = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
		wrong += torn[i];
	}
	return verdict(wrong, "strings of two letters");
}

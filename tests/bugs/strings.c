/*
 * libc's functions on a text that others write: strcpy, snprintf, strlen, strcmp, memchr, strtol. What could go wrong:
 * libc is not built by heddle-cc, so what it reads and writes through pointers must be in the order as a whole.
 */
// run: fails
#include "bugs.h"

enum { ROUNDS = 120, ROOM = 64 };
static const char *const texts[] = { "one", "a little longer", "12345678901234567890",
				     "and one that goes on for forty letters." };
static char text[ROOM]; /* the last byte is never written: there is always an end */
static uint64_t seen[TEAM_MAX];
static unsigned unknown[TEAM_MAX];

static void read_text(unsigned me)
{
	char copy[ROOM];
	int known = 0;

	snprintf(copy, sizeof copy, "%s", text);
	for (unsigned i = 0; i < COUNT(texts); i++)
		known |= !strcmp(copy, texts[i]);
	unknown[me] += !known;
	for (const char *c = copy; *c; c++)
		note(&seen[me], (unsigned char)*c);
	note(&seen[me], strlen(text));
	note(&seen[me], (uint64_t)strcmp(text, texts[0]) & 1);
	note(&seen[me], memchr(text, 'o', ROOM) != NULL);
}

static void work(unsigned me)
{
	uint32_t state = me + 21;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint32_t pick = draw(&state);
		switch (pick / 16 % 4) {
		case 0: strcpy(text, texts[pick % 3]); break;
		case 1: snprintf(text, sizeof text - 1, "%s", texts[3]); break;
		case 2: note(&seen[me], (uint64_t)strtol(text, NULL, 10)); break;
		default: read_text(me);
		}
		LOOK_AGAIN();
	}
}

int main(int argc, char **argv)
{
	unsigned sum = 0;

	team_size(argc, argv);
	strcpy(text, texts[0]);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx, %u unknown\n", i, (unsigned long long)seen[i], unknown[i]);
		sum += unknown[i];
	}
	printf("in the end: %s\n", text);
	return verdict(sum, "texts that nobody wrote");
}

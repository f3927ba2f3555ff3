/*
 * A text of a megabyte and more that one thread cuts with zeros, and others walk through: with strlen at the end, and
 * line by line with strchr, strtol, strspn and strstr. What could go wrong: a string that is entered in hundreds of
 * pieces is one thing for everybody else; who stops early has read no more than that.
 */
// run: fails
#include "bugs.h"

enum { SIZE = 1200 * 1024, LINE = 48, WALKS = 20, ROUNDS = 24 };
static char text[SIZE + 1];
static uint64_t seen[TEAM_MAX];
static unsigned shorter[TEAM_MAX];
static volatile int over;

static void cut(unsigned me)
{
	uint32_t state = me + 1;

	for (unsigned i = 0; !over; i++) {
		unsigned at = draw(&state) % 8 ? draw(&state) % (LINE * WALKS) : draw(&state) % SIZE;
		char was = text[at];
		text[at] = 0;
		breathe(i);
		text[at] = was ? was : 'x';
	}
}

static void walk(unsigned me)
{
	char *at = text;

	for (unsigned i = 0; i < WALKS && at; i++) {
		char *end, *next = strchr(at, '\n');
		long number = strtol(at, &end, 10);
		size_t letters = strspn(end, "abcdefgh");
		char *word = strstr(end, "zz");
		note(&seen[me], (uint64_t)number + letters * 1000 + (word ? (uint64_t)(word - text) : 7));
		note(&seen[me], next ? (uint64_t)(next - text) : 9);
		shorter[me] += !next;
		at = next ? next + 1 : NULL;
	}
}

static void work(unsigned me)
{
	if (!me) {
		cut(me);
		return;
	}
	for (unsigned i = 0; i < rounds(ROUNDS); i++)
		walk(me);
	if (me == 1) {
		size_t n = strlen(text);
		note(&seen[me], n);
		shorter[me] += n < SIZE;
		over = 1;
	}
}

int main(int argc, char **argv)
{
	unsigned all = 0;

	team_size(argc, argv);
	for (unsigned i = 0; i < SIZE; i += LINE) {
		char line[LINE + 1];
		snprintf(line, sizeof line, "%06u abcdefghabcdefghabcdefghabcdefgzz%7s\n", i % 1000000, "");
		memcpy(text + i, line, LINE);
	}
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
		all += shorter[i];
	}
	return verdict(all, "times that the text was shorter than it is");
}

/*
 * A line that threads cut into words with strsep, strtok_r and getsubopt, while others read it and join the words again.
 * What could go wrong: the string that is cut is named by a pointer in memory, which others change, too; each byte that
 * becomes an end is one write in the order of all others.
 */
// run: fails
#include "bugs.h"

enum { ROUNDS = 300, SIZE = 48 };
static const char whole[SIZE] = "one,two=2,three;four,five=5;six,seven,eight=8;";
static char line[SIZE];
static char *shared; /* the rest of the line, for whoever comes next */
static uint64_t seen[TEAM_MAX];
static unsigned joined[TEAM_MAX];
static volatile int over;

static void look_at(unsigned me, const char *word)
{
	for (; word && *word; word++)
		note(&seen[me], (unsigned char)*word);
}

static void cut_up(unsigned me)
{
	static char *const names[] = { "two", "five", "eight", NULL };

	for (unsigned i = 0; i < rounds(ROUNDS); i++) {
		char *rest, *value = NULL;
		shared = line;
		for (unsigned n = 0; n < 4; n++)
			look_at(me, strsep(&shared, ";"));
		rest = line;
		for (unsigned n = 0; n < 4; n++) {
			note(&seen[me], (uint64_t)getsubopt(&rest, names, &value));
			look_at(me, value);
		}
		for (char *word = strtok_r(line, ",;", &rest); word; word = strtok_r(NULL, ",;", &rest)) {
			breathe(i);
			joined[me] += strlen(word) > 7;
		}
	}
	over = 1;
}

static void join(unsigned me)
{
	unsigned turns = 0;

	for (unsigned i = me; !over; i++) {
		note(&seen[me], (unsigned char)line[i % SIZE] ^ (uint64_t)shared);
		line[i % (SIZE - 2)] = whole[i % (SIZE - 2)];
		spin(&turns);
	}
}

static void work(unsigned me)
{
	me ? join(me) : cut_up(me);
}

int main(int argc, char **argv)
{
	team_size(argc, argv);
	memcpy(line, whole, SIZE);
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
	return verdict(joined[0], "words that were joined while they were cut");
}

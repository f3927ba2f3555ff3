/*
 * Two variables that belong together, as in Mozilla's cache of strings: a table and a flag that says whether it is empty. One thread empties the
 * table and then sets the flag; another fills it and clears the flag; they cross, and table and flag contradict one another. What could go
 * wrong: no variable by itself shows anything wrong, only both at one moment.
 */
// run: fails gallery
// explain: @fill before @flag | @fill before @clear | @clear before @fill
#include "bugs.h"

enum { ENTRIES = 4, TURNS = 4 };
static unsigned table[ENTRIES], is_empty;
static unsigned wrong;
static uint64_t seen;

static void prepare(void)
{
	memset(table, 0, sizeof table);
	is_empty = 1;
}

static void act(unsigned me)
{
	for (unsigned i = 0; i < TURNS; i++) {
		if (me % 2) {
			table[i % ENTRIES] = i + 1; // @fill
			LOOK_AGAIN();
			is_empty = 0;
		} else {
			memset(table, 0, sizeof table); // @clear
			LOOK_AGAIN();
			is_empty = 1; // @flag
		}
		LOOK_AGAIN();
	}
}

static void judge(void)
{
	unsigned filled = 0;

	for (unsigned i = 0; i < ENTRIES; i++) {
		filled |= table[i];
		note(&seen, table[i]);
	}
	wrong += is_empty ? filled != 0 : filled == 0;
	note(&seen, is_empty);
}

int main(int argc, char **argv)
{
	repeat_size(argc, argv, 150);
	team_repeat(prepare, act, judge);
	printf("seen %016llx\n", (unsigned long long)seen);
	return verdict(wrong, "rounds whose flag is wrong");
}

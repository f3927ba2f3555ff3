/*
 * ConTest "Critical": not atomic. A critical section is guarded by a plain flag: a thread waits until it is clear, and then sets it; two
 * see it clear. What could go wrong: the waiting loop reads the flag a thousand times, and which read is the last one decides.
 */
// run: fails gallery
// explain: @wait before @enter
#include "bugs.h"

enum { TURNS = 40 };
static unsigned busy, inside, wrong;
static uint64_t order;

static void prepare(void)
{
	busy = inside = 0;
}

static void act(unsigned me)
{
	unsigned turns = 0;

	for (unsigned i = 0; i < TURNS; i++) {
		while (busy) { // @wait
			spin(&turns);
			LOOK_AGAIN();
		}
		LOOK_AGAIN();
		busy = 1; // @enter
		inside++;
		LOOK_AGAIN();
		wrong += inside != 1;
		note(&order, me);
		inside--;
		busy = 0;
		LOOK_AGAIN();
	}
}

static void judge(void)
{
	wrong += inside != 0;
}

int main(int argc, char **argv)
{
	repeat_size(argc, argv, 8);
	team_repeat(prepare, act, judge);
	printf("order %016llx\n", (unsigned long long)order);
	return verdict(wrong, "times two were inside");
}

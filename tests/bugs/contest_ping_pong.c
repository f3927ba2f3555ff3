/*
 * ConTest "PingPong": not atomic. A player looks whether there is a ball, and hits it; the other has taken it away in between,
 * and the hit goes to a null pointer. What could go wrong: the run ends by a signal in the middle of everything, and a replay must
 * end at that access and at no other.
 */
// run: fails gallery
// explain: @take before @hit
#include "bugs.h"

enum { HITS = 400 };
struct ball {
	unsigned long hits;
};
static struct ball only, *ball = &only;
static unsigned long missed[TEAM_MAX];

static void work(unsigned me)
{
	for (unsigned i = 0; i < rounds(HITS); i++) {
		if (me % 2) {
			struct ball *mine = ball;
			ball = NULL; // @take
			LOOK_AGAIN();
			ball = mine ? mine : &only;
		} else if (ball) {
			breathe(i);
			LOOK_AGAIN();
			ball->hits++; // @hit
		} else {
			missed[me]++;
		}
		LOOK_AGAIN();
	}
}

int main(int argc, char **argv)
{
	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u missed %lu\n", i, missed[i]);
	printf("%lu hits\n", only.hits);
	return verdict(0, "balls lost");
}

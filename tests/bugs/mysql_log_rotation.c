/*
 * MySQL's bug 791: the log is closed and opened anew to rotate it; a writer that looks in between finds it closed and leaves its event out, which
 * nobody notices until the log is needed. What could go wrong: one plain flag, written twice in a row by one thread, read by all
 * others; the reads that fall between are the failure.
 */
// run: fails gallery
// explain: @close before @look
#include "bugs.h"

enum { EVENTS = 300 };
static int is_open = 1;
static unsigned long missing[TEAM_MAX], rotations, written[TEAM_MAX];
static unsigned finished;

static void rotate(void)
{
	is_open = 0; // @close
	LOOK_AGAIN();
	if (rotations++ % 16 == 9)
		sched_yield();
	is_open = 1;
	LOOK_AGAIN();
}

static void work(unsigned me)
{
	for (unsigned i = 0; i < rounds(EVENTS); i++) {
		if (me == 0)
			rotate();
		else if (is_open) // @look
			written[me]++;
		else
			missing[me]++;
		LOOK_AGAIN();
	}
	finished++;
}

int main(int argc, char **argv)
{
	unsigned long sum = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 1; i < team; i++) {
		printf("thread %u wrote %lu, missed %lu\n", i, written[i], missing[i]);
		sum += missing[i];
	}
	return verdict(sum, "events missing in the log");
}

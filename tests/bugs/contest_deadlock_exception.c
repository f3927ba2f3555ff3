/*
 * ConTest "DeadlockException": a thread meets an error while it holds the lock, and leaves without giving it back; whoever comes later
 * waits for ever. The error is another thread's doing: it took the last item between look and take. What could go wrong: an
 * order of two accesses decides which thread ends first, and from there on nothing moves.
 */
// run: fails gallery
// explain: @look before @take
#include "bugs.h"

enum { ITEMS = 30 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int items;
static unsigned long got[TEAM_MAX], errors;

static void prepare(void)
{
	items = ITEMS;
}

/* Zero if there was nothing, though somebody had seen that there was. */
static int take(void)
{
	if (items <= 0)
		return 0;
	items--; // @take
	return 1;
}

static void act(unsigned me)
{
	while (items > 0) { // @look
		LOOK_AGAIN();
		pthread_mutex_lock(&lock);
		if (!take()) {
			errors++;
			return; /* with the lock: the bug */
		}
		got[me]++;
		pthread_mutex_unlock(&lock);
		LOOK_AGAIN();
	}
}

static void judge(void)
{
	pthread_mutex_lock(&lock); /* nobody else has it any more, if all went well */
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	repeat_size(argc, argv, 20);
	watch("a thread left with the lock");
	team_repeat(prepare, act, judge);
	watch_over = 1;
	for (unsigned i = 0; i < team; i++)
		printf("thread %u got %lu\n", i, got[i]);
	return verdict(errors, "errors");
}

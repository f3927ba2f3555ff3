/*
 * ConTest "BoundedBuffer": signal instead of broadcast. Producers and consumers wait on the same condition; a signal that is meant
 * for one kind wakes the other, which waits again, and all wait for ever. What could go wrong: which waiter a signal wakes must be the same
 * in the replay, and the run that stands still is ended by a thread that only watches.
 */
// run: fails gallery
// explain: @wait before @signal
#include "bugs.h"

enum { ROOM = 1, EACH = 8 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned used, items[ROOM];
static uint64_t hash[TEAM_MAX];

static void prepare(void)
{
	used = 0;
}

static void put(unsigned item)
{
	pthread_mutex_lock(&lock);
	while (used == ROOM)
		pthread_cond_wait(&changed, &lock); // @wait
	items[used++] = item;
	pthread_cond_signal(&changed); // @signal
	pthread_mutex_unlock(&lock);
}

static unsigned get(void)
{
	unsigned item;

	pthread_mutex_lock(&lock);
	while (used == 0)
		pthread_cond_wait(&changed, &lock);
	item = items[--used];
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return item;
}

/* As many items are put as are got: with an odd team the last one looks on. */
static void act(unsigned me)
{
	if (me == team - 1 && team % 2)
		return;
	for (unsigned i = 0; i < EACH; i++)
		if (me % 2)
			note(&hash[me], get());
		else
			put(me * EACH + i);
}

static void judge(void)
{
}

int main(int argc, char **argv)
{
	repeat_size(argc, argv, 20);
	watch("everybody waits");
	team_repeat(prepare, act, judge);
	watch_over = 1;
	for (unsigned i = 1; i < team; i += 2)
		printf("thread %u got %016llx\n", i, (unsigned long long)hash[i]);
	return verdict(0, "rounds without end");
}

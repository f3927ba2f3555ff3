/*
 * ConTest "AllocationVector": access in two stages. A free block is looked for under the lock, and marked as taken under the lock,
 * but the lock is let go between the two; somebody else finds the same block. What could go wrong: every access is locked, no
 * two race, and the bug is in the order of critical sections alone.
 */
// run: fails gallery
// explain: @find before @mark
#include "bugs.h"

enum { BLOCKS = 64, EACH = 6 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char taken[BLOCKS];
static unsigned wrong;
static uint64_t got[TEAM_MAX];

static void prepare(void)
{
	memset(taken, 0, sizeof taken);
}

static unsigned find_free(void)
{
	unsigned i = 0;

	pthread_mutex_lock(&lock); // @find
	while (i < BLOCKS - 1 && taken[i])
		i++;
	pthread_mutex_unlock(&lock);
	return i;
}

static void mark(unsigned i)
{
	pthread_mutex_lock(&lock); // @mark
	taken[i]++;
	pthread_mutex_unlock(&lock);
}

static void act(unsigned me)
{
	for (unsigned i = 0; i < rounds(EACH); i++) {
		unsigned block = find_free();
		note(&got[me], block);
		mark(block);
	}
}

static void judge(void)
{
	for (unsigned i = 0; i < BLOCKS - 1; i++)
		wrong += taken[i] > 1;
}

int main(int argc, char **argv)
{
	repeat_size(argc, argv, 30);
	team_repeat(prepare, act, judge);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u got %016llx\n", i, (unsigned long long)got[i]);
	return verdict(wrong, "blocks given out twice");
}

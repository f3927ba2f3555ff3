/*
 * ConTest "BufferWriter": wrong or no lock. Writers put lines into a buffer under its lock; the one that empties it uses another
 * lock. How much each writes is drawn from a random seed of the system, one of the bugs that LEAP could not replay. What
 * could go wrong: that seed is input, and must come from the log.
 */
// run: fails gallery
// explain: @empty before @advance
#include "bugs.h"
#include <sys/random.h>

enum { ROOM = 256, LINES = 60 };
static pthread_mutex_t write_lock = PTHREAD_MUTEX_INITIALIZER, empty_lock = PTHREAD_MUTEX_INITIALIZER;
static char buffer[ROOM];
static unsigned used;
static unsigned long written[TEAM_MAX], taken, wrong;
static unsigned seed;

static void put(unsigned me, unsigned count)
{
	pthread_mutex_lock(&write_lock);
	unsigned at = used;
	if (at + count < ROOM) {
		memset(buffer + at, 'a' + (int)me % 26, count);
		used = at + count; // @advance
		written[me] += count;
	}
	pthread_mutex_unlock(&write_lock);
}

static void empty(void)
{
	pthread_mutex_lock(&empty_lock);
	unsigned count = used;
	for (unsigned i = 0; i < count; i++)
		wrong += buffer[i] == 0;
	memset(buffer, 0, count);
	taken += count;
	used = 0; // @empty
	pthread_mutex_unlock(&empty_lock);
}

static void work(unsigned me)
{
	uint32_t random = seed + me;

	for (unsigned i = 0; i < rounds(LINES); i++) {
		if (me == 0)
			empty();
		else
			put(me, 1 + draw(&random) % 20);
		breathe(i + me);
	}
}

int main(int argc, char **argv)
{
	unsigned long sum = 0;

	team_size(argc, argv);
	if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
		abort();
	team_run(work);
	empty();
	for (unsigned i = 0; i < team; i++)
		sum += written[i];
	printf("seed %08x, written %lu, taken %lu, holes %lu\n", seed, sum, taken, wrong);
	return verdict(sum > taken ? sum - taken : taken - sum + wrong, "bytes lost, doubled, or empty");
}

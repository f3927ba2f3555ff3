/*
 * memcached's incr: the value is got under the lock, raised, and set under the lock, but the lock is let go in between; of two that raise
 * at once one is lost. What could go wrong: values are texts, made and parsed by libc outside the lock.
 */
// run: fails gallery
// explain: @get before @set
#include "bugs.h"

enum { KEYS = 2, TURNS = 60 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char values[KEYS][24];
static uint64_t seen[TEAM_MAX];

static void get(unsigned key, char *value)
{
	pthread_mutex_lock(&lock); // @get
	strcpy(value, values[key]);
	pthread_mutex_unlock(&lock);
}

static void set(unsigned key, const char *value)
{
	pthread_mutex_lock(&lock); // @set
	strcpy(values[key], value);
	pthread_mutex_unlock(&lock);
}

static void work(unsigned me)
{
	char value[24];

	for (unsigned i = 0; i < rounds(TURNS); i++) {
		unsigned key = (me + i) % KEYS;
		get(key, value);
		breathe(i + 30 * me);
		snprintf(value, sizeof value, "%d", atoi(value) + 1);
		set(key, value);
		note(&seen[me], (uint64_t)atoi(value));
	}
}

int main(int argc, char **argv)
{
	int sum = 0;

	team_size(argc, argv);
	for (unsigned i = 0; i < KEYS; i++)
		strcpy(values[i], "0");
	team_run(work);
	for (unsigned i = 0; i < KEYS; i++)
		sum += atoi(values[i]);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
	return verdict((unsigned long)((int)(team * rounds(TURNS)) - sum), "raises lost");
}

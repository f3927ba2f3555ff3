/*
 * Statistics of trylock: how often it found the mutex taken is different in every run, and at replay
 * nobody may try again for real. A success that is answered "busy" would change all that follows.
 */
// run: varies
#include "threads.h"

enum { THREADS = 4, ROUNDS = 800 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arrivals arrivals;
static unsigned got[THREADS], busy[THREADS];
static uint64_t pattern[THREADS];

static void *work(void *argument)
{
	unsigned me = ME(argument);

	for (int i = 0; i < ROUNDS; i++) {
		int r = pthread_mutex_trylock(&lock);
		pattern[me] = pattern[me] * 3 + (r == 0);
		if (r) {
			CHECK(r == EBUSY);
			busy[me]++;
			dawdle(2000);
			continue;
		}
		arrive(&arrivals, me);
		got[me]++;
		dawdle(2000);
		if (chance(10) == 0)
			sched_yield();
		CHECK(pthread_mutex_unlock(&lock) == 0);
		dawdle(3000);
	}
	return NULL;
}

int main(void)
{
	crew_start(THREADS, work);
	crew_join(THREADS);
	print_arrivals("arrivals", &arrivals);
	for (unsigned i = 0; i < THREADS; i++)
		printf("thread %u: got %u, busy %u, pattern %016llx\n", i, got[i], busy[i],
		       (unsigned long long)pattern[i]);
	return 0;
}

/*
 * The errors of an errorcheck mutex: EDEADLK for its holder, EPERM for whoever unlocks a lock
 * that another holds, EBUSY for trylock and destroy. At replay they come from the log, and the
 * owner in the mutex's words must be right again for the ones after.
 */
// run: varies
#include "threads.h"

enum { THREADS = 3, ROUNDS = 300 };
static pthread_mutex_t lock;
static struct arrivals arrivals;
static unsigned not_ours[THREADS], taken[THREADS];

static void *work(void *argument)
{
	unsigned me = ME(argument);

	for (int i = 0; i < ROUNDS; i++) {
		CHECK(pthread_mutex_unlock(&lock) == EPERM);
		not_ours[me]++;
		int r = chance(2) ? pthread_mutex_lock(&lock) : pthread_mutex_trylock(&lock);
		CHECK(r == 0 || r == EBUSY);
		if (r) {
			taken[me]++;
			continue;
		}
		arrive(&arrivals, me);
		CHECK(pthread_mutex_lock(&lock) == EDEADLK);
		CHECK(pthread_mutex_trylock(&lock) == EBUSY);
		struct timespec soon = after(CLOCK_REALTIME, 1000);
		CHECK(pthread_mutex_timedlock(&lock, &soon) == EDEADLK);
		dawdle(500);
		CHECK(pthread_mutex_unlock(&lock) == 0);
	}
	return NULL;
}

int main(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	CHECK(pthread_mutex_init(&lock, &attr) == 0);
	CHECK(pthread_mutex_lock(&lock) == 0 && pthread_mutex_destroy(&lock) == EBUSY);
	crew_start(THREADS, work);
	dawdle(100000);
	CHECK(pthread_mutex_unlock(&lock) == 0);
	crew_join(THREADS);
	print_arrivals("arrivals", &arrivals);
	for (unsigned i = 0; i < THREADS; i++)
		printf("thread %u: busy %u, not owner %u\n", i, taken[i], not_ours[i]);
	CHECK(pthread_mutex_destroy(&lock) == 0);
	return 0;
}

/*
 * timedlock and clocklock with deadlines about as long as the lock is held: some succeed, some get ETIMEDOUT.
 * Replay must neither wait for the real time nor decide by it. A deadline in the past still gets a free lock,
 * and one that is no time at all is EINVAL.
 */
// run: varies
#include "threads.h"

enum { THREADS = 4, ROUNDS = 60 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arrivals arrivals;
static unsigned late[THREADS];

static int take(unsigned kind, long microseconds)
{
	struct timespec real = after(CLOCK_REALTIME, microseconds), mono = after(CLOCK_MONOTONIC, microseconds);

	if (kind == 0)
		return pthread_mutex_timedlock(&lock, &real);
	return pthread_mutex_clocklock(&lock, kind == 1 ? CLOCK_MONOTONIC : CLOCK_REALTIME, kind == 1 ? &mono : &real);
}

static void *work(void *argument)
{
	unsigned me = ME(argument);

	for (int i = 0; i < ROUNDS; i++) {
		int r = take(chance(3), chance(700));
		CHECK(r == 0 || r == ETIMEDOUT);
		if (r) {
			late[me]++;
			continue;
		}
		arrive(&arrivals, me);
		pause_us(chance(200));
		CHECK(pthread_mutex_unlock(&lock) == 0);
	}
	return NULL;
}

int main(void)
{
	struct timespec past = { 1, 0 }, never = { 1, 1000000000 };

	CHECK(pthread_mutex_timedlock(&lock, &past) == 0);
	CHECK(pthread_mutex_timedlock(&lock, &past) == ETIMEDOUT);
	CHECK(pthread_mutex_timedlock(&lock, &never) == EINVAL);
	CHECK(pthread_mutex_clocklock(&lock, CLOCK_PROCESS_CPUTIME_ID, &past) == EINVAL);
	CHECK(pthread_mutex_unlock(&lock) == 0);
	crew_start(THREADS, work);
	crew_join(THREADS);
	print_arrivals("arrivals", &arrivals);
	for (unsigned i = 0; i < THREADS; i++)
		printf("thread %u was late %u times\n", i, late[i]);
	return 0;
}

/*
 * Threads end at different times, and others look whether they have: tryjoin says EBUSY, timedjoin and clockjoin say
 * ETIMEDOUT, some other number of times in every run. Who joins itself gets EDEADLK; results come through.
 */
// run: varies
#include "threads.h"

enum { THREADS = 8 };

static void *work(void *argument)
{
	if (ME(argument) == 0)
		CHECK(pthread_join(pthread_self(), NULL) == EDEADLK);
	pause_us(500 + chance(3000));
	if (ME(argument) % 2)
		pthread_exit((void *)(uintptr_t)(1000 + ME(argument)));
	return (void *)(uintptr_t)(1000 + ME(argument));
}

static int look(pthread_t thread, void **result)
{
	struct timespec soon = after(CLOCK_REALTIME, chance(200)), mono = after(CLOCK_MONOTONIC, chance(200));

	switch (chance(3)) {
	case 0: return pthread_tryjoin_np(thread, result);
	case 1: return pthread_timedjoin_np(thread, result, &soon);
	default: return pthread_clockjoin_np(thread, result, CLOCK_MONOTONIC, &mono);
	}
}

static void *slow(void *unused)
{
	pause_us(50000);
	return unused;
}

/* A deadline before 1970 is over; one that is none at all counts for libc as if it were not there. */
static void odd_deadlines(void)
{
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, slow, NULL) == 0);
	CHECK(pthread_timedjoin_np(thread, NULL, &(struct timespec){ -1, 0 }) == ETIMEDOUT);
	CHECK(pthread_timedjoin_np(thread, NULL, &(struct timespec){ 0, 2000000000 }) == 0);
}

int main(void)
{
	unsigned left = THREADS, busy = 0, late = 0, done = 0;
	struct arrivals order = { 0 };

	odd_deadlines();
	crew_start(THREADS, work);
	CHECK(pthread_join(pthread_self(), NULL) == EDEADLK);
	while (left)
		for (unsigned i = 0; i < THREADS; i++) {
			void *result = NULL;
			int r = done & 1u << i ? -1 : look(crew[i], &result);
			CHECK(r <= 0 || r == EBUSY || r == ETIMEDOUT);
			busy += r == EBUSY;
			late += r == ETIMEDOUT;
			if (r)
				continue;
			CHECK((uintptr_t)result == 1000 + i);
			arrive(&order, i);
			done |= 1u << i;
			left--;
		}
	print_arrivals("joined", &order);
	printf("busy %u, late %u\n", busy, late);
	return 0;
}

/*
 * Readers and writers. Several readers are inside at once, so no lock of theirs is held while their order is
 * noted: which version each reader saw, who was turned away by tryrdlock and trywrlock, whose timed lock was late.
 */
// run: varies
#include "threads.h"

enum { READERS = 4, WRITERS = 2, ROUNDS = 600 };
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static uint64_t version, twin;
static struct arrivals writes;
static uint64_t seen[READERS];
static unsigned turned_away[READERS + WRITERS], late[READERS + WRITERS];

static int take(int write)
{
	struct timespec soon = after(CLOCK_REALTIME, chance(300)), mono = after(CLOCK_MONOTONIC, chance(300));

	switch (chance(4)) {
	case 0: return write ? pthread_rwlock_trywrlock(&lock) : pthread_rwlock_tryrdlock(&lock);
	case 1: return write ? pthread_rwlock_timedwrlock(&lock, &soon) : pthread_rwlock_timedrdlock(&lock, &soon);
	case 2:
		return write ? pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &mono) :
			       pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &mono);
	default: return write ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock);
	}
}

static void *work(void *argument)
{
	unsigned me = ME(argument), write = me >= READERS;

	for (int i = 0; i < ROUNDS; i++) {
		int r = take((int)write);
		CHECK(r == 0 || r == EBUSY || r == ETIMEDOUT);
		turned_away[me] += r == EBUSY;
		late[me] += r == ETIMEDOUT;
		if (r)
			continue;
		if (write) {
			arrive(&writes, me);
			version++;
			dawdle(1500);
			twin++;
		} else {
			CHECK(version == twin);
			seen[me] = seen[me] * 31 + version;
			dawdle(1500);
			CHECK(version == twin);
		}
		CHECK(pthread_rwlock_unlock(&lock) == 0);
		dawdle(800);
		if (chance(20) == 0)
			sched_yield();
	}
	return NULL;
}

int main(void)
{
	crew_start(READERS + WRITERS, work);
	crew_join(READERS + WRITERS);
	print_arrivals("writes", &writes);
	for (unsigned i = 0; i < READERS; i++)
		printf("reader %u saw %016llx\n", i, (unsigned long long)seen[i]);
	for (unsigned i = 0; i < READERS + WRITERS; i++)
		printf("thread %u: turned away %u, late %u\n", i, turned_away[i], late[i]);
	CHECK(pthread_rwlock_wrlock(&lock) == 0);
	CHECK(pthread_rwlock_wrlock(&lock) == EDEADLK && pthread_rwlock_rdlock(&lock) == EDEADLK);
	CHECK(pthread_rwlock_tryrdlock(&lock) == EBUSY);
	CHECK(pthread_rwlock_unlock(&lock) == 0 && pthread_rwlock_destroy(&lock) == 0);
	return 0;
}

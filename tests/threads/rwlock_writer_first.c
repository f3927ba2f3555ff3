/*
 * A rwlock that prefers writers, and readers that hold several locks of it at once. Many readers leave before one
 * writer comes in: it must wait for all of them at replay, not only for the last whose name was kept.
 */
// run: varies
#include "threads.h"

enum { READERS = 8, ROUNDS = 400 };
static pthread_rwlock_t lock;
static unsigned long counts[READERS], snapshot_hash;

static void *work(void *argument)
{
	unsigned me = ME(argument);

	for (int i = 0; i < ROUNDS; i++) {
		CHECK(pthread_rwlock_rdlock(&lock) == 0);
		counts[me]++; /* its own; the writer reads all of them */
		dawdle(1000);
		CHECK(pthread_rwlock_unlock(&lock) == 0);
		if (chance(4) == 0)
			sched_yield();
	}
	return NULL;
}

static void *write_now(void *argument)
{
	(void)argument;
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(pthread_rwlock_wrlock(&lock) == 0);
		for (unsigned r = 0; r < READERS; r++)
			snapshot_hash = snapshot_hash * 1000003 + counts[r];
		CHECK(pthread_rwlock_unlock(&lock) == 0);
		dawdle(2000);
	}
	return NULL;
}

int main(void)
{
	pthread_rwlockattr_t attr;
	pthread_t writer;

	pthread_rwlockattr_init(&attr);
	CHECK(pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) == 0);
	CHECK(pthread_rwlock_init(&lock, &attr) == 0);
	crew_start(READERS, work);
	CHECK(pthread_create(&writer, NULL, write_now, NULL) == 0);
	crew_join(READERS);
	pthread_join(writer, NULL);
	printf("what the writer saw: %016lx\n", snapshot_hash);
	for (unsigned i = 0; i < READERS; i++)
		CHECK(counts[i] == ROUNDS);
	return 0;
}

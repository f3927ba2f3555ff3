/*
 * Two readers that want to write: each keeps its read lock and asks for the write lock, which waits for the other's read lock. What could go
 * wrong: with one alone it goes well, since it gives its read lock back first in most rounds; how many readers there are is
 * part of the order.
 */
// run: fails gallery
// explain: @read before @upgrade
#include "bugs.h"

static pthread_mutex_t upgrade_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static unsigned value, wanted, waiting;
static unsigned long upgrades[TEAM_MAX];

static void prepare(void)
{
	wanted = value + 1;
	waiting = 0;
}

/* Writes while it still reads: it waits until it is the only reader, as a lock of its own making would. */
static void upgrade(unsigned me)
{
	unsigned turns = 0;

	pthread_mutex_lock(&upgrade_lock);
	while (waiting > 1) { // @upgrade
		spin(&turns);
		LOOK_AGAIN();
	}
	value = wanted;
	upgrades[me]++;
	pthread_mutex_unlock(&upgrade_lock);
}

static void act(unsigned me)
{
	pthread_rwlock_rdlock(&lock);
	__atomic_add_fetch(&waiting, 1, __ATOMIC_ACQ_REL); // @read
	LOOK_AGAIN();
	if (value != wanted)
		upgrade(me);
	__atomic_sub_fetch(&waiting, 1, __ATOMIC_ACQ_REL);
	pthread_rwlock_unlock(&lock);
}

static void judge(void)
{
}

int main(int argc, char **argv)
{
	repeat_size(argc, argv, 60);
	watch("two readers wait for one another");
	team_repeat(prepare, act, judge);
	watch_over = 1;
	for (unsigned i = 0; i < team; i++)
		printf("thread %u wrote %lu times\n", i, upgrades[i]);
	return verdict(0, "deadlocks");
}

/*
 * ConTest "Deadlock": two locks, taken in one order by some and in the other by others. What could go wrong: the failing run stands
 * still, and the replay must get exactly there: the same threads, each with the same lock, and end as the watching thread ended it.
 */
// run: fails gallery
// explain: @first before @second
#include "bugs.h"

enum { TURNS = 20 };
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static uint64_t order;

static void prepare(void)
{
}

static void act(unsigned me)
{
	for (unsigned i = 0; i < rounds(TURNS); i++) {
		pthread_mutex_t *first = me % 2 ? &a : &b, *second = me % 2 ? &b : &a;
		pthread_mutex_lock(first);  // @first
		pthread_mutex_lock(second); // @second
		note(&order, me);
		pthread_mutex_unlock(second);
		pthread_mutex_unlock(first);
	}
}

static void judge(void)
{
}

int main(int argc, char **argv)
{
	repeat_size(argc, argv, 10);
	watch("deadlock of two locks");
	team_repeat(prepare, act, judge);
	watch_over = 1;
	printf("order %016llx\n", (unsigned long long)order);
	return verdict(0, "deadlocks");
}

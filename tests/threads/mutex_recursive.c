/*
 * A recursive mutex, taken to a depth that chance chooses, by lock and trylock. The inner
 * locks need no order, the outer ones do; the count of the mutex must come back to 0, or
 * another thread never gets in.
 */
// run: varies
#include "threads.h"

enum { THREADS = 4, ROUNDS = 200 };
static pthread_mutex_t lock;
static struct arrivals arrivals;
static unsigned depths;

static void enter(unsigned depth)
{
	if (depth % 2)
		CHECK(pthread_mutex_lock(&lock) == 0);
	else
		CHECK(pthread_mutex_trylock(&lock) == 0); /* already ours */
	depths = depths * 7 + depth;
	if (depth > 1)
		enter(depth - 1);
	CHECK(pthread_mutex_unlock(&lock) == 0);
}

static void *work(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(pthread_mutex_lock(&lock) == 0);
		arrive(&arrivals, ME(argument));
		enter(1 + chance(6));
		dawdle(200);
		CHECK(pthread_mutex_unlock(&lock) == 0);
		dawdle(200);
	}
	return NULL;
}

int main(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	CHECK(pthread_mutex_init(&lock, &attr) == 0);
	crew_start(THREADS, work);
	crew_join(THREADS);
	print_arrivals("arrivals", &arrivals);
	printf("depths %08x\n", depths);
	CHECK(pthread_mutex_destroy(&lock) == 0);
	return 0;
}

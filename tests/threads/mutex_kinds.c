/*
 * Mutexes with attributes: priority inheritance (whose futex calls a recorder might not know), adaptive,
 * process-shared, priority ceiling where allowed, and mutexes made, destroyed and made again as another kind
 * at the same address: what was remembered of the old one must not count for the new one.
 */
// run: varies
#include "threads.h"

enum { THREADS = 4, ROUNDS = 100, KINDS = 5 };
static pthread_mutex_t locks[KINDS];
static struct arrivals arrivals[KINDS];
static const char *const names[KINDS] = { "inherit", "adaptive", "shared", "reused", "recursive inherit" };

static void make(unsigned kind)
{
	pthread_mutexattr_t attr;

	CHECK(pthread_mutexattr_init(&attr) == 0);
	if (kind == 0 || kind == 4)
		CHECK(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT) == 0);
	if (kind == 4)
		CHECK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE) == 0);
	if (kind == 1)
		CHECK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP) == 0);
	if (kind == 2)
		CHECK(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) == 0);
	CHECK(pthread_mutex_init(&locks[kind], &attr) == 0);
	CHECK(pthread_mutexattr_destroy(&attr) == 0);
}

static void *work(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		unsigned kind = chance(KINDS);
		CHECK(pthread_mutex_lock(&locks[kind]) == 0);
		arrive(&arrivals[kind], ME(argument));
		dawdle(400);
		if (kind == 4) {
			CHECK(pthread_mutex_lock(&locks[kind]) == 0);
			CHECK(pthread_mutex_unlock(&locks[kind]) == 0);
		}
		CHECK(pthread_mutex_unlock(&locks[kind]) == 0);
	}
	return NULL;
}

/* Who may not have the priority cannot lock it; whoever can finds what was set. */
static void look_at_ceiling(void)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t mutex;
	int is, was;

	CHECK(pthread_mutexattr_init(&attr) == 0);
	CHECK(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT) == 0);
	CHECK(pthread_mutexattr_setprioceiling(&attr, 5) == 0 && pthread_mutex_init(&mutex, &attr) == 0);
	CHECK(pthread_mutex_getprioceiling(&mutex, &is) == 0 && is == 5);
	if (pthread_mutex_setprioceiling(&mutex, 7, &was) == 0)
		CHECK(was == 5 && pthread_mutex_getprioceiling(&mutex, &is) == 0 && is == 7);
	if (pthread_mutex_lock(&mutex) == 0)
		CHECK(pthread_mutex_unlock(&mutex) == 0);
	CHECK(pthread_mutex_getprioceiling(&locks[0], &is) == EINVAL);
}

static void *unlocks_inherit(void *unused)
{
	CHECK(pthread_mutex_unlock(&locks[0]) == EPERM);
	return unused;
}

/* Of these the kernel knows the owner, so also a normal one is not given by another thread. */
static void unlock_anothers(void)
{
	pthread_t thread;
	CHECK(pthread_mutex_lock(&locks[0]) == 0);
	CHECK(pthread_create(&thread, NULL, unlocks_inherit, NULL) == 0 && pthread_join(thread, NULL) == 0);
	CHECK(pthread_mutex_trylock(&locks[0]) != 0);
	make(0);
}

int main(void)
{
	for (unsigned i = 0; i < KINDS; i++)
		make(i);
	unlock_anothers();
	look_at_ceiling();
	for (int round = 0; round < 3; round++) {
		crew_start(THREADS, work);
		crew_join(THREADS);
		CHECK(pthread_mutex_destroy(&locks[3]) == 0);
		memset(&locks[3], 0x55, sizeof locks[3]);
		locks[3] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
		if (round == 1)
			make(3);
	}
	for (unsigned i = 0; i < KINDS; i++)
		print_arrivals(names[i], &arrivals[i]);
	return 0;
}

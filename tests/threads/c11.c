/*
 * C11's names for all of it: thrd_, mtx_ (plain, timed, recursive), cnd_, call_once, tss_. In glibc they are functions of
 * their own that call the pthread ones from inside, where nobody interposes.
 */
// run: varies
#include "threads.h"
#include <threads.h>

enum { THREADS = 5, ROUNDS = 150 };
static mtx_t plain, timed, recursive;
static cnd_t ready;
static once_flag flags[ROUNDS];
static tss_t own;
static struct arrivals arrivals, takers, runners, ends;
static unsigned late[THREADS], busy[THREADS], tokens;
static thread_local unsigned self;

static void initialise(void)
{
	arrive(&runners, self); /* each flag in turn: the one before is done */
}

static void at_end(void *value)
{
	mtx_lock(&plain);
	arrive(&ends, (unsigned)(uintptr_t)value - 1);
	mtx_unlock(&plain);
}

static void take_timed(unsigned me)
{
	struct timespec soon = after(CLOCK_REALTIME, chance(200));
	int r = chance(2) ? mtx_timedlock(&timed, &soon) : mtx_trylock(&timed);

	CHECK(r == thrd_success || r == thrd_timedout || r == thrd_busy);
	late[me] += r == thrd_timedout;
	busy[me] += r == thrd_busy;
	if (r != thrd_success)
		return;
	arrive(&arrivals, me);
	dawdle(3000);
	CHECK(mtx_unlock(&timed) == thrd_success);
}

static int work(void *argument)
{
	self = ME(argument);
	CHECK(tss_set(own, (void *)(uintptr_t)(self + 1)) == thrd_success);
	for (int i = 0; i < ROUNDS; i++) {
		mtx_lock(&recursive);
		mtx_lock(&recursive);
		call_once(&flags[i], initialise);
		mtx_unlock(&recursive);
		mtx_unlock(&recursive);
		take_timed(self);
		if (chance(10) == 0)
			thrd_yield();
	}
	mtx_lock(&plain);
	while (!tokens) {
		struct timespec soon = after(CLOCK_REALTIME, 300);
		int r = self % 2 ? cnd_wait(&ready, &plain) : cnd_timedwait(&ready, &plain, &soon);
		late[self] += r == thrd_timedout;
	}
	tokens--;
	arrive(&takers, self);
	mtx_unlock(&plain);
	if (self % 2)
		thrd_exit(100 + (int)self);
	return 100 + (int)self;
}

int main(void)
{
	thrd_t threads[THREADS];
	int result;

	CHECK(mtx_init(&plain, mtx_plain) == thrd_success && mtx_init(&timed, mtx_timed) == thrd_success);
	CHECK(mtx_init(&recursive, mtx_plain | mtx_recursive) == thrd_success && cnd_init(&ready) == thrd_success);
	CHECK(tss_create(&own, at_end) == thrd_success);
	for (int i = 0; i < ROUNDS; i++)
		flags[i] = (once_flag)ONCE_FLAG_INIT;
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(thrd_create(&threads[i], work, (void *)(uintptr_t)i) == thrd_success);
	thrd_sleep(&(struct timespec){ .tv_nsec = 3000000 }, NULL);
	for (unsigned i = 0; i < THREADS; i++) {
		mtx_lock(&plain);
		tokens++;
		CHECK((i % 2 ? cnd_broadcast(&ready) : cnd_signal(&ready)) == thrd_success);
		mtx_unlock(&plain);
		dawdle(20000);
	}
	mtx_lock(&plain);
	cnd_broadcast(&ready);
	mtx_unlock(&plain);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(thrd_join(threads[i], &result) == thrd_success && result == 100 + (int)i);
	print_arrivals("arrivals", &arrivals);
	print_arrivals("takers", &takers);
	print_arrivals("runners", &runners);
	print_arrivals("ends", &ends);
	for (unsigned i = 0; i < THREADS; i++)
		printf("thread %u: late %u, busy %u\n", i, late[i], busy[i]);
	return 0;
}

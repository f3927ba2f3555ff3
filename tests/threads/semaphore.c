/*
 * Unnamed semaphores: wait, trywait, timedwait, clockwait, getvalue, and two units, so that two threads are inside at
 * once. Who got in, who was turned away, who was late, and the values seen are printed.
 */
// run: varies
#include "threads.h"
#include <semaphore.h>

enum { THREADS = 5, ROUNDS = 120, UNITS = 2 };
static sem_t units, one;
static struct arrivals arrivals, values;
static unsigned inside, busy[THREADS], late[THREADS];

static int take(void)
{
	struct timespec soon = after(CLOCK_REALTIME, chance(300)), mono = after(CLOCK_MONOTONIC, chance(300));

	switch (chance(4)) {
	case 0: return sem_trywait(&units);
	case 1: return sem_timedwait(&units, &soon);
	case 2: return sem_clockwait(&units, CLOCK_MONOTONIC, &mono);
	default: return sem_wait(&units);
	}
}

static void note(unsigned me, int enters)
{
	int value;

	CHECK(sem_wait(&one) == 0); /* a semaphore as a mutex */
	inside += enters ? 1u : -1u;
	CHECK(inside <= UNITS);
	arrive(&arrivals, me * 2 + (unsigned)enters);
	CHECK(sem_getvalue(&units, &value) == 0 && value >= 0 && value <= UNITS);
	arrive(&values, (unsigned)value);
	CHECK(sem_post(&one) == 0);
}

static void *work(void *argument)
{
	unsigned me = ME(argument);

	for (int i = 0; i < ROUNDS; i++) {
		errno = 0;
		if (take()) {
			CHECK(errno == EAGAIN || errno == ETIMEDOUT);
			*(errno == EAGAIN ? &busy[me] : &late[me]) += 1;
			continue;
		}
		note(me, 1);
		dawdle(3000);
		note(me, 0);
		CHECK(sem_post(&units) == 0);
	}
	return NULL;
}

int main(void)
{
	CHECK(sem_init(&units, 0, UNITS) == 0 && sem_init(&one, 0, 1) == 0);
	crew_start(THREADS, work);
	crew_join(THREADS);
	print_arrivals("arrivals", &arrivals);
	print_arrivals("values", &values);
	for (unsigned i = 0; i < THREADS; i++)
		printf("thread %u: turned away %u, late %u\n", i, busy[i], late[i]);
	CHECK(sem_destroy(&units) == 0 && sem_destroy(&one) == 0);
	return 0;
}

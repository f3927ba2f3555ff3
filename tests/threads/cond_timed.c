/*
 * timedwait and clockwait, on a realtime and on a monotonic condition, with deadlines near the moment of the signal:
 * some are signalled, some time out, and the clock at replay has nothing to say about it. After ETIMEDOUT the mutex is
 * held again, also at replay.
 */
// run: varies
#include "threads.h"

enum { THREADS = 4, ROUNDS = 60 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t real = PTHREAD_COND_INITIALIZER, mono;
static struct arrivals ends;
static unsigned late[THREADS], signalled[THREADS], left = THREADS;

static int wait_a_little(void)
{
	struct timespec t = after(CLOCK_REALTIME, chance(300)), m = after(CLOCK_MONOTONIC, chance(300));

	switch (chance(3)) {
	case 0: return pthread_cond_timedwait(&real, &lock, &t);
	case 1: return pthread_cond_timedwait(&mono, &lock, &m);
	default: return pthread_cond_clockwait(&real, &lock, CLOCK_MONOTONIC, &m);
	}
}

static void *work(void *argument)
{
	unsigned me = ME(argument);

	pthread_mutex_lock(&lock);
	for (int i = 0; i < ROUNDS; i++) {
		int r = wait_a_little();
		CHECK(r == 0 || r == ETIMEDOUT);
		arrive(&ends, me * 2 + (r == 0));
		late[me] += r != 0;
		signalled[me] += r == 0;
	}
	left--;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_condattr_t attr;
	struct timespec past = { 1, 0 }, never = { 1, -1 };

	pthread_condattr_init(&attr);
	CHECK(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 && pthread_cond_init(&mono, &attr) == 0);
	pthread_mutex_lock(&lock);
	CHECK(pthread_cond_timedwait(&real, &lock, &past) == ETIMEDOUT);
	CHECK(pthread_cond_timedwait(&real, &lock, &never) == EINVAL);
	pthread_mutex_unlock(&lock);
	crew_start(THREADS, work);
	for (int going = 1; going;) {
		pause_us(chance(200));
		if (chance(2))
			pthread_cond_signal(&mono);
		pthread_cond_signal(&real);
		pthread_mutex_lock(&lock);
		going = left > 0;
		pthread_mutex_unlock(&lock);
	}
	crew_join(THREADS);
	print_arrivals("ends", &ends);
	for (unsigned i = 0; i < THREADS; i++)
		printf("thread %u: late %u, signalled %u\n", i, late[i], signalled[i]);
	return 0;
}

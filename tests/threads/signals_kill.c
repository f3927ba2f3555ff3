/*
 * pthread_kill to threads that compute, wait for a mutex, a condition or the kernel. The handler runs in the thread that
 * was meant, at some event of its own; how far that thread was is noted. A lock whose wait is interrupted goes on waiting.
 */
// run: varies
#include "threads.h"
#include <signal.h>

enum { THREADS = 4, SIGNALS = 40 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static __thread volatile unsigned steps, handled, where;
static __thread pthread_t self;
static unsigned over, report[THREADS][2];
static struct arrivals order;

static void handler(int sig)
{
	CHECK(sig == SIGUSR1 && pthread_equal(self, pthread_self()));
	handled++;
	where = where * 31 + steps;
}

static void *work(void *argument)
{
	unsigned me = ME(argument);
	sigset_t set;

	self = pthread_self();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
	for (int end = 0; !end; steps++) {
		pthread_mutex_lock(&lock);
		arrive(&order, me);
		struct timespec soon = after(CLOCK_REALTIME, 100);
		if (me == 1)
			pthread_cond_timedwait(&changed, &lock, &soon);
		end = over >= THREADS * SIGNALS;
		pthread_mutex_unlock(&lock);
		if (me == 2)
			pause_us(50); /* EINTR */
		dawdle(1000);
	}
	report[me][0] = handled;
	report[me][1] = where;
	return NULL;
}

int main(void)
{
	struct sigaction act = { .sa_handler = handler };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0); /* none before a thread knows itself */
	CHECK(sigaction(SIGUSR1, &act, NULL) == 0);
	crew_start(THREADS, work);
	for (unsigned i = 0; i < SIGNALS * THREADS; i++) {
		CHECK(pthread_kill(crew[i % THREADS], SIGUSR1) == 0);
		dawdle(20000);
		pthread_mutex_lock(&lock);
		over++;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
	CHECK(pthread_kill(crew[0], 0) == 0 && pthread_kill(pthread_self(), 1000) == EINVAL);
	crew_join(THREADS);
	print_arrivals("order", &order);
	for (unsigned i = 0; i < THREADS; i++)
		printf("thread %u: %u signals, at %08x\n", i, report[i][0], report[i][1]);
	return 0;
}

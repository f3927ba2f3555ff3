/*
 * One thread waits for all signals with sigwaitinfo and sigtimedwait, as servers do, while others send them: with values
 * in a queue, to the process, to the thread. What came, from whom, in which order and how often it waited in vain.
 */
// run: varies
#include "threads.h"
#include <signal.h>

enum { SENDERS = 3, EACH = 60 };
static struct arrivals order;
static unsigned vain, sum;
static pthread_t waiter;

static void *wait_for_all(void *argument)
{
	sigset_t set;
	siginfo_t info;
	struct timespec soon = { 0, 50000 };

	(void)argument;
	sigfillset(&set);
	while (order.count < SENDERS * EACH) {
		int sig = chance(2) ? sigtimedwait(&set, &info, &soon) : sigwaitinfo(&set, &info);
		if (sig < 0) {
			CHECK(errno == EAGAIN || errno == EINTR);
			vain += errno == EAGAIN;
			continue;
		}
		CHECK(sig >= SIGRTMIN && sig <= SIGRTMIN + SENDERS);
		CHECK(info.si_pid == getpid());
		arrive(&order, (unsigned)(sig - SIGRTMIN));
		sum = sum * 31 + (unsigned)info.si_value.sival_int;
	}
	return NULL;
}

static void *work(void *argument)
{
	unsigned me = ME(argument);

	for (int i = 0; i < EACH; i++) {
		union sigval value = { .sival_int = (int)(me * 1000) + i };
		int r = i % 2 ? pthread_sigqueue(waiter, SIGRTMIN + (int)me, value) :
				sigqueue(getpid(), SIGRTMIN + (int)me, value);
		CHECK(r == 0);
		dawdle(20000);
	}
	return NULL;
}

int main(void)
{
	sigset_t all;

	sigfillset(&all);
	CHECK(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
	CHECK(pthread_create(&waiter, NULL, wait_for_all, NULL) == 0);
	crew_start(SENDERS, work);
	crew_join(SENDERS);
	CHECK(pthread_join(waiter, NULL) == 0);
	print_arrivals("order", &order);
	printf("sum %08x, waited in vain %u times\n", sum, vain);
	return 0;
}

/*
 * Timers that send signals. What could go wrong: a timer armed again at replay,
 * its siginfo (overrun, timer id), what is left of it, a tick that is lost.
 */
// run: varies
#include "check.h"
#include <sys/time.h>

static volatile sig_atomic_t count, value, overrun;

static void handler(int sig UNUSED, siginfo_t *info, void *context UNUSED)
{
	count++;
	if (info->si_code == SI_TIMER) {
		value = info->si_value.sival_int;
		overrun += info->si_overrun;
	}
}

static void wait_for(int n)
{
	int turns = 0;
	while (count < n) {
		struct timespec t = { 0, 300000 };
		nanosleep(&t, 0);
		turns++;
	}
	say("%d ticks after %d turns", count, turns);
}

int main(void)
{
	struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	CHECK(sigaction(SIGALRM, &a, 0) == 0 && sigaction(SIGRTMIN, &a, 0) == 0 && sigaction(SIGVTALRM, &a, 0) == 0);

	struct itimerval every = { { 0, 700 }, { 0, 900 } }, old, off = { 0 };
	CHECK(setitimer(ITIMER_REAL, &every, &old) == 0 && old.it_value.tv_sec == 0 && old.it_value.tv_usec == 0);
	wait_for(5);
	CHECK(getitimer(ITIMER_REAL, &old) == 0 && old.it_interval.tv_usec >= 700);
	say("next in %ld us", (long)old.it_value.tv_usec);
	CHECK(setitimer(ITIMER_REAL, &off, &old) == 0);
	say("stopped %ld us before", (long)old.it_value.tv_usec);

	CHECK(alarm(100) == 0);
	unsigned left = alarm(0);
	CHECK(left == 100 || left == 99);
	FAILS(setitimer((__itimer_which_t)9, &every, 0), EINVAL);

	/* processor time */
	count = 0;
	every = (struct itimerval){ { 0, 0 }, { 0, 3000 } };
	CHECK(setitimer(ITIMER_VIRTUAL, &every, 0) == 0);
	struct timespec t;
	long calls = 0;
	while (!count && calls < 50000000) {
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
		calls++;
	}
	CHECK(count == 1);
	say("3 ms of processor time are %ld calls", calls);

	/* POSIX timers */
	count = 0;
	timer_t id;
	struct sigevent e = { .sigev_notify = SIGEV_SIGNAL,
			      .sigev_signo = SIGRTMIN,
			      .sigev_value = { .sival_int = 4711 } };
	CHECK(timer_create(CLOCK_MONOTONIC, &e, &id) == 0);
	struct itimerspec fast = { { 0, 400000 }, { 0, 500000 } }, now;
	CHECK(timer_settime(id, 0, &fast, 0) == 0);
	wait_for(4);
	CHECK(value == 4711);
	CHECK(timer_gettime(id, &now) == 0 && now.it_interval.tv_nsec == 400000);
	say("next in %ld ns, overrun now %d, so far %d", now.it_value.tv_nsec, timer_getoverrun(id), overrun);
	CHECK(timer_settime(id, 0, &(struct itimerspec){ 0 }, &now) == 0);
	say("stopped %ld ns before", now.it_value.tv_nsec);
	CHECK(timer_delete(id) == 0);
	FAILS(timer_create(9999, &e, &id), EINVAL);
	timer_t silent;
	CHECK(timer_create(CLOCK_REALTIME, &(struct sigevent){ .sigev_notify = SIGEV_NONE }, &silent) == 0);
	CHECK(timer_settime(silent, 0, &(struct itimerspec){ { 0, 0 }, { 1000, 0 } }, 0) == 0);
	CHECK(timer_gettime(silent, &now) == 0 && now.it_value.tv_sec >= 998);
	say("silent timer %ld.%09ld", (long)now.it_value.tv_sec, now.it_value.tv_nsec);
	return done();
}

/*
 * Clocks and sleeping. What could go wrong: the vdso answers past the recorder,
 * time goes backwards between calls, a sleep that sleeps again at replay, what is
 * left of an interrupted sleep stored by an absolute one.
 */
// run: varies
#include "check.h"
#include <sys/time.h>
#include <sys/timex.h>

static void handler(int sig UNUSED)
{
}

int main(void)
{
	struct timespec a, b, res;
	const clockid_t clocks[] = { CLOCK_REALTIME,	      CLOCK_MONOTONIC,	   CLOCK_PROCESS_CPUTIME_ID,
				     CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE,
				     CLOCK_MONOTONIC_COARSE,  CLOCK_BOOTTIME };
	for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
		CHECK(clock_gettime(clocks[i], &a) == 0 && clock_getres(clocks[i], &res) == 0);
		say("clock %d %ld.%09ld resolution %ld", clocks[i], (long)a.tv_sec, a.tv_nsec, res.tv_nsec);
	}
	FAILS(clock_gettime(9999, &a), EINVAL);
	FAILS(syscall(SYS_clock_gettime, CLOCK_REALTIME, bad_pointer), EFAULT);
	CHECK(syscall(SYS_clock_getres, CLOCK_MONOTONIC, (void *)0) == 0);
	struct timeval v;
	time_t now = time(0);
	CHECK(gettimeofday(&v, 0) == 0 && v.tv_sec >= now && v.tv_sec - now < 5);
	say("time %ld %ld.%06ld %s", (long)now, (long)v.tv_sec, (long)v.tv_usec, ctime(&now));
	struct {
		int west, dst;
	} zone = { -1, -1 };
	CHECK(syscall(SYS_gettimeofday, &v, &zone) == 0);
	say("zone %d %d", zone.west, zone.dst);
	CHECK(clock_gettime(CLOCK_MONOTONIC, &a) == 0);
	for (int i = 0; i < 100; i++) {
		CHECK(clock_gettime(CLOCK_MONOTONIC, &b) == 0);
		CHECK(b.tv_sec > a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_nsec >= a.tv_nsec));
		a = b;
	}
	say("after 100 calls %ld.%09ld, clock() %ld", (long)a.tv_sec, a.tv_nsec, (long)clock());

	CHECK(nanosleep(&(struct timespec){ 0, 2000000 }, 0) == 0);
	CHECK(clock_gettime(CLOCK_MONOTONIC, &b) == 0);
	CHECK((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec >= 2000000);
	b.tv_nsec += 1000000;
	if (b.tv_nsec >= 1000000000) {
		b.tv_nsec -= 1000000000;
		b.tv_sec++;
	}
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &b, 0) == 0);
	CHECK(clock_gettime(CLOCK_MONOTONIC, &a) == 0 && (a.tv_sec > b.tv_sec || a.tv_nsec >= b.tv_nsec));
	CHECK(usleep(100) == 0);
	FAILS(nanosleep(&(struct timespec){ 0, 2000000000 }, 0), EINVAL);

	/* Interrupted: what is left is stored, over the request itself if one wants. */
	struct sigaction act = { .sa_handler = handler };
	CHECK(sigaction(SIGALRM, &act, 0) == 0);
	struct itimerval soon = { { 0, 0 }, { 0, 30000 } };
	CHECK(setitimer(ITIMER_REAL, &soon, 0) == 0);
	struct timespec both = { 5, 0 };
	FAILS(nanosleep(&both, &both), EINTR);
	CHECK(both.tv_sec == 4);
	say("left %ld.%09ld", (long)both.tv_sec, both.tv_nsec);
	CHECK(setitimer(ITIMER_REAL, &soon, 0) == 0);
	b = (struct timespec){ -1, -1 };
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ 5, 0 }, &b) == EINTR && b.tv_sec == 4);
	say("left %ld.%09ld", (long)b.tv_sec, b.tv_nsec);
	CHECK(setitimer(ITIMER_REAL, &soon, 0) == 0);
	CHECK(clock_gettime(CLOCK_MONOTONIC, &a) == 0);
	a.tv_sec += 5;
	b = (struct timespec){ -1, -1 };
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &a, &b) == EINTR && b.tv_sec == -1 && b.tv_nsec == -1);

	struct timex x = { 0 };
	if (adjtimex(&x) < 0)
		skipped("adjtimex");
	else
		say("adjtimex %ld %ld %ld", (long)x.offset, (long)x.freq, (long)x.time.tv_usec);
	return done();
}

/*
 * Descriptors that are counters, clocks and signals. What could go wrong: a timer
 * that fires again at replay, expirations counted anew, the kernel's 8-byte
 * signal set taken for libc's 128.
 */
// run: varies
#include "check.h"
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

static void counters(void)
{
	int fd = eventfd(3, EFD_NONBLOCK | EFD_CLOEXEC);
	uint64_t v = 0;
	CHECK(fd >= 0 && read(fd, &v, sizeof v) == 8 && v == 3);
	FAILS(read(fd, &v, sizeof v), EAGAIN);
	v = 40;
	CHECK(write(fd, &v, sizeof v) == 8 && write(fd, &v, sizeof v) == 8);
	FAILS(read(fd, &v, 4), EINVAL);
	CHECK(read(fd, &v, sizeof v) == 8 && v == 80);
	close(fd);
	fd = eventfd(2, EFD_SEMAPHORE);
	CHECK(read(fd, &v, sizeof v) == 8 && v == 1);
	close(fd);
}

static void timers(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	struct itimerspec every = { { 0, 300000 }, { 0, 500000 } }, now, old;
	uint64_t n;
	CHECK(fd >= 0 && timerfd_settime(fd, 0, &every, 0) == 0);
	for (int i = 0; i < 4; i++) {
		CHECK(read(fd, &n, sizeof n) == 8 && n >= 1);
		say("expired %lu times", (unsigned long)n);
	}
	CHECK(timerfd_gettime(fd, &now) == 0 && now.it_interval.tv_nsec == 300000);
	say("next in %ld ns", now.it_value.tv_nsec);
	struct itimerspec off = { 0 };
	CHECK(timerfd_settime(fd, 0, &off, &old) == 0 && old.it_interval.tv_nsec == 300000);
	say("stopped %ld ns before", old.it_value.tv_nsec);
	struct itimerspec at = { 0 };
	CHECK(clock_gettime(CLOCK_MONOTONIC, &at.it_value) == 0);
	CHECK(timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, 0) == 0 && read(fd, &n, sizeof n) == 8 && n == 1);
	FAILS(timerfd_create(9999, 0), EINVAL);
	close(fd);
}

static void signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN + 2);
	CHECK(sigprocmask(SIG_BLOCK, &set, 0) == 0);
	int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	struct signalfd_siginfo info[3];
	CHECK(fd >= 0);
	FAILS(read(fd, info, sizeof info), EAGAIN);
	CHECK(kill(getpid(), SIGUSR1) == 0 && sigqueue(getpid(), SIGRTMIN + 2, (union sigval){ 1234 }) == 0);
	memset(info, 0x5a, sizeof info);
	CHECK(read(fd, info, sizeof info) == 2 * sizeof info[0]);
	CHECK(info[0].ssi_signo == SIGUSR1 && (int)info[0].ssi_pid == getpid() && info[1].ssi_int == 1234);
	CHECK(((unsigned char *)&info[2])[0] == 0x5a);
	say_bytes("signal", &info[0], 48);
	sigdelset(&set, SIGUSR1);
	CHECK(signalfd(fd, &set, 0) == fd);
	CHECK(kill(getpid(), SIGUSR1) == 0);
	FAILS(read(fd, info, sizeof info), EAGAIN);
	sigemptyset(&set);
	CHECK(sigpending(&set) == 0 && sigismember(&set, SIGUSR1));
	signal(SIGUSR1, SIG_IGN);
	CHECK(sigpending(&set) == 0 && !sigismember(&set, SIGUSR1));
	close(fd);
}

int main(void)
{
	counters();
	timers();
	signals();
	return done();
}

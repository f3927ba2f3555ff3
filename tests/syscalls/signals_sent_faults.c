/*
 * Signals that the runtime itself lives by (SIGSYS, and those of faults) when they are sent, not raised by an
 * instruction. What could go wrong: they are lost, or not seen by who has blocked them and asks for them, or end a call
 * that they should not.
 */
// run: signal=31
#include "check.h"
#include <sys/wait.h>

static volatile sig_atomic_t count[65];

static void note(int sig)
{
	count[sig]++;
}

/* Waits for a child while a timer sends the signal; the wait must not end before. */
static void waits_on(int sig, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = sig };
	struct itimerspec often = { { 0, 5000000 }, { 0, 5000000 } };
	timer_t timer;
	int status;
	CHECK(sigaction(sig, &action, 0) == 0 && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	pid_t child = fork();
	CHECK(child >= 0);
	if (!child) {
		usleep(50000);
		_exit(7);
	}
	CHECK(timer_settime(timer, 0, &often, 0) == 0);
	CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
	CHECK(timer_delete(timer) == 0);
	count[sig] = 0;
}

static void try(int sig)
{
	sigset_t set, pending;
	siginfo_t info;
	int got;
	waits_on(sig, SIG_IGN);
	waits_on(sig, note);
	signal(sig, note);
	sigemptyset(&set);
	sigaddset(&set, sig);
	CHECK(kill(getpid(), sig) == 0 && count[sig] == 1 && raise(sig) == 0 && count[sig] == 2);
	CHECK(sigprocmask(SIG_BLOCK, &set, 0) == 0 && raise(sig) == 0 && raise(sig) == 0);
	CHECK(sigpending(&pending) == 0 && sigismember(&pending, sig) && !sigismember(&pending, SIGHUP));
	CHECK(sigtimedwait(&set, &info, &(struct timespec){ 0, 0 }) == sig && info.si_code == SI_USER);
	CHECK(sigpending(&pending) == 0 && !sigismember(&pending, sig));
	FAILS(sigtimedwait(&set, &info, &(struct timespec){ 0, 1000 }), EAGAIN);
	CHECK(kill(getpid(), sig) == 0 && sigwait(&set, &got) == 0 && got == sig && count[sig] == 2);
	CHECK(raise(sig) == 0 && count[sig] == 2);
	/* it waits, and others come all the same */
	CHECK(raise(SIGUSR1) == 0 && count[SIGUSR1] == 1);
	count[SIGUSR1] = 0;
	CHECK(sigprocmask(SIG_UNBLOCK, &set, 0) == 0 && count[sig] == 3);
	say("%d came, from %d", sig, info.si_pid);
}

/* The runtime has timers of its own that send SIGSYS. */
static void by_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGSYS };
	struct itimerspec soon = { .it_value = { 0, 1000000 } };
	timer_t timer;
	sigset_t set;
	siginfo_t info;
	sigemptyset(&set);
	sigaddset(&set, SIGSYS);
	signal(SIGSYS, note);
	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && sigprocmask(SIG_BLOCK, &set, 0) == 0);
	CHECK(timer_settime(timer, 0, &soon, 0) == 0 &&
	      sigtimedwait(&set, &info, &(struct timespec){ 20, 0 }) == SIGSYS);
	CHECK(info.si_code == SI_TIMER && timer_settime(timer, 0, &soon, 0) == 0);
	sigemptyset(&set);
	CHECK(sigsuspend(&set) == -1 && count[SIGSYS] == 1 && sigprocmask(SIG_SETMASK, &set, 0) == 0);
	count[SIGSYS] = 0;
}

int main(void)
{
	signal(SIGUSR1, note);
	alarm(30);
	by_timer();
	try(SIGSYS);
	try(SIGSEGV);
	try(SIGBUS);
	try(SIGILL);
	try(SIGFPE);
	try(SIGTRAP);
	signal(SIGSYS, SIG_IGN);
	CHECK(raise(SIGSYS) == 0 && count[SIGSYS] == 3);
	signal(SIGSYS, SIG_DFL);
	raise(SIGSYS);
	return done();
}

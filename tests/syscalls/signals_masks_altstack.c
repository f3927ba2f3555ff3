/*
 * Masks, pending signals, alternate stacks. What could go wrong: the runtime's own
 * signals (SIGSYS) showing in a mask, a pending signal lost or delivered twice,
 * the handler not on the stack that the program gave, real-time signals out of
 * order.
 */
// run: varies
#include "check.h"

static volatile sig_atomic_t count, order[16];
static char *volatile where;
static volatile int flags_inside;
static char stack_room[256 << 10];

static void note(int sig)
{
	order[count++ & 15] = sig;
}

static void on_stack(int sig UNUSED)
{
	char here;
	where = &here;
	stack_t s;
	CHECK(sigaltstack(0, &s) == 0);
	flags_inside = s.ss_flags;
	count++;
}

static void raises_usr1(int sig UNUSED)
{
	raise(SIGUSR1);
	CHECK(!where);
}

int main(void)
{
	sigset_t set, old, pending;
	struct sigaction a = { .sa_handler = note };
	for (int sig = SIGRTMIN; sig < SIGRTMIN + 4; sig++)
		CHECK(sigaction(sig, &a, 0) == 0);
	CHECK(sigaction(SIGUSR1, &a, 0) == 0 && sigaction(SIGUSR2, &a, 0) == 0);

	/* Every bit comes back as it was set. */
	sigfillset(&set);
	CHECK(sigprocmask(SIG_SETMASK, &set, &old) == 0 && sigprocmask(SIG_BLOCK, 0, &set) == 0);
	for (int sig = 1; sig < 32; sig++)
		CHECK(sigismember(&set, sig) == (sig != SIGKILL && sig != SIGSTOP));
	say_bytes("full mask", &set, 8);
	CHECK(sigprocmask(SIG_SETMASK, &old, 0) == 0);
	say_bytes("mask", &old, 8);
	FAILS(sigprocmask(99, &set, 0), EINVAL);
	FAILS(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, (void *)0, 16ul), EINVAL);

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	for (int sig = SIGRTMIN; sig < SIGRTMIN + 4; sig++)
		sigaddset(&set, sig);
	CHECK(sigprocmask(SIG_BLOCK, &set, 0) == 0);
	raise(SIGUSR2);
	raise(SIGUSR2);
	raise(SIGUSR1);
	for (int i = 3; i >= 0; i--)
		CHECK(sigqueue(getpid(), SIGRTMIN + i, (union sigval){ i }) == 0);
	CHECK(sigqueue(getpid(), SIGRTMIN, (union sigval){ 9 }) == 0);
	CHECK(count == 0 && sigpending(&pending) == 0 && sigismember(&pending, SIGUSR2) &&
	      sigismember(&pending, SIGRTMIN + 3) && !sigismember(&pending, SIGHUP));
	say_bytes("pending", &pending, 8);

	/* Taken, not handled: the lowest first, in the order sent. */
	siginfo_t info;
	memset(&info, 0x5a, sizeof info);
	CHECK(sigwaitinfo(&set, &info) > 0);
	say("took %d code %d value %d pid %d", info.si_signo, info.si_code, info.si_value.sival_int, info.si_pid);
	int sig;
	sigset_t only;
	sigemptyset(&only);
	sigaddset(&only, SIGRTMIN);
	CHECK(sigwaitinfo(&only, &info) == SIGRTMIN && info.si_value.sival_int == 0);
	CHECK(sigtimedwait(&only, &info, &(struct timespec){ 0, 0 }) == SIGRTMIN && info.si_value.sival_int == 9);
	FAILS(sigtimedwait(&only, &info, &(struct timespec){ 0, 1000000 }), EAGAIN);
	sigemptyset(&only);
	sigaddset(&only, SIGRTMIN + 1);
	CHECK(sigwait(&only, &sig) == 0 && sig == SIGRTMIN + 1);
	CHECK(count == 0 && sigprocmask(SIG_UNBLOCK, &set, 0) == 0);
	say("handled %d: %d %d %d %d", count, order[0], order[1], order[2], order[3]);
	CHECK(count == 3); /* of USR1, USR2, RT+2 and RT+3 one was taken above */

	/* sigsuspend: handled with the mask given, and the old one is back. */
	sigemptyset(&only);
	sigaddset(&only, SIGUSR1);
	CHECK(sigprocmask(SIG_SETMASK, &only, 0) == 0);
	raise(SIGUSR1);
	count = 0;
	sigemptyset(&set);
	FAILS(sigsuspend(&set), EINTR);
	CHECK(count == 1 && sigprocmask(SIG_BLOCK, 0, &set) == 0 && sigismember(&set, SIGUSR1));
	CHECK(sigprocmask(SIG_UNBLOCK, &only, 0) == 0 && count == 1);

	/* The alternate stack. */
	stack_t s = { .ss_sp = stack_room, .ss_size = sizeof stack_room }, was;
	CHECK(sigaltstack(0, &was) == 0 && (was.ss_flags & SS_DISABLE));
	CHECK(sigaltstack(&s, &was) == 0 && sigaltstack(0, &was) == 0 && was.ss_sp == stack_room &&
	      was.ss_size == sizeof stack_room);
	FAILS(sigaltstack(&(stack_t){ .ss_sp = stack_room, .ss_size = 10 }, 0), ENOMEM);
	struct sigaction alt = { .sa_handler = on_stack, .sa_flags = SA_ONSTACK };
	CHECK(sigaction(SIGUSR1, &alt, 0) == 0);
	count = 0;
	raise(SIGUSR1);
	CHECK(count == 1 && where > stack_room && where < stack_room + sizeof stack_room &&
	      (flags_inside & SS_ONSTACK));
	say("handler's stack %p, %ld below the top", (void *)where, (long)(stack_room + sizeof stack_room - where));

	/* One that waits for the end of a handler on the usual stack is handled on this one. */
	struct sigaction first = { .sa_handler = raises_usr1 };
	sigaddset(&first.sa_mask, SIGUSR1);
	CHECK(sigaction(SIGUSR2, &first, 0) == 0);
	where = 0;
	raise(SIGUSR2);
	char *then = where;
	CHECK(then > stack_room && then < stack_room + sizeof stack_room && count == 2);
	count = 1;

	alt.sa_flags = 0;
	CHECK(sigaction(SIGUSR1, &alt, 0) == 0);
	raise(SIGUSR1);
	CHECK(count == 2 && !(where > stack_room && where < stack_room + sizeof stack_room) &&
	      !(flags_inside & SS_ONSTACK));
	s.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&s, 0) == 0 && sigaltstack(0, &was) == 0 && (was.ss_flags & SS_DISABLE));
	return done();
}

/*
 * Handlers that run at recorded events. What could go wrong: a handler runs at
 * another place, with another siginfo or ucontext, on the runtime's stack or
 * frame; nested handlers; SA_RESETHAND, SA_NODEFER; longjmp out of a handler;
 * the registers after it; signals that wait for its end.
 */
// run: varies
#include "check.h"
#include <setjmp.h>
#include <sys/wait.h>
#include <ucontext.h>

static volatile sig_atomic_t count, depth, deepest;
/* Not static: raise() is declared as a function that calls nobody here, and gcc believes it. */
siginfo_t last;
sigset_t seen_mask;

static void simple(int sig)
{
	count++;
	CHECK(sig == SIGUSR1);
}

static void with_info(int sig, siginfo_t *info, void *context)
{
	last = *info;
	CHECK(info->si_signo == sig && context);
	seen_mask = ((ucontext_t *)context)->uc_sigmask;
	count++;
}

static void nested(int sig)
{
	if (++depth > deepest)
		deepest = depth;
	if (sig == SIGUSR1)
		raise(SIGUSR2);
	if (sig == SIGUSR2 && depth < 5)
		raise(SIGUSR2); /* SA_NODEFER */
	depth--;
	count++;
}

/* What a handler keeps out comes when it returns, one after the other. */
static void sends_more(int sig, siginfo_t *info, void *context)
{
	for (int i = 0; i < 3 && info->si_code != SI_QUEUE; i++)
		CHECK(sigqueue(getpid(), sig, (union sigval){ .sival_int = i }) == 0);
	CHECK(info->si_code != SI_QUEUE || info->si_value.sival_int == count - 1);
	seen_mask = ((ucontext_t *)context)->uc_sigmask;
	depth++;
	deepest = depth;
	count++;
	depth--;
}

/* A loop that makes no system call must see them all, and have its numbers as they were. */
static void wait_for_more(void)
{
	struct sigaction a = { .sa_sigaction = sends_more, .sa_flags = SA_SIGINFO };
	CHECK(sigaction(SIGRTMIN, &a, 0) == 0);
	for (int round = 0; round < 3; round++) {
		volatile double third = round / 3.0;
		count = 0;
		raise(SIGRTMIN);
		int now = count;
		CHECK(now == 4 && deepest == 1 && third == round / 3.0 && !sigismember(&seen_mask, SIGRTMIN));
	}
}

static sigjmp_buf back;
static void jumps(int sig)
{
	siglongjmp(back, sig);
}

static void set(int sig, void (*handler)(int), int flags)
{
	struct sigaction a = { .sa_handler = handler, .sa_flags = flags };
	CHECK(sigaction(sig, &a, 0) == 0);
}

static void set_info(int sig, int flags)
{
	struct sigaction a = { .sa_sigaction = with_info, .sa_flags = SA_SIGINFO | flags };
	CHECK(sigaction(sig, &a, 0) == 0);
}

int main(void)
{
	struct sigaction a;
	CHECK(sigaction(SIGUSR1, 0, &a) == 0 && a.sa_handler == SIG_DFL);
	FAILS(sigaction(SIGKILL, &(struct sigaction){ .sa_handler = simple }, 0), EINVAL);
	FAILS(sigaction(99, 0, &a), EINVAL);

	set(SIGUSR1, simple, SA_RESTART);
	CHECK(sigaction(SIGUSR1, 0, &a) == 0 && a.sa_handler == simple && (a.sa_flags & SA_RESTART));
	for (int i = 0; i < 50; i++)
		CHECK(raise(SIGUSR1) == 0 && count == i + 1);
	CHECK(kill(getpid(), SIGUSR1) == 0 && syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1) == 0 && count == 52);
	CHECK(kill(getpid(), 0) == 0);
	FAILS(kill(getpid(), 1000), EINVAL);

	set_info(SIGUSR1, 0);
	CHECK(kill(getpid(), SIGUSR1) == 0 && last.si_pid == getpid() && last.si_code == SI_USER);
	say("from %d uid %d", last.si_pid, last.si_uid);
	CHECK(sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 77 }) == 0);
	CHECK(last.si_code == SI_QUEUE && last.si_value.sival_int == 77);
	CHECK(!sigismember(&seen_mask, SIGUSR1));
	CHECK(raise(SIGUSR1) == 0 && last.si_code == SI_TKILL);

	set(SIGUSR1, simple, SA_RESETHAND);
	CHECK(raise(SIGUSR1) == 0 && sigaction(SIGUSR1, 0, &a) == 0 && a.sa_handler == SIG_DFL);

	count = 0;
	set(SIGUSR1, nested, 0);
	set(SIGUSR2, nested, SA_NODEFER);
	CHECK(raise(SIGUSR1) == 0 && deepest == 5 && depth == 0 && count == 5);

	wait_for_more();

	set(SIGUSR1, jumps, 0);
	for (volatile int i = 0; i < 3; i++) {
		if (sigsetjmp(back, 1) == 0) {
			raise(SIGUSR1);
			CHECK(!"came back");
		}
		sigset_t now;
		CHECK(sigprocmask(SIG_BLOCK, 0, &now) == 0 && !sigismember(&now, SIGUSR1));
	}

	/* A child's end, and a signal from it, at some moment of ours. */
	set_info(SIGCHLD, SA_RESTART);
	set_info(SIGUSR2, SA_RESTART);
	count = 0;
	pid_t child = fork();
	CHECK(child >= 0);
	if (!child) {
		kill(getppid(), SIGUSR2);
		_exit(3);
	}
	int status, turns = 0;
	CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
	while (count < 2) {
		usleep(100);
		turns++;
	}
	say("child's signals came after %d more turns; last %d from %d", turns, last.si_signo, last.si_pid);
	CHECK(count == 2 && last.si_pid == child);

	/* Between system calls, while counting: how far it got is recorded too. */
	set_info(SIGUSR1, 0);
	count = 0;
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		usleep(1500);
		kill(getppid(), SIGUSR1);
		_exit(0);
	}
	int calls = 0;
	struct timespec t;
	signal(SIGCHLD, SIG_DFL);
	while (!count) {
		CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
		calls++;
	}
	say("signalled after %d calls, at %ld.%09ld", calls, (long)t.tv_sec, t.tv_nsec);
	CHECK(waitpid(child, 0, 0) == child);
	return done();
}

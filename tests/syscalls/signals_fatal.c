/*
 * Ends by signal. What could go wrong: the status of a child that faulted,
 * aborted or was killed; a fault caught and survived; at last the program's own
 * end, which heddle must pass on.
 */
// run: varies signal=15
#include "check.h"
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

static sigjmp_buf back;
static void *volatile fault_at;
static volatile int fault_code;

static void caught(int sig, siginfo_t *info, void *context UNUSED)
{
	fault_at = info->si_addr;
	fault_code = info->si_code;
	siglongjmp(back, sig);
}

static int end_of(void (*what)(void))
{
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		what();
		_exit(0);
	}
	int status;
	CHECK(waitpid(pid, &status, 0) == pid);
	say("child %d ended with %x", pid, status);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void segv(void)
{
	*(volatile int *)bad_pointer = 1;
}
static void illegal(void)
{
	__builtin_trap();
}
static void terminated(void)
{
	kill(getpid(), SIGTERM);
}
static void quits(void)
{
	raise(SIGQUIT);
}
static void alarmed(void)
{
	struct itimerval soon = { { 0, 0 }, { 0, 2000 } };
	setitimer(ITIMER_REAL, &soon, 0);
	for (;;)
		pause();
}
static void broken_pipe(void)
{
	int p[2];
	if (pipe(p) == 0 && close(p[0]) == 0 && write(p[1], "x", 1) < 0)
		_exit(1);
}
static void ignored(void)
{
	signal(SIGTERM, SIG_IGN);
	raise(SIGTERM);
}
static void blocked_fault(void)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, 0);
	*(volatile int *)bad_pointer = 1; /* ends the process although it is blocked */
}

int main(void)
{
	struct rlimit none = { 0, 0 };
	setrlimit(RLIMIT_CORE, &none);
	CHECK(end_of(segv) == SIGSEGV);
	int sig = end_of(illegal);
	CHECK(sig == SIGTRAP || sig == SIGILL || sig == SIGABRT);
	CHECK(end_of(abort) == SIGABRT && end_of(terminated) == SIGTERM && end_of(quits) == SIGQUIT);
	CHECK(end_of(alarmed) == SIGALRM && end_of(broken_pipe) == SIGPIPE && end_of(ignored) == 0);
	CHECK(end_of(blocked_fault) == SIGSEGV);

	struct sigaction a = { .sa_sigaction = caught, .sa_flags = SA_SIGINFO };
	CHECK(sigaction(SIGSEGV, &a, 0) == 0 && sigaction(SIGBUS, &a, 0) == 0);
	if (!sigsetjmp(back, 1)) {
		segv();
		CHECK(!"wrote to nothing");
	}
	CHECK(fault_at == bad_pointer && fault_code == SEGV_MAPERR);
	char *p = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	if (!sigsetjmp(back, 1))
		*(volatile char *)p = 1;
	CHECK(fault_at == p && fault_code == SEGV_ACCERR);
	say("caught at %p", fault_at);
	done();
	kill(getpid(), SIGTERM);
	for (;;)
		pause();
}

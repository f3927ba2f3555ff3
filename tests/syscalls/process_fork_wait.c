/*
 * Children and their ends. What could go wrong: pids of the replaying children,
 * a status or rusage stored although nobody had ended (WNOHANG), waitid's fields,
 * memory of parent and child mixed up, who prints first.
 */
// run: varies
#include "check.h"
#include <sys/resource.h>
#include <sys/wait.h>

static pid_t child_that(int kind)
{
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return pid;
	switch (kind) {
	case 0: say("child %d of %d", getpid(), getppid()); _exit(7);
	case 1: raise(SIGKILL); _exit(1);
	case 2:
		signal(SIGTERM, SIG_DFL);
		for (;;)
			pause();
	default: usleep(2000); exit(3);
	}
}

int main(void)
{
	int status = -1;
	FAILS(wait(&status), ECHILD);
	CHECK(status == -1);
	pid_t a = child_that(0);
	CHECK(waitpid(a, &status, 0) == a && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	pid_t b = child_that(1);
	struct rusage use;
	memset(&use, 0x5a, sizeof use);
	CHECK(wait4(-1, &status, 0, &use) == b && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	say("killed %d, used %ld.%06ld, faults %ld", b, (long)use.ru_utime.tv_sec, (long)use.ru_utime.tv_usec,
	    use.ru_minflt);

	pid_t c = child_that(2);
	status = 12345;
	memset(&use, 0x5a, sizeof use);
	CHECK(wait4(c, &status, WNOHANG, &use) == 0 && status == 12345);
	CHECK(((unsigned char *)&use)[0] == 0x5a && ((unsigned char *)&use)[sizeof use - 1] == 0x5a);
	siginfo_t info;
	memset(&info, 0x5a, sizeof info);
	CHECK(waitid(P_PID, (id_t)c, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0 && info.si_signo == 0);
	CHECK(((unsigned char *)&info)[40] == 0x5a);
	CHECK(kill(c, SIGSTOP) == 0 && waitpid(c, &status, WUNTRACED) == c && WIFSTOPPED(status) &&
	      WSTOPSIG(status) == SIGSTOP);
	CHECK(kill(c, SIGCONT) == 0 && waitpid(c, &status, WCONTINUED) == c && WIFCONTINUED(status));
	CHECK(kill(c, SIGTERM) == 0);
	CHECK(waitid(P_PID, (id_t)c, &info, WEXITED | WNOWAIT) == 0 && info.si_pid == c && info.si_code == CLD_KILLED);
	say("waitid %d code %d status %d uid %d", info.si_pid, info.si_code, info.si_status, info.si_uid);
	CHECK(waitpid(c, &status, 0) == c && WTERMSIG(status) == SIGTERM);
	memset(&info, 0x5a, sizeof info);
	FAILS(waitid(P_ALL, 0, &info, WEXITED), ECHILD);
	say("after a failed waitid %x %x", (unsigned)info.si_signo, (unsigned)info.si_pid);

	/* Memory is copied. */
	volatile int mine = 1;
	pid_t d = fork();
	CHECK(d >= 0);
	if (!d) {
		mine = 2;
		_exit(mine + 40);
	}
	CHECK(waitpid(d, &status, 0) == d && WEXITSTATUS(status) == 42 && mine == 1);

	/* Several at once: the order in which they end is the recorded one. */
	for (int i = 0; i < 4; i++)
		child_that(3);
	for (int i = 0; i < 4; i++) {
		pid_t got = wait(&status);
		CHECK(got > 0 && WEXITSTATUS(status) == 3);
		say("ended %d", got);
	}
	/* A grandchild's output comes through its parent. */
	int p[2];
	CHECK(pipe(p) == 0);
	if (!fork()) {
		if (!fork()) {
			dprintf(p[1], "grandchild %d", getpid());
			_exit(0);
		}
		wait(0);
		_exit(0);
	}
	close(p[1]);
	char text[100];
	long n = 0, got;
	while ((got = read(p[0], text + n, sizeof text - (size_t)n)) > 0)
		n += got;
	CHECK(n > 10);
	say("%.*s", (int)n, text);
	CHECK(wait(0) > 0);
	CHECK(getrusage(RUSAGE_CHILDREN, &use) == 0);
	say("children used %ld.%06ld", (long)use.ru_stime.tv_sec, (long)use.ru_stime.tv_usec);
#ifdef SYS_pidfd_open
	pid_t e = child_that(2);
	int fd = (int)syscall(SYS_pidfd_open, e, 0);
	if (fd < 0) {
		skipped("pidfd_open");
		kill(e, SIGTERM);
	} else {
		CHECK(syscall(SYS_pidfd_send_signal, fd, SIGTERM, (void *)0, 0) == 0);
		CHECK(waitid((idtype_t)3 /* P_PIDFD */, (id_t)fd, &info, WEXITED | WNOWAIT) == 0 && info.si_pid == e);
		close(fd);
	}
	CHECK(waitpid(e, &status, 0) == e);
#endif
	return done();
}

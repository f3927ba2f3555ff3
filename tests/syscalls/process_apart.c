/*
 * Processes that leave the others: a daemon, one with a host name of its own, and a timer that counts the processor's
 * time. What could go wrong: a session or a name of the replaying process, an orphan that nobody waits for, a signal
 * that comes at no call.
 */
// run: varies
#include "check.h"
#include <sched.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>

static volatile sig_atomic_t ticks;

static void tick(int sig)
{
	CHECK(sig == SIGPROF);
	ticks++;
}

static void be_daemon(int to)
{
	CHECK(daemon(0, 1) == 0);
	dprintf(to, "daemon %d in session %d, of %d\n", getpid(), getsid(0), getppid() > 0);
	_exit(0);
}

static void be_elsewhere(int to)
{
	struct utsname name;
	int alone = unshare(CLONE_NEWUTS);

	if (alone == 0)
		CHECK(sethostname("elsewhere", 9) == 0);
	else
		CHECK(errno == EPERM || errno == ENOSYS || errno == EINVAL);
	CHECK(uname(&name) == 0);
	dprintf(to, "%d %s\n", alone, name.nodename);
	_exit(0);
}

static void told_by(void (*child)(int to))
{
	int ends[2], status;
	char text[200];

	CHECK(pipe(ends) == 0);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		close(ends[0]);
		child(ends[1]);
	}
	close(ends[1]);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	ssize_t n = read(ends[0], text, sizeof text - 1);
	CHECK(n > 0);
	text[n - 1] = 0;
	say("%s", text);
	close(ends[0]);
}

int main(void)
{
	struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct timespec now;

	told_by(be_daemon);
	told_by(be_elsewhere);
	signal(SIGPROF, tick);
	CHECK(setitimer(ITIMER_PROF, &often, NULL) == 0);
	unsigned looks = 0;
	for (; ticks < 5; looks++)
		CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0 && syscall(SYS_getppid) > 0);
	CHECK(setitimer(ITIMER_PROF, &never, NULL) == 0);
	say("%d ticks in %u looks", (int)ticks, looks);
	return 0;
}

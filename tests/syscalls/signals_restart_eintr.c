/*
 * System calls that a signal interrupts. What could go wrong: EINTR where
 * SA_RESTART asks for another try and the other way round, calls that are never
 * restarted (poll, nanosleep), a partial write, a handler run twice.
 */
// run: varies
#include "check.h"
#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

static volatile sig_atomic_t count;
static int feed = -1; /* the first handler writes there, so that a restarted read finds something */

static void handler(int sig UNUSED)
{
	if (!count++ && feed >= 0 && write(feed, "h", 1) != 1)
		_exit(1);
}

/* A signal every 20 ms: the first may come before the call has begun, if the machine is busy. */
static void arm(int flags, int fd)
{
	struct sigaction a = { .sa_handler = handler, .sa_flags = flags };
	feed = fd;
	count = 0;
	CHECK(sigaction(SIGALRM, &a, 0) == 0);
	struct itimerval often = { { 0, 20000 }, { 0, 20000 } };
	CHECK(setitimer(ITIMER_REAL, &often, 0) == 0);
}

static void disarm(const char *what)
{
	struct itimerval never = { { 0, 0 }, { 0, 0 } };
	CHECK(setitimer(ITIMER_REAL, &never, 0) == 0);
	CHECK(count >= 1);
	say("%s: %d signals", what, (int)count);
}

int main(void)
{
	int p[2], s[2], go[2];
	char c;
	CHECK(pipe(p) == 0 && pipe(go) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);

	arm(0, -1);
	FAILS(read(p[0], &c, 1), EINTR);
	disarm("read");
	arm(SA_RESTART, p[1]);
	CHECK(read(p[0], &c, 1) == 1 && c == 'h');
	disarm("read again");
	arm(0, -1);
	FAILS(recv(s[0], &c, 1, 0), EINTR);
	disarm("recv");
	arm(SA_RESTART, s[1]);
	CHECK(recv(s[0], &c, 1, 0) == 1);
	disarm("recv again");

	/* Never restarted. */
	struct pollfd f = { p[0], POLLIN, 0 };
	arm(SA_RESTART, -1);
	FAILS(poll(&f, 1, 600000), EINTR);
	disarm("poll");
	arm(SA_RESTART, -1);
	FAILS(select(0, 0, 0, 0, &(struct timeval){ 600, 0 }), EINTR);
	disarm("select");
	arm(SA_RESTART, -1);
	FAILS(pause(), EINTR);
	disarm("pause");
	struct timespec left = { 0, 0 };
	arm(SA_RESTART, -1);
	FAILS(nanosleep(&(struct timespec){ 600, 0 }, &left), EINTR);
	disarm("nanosleep");
	CHECK(left.tv_sec > 0 && left.tv_sec <= 599);
	say("left %ld.%09ld", (long)left.tv_sec, left.tv_nsec);

	/* An ignored signal interrupts nothing. */
	signal(SIGALRM, SIG_IGN);
	struct itimerval soon = { { 0, 0 }, { 0, 1000 } };
	CHECK(setitimer(ITIMER_REAL, &soon, 0) == 0);
	CHECK(poll(&f, 1, 5) == 0);

	/* A signal in the middle of a large write: what was written counts. */
	static char big[1 << 20];
	arm(0, -1);
	long n = write(p[1], big, sizeof big);
	disarm("large write");
	CHECK(n > 0 && n < (long)sizeof big);
	say("interrupted write: %ld", n);
	arm(0, -1);
	FAILS(write(p[1], big, 1), EINTR);
	disarm("small write");

	/* Waiting for a child, which ends when it is told so. */
	pid_t child = fork();
	CHECK(child >= 0);
	if (!child)
		_exit(read(go[0], &c, 1) != 1);
	arm(0, -1);
	int status = 77;
	FAILS(waitpid(child, &status, 0), EINTR);
	disarm("wait");
	CHECK(status == 77);
	arm(SA_RESTART, go[1]);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	disarm("wait again");
	return done();
}

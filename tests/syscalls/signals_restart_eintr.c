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
static int feed = -1; /* the handler writes there, so that a restarted read finds something */

static void handler(int sig UNUSED)
{
	count++;
	if (feed >= 0 && write(feed, "h", 1) != 1)
		_exit(1);
}

static void arm(int flags, int fd)
{
	struct sigaction a = { .sa_handler = handler, .sa_flags = flags };
	feed = fd;
	count = 0;
	CHECK(sigaction(SIGALRM, &a, 0) == 0);
	struct itimerval soon = { { 0, 0 }, { 0, 20000 } };
	CHECK(setitimer(ITIMER_REAL, &soon, 0) == 0);
}

int main(void)
{
	int p[2], s[2];
	char c;
	CHECK(pipe(p) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);

	arm(0, -1);
	FAILS(read(p[0], &c, 1), EINTR);
	CHECK(count == 1);
	arm(SA_RESTART, p[1]);
	CHECK(read(p[0], &c, 1) == 1 && c == 'h' && count == 1);
	arm(0, -1);
	FAILS(recv(s[0], &c, 1, 0), EINTR);
	arm(SA_RESTART, s[1]);
	CHECK(recv(s[0], &c, 1, 0) == 1 && count == 1);

	/* Never restarted. */
	struct pollfd f = { p[0], POLLIN, 0 };
	arm(SA_RESTART, -1);
	FAILS(poll(&f, 1, 5000), EINTR);
	CHECK(count == 1);
	arm(SA_RESTART, -1);
	FAILS(select(0, 0, 0, 0, &(struct timeval){ 5, 0 }), EINTR);
	arm(SA_RESTART, -1);
	FAILS(pause(), EINTR);
	CHECK(count == 1);
	struct timespec left = { 0, 0 };
	arm(SA_RESTART, -1);
	FAILS(nanosleep(&(struct timespec){ 5, 0 }, &left), EINTR);
	CHECK(left.tv_sec == 4);
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
	CHECK(n > 0 && n < (long)sizeof big && count == 1);
	say("interrupted write: %ld", n);
	arm(0, -1);
	FAILS(write(p[1], big, 1), EINTR);

	/* Waiting for a child. */
	pid_t child = fork();
	CHECK(child >= 0);
	if (!child) {
		usleep(80000);
		_exit(0);
	}
	arm(0, -1);
	int status = 77;
	FAILS(waitpid(child, &status, 0), EINTR);
	CHECK(status == 77 && count == 1);
	arm(SA_RESTART, -1);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	say("the handler ran %d times during wait", count);
	return done();
}

/*
 * Signals that interrupt: a timer against read, nanosleep and pause, with and
 * without SA_RESTART; and SIGCHLD while waiting. Which call was cut short, and
 * how much time was left, is part of the recording.
 */
// run: varies
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms, children;
static void on_signal(int sig)
{
	if (sig == SIGALRM)
		alarms++;
	else
		children++;
}

static void ring(int flags, int usec)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = flags };
	sigaction(SIGALRM, &act, 0);
	/* again and again, so that one which comes before the call does no harm */
	struct itimerval often = { .it_value.tv_usec = usec, .it_interval.tv_usec = usec };
	setitimer(ITIMER_REAL, &often, 0);
}

int main(void)
{
	int p[2];
	char c;
	if (pipe(p))
		return 1;
	ring(0, 20000);
	long n = read(p[0], &c, 1);
	printf("read %ld %s\n", n, strerror(errno));
	ring(0, 20000);
	struct timespec time = { 5, 0 }, left = { 0, 0 };
	n = nanosleep(&time, &left);
	printf("nanosleep %ld, left %ld.%09ld\n", n, (long)left.tv_sec, left.tv_nsec);
	ring(SA_RESTART, 20000);
	n = poll(0, 0, 5000);
	printf("poll %ld %s\n", n, strerror(errno));

	struct sigaction act = { .sa_handler = on_signal };
	sigaction(SIGCHLD, &act, 0);
	if (fork() == 0) {
		usleep(60000);
		_exit(write(p[1], "x", 1) == 1 ? 3 : 4);
	}
	ring(SA_RESTART, 20000);
	n = read(p[0], &c, 1);
	printf("restarted read %ld\n", n);
	while (!children)
		pause();
	int status;
	while (wait(&status) < 0 && errno == EINTR)
		;
	printf("alarms %d children %d status %d\n", alarms, children, WEXITSTATUS(status));
	return alarms >= 4 ? 0 : 1;
}

/* Replaces itself ten times, handing on descriptors, a blocked signal that is pending, and the environment. */
// run: varies
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	if (n == 0) {
		sigprocmask(SIG_BLOCK, &set, 0);
		raise(SIGUSR2);
	}
	sigset_t blocked, pending;
	sigprocmask(SIG_BLOCK, 0, &blocked);
	sigpending(&pending);
	int local;
	printf("%d: pid %d stack %p blocked %d pending %d from %s\n", n, getpid(), (void *)&local,
	       sigismember(&blocked, SIGUSR2), sigismember(&pending, SIGUSR2),
	       getenv("FROM") ? getenv("FROM") : "nobody");
	fflush(stdout);
	if (n == 10)
		return 0;
	char next[12];
	snprintf(next, sizeof next, "%d", n + 1);
	setenv("FROM", next, 1);
	execl("/proc/self/exe", argv[0], next, (char *)0);
	return 1;
}

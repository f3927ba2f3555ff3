/*
 * Handlers end busy loops that reach no event: one of the program, after several signals, and one of a handler. They
 * have to run, though the places cannot be reproduced exactly, and the recording has to say so.
 */
// run: same no-checksum="the loop counter is not exact"
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static volatile sig_atomic_t alarms, inner;

static void on_inner(int sig)
{
	(void)sig;
	inner = 1;
}

static void on_alarm(int sig)
{
	(void)sig;
	if (++alarms == 3)
		while (!inner)
			;
}

int main(void)
{
	signal(SIGALRM, on_alarm);
	signal(SIGVTALRM, on_inner);
	struct itimerval often = { { 0, 60000 }, { 0, 60000 } }, once = { { 0, 0 }, { 1, 0 } };
	setitimer(ITIMER_VIRTUAL, &once, 0);
	setitimer(ITIMER_REAL, &often, 0);
	for (volatile long i = 0; alarms < 5 || !inner; i++)
		;
	signal(SIGALRM, SIG_IGN);
	puts("stopped");
	return 0;
}

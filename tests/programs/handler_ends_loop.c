/*
 * A handler ends a busy loop that reaches no event. It has to run, though the
 * place cannot be reproduced exactly, and the recording has to say so.
 */
// run: same no-checksum="the loop counter is not exact"
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static volatile sig_atomic_t stop;
static void on_alarm(int sig)
{
	(void)sig;
	stop = 1;
}

int main(void)
{
	signal(SIGALRM, on_alarm);
	struct itimerval in = { .it_value.tv_usec = 200000 };
	setitimer(ITIMER_REAL, &in, 0);
	for (volatile long i = 0; !stop; i++)
		;
	puts("stopped");
	return 0;
}

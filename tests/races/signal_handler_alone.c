// A handler and the thread that it interrupts: no other thread has to do with the flag.
// expect: kept h m because only one thread touches it
#include "golden.h"
#include <signal.h>

static volatile sig_atomic_t flag;
static long squares[2];

static void handler(int sig)
{
	(void)sig;
	flag++; // @h
}

static void *work(void *arg)
{
	squares[id_of(arg)] = id_of(arg) * id_of(arg);
	return NULL;
}

int main(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	signal(SIGUSR1, handler);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	team(2, work);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(SIGUSR1);
	printf("%d\n", flag); // @m
	return 0;
}

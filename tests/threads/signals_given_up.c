/*
 * A signal with a handler comes to a thread that computes, and before its handler begins another thread gives the
 * handler up. What could go wrong: the default action of SIGURG is to do nothing, and the process ends by it; or other
 * signals are kept out from then on.
 */
#include "threads.h"
#include <semaphore.h>
#include <signal.h>

static volatile sig_atomic_t urgent, ended;
static pthread_t first;
static sem_t computes;

static void note(int sig)
{
	if (sig == SIGURG)
		urgent++;
	else
		ended = 1;
}

static void *gives_up(void *unused)
{
	sem_wait(&computes);
	usleep(5000);
	pthread_kill(first, SIGURG);
	signal(SIGURG, SIG_DFL);
	usleep(200000);
	pthread_kill(first, SIGUSR1);
	return unused;
}

int main(void)
{
	pthread_t t;
	first = pthread_self();
	sem_init(&computes, 0, 0);
	signal(SIGURG, note);
	signal(SIGUSR1, note);
	CHECK(pthread_create(&t, 0, gives_up, 0) == 0);
	sem_post(&computes);
	while (!ended)
		;
	CHECK(pthread_join(t, 0) == 0 && urgent <= 1);
	printf("over\n");
	return 0;
}

// A value is written before a signal is sent, and read by the handler in the other thread.
// expect: kept a b because the signal orders them
#include "golden.h"
#include <semaphore.h>
#include <signal.h>

static int value;
static volatile sig_atomic_t seen;
static sem_t ready, done;

static void handler(int sig)
{
	(void)sig;
	seen = value; // @b
	sem_post(&done);
}

static void *sleeper(void *arg)
{
	(void)arg;
	sem_post(&ready);
	while (sem_wait(&done))
		;
	return NULL;
}

int main(void)
{
	pthread_t t;

	sem_init(&ready, 0, 0);
	sem_init(&done, 0, 0);
	signal(SIGUSR1, handler);
	pthread_create(&t, NULL, sleeper, NULL);
	sem_wait(&ready);
	value = 5; // @a
	pthread_kill(t, SIGUSR1);
	pthread_join(t, NULL);
	printf("%d\n", seen);
	return 0;
}

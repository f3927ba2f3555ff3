// A handler that runs in main counts what a thread counts, too.
// expect: race h w
#include "golden.h"
#include <signal.h>

static volatile int count;

static void handler(int sig)
{
	(void)sig;
	count++; // @h
}

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 100; i++)
		count++; // @w
	return NULL;
}

int main(void)
{
	pthread_t t;

	signal(SIGUSR1, handler);
	pthread_create(&t, NULL, work, NULL);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
	pthread_join(t, NULL);
	printf("%d\n", count);
	return 0;
}

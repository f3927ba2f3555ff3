// One access without the lock, many with it; a handler that interrupts it takes the lock, too. With the lock on it the handler waits for ever.
// expect: hook a b because a handler may interrupt it
#include "golden.h"
#include <signal.h>

static volatile int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void handle(int number)
{
	(void)number;
	pthread_mutex_lock(&lock);
	shared++;
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10; i++) {
		pthread_mutex_lock(&lock);
		shared++; // @b
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	sigset_t mask;
	pthread_t threads[2];

	signal(SIGUSR1, handle);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
	raise(SIGUSR1);
	shared = 100; // @a
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", shared);
	return 0;
}

// A pointer goes with a signal, by value.
// expect: race a b
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
struct node {
	volatile long value;
};
static sigset_t set;
static void *work(void *arg)
{
	siginfo_t info;
	sigwaitinfo(&set, &info);
	struct node *n = info.si_value.sival_ptr;
	for (int i = 0; i < 10000; i++)
		n->value++; // @a
	return NULL;
}
int main(void)
{
	pthread_t t;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&t, NULL, work, NULL);
	struct node *n = malloc(sizeof *n);
	n->value = 0;
	sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_ptr = n });
	for (int i = 0; i < 10000; i++)
		n->value++; // @b
	pthread_join(t, NULL);
	printf("%ld\n", n->value);
}

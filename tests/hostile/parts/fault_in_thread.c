/* A thread near the beginning of its stack faults, and its handler goes on behind. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static sigjmp_buf out;
static void *volatile nowhere = (void *)16;

static void on_fault(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

static void *fault(void *unused)
{
	if (!sigsetjmp(out, 1))
		*(volatile int *)nowhere = 1;
	return unused;
}

int main(void)
{
	pthread_t thread;

	signal(SIGSEGV, on_fault);
	pthread_create(&thread, NULL, fault, NULL);
	pthread_join(thread, NULL);
	printf("went on\n");
	return 0;
}

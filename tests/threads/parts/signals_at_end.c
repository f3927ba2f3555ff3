/*
 * Signals to the process while its first thread ends: none may be lost with it. And more of one kind than anybody keeps, to a thread that only
 * computes: as natively, one is pending and the others are dropped.
 */
#include "../threads.h"
#include <signal.h>
#include <sys/wait.h>

enum { RUNS = 20, SIGNALS = 60 };
static volatile sig_atomic_t stormed;
static int count;

static void handler(int sig)
{
	if (sig == SIGFPE)
		stormed = 1;
	else
		__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
}

static void *compute(void *unused)
{
	for (volatile int n = 0; n < 60000000; n++)
		;
	return unused;
}

static void storm(void)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, compute, NULL) == 0);
	for (int i = 0; i < 40; i++) {
		CHECK(pthread_kill(thread, SIGFPE) == 0);
		pause_us(200);
	}
	CHECK(pthread_join(thread, NULL) == 0 && stormed);
}

static void *send(void *unused)
{
	sigset_t all;

	(void)unused;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	for (int i = 0; i < SIGNALS; i++) {
		CHECK(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ 0 }) == 0);
		dawdle(500);
	}
	pthread_sigmask(SIG_UNBLOCK, &all, NULL);
	for (int i = 0; i < 200 && __atomic_load_n(&count, __ATOMIC_RELAXED) < SIGNALS; i++)
		pause_us(1000);
	_exit(count != SIGNALS);
}

int main(void)
{
	CHECK(signal(SIGFPE, handler) != SIG_ERR && signal(SIGRTMIN + 1, handler) != SIG_ERR);
	for (int i = 0; i < RUNS; i++) {
		pid_t child = fork();
		int status;
		if (!child) {
			pthread_t thread;
			CHECK(pthread_create(&thread, NULL, send, NULL) == 0);
			dawdle(20000);
			pthread_exit(NULL);
		}
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	storm();
	puts("all came");
	return 0;
}

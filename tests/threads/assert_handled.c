/*
 * The handler of SIGABRT after assert() prints, asks for the locale and waits for a thread that does the same. What could go
 * wrong: the thread that failed still has stderr and the locale, as far as we know, and all stand still.
 */
// run: varies
#include "threads.h"
#include <assert.h>
#include <locale.h>
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf back;

static void *other(void *unused)
{
	fprintf(stderr, "another thread, locale %s\n", setlocale(LC_ALL, NULL));
	return unused;
}

static void caught(int sig)
{
	pthread_t thread;
	fprintf(stderr, "signal %d, locale %s\n", sig, setlocale(LC_ALL, NULL));
	CHECK(pthread_create(&thread, NULL, other, NULL) == 0 && pthread_join(thread, NULL) == 0);
	siglongjmp(back, 1);
}

#define TRY(failure)             \
	if (!sigsetjmp(back, 1)) \
	failure

static void *fails(void *argument)
{
	TRY(__assert_fail("round", "file.c", 7, argument ? "function" : NULL));
	TRY(__assert_perror_fail(ENOENT, "file.c", 3, "function"));
	TRY(__assert("old", "file.c", 4));
	return argument;
}

int main(void)
{
	pthread_t thread;
	alarm(30);
	signal(SIGABRT, caught);
	CHECK(pthread_create(&thread, NULL, fails, "") == 0 && pthread_join(thread, NULL) == 0);
	fails(NULL);
	printf("%d is over\n", getpid());
	return 0;
}

/*
 * What can be asked of a FILE while another thread holds it: libc takes no lock for that. What could go wrong: the
 * question waits until the FILE is free, which it is only after the answer.
 */
#include "threads.h"
#include <stdio_ext.h>
#include <wchar.h>

static FILE *shared;
static pthread_barrier_t held, asked;

static void *holds(void *unused)
{
	flockfile(shared);
	pthread_barrier_wait(&held);
	pthread_barrier_wait(&asked);
	funlockfile(shared);
	return unused;
}

int main(void)
{
	pthread_t t;
	CHECK((shared = tmpfile()));
	CHECK(fputs("text", shared) >= 0);
	pthread_barrier_init(&held, 0, 2);
	pthread_barrier_init(&asked, 0, 2);
	CHECK(pthread_create(&t, 0, holds, 0) == 0);
	pthread_barrier_wait(&held);
	alarm(20);
	CHECK(fileno(shared) > 2 && fwide(shared, 0) < 0 && fwide(shared, 1) < 0);
	CHECK(__fsetlocking(shared, FSETLOCKING_QUERY) == FSETLOCKING_INTERNAL && __fpending(shared) == 4);
	__fpurge(shared);
	CHECK(__fpending(shared) == 0);
	pthread_barrier_wait(&asked);
	CHECK(pthread_join(t, 0) == 0);
	printf("answered\n");
	return 0;
}

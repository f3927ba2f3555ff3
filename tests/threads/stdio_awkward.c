/*
 * A thread leaves a libc function that holds a FILE by longjmp out of a callback, or ends by pthread_exit: other threads
 * must get the FILE all the same, in the recorded order. (Cancellation: stdio_cancel.)
 */
// run: flags=-pthread varies
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static _Thread_local jmp_buf back;
static _Thread_local int jump;
static unsigned long hash = 5381; /* guarded by the FILE */

static ssize_t cookie_write(void *unused, const char *text, size_t n)
{
	(void)unused;
	if (jump)
		longjmp(back, 1); /* only out of the thread's own FILE */
	for (size_t i = 0; i < n; i++)
		hash = hash * 33 + (unsigned char)text[i];
	return (ssize_t)n;
}

static pthread_barrier_t all_there;
static FILE *shared, *private[4];

static void *work(void *number)
{
	long me = (long)number;
	pthread_barrier_wait(&all_there);
	/* longjmp leaves glibc's own lock of the FILE behind, so each thread jumps out of a FILE of its own */
	for (volatile int i = 0; i < 1000; i = i + 1) {
		if (i % 10 == 0 && !setjmp(back)) {
			jump = 1;
			fprintf(private[me], "%ld jumps %d\n", me, i);
		}
		jump = 0;
		if (i % 32 == me)
			sched_yield();
		fprintf(shared, "%ld %d %g\n", me, i, i * 0.25);
	}
	if (me == 1)
		pthread_exit((void *)1);
	return 0;
}

int main(void)
{
	cookie_io_functions_t functions = { .write = cookie_write };
	pthread_t threads[4];
	shared = fopencookie(0, "w", functions);
	setvbuf(shared, 0, _IOLBF, 0);
	for (int i = 0; i < 4; i++) {
		private[i] = fopencookie(0, "w", functions);
		setvbuf(private[i], 0, _IONBF, 0);
	}
	pthread_barrier_init(&all_there, 0, 4);
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], 0, work, (void *)i);
	void *result;
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		printf("%d ends with %ld\n", i, (long)result);
	}
	flockfile(shared);
	printf("%lx\n", hash);
	funlockfile(shared);
	fflush(stdout);
	_exit(0);
}

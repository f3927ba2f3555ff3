/*
 * A thread leaves a libc function that holds a FILE by longjmp out of a callback, by pthread_exit, and by cancellation:
 * other threads must get the FILE all the same, in the recorded order.
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
static FILE *shared, *private[4], *blocked;

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

static void *read_blocked(void *unused)
{
	(void)unused;
	char line[100];
	return fgets(line, sizeof line, blocked);
}

int main(void)
{
	cookie_io_functions_t functions = { .write = cookie_write };
	pthread_t threads[4], reader;
	shared = fopencookie(0, "w", functions);
	setvbuf(shared, 0, _IOLBF, 0);
	for (int i = 0; i < 4; i++) {
		private[i] = fopencookie(0, "w", functions);
		setvbuf(private[i], 0, _IONBF, 0);
	}
	int ends[2];
	if (pipe(ends))
		return 1;
	blocked = fdopen(ends[0], "r");
	pthread_barrier_init(&all_there, 0, 4);
	pthread_create(&reader, 0, read_blocked, 0);
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], 0, work, (void *)i);
	usleep(1000);
	pthread_cancel(reader);
	void *result;
	pthread_join(reader, &result);
	printf("reader %s\n", result == PTHREAD_CANCELED ? "cancelled" : "came back");
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		printf("%d ends with %ld\n", i, (long)result);
	}
	if (write(ends[1], "line\n", 5) != 5)
		return 1;
	char line[100] = "";
	if (fgets(line, sizeof line, blocked))
		printf("then: %s", line);
	flockfile(shared);
	printf("%lx\n", hash);
	funlockfile(shared);
	fflush(stdout);
	_exit(0);
}

/*
 * Threads share FILEs without a lock of their own: whose line comes first, and who reads which line, is decided by libc's
 * lock inside each FILE, and must be the same at replay. Buffers are small, so that flushes fall between the lines of
 * different threads; flockfile() holds a FILE over several calls; ftrylockfile() fails now and then.
 */
// run: flags=-pthread varies
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS	1000

static FILE *input, *log_file;
static pthread_barrier_t all_there;
static long sums[THREADS], busy[THREADS];

static void *work(void *number)
{
	long me = (long)number;
	char *line = 0;
	size_t room = 0;
	pthread_barrier_wait(&all_there);
	for (int i = 0; i < ROUNDS; i++) {
		switch (i % 5) {
		case 0: printf("%ld printf %d %g\n", me, i, i * 0.5); break;
		case 1: {
			char text[40];
			int n = snprintf(text, sizeof text, "%ld fwrite %d\n", me, i);
			fwrite(text, 1, (size_t)n, stdout);
			break;
		}
		case 2:
			flockfile(stdout);
			fputs("held ", stdout);
			putchar_unlocked('0' + (int)me);
			putchar('\n');
			funlockfile(stdout);
			break;
		case 3:
			if (ftrylockfile(log_file)) {
				busy[me]++;
				break;
			}
			fprintf(log_file, "%ld %d\n", me, i);
			funlockfile(log_file);
			break;
		default: putc('a' + (int)me, log_file);
		}
		if (getline(&line, &room, input) > 0)
			sums[me] = sums[me] * 31 + atol(line);
		if (i % 60 == 0)
			fflush(0);
		if (i % 32 == me)
			sched_yield();
	}
	free(line);
	return 0;
}

int main(void)
{
	static char small[128];
	pthread_t threads[THREADS];
	input = tmpfile();
	for (int i = 0; i < THREADS * ROUNDS; i++)
		fprintf(input, "%d\n", i);
	rewind(input);
	log_file = tmpfile();
	setvbuf(stdout, small, _IOFBF, sizeof small);
	pthread_barrier_init(&all_there, 0, THREADS);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	rewind(log_file);
	unsigned long hash = 5381;
	for (int c; (c = getc(log_file)) != EOF;)
		hash = hash * 33 + (unsigned)c;
	printf("log %lx\n", hash);
	for (int i = 0; i < THREADS; i++)
		printf("%d read %ld, busy %ld\n", i, sums[i], busy[i]);
	return 0;
}

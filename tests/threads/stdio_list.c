/*
 * The list of open FILEs is shared, too: threads open and close FILEs while another flushes all, both ends of a named pipe
 * are opened by threads of one process (each waits for the other inside fopen), and exit() comes while other threads still
 * print and one is blocked reading: what exit() flushes must be the same at replay, and nobody may wait for ever.
 */
// run: flags=-pthread varies
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static FILE *never;

static void *open_and_close(void *number)
{
	long me = (long)number;
	for (int i = 0; i < 200; i++) {
		char name[40], text[40] = "";
		snprintf(name, sizeof name, "file-%ld-%d", me, i % 3);
		FILE *f = fopen(name, "w+");
		fprintf(f, "%ld wrote %d\n", me, i);
		if (i % 7 == 0)
			fflush(0);
		rewind(f);
		if (!fgets(text, sizeof text, f) || i % 50 == 0)
			printf("%ld: %s", me, text);
		/* not freopen(): glibc's own fails to agree with fflush(0) on the order of two locks, and stops for ever */
		fclose(f);
	}
	return 0;
}

static void *write_pipe(void *unused)
{
	(void)unused;
	FILE *f = fopen("pipe", "w");
	for (int i = 0; i < 5; i++)
		fprintf(f, "through the pipe %d\n", i);
	fclose(f);
	return 0;
}

static void *print_for_ever(void *number)
{
	for (unsigned long i = 0;; i++, usleep(20)) /* or main would hardly ever get stdout */
		printf("%ld still prints %lu\n", (long)number, i);
	return 0;
}

static void *read_for_ever(void *unused)
{
	(void)unused;
	return getc(never) == EOF ? 0 : &never;
}

int main(void)
{
	pthread_t threads[4];
	for (long i = 0; i < 3; i++)
		pthread_create(&threads[i], 0, open_and_close, (void *)i);
	/* not beside what follows: fflush(0) keeps the list of FILEs while it waits for one that is blocked */
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], 0);
	mkfifo("pipe", 0600);
	pthread_create(&threads[3], 0, write_pipe, 0);
	FILE *f = fopen("pipe", "r");
	char line[100];
	while (fgets(line, sizeof line, f))
		fputs(line, stdout);
	fclose(f);
	f = popen("echo from a child", "r");
	while (fgets(line, sizeof line, f))
		fputs(line, stdout);
	printf("child: %d\n", pclose(f));
	pthread_join(threads[3], 0);
	int ends[2];
	if (pipe(ends))
		return 1;
	never = fdopen(ends[0], "r");
	pthread_create(&threads[0], 0, read_for_ever, 0);
	for (long i = 1; i < 3; i++)
		pthread_create(&threads[i], 0, print_for_ever, (void *)i);
	usleep(3000);
	printf("last words");
	exit(0);
}

/*
 * A thread that is blocked inside fgets() is cancelled while others print: the FILE it read from must be free for the next
 * reader, and the lines of the others in their recorded order.
 */
// run: flags=-pthread varies
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

static FILE *blocked;

static void *read_blocked(void *unused)
{
	char line[100];
	return fgets(line, sizeof line, blocked) ? unused : 0;
}

static void *print(void *number)
{
	for (int i = 0; i < 300; i++) {
		printf("%ld prints %d\n", (long)number, i);
		if (i % 16 == (long)number)
			sched_yield();
	}
	return 0;
}

int main(void)
{
	pthread_t printers[3], reader;
	int ends[2];
	if (pipe(ends))
		return 1;
	blocked = fdopen(ends[0], "r");
	for (long i = 0; i < 3; i++)
		pthread_create(&printers[i], 0, print, (void *)i);
	for (int i = 0; i < 5; i++) {
		void *result;
		char line[100] = "";
		pthread_create(&reader, 0, read_blocked, 0);
		usleep(500);
		pthread_cancel(reader);
		pthread_join(reader, &result);
		printf("reader %s\n", result == PTHREAD_CANCELED ? "cancelled" : "came back");
		if (write(ends[1], "line\n", 5) != 5 || !fgets(line, sizeof line, blocked))
			return 1;
		printf("then: %s", line);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(printers[i], 0);
	return 0;
}

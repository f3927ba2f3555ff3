/* The process ends while a thread is blocked inside stdin, whose lock exit() would ask for. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *read_line(void *unused)
{
	(void)unused;
	char line[100];
	return fgets(line, sizeof line, stdin);
}

int main(void)
{
	int ends[2];
	if (pipe(ends) || dup2(ends[0], 0) || write(ends[1], "a", 1) != 1 || getchar() != 'a')
		return 1;
	pthread_t thread;
	if (pthread_create(&thread, NULL, read_line, NULL) || pthread_detach(thread))
		return 1;
	usleep(100000); /* it waits by now */
	printf("ended\n");
	return 0;
}

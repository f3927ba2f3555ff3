/*
 * Two threads read much at once, again and again, and lock in between: most of the time they are in the middle of a call
 * that needs several entries.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SIZE = 12 << 20, ROUNDS = 400 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned done;

static void *work(void *unused)
{
	char line[40], *buffer = malloc(SIZE);
	int fd = open("/dev/zero", O_RDONLY);

	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		if (read(fd, buffer, SIZE) != SIZE)
			abort();
		pthread_mutex_lock(&lock);
		if (write(1, line, (size_t)snprintf(line, sizeof line, "%u\n", ++done)) < 0)
			abort();
		pthread_mutex_unlock(&lock);
	}
	free(buffer);
	close(fd);
	return 0;
}

int main(void)
{
	pthread_t other;

	if (pthread_create(&other, 0, work, 0))
		return 1;
	work(0);
	return pthread_join(other, 0);
}

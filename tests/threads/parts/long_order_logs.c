/*
 * Two threads with a race, whose streams are longer than what replay unpacks at once: what they read comes in large pieces, and the pieces of the
 * order log lie far apart between them, or close together. Whoever loses one, takes one twice or mixes the two up makes another sum.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile unsigned long sum;
static unsigned rounds;

static void *work(void *arg)
{
	static __thread char bytes[65536];
	unsigned long own = (unsigned long)arg;
	int fd = open("/dev/zero", O_RDONLY);

	for (unsigned i = 0; i < rounds; i++) {
		if (read(fd, bytes, sizeof bytes) != sizeof bytes)
			exit(2);
		/* nothing, or much, is contested; at different times */
		for (unsigned k = 0; k < (i / 40 % 2 ? 1500 : 3); k++)
			sum = sum * 3 + own + (unsigned char)bytes[k];
	}
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 200;
	for (unsigned long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%lx\n", sum);
	return 0;
}

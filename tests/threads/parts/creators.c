/*
 * Threads that create threads all the time: whoever looks at the recording finds one of them in the middle of it.
 * What the short ones leave is a data race, and so is where their creators put the ids.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define CREATORS 4
static pthread_t last; /* that any of them has created */
static volatile unsigned long raced;
static unsigned rounds;

static void *visitor(void *arg)
{
	raced = raced * 3 + (unsigned long)arg;
	return NULL;
}

/* Reads what takes room in a recording. */
static void *creator(void *arg)
{
	unsigned long seen = 0;
	unsigned char bytes[2048] = { 0 };

	for (unsigned i = 0; i < rounds; i++) {
		pthread_t visits;
		if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
			exit(2);
		pthread_create(&visits, NULL, visitor, arg);
		seen = seen * 5 + (last == visits) + raced + bytes[i % sizeof bytes];
		last = visits;
		pthread_join(visits, NULL);
		if (i % 50 == 0)
			printf("%lu: %u %lx\n", (unsigned long)arg, i, seen);
	}
	return (void *)seen;
}

int main(int argc, char **argv)
{
	pthread_t creators[CREATORS];
	void *seen;

	rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned long i = 0; i < CREATORS; i++)
		pthread_create(&creators[i], NULL, creator, (void *)(i + 1));
	for (unsigned long i = 0; i < CREATORS; i++) {
		pthread_join(creators[i], &seen);
		printf("%lu: %lx %lx\n", i, (unsigned long)seen, raced);
	}
	return 7;
}

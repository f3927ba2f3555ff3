/*
 * A way that is long enough for several checkpoints: two threads that work, take a lock and a number that no other run has, and
 * race if told so. What a debugger sees after it went back must be the same as on the way there.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t total, mark;
#ifdef RACE
static uint64_t unlocked;
#endif
static int rounds = 30, work = 4000000;

static uint64_t compute(uint64_t seed)
{
	for (int i = 0; i < work; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
#ifdef RACE
		if (i % 65536 == 0)
			unlocked++;
#endif
	}
	return seed;
}

static void add(uint64_t number, int round)
{
	pthread_mutex_lock(&lock);
	total = total * 31 + number; /* line of the total */
	if (round == rounds / 8)
		mark = total; /* line of the mark */
	pthread_mutex_unlock(&lock);
}

static void *run(void *unused)
{
	struct timespec now;

	for (int round = 0; round < rounds; round++) {
		clock_gettime(CLOCK_REALTIME, &now);
		add(compute((uint64_t)now.tv_nsec), round);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	if (argc > 1)
		rounds = atoi(argv[1]);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%lu %lu\n", (unsigned long)total, (unsigned long)mark); /* line of the end */
	return 0;
}

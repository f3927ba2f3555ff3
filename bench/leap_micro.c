/*
 * LEAP's micro-benchmark: threads that update shared variables at random, a fixed number of updates over all threads.
 * usage: leap_micro THREADS VARIABLES UPDATES; prints nanoseconds of CPU time, of wall time, and accesses (an update is
 * a read and a write).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS_MAX = 128, VARIABLES_MAX = 100000 };
static uint64_t variables[VARIABLES_MAX];
static unsigned threads, count;
static unsigned long updates; /* of each thread */
static pthread_barrier_t start;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *work(void *me)
{
	uint64_t random = (uintptr_t)me * 0x9e3779b97f4a7c15ull + 1;
	unsigned long n = updates,
		      range = count; /* or they would be two more accesses to shared memory in each round */

	pthread_barrier_wait(&start);
	for (unsigned long i = 0; i < n; i++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		uint64_t *variable = &variables[(random >> 32) * range >> 32];
		*variable = *variable + 1;
		__asm__ volatile("" ::: "memory");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t all[THREADS_MAX];

	threads = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	count = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	if (argc != 4 || !threads || threads > THREADS_MAX || !count || count > VARIABLES_MAX) {
		fprintf(stderr, "usage: leap_micro THREADS VARIABLES UPDATES\n");
		return 121;
	}
	updates = strtoul(argv[3], NULL, 10) / threads;
	pthread_barrier_init(&start, NULL, threads + 1);
	for (uintptr_t i = 0; i < threads; i++)
		if (pthread_create(&all[i], NULL, work, (void *)i))
			return 1;
	uint64_t cpu = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
	pthread_barrier_wait(&start);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	printf("%llu %llu %lu\n", (unsigned long long)(now(CLOCK_PROCESS_CPUTIME_ID) - cpu),
	       (unsigned long long)(now(CLOCK_MONOTONIC) - wall), 2 * updates * threads);
	return 0;
}

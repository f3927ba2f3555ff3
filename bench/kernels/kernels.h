/*
 * What the kernels share. Each is the array code of a well-known kind, with threads that divide the work and meet at
 * barriers: no two of them touch the same element between two barriers with a write, so it is all cost and no race.
 * usage: KERNEL THREADS ROUNDS; prints a checksum, which is the same for any number of threads.
 */
#ifndef KERNELS_H
#define KERNELS_H
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS_MAX 64
static unsigned threads = 2, rounds = 1;
static pthread_barrier_t meeting;

static inline void meet(void)
{
	pthread_barrier_wait(&meeting);
}

/* The rows [first, last) of n that are this thread's. */
static inline void share(unsigned me, unsigned n, unsigned *first, unsigned *last)
{
	*first = (unsigned)((uint64_t)n * me / threads);
	*last = (unsigned)((uint64_t)n * (me + 1) / threads);
}

static inline double number(uint64_t i)
{
	return (double)((i * 0x9e3779b97f4a7c15ull) >> 40) / (1 << 24) - 0.5;
}

static void *allocate(size_t size)
{
	void *p = aligned_alloc(64, (size + 63) & ~(size_t)63);

	if (!p) {
		fprintf(stderr, "not enough memory\n");
		exit(1);
	}
	return p;
}

static void run_all(int argc, char **argv, void *(*work)(void *me))
{
	pthread_t others[THREADS_MAX];

	threads = argc > 1 ? (unsigned)atoi(argv[1]) : threads;
	rounds = argc > 2 ? (unsigned)atoi(argv[2]) : rounds;
	if (threads < 1 || threads > THREADS_MAX) {
		fprintf(stderr, "usage: %s [1..%d threads] [rounds]\n", argv[0], THREADS_MAX);
		exit(121);
	}
	pthread_barrier_init(&meeting, NULL, threads);
	for (uintptr_t i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, work, (void *)i))
			exit(1);
	work(NULL);
	for (unsigned i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
}
#endif

/*
 * What the kernels share: threads that divide the work. usage: KERNEL THREADS ROUNDS PERCENT; each looks at its own
 * result and ends with 1 if that is wrong. PERCENT of the usual size: as far as work goes, roughly.
 *
 * fft, lu, radix, ocean: array code that meets at barriers. No two threads touch the same element between two barriers
 * with a write, so it is all cost and no race, and the checksum is the same for any number of threads.
 * The others have locks, queues, calls that wait, and some have races on purpose; their first comments tell which, and
 * what of their output differs from run to run.
 */
#ifndef KERNELS_H
#define KERNELS_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS_MAX 64
#define UNUSED	    __attribute__((unused))
static unsigned threads = 2, rounds = 1, percent = 100;
static pthread_barrier_t meeting;

/* The compiler must go to memory again, where a kernel races on purpose; the accesses themselves stay plain. */
#define LOOK_AGAIN() __asm__ volatile("" ::: "memory")

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

static UNUSED void *allocate(size_t size)
{
	void *p = aligned_alloc(64, (size + 63) & ~(size_t)63);

	if (!p) {
		fprintf(stderr, "not enough memory\n");
		exit(1);
	}
	return p;
}

static inline unsigned scaled(unsigned n)
{
	unsigned part = (unsigned)((uint64_t)n * percent / 100);

	return part ? part : 1;
}

/* In a loop that waits for another thread: with fewer cores than threads it would take long. */
static inline void spin(unsigned *turns)
{
	LOOK_AGAIN();
	if (++*turns % 64 == 0)
		sched_yield();
}

static void options(int argc, char **argv)
{
	threads = argc > 1 ? (unsigned)atoi(argv[1]) : threads;
	rounds = argc > 2 ? (unsigned)atoi(argv[2]) : rounds;
	percent = argc > 3 ? (unsigned)atoi(argv[3]) : percent;
	if (threads < 1 || threads > THREADS_MAX || percent < 1 || percent > 1000) {
		fprintf(stderr, "usage: %s [1..%d threads] [rounds] [1..1000 percent]\n", argv[0], THREADS_MAX);
		exit(121);
	}
}

/* work(0) in this thread, work(1) ... work(threads - 1) in others. */
static void start(void *(*work)(void *me))
{
	pthread_t others[THREADS_MAX];

	pthread_barrier_init(&meeting, NULL, threads);
	for (uintptr_t i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, work, (void *)i))
			exit(1);
	work(NULL);
	for (unsigned i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
}

#endif

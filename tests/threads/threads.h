/*
 * What the programs of this folder share. Each lets its threads compete, notes who
 * came when, and prints it at the end: a replay that loses one edge or decides one
 * outcome anew prints something else. None has a data race (TSan says so), so all
 * of them must replay exactly without heddle-cc.
 */
#ifndef THREADS_H
#define THREADS_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define UNUSED	 __attribute__((unused))
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* What must hold in every run; otherwise the program ends with 1. */
#define CHECK(condition)                                              \
	do {                                                          \
		if (!(condition))                                     \
			check_failed(__FILE__, __LINE__, #condition); \
	} while (0)

static UNUSED void check_failed(const char *file, int line, const char *what)
{
	char text[300];
	int error = errno;
	int n = snprintf(text, sizeof text, "FAIL %s:%d: %s (errno %d)\n", file, line, what, error);

	if (write(1, text, (size_t)n) != n)
		_exit(2);
	_exit(1);
}

/* ---- chance: each thread spins for a while that differs from run to run ---- */

static __thread uint32_t chance_state;

static UNUSED uint32_t chance(uint32_t below)
{
	if (!chance_state && (getrandom(&chance_state, sizeof chance_state, 0) < 0 || !chance_state))
		chance_state = 1;
	chance_state ^= chance_state << 13;
	chance_state ^= chance_state >> 17;
	chance_state ^= chance_state << 5;
	return chance_state % below;
}

static UNUSED void dawdle(uint32_t at_most)
{
	for (uint32_t n = 6 * chance(at_most); n; n--)
		__asm__ volatile("" ::: "memory");
}

/* ---- time ---- */

static UNUSED struct timespec after(clockid_t clock, long microseconds)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += microseconds % 1000000 * 1000;
	t.tv_sec += microseconds / 1000000 + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static UNUSED void pause_us(long microseconds)
{
	struct timespec t = { microseconds / 1000000, microseconds % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

/* ---- arrivals: who came when. Whoever adds one holds the lock under test. ---- */

struct arrivals {
	uint32_t count;
	uint64_t hash;
	char first[65]; /* one letter a thread */
};

static UNUSED void arrive(struct arrivals *a, unsigned who)
{
	if (a->count < sizeof a->first - 1)
		a->first[a->count] = (char)(who < 26 ? 'a' + who : 'A' + who % 26);
	a->hash = (a->hash ^ (who + 1)) * 0x100000001b3ull;
	a->count++;
}

static UNUSED void print_arrivals(const char *what, const struct arrivals *a)
{
	printf("%s: %s, %u in all, hash %016llx\n", what, a->first, a->count, (unsigned long long)a->hash);
}

/* ---- crews: n threads that run the same function with their number, all from one moment on ---- */

#define CREW_MAX 128
static UNUSED pthread_t crew[CREW_MAX];
static void *(*crew_work)(void *);
static struct timespec crew_begin;

static UNUSED void *crew_member(void *argument)
{
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &crew_begin, NULL);
	return crew_work(argument);
}

static UNUSED void crew_start(unsigned n, void *(*work)(void *))
{
	CHECK(n <= CREW_MAX);
	crew_work = work;
	crew_begin = after(CLOCK_MONOTONIC, 1000);
	for (unsigned i = 0; i < n; i++)
		CHECK(pthread_create(&crew[i], NULL, crew_member, (void *)(uintptr_t)i) == 0);
}

static UNUSED void crew_join(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		CHECK(pthread_join(crew[i], NULL) == 0);
}

#define ME(argument) ((unsigned)(uintptr_t)(argument))
#endif

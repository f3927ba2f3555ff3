/*
 * What the golden programs share: threads that are numbered from 0. See tests/README.md for the expect: lines.
 */
#ifndef GOLDEN_H
#define GOLDEN_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNUSED	 __attribute__((unused))
#define NOINLINE __attribute__((noinline))
#define TEAM_MAX 16

/* The compiler must go to memory again; the accesses themselves stay plain. */
#define LOOK_AGAIN() __asm__ volatile("" ::: "memory")

static UNUSED long id_of(void *arg)
{
	return (long)(intptr_t)arg;
}

/* n threads run work, each with its number; all have ended when it returns. */
static UNUSED void team(long n, void *(*work)(void *))
{
	pthread_t threads[TEAM_MAX];

	for (long i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

/* The same if some may wait for ever: who has not called say_done() after a while is left behind. */
static UNUSED int how_many_done;

static UNUSED void *say_done(long result)
{
	__atomic_fetch_add(&how_many_done, 1, __ATOMIC_RELAXED); /* orders nothing */
	return (void *)result;
}

static UNUSED bool are_done(long n)
{
	return __atomic_load_n(&how_many_done, __ATOMIC_RELAXED) >= n;
}

static UNUSED void wait_for_done(long n)
{
	for (int turn = 0; turn < 300 && !are_done(n); turn++)
		usleep(500);
}

static UNUSED void team_for_a_while(long n, void *(*work)(void *))
{
	pthread_t thread;

	for (long i = 0; i < n; i++)
		pthread_create(&thread, NULL, work, (void *)(intptr_t)i);
	wait_for_done(n);
}

/* One thread each, at the same time; both have ended when it returns. */
static UNUSED void pair(void *(*first)(void *), void *(*second)(void *))
{
	pthread_t a, b;

	pthread_create(&a, NULL, first, NULL);
	pthread_create(&b, NULL, second, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

/* Waits for something that a racing thread writes; gives up, so that every run ends. */
static UNUSED void patience(unsigned *turns)
{
	if (++*turns % 64 == 0)
		usleep(100);
}
#endif

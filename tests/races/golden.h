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

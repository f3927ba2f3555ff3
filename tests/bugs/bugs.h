/*
 * What the programs of this folder share: a team of threads (argv[1] of them, 4 without) that begin at one moment. If the last
 * argument is `apart`, each begins when it is created, one after the other, has less to do, and nobody yields: as in most
 * programs, bugs are rare then.
 * Each program has a data race on purpose and prints what came of it, so that a replay with one read from the wrong
 * write prints something else. Its bug shows in an interleaving of whole accesses: no weak memory is needed.
 */
#ifndef BUGS_H
#define BUGS_H
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
#define COUNT(a) (sizeof(a) / sizeof *(a))
#define TEAM_MAX 64

/* The compiler must go to memory again; the accesses themselves stay plain. */
#define LOOK_AGAIN() __asm__ volatile("" ::: "memory")

static unsigned team = 4, apart;
static pthread_barrier_t team_gate;
static void (*team_work)(unsigned me);

/* Of a loop in which the bug may show each time. */
static UNUSED unsigned rounds(unsigned usual)
{
	return apart ? 1 + usual / 20 : usual;
}

/* In a loop that waits for another thread; with fewer cores than threads it would take for ever. */
static UNUSED void spin(unsigned *turns)
{
	if (++*turns % 256 == 0)
		sched_yield();
}

/* Between check and act, now and then: so that the bug shows without heddle, too, on a busy machine with few cores. */
static UNUSED void breathe(unsigned i)
{
	if (i % 128 == 100 && !apart)
		sched_yield();
}

/* The same numbers in every run: what varies is the interleaving alone. */
static UNUSED uint32_t draw(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void *team_member(void *me)
{
	if (!apart)
		pthread_barrier_wait(&team_gate);
	team_work((unsigned)(uintptr_t)me);
	return NULL;
}

static UNUSED void team_size(int argc, char **argv)
{
	if (argc > 1)
		team = (unsigned)atoi(argv[1]);
	apart = argc > 1 && !strcmp(argv[argc - 1], "apart");
	if (team < 2 || team > TEAM_MAX) {
		fprintf(stderr, "usage: %s [2..%d threads] [rounds] [apart]\n", argv[0], TEAM_MAX);
		exit(121);
	}
}

/* What its creator does before it creates the next thread: it waits for something for some tenths of a millisecond. */
static UNUSED void team_prepare(void)
{
	usleep(400);
}

/* work(0) ... work(team - 1), each in a thread of its own. */
static UNUSED void team_run(void (*work)(unsigned me))
{
	pthread_t threads[TEAM_MAX];

	team_work = work;
	pthread_barrier_init(&team_gate, NULL, team);
	for (unsigned i = 0; i < team; i++) {
		if (apart)
			team_prepare();
		if (pthread_create(&threads[i], NULL, team_member, (void *)(uintptr_t)i))
			abort();
	}
	for (unsigned i = 0; i < team; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&team_gate);
}

/* ---- programs that try their bug many times; argv[2] says how many (REPEATS) */

static unsigned repeats;
static void (*repeat_prepare)(void), (*repeat_act)(unsigned me), (*repeat_judge)(void);
static unsigned long alive; /* moves with every round; watch() looks at it */
static int watch_over;

static UNUSED void together(void)
{
	pthread_barrier_wait(&team_gate);
}

static void repeat_work(unsigned me)
{
	for (unsigned r = 0; r < repeats; r++) {
		if (me == 0)
			repeat_prepare();
		together();
		repeat_act(me);
		together();
		if (me == 0) {
			repeat_judge();
			alive++;
		}
	}
}

/* Each round: prepare() and judge() in one thread, act(0) ... act(team - 1) between them in all. */
static UNUSED void team_repeat(void (*prepare)(void), void (*act)(unsigned me), void (*judge)(void))
{
	repeat_prepare = prepare;
	repeat_act = act;
	repeat_judge = judge;
	if (!apart)
		team_run(repeat_work);
	for (unsigned r = 0; apart && r < repeats; r++, alive++) {
		prepare();
		team_run(act);
		judge();
	}
}

static UNUSED void repeat_size(int argc, char **argv, unsigned usual)
{
	team_size(argc, argv);
	repeats = argc > 2 ? (unsigned)atoi(argv[2]) : usual;
}

/* A thread that ends the program as failed when `alive` stands still: a deadlock, or a wakeup that was lost. */
static void *watcher(void *what)
{
	unsigned long seen = ~0ul;

	for (unsigned still = 0; !watch_over; still = alive == seen ? still + 1 : 0) {
		if (still == 100) {
			printf("FAILED: %s in round %lu\n", (const char *)what, alive);
			exit(1);
		}
		seen = alive;
		usleep(10000);
		LOOK_AGAIN();
	}
	return NULL;
}

static UNUSED void watch(const char *what)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, watcher, (void *)(uintptr_t)what))
		abort();
	pthread_detach(thread);
}

/* What a thread has read, in order. */
static UNUSED void note(uint64_t *hash, uint64_t value)
{
	*hash = (*hash ^ value) * 0x9e3779b97f4a7c15ull;
	*hash ^= *hash >> 32;
}

/* The last line of a program, and its exit status. */
static UNUSED int verdict(unsigned long wrong, const char *what)
{
	printf("%s: %lu %s\n", wrong ? "FAILED" : "ok", wrong, what);
	return wrong != 0;
}
#endif

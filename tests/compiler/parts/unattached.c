/*
 * Threads that begin in loops whose brackets are held before any of them has made an access: what they count until then, all count in one place.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TEAM = 8, GENERATIONS = 8, ROOM = 6 << 20 };
static uint64_t own[TEAM][1024] __attribute__((aligned(8192)));
static volatile uint64_t pairs[TEAM][512] __attribute__((aligned(8192))), shared;
static uint64_t sum[TEAM];
static pthread_barrier_t gate;

__attribute__((noinline)) static uint64_t held(uint64_t *to, uint64_t x, int stop, int n)
{
	char room[ROOM];

	for (int i = 0; i < n; i++) {
		memset(room, (int)(x & 63), stop == 100 ? ROOM : ROOM / 4);
		if (room[(x >> 20) % ROOM] == stop)
			break;
		x = x * 6364136223846793005ull + (uint64_t)room[(x >> 20) % ROOM];
		to[(x >> 33) % 1024] += x;
	}
	return x;
}

__attribute__((noinline)) static void group(volatile uint64_t *p)
{
	uint64_t *q = (uint64_t *)p;

	q[0] += 1;
	q[1] += 2;
	q[2] += 3;
}

static void *work(void *argument)
{
	uint64_t me = (uintptr_t)argument, x = me;

	pthread_barrier_wait(&gate);
	if (me % 4 == 3)
		group(pairs[me]);
	else
		x = held(own[me], x, me % 4 == 2 ? (int)(x & 63) : 100, 9);
	if (me % 4 == 2)
		usleep(3000);
	for (int i = 0; i < 50; i++) {
		shared++;
		x = x * 31 + shared;
	}
	sum[me] = sum[me] * 7 + x;
	return NULL;
}

int main(void)
{
	pthread_t threads[TEAM];

	pthread_barrier_init(&gate, NULL, TEAM);
	for (int g = 0; g < GENERATIONS; g++) {
		for (uintptr_t i = 0; i < TEAM; i++)
			if (pthread_create(&threads[i], NULL, work, (void *)i))
				return 2;
		for (int i = 0; i < TEAM; i++)
			pthread_join(threads[i], NULL);
	}
	for (int i = 0; i < TEAM; i++)
		printf("%llx ", (unsigned long long)sum[i]);
	puts("");
	return 0;
}

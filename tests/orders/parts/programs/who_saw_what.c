/*
 * Threads that each set flags of their own and look at those of all others: who saw what is other in every run. Each flag
 * is read by the others and at the end by main, and nobody reads what it wrote itself: so all of it is flows between
 * threads. Arguments: threads, rounds, and "fork" to do it again in a child.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 16

static unsigned threads, rounds;
static uint64_t flag[MOST][256];
static uint64_t saw[MOST]; /* each thread's own, read by main */

static void *look(void *arg)
{
	uintptr_t me = (uintptr_t)arg;
	uint64_t hash = 0;

	for (unsigned r = 0; r < rounds; r++) {
		*(volatile uint64_t *)&flag[me][r] = r + 1;
		for (unsigned i = 0; i < threads; i++)
			if (i != me)
				hash = hash * 31 + *(volatile uint64_t *)&flag[i][r];
		if (r % 4 == me % 4)
			sched_yield();
	}
	*(volatile uint64_t *)&saw[me] = hash;
	return NULL;
}

static void run(const char *who)
{
	pthread_t thread[MOST];
	uint64_t sum = 0;

	for (uintptr_t i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, look, (void *)i);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	for (unsigned i = 0; i < threads; i++)
		for (unsigned r = 0; r < rounds; r++)
			sum += flag[i][r];
	printf("%s %llu", who, (unsigned long long)sum);
	for (unsigned i = 0; i < threads; i++)
		printf(" %016llx", (unsigned long long)saw[i]);
	printf("\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	threads = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
	rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 24;
	run("parent");
	if (argc > 3) {
		for (unsigned i = 0; i < threads; i++)
			for (unsigned r = 0; r < rounds; r++)
				flag[i][r] = 0;
		if (!fork()) {
			run("child");
			return 0;
		}
		wait(NULL);
	}
	return 0;
}

/*
 * Threads that race for some counters, through a switch: its table of branches leads to places between accesses. What could go wrong with
 * --every-access: a branch in place of several instructions covers one that the table leads to.
 */
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 3, ROUNDS = 3000, COUNTERS = 10 };
static int counters[COUNTERS];
static volatile int turn;

static int change(int what)
{
	switch (what) {
	case 0: return counters[3]++;
	case 1: counters[4] += 2; /* fall through */
	case 2: return counters[5]--;
	case 3: return counters[6];
	case 4: counters[7] ^= 1; return 3;
	case 5: return counters[9] + counters[2];
	case 6: counters[1]++; return 4;
	case 7: return 12;
	default: return 0;
	}
}

static void *work(void *argument)
{
	long *sum = argument;
	for (int i = 0; i < ROUNDS; i++)
		*sum += change((i * 7 + turn++) % 9);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	long sums[THREADS] = { 0 };

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, &sums[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		printf("%ld\n", sums[i]);
	}
	for (int i = 0; i < COUNTERS; i++)
		printf("%d ", counters[i]);
	puts("");
	return 0;
}

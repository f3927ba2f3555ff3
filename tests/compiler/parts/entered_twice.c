/*
 * A nest of loops with a cycle in it that is entered at two places, and goes round far more often than the bounds of
 * the nest say; a timer ticks meanwhile, and another thread takes the page. A copy of the nest without hooks would pass
 * the jump back at which a signal was delivered, and a replay would never come to it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

enum { ROWS = 8, COLUMNS = 11, TIMES = 12, ROUNDS = 1 << 18, TICKS = 1024 };
static uint32_t words[64], seen[TICKS];
static volatile sig_atomic_t ticks;
static volatile int over;

static void tick(int sig)
{
	(void)sig;
	seen[ticks++ % TICKS] = words[3] ^ words[7];
}

__attribute__((noinline)) static void nest(uint32_t *at, long rows, long columns, uint32_t x)
{
	uint32_t own[64] = { 1 }, rounds = 0;

	for (long j = 0; j < rows; j++) {
		uint32_t k = x ^ (uint32_t)j;
#pragma clang loop vectorize(disable) unroll(disable)
		for (long i = 0; i < columns; i++)
			at[i] += k;
		if (k & 1)
			goto second;
	first:
		own[k % 64] = k;
		k = k * 7 + own[k / 64 % 64];
	second:
		at[j] += k;
		k = k * 1664525u + 1013904223u;
		if (++rounds % ROUNDS)
			goto first;
	}
}

static void *take(void *arg)
{
	while (!over) {
		((volatile uint32_t *)words)[20]++;
		nanosleep(&(struct timespec){ 0, 200000 }, NULL);
	}
	return arg;
}

int main(int argc, char **argv)
{
	struct itimerval every = { { 0, 3000 }, { 0, 3000 } };
	uint64_t sum = 0;
	sigset_t alarm;
	pthread_t t;

	(void)argv;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	if (pthread_create(&t, NULL, take, NULL))
		return 2;
	signal(SIGALRM, tick);
	pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (uint32_t r = 0; r < TIMES; r++)
		nest(words, ROWS - 1 + argc, COLUMNS - 1 + argc, r);
	memset(&every, 0, sizeof every);
	setitimer(ITIMER_REAL, &every, NULL);
	over = 1;
	pthread_join(t, NULL);
	for (unsigned i = 0; i < 64; i++)
		sum = sum * 31 + words[i];
	for (unsigned i = 0; i < TICKS; i++)
		sum = sum * 31 + seen[i];
	printf("%016llx %d\n", (unsigned long long)sum, (int)ticks);
	return 0;
}

/*
 * A thread is in loops that could access a page, but never do, in a loop without an end that is known before; another one
 * writes to pages that the first has used. It must not have to wait until the first has left its loops. From either of
 * two numbers of jumps back on: what is looked at after so many of them must not be missed each time.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TRIES = 5, PAGES = 20, ROUNDS = 40000, ROWS = 62, COLUMNS = 128 };
static struct {
	_Alignas(1 << 16) uint32_t word[COLUMNS];
} seldom, wanted[PAGES];
static unsigned begun, ended, before;
static uint64_t sum;

__attribute__((noinline)) static uint64_t loops(uint64_t x, unsigned rounds)
{
	for (;;) {
		for (unsigned i = 0; i < ROWS; i++)
			for (unsigned j = 0; j < COLUMNS; j++) {
				x = x * 6364136223846793005u + 1442695040888963407u;
				if (x >> 16 == 0x123456789abc)
					seldom.word[j]++;
			}
		if (!--rounds || x == 77)
			return x;
	}
}

/* So many jumps back are one look more. */
__attribute__((noinline)) static uint64_t jumps(uint64_t x, unsigned n)
{
	for (; n && x != 77; n--)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

static void *work(void *arg)
{
	unsigned n = *(unsigned *)arg;

	for (unsigned i = 0; i < COLUMNS; i++)
		seldom.word[i] = i;
	for (unsigned i = 0; i < PAGES; i++)
		wanted[i].word[0] = i;
	sum += jumps(5, n % 2 * 257);
	__atomic_store_n(&begun, n + 1, __ATOMIC_RELEASE);
	sum += loops(n, ROUNDS);
	__atomic_store_n(&ended, n + 1, __ATOMIC_RELEASE);
	return arg;
}

/* The machine may have others to run: one of a few is enough. */
static void meet(unsigned n)
{
	pthread_t t;

	if (pthread_create(&t, NULL, work, &n))
		abort();
	while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) != n + 1)
		;
	for (unsigned i = 0; i < PAGES; i++) {
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL); /* it may not be in its loops just now */
		wanted[i].word[0]++;
	}
	before |= (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) != n + 1) << n % 2;
	pthread_join(t, NULL);
}

int main(void)
{
	for (unsigned n = 0; n < 2 * TRIES && before != 3; n++)
		meet(n);
	printf("%u %llu\n", before, (unsigned long long)sum);
	return before != 3;
}

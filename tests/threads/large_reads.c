/*
 * Threads that read large pieces from one pipe, without any lock: who gets which piece is the kernel's choice. What they read
 * is written on through a second pipe, so that the order of the calls alone says what comes out. An entry whose output is large has
 * its place in the order before the output, one whose output is small behind it: pieces of both kinds, and empty ones at the end.
 */
// run: varies
#include "threads.h"

enum { READERS = 4, PIECES = 400, LARGE = 4096, SMALL = 512 };
static int from[2], to[2];

static void *reads(void *argument)
{
	static __thread char piece[2 * LARGE];
	ssize_t n;

	while ((n = read(from[0], piece, ME(argument) % 2 ? LARGE : SMALL)) > 0) {
		unsigned sum = ME(argument);

		for (ssize_t i = 0; i < n; i++)
			sum = sum * 31 + (unsigned char)piece[i];
		CHECK(write(to[1], &sum, sizeof sum) == sizeof sum);
	}
	return NULL;
}

static void *collects(void *argument)
{
	unsigned sum, all = ME(argument), count = 0;

	while (read(to[0], &sum, sizeof sum) == sizeof sum) {
		all = all * 131 + sum;
		count++;
	}
	printf("%u pieces, %08x\n", count, all);
	return NULL;
}

int main(void)
{
	pthread_t readers[READERS], collector;
	static char piece[LARGE];

	CHECK(pipe(from) == 0 && pipe(to) == 0);
	CHECK(pthread_create(&collector, NULL, collects, NULL) == 0);
	for (unsigned i = 0; i < READERS; i++)
		CHECK(pthread_create(&readers[i], NULL, reads, (void *)(uintptr_t)i) == 0);
	for (unsigned i = 0; i < PIECES; i++) {
		memset(piece, (int)i, sizeof piece);
		CHECK(write(from[1], piece, sizeof piece) == sizeof piece);
	}
	close(from[1]);
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	close(to[1]);
	pthread_join(collector, NULL);
	return 0;
}

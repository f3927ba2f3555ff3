/*
 * Threads that change the same bytes of a mapped file at the same moment: by writes to one place, and by one that cuts
 * the file and makes it long again. What could go wrong: what each has changed is logged by itself, and replay puts it
 * into memory in another order than the kernel did.
 */
// run: varies flags=-pthread
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 2, ROUNDS = 1000, SIZE = 16384 };
static pthread_barrier_t gate;
static int file;
static const uint8_t *at;
static unsigned second; /* times that the bytes of the second thread were there in the end */

static void change(unsigned me, unsigned round)
{
	static uint8_t bytes[THREADS][SIZE];

	memset(bytes[me], (int)(me * 128 + round % 128), SIZE);
	if (round % 2 && !me) {
		if (ftruncate(file, 0) || ftruncate(file, SIZE))
			abort();
	} else if (pwrite(file, bytes[me], SIZE, 0) != SIZE) {
		abort();
	}
}

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument;
	uint64_t hash = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&gate);
		change(me, round);
		pthread_barrier_wait(&gate);
		if (me)
			continue;
		for (unsigned i = 0; i < SIZE; i += 512)
			hash = hash * 1099511628211u + at[i] + 1;
		second += at[0] > 127;
	}
	return (void *)(uintptr_t)hash;
}

int main(void)
{
	pthread_t threads[THREADS];
	void *hash[THREADS];

	file = open("same-bytes", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (file < 0 || ftruncate(file, SIZE))
		abort();
	at = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, file, 0);
	if (at == MAP_FAILED || pthread_barrier_init(&gate, NULL, THREADS))
		abort();
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			abort();
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], &hash[i]);
	printf("%u times the second thread was the last: %016llx\n", second, (unsigned long long)(uintptr_t)hash[0]);
	return 0;
}

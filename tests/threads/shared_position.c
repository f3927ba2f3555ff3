/*
 * Threads that write by one descriptor to a file that is mapped, so that the kernel decides which bytes go where. What
 * could go wrong: where a write went is asked after it, when another has moved the position, or the end of the file.
 */
// run: varies flags=-pthread
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 200, RECORDS = THREADS * ROUNDS };
static int files[2]; /* one by its position, the other at its end */

static void *work(void *me)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t record[2] = { (uint32_t)(intptr_t)me, i };
		if (write(files[0], record, sizeof record) != sizeof record ||
		    pwrite(files[1], record, sizeof record, 0) != sizeof record)
			abort();
	}
	return NULL;
}

static const uint32_t *map(const char *name, int flags, int *fd)
{
	*fd = open(name, O_RDWR | O_CREAT | O_TRUNC | flags, 0600);
	if (*fd < 0 || ftruncate(*fd, RECORDS * 8))
		abort();
	const uint32_t *at = mmap(NULL, RECORDS * 16, PROT_READ, MAP_SHARED, *fd, 0);
	if (at == MAP_FAILED || (flags & O_APPEND && ftruncate(*fd, 0)))
		abort();
	return at;
}

/* Who wrote when, and that nothing is missing. */
static void print(const char *what, const uint32_t *records)
{
	uint32_t next[THREADS] = { 0 }, bad = 0, turns = 0;
	uint64_t hash = 0;

	for (unsigned i = 0; i < RECORDS; i++) {
		uint32_t who = records[2 * i] % THREADS;
		bad += records[2 * i + 1] != next[who]++;
		turns += i && records[2 * i] != records[2 * i - 2];
		hash = hash * 1099511628211u + records[2 * i] + 1;
	}
	printf("%s: %u turns, %016llx, %u not in their place\n", what, turns, (unsigned long long)hash, bad);
}

int main(void)
{
	pthread_t threads[THREADS];
	const uint32_t *by_position = map("by-position", 0, &files[0]), *at_end = map("at-end", O_APPEND, &files[1]);

	for (intptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			abort();
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	print("by position", by_position);
	print("at the end", at_end);
	return 0;
}

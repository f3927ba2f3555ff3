/*
 * Four threads without end that race: plain accesses of a few shared words, atomics, ranges, a lock now and then. Each
 * prints "THREAD NUMBER HASH" every few dozen accesses, the hash of all that it has read so far. killed.py kills it: what
 * could go wrong is an access under way in that moment, which others have seen and replay does not make, or the reverse.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, WORDS = 24, EACH = 48 };
static volatile uint64_t words[WORDS];
static struct {
	char bytes[40];
} wide[2];
static atomic_uint tickets;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t guarded;

static void note(uint64_t *hash, uint64_t value)
{
	*hash = (*hash ^ value) * 0x9e3779b97f4a7c15ull;
	*hash ^= *hash >> 32;
}

static void step(unsigned me, unsigned i, uint64_t *hash)
{
	unsigned at = (i * 7 + me * 5) % WORDS;
	switch (i % 6) {
	case 0: words[at] = i * 4 + me; break;
	case 1: words[at]++; break;
	case 2: note(hash, atomic_fetch_add(&tickets, 1)); break;
	case 3: memset(wide[i % 2].bytes, (int)(i + me), sizeof wide[0].bytes); break;
	case 4:
		wide[0] = wide[1];
		note(hash, (uint64_t)wide[0].bytes[at]);
		break;
	default:
		pthread_mutex_lock(&lock);
		note(hash, guarded++);
		pthread_mutex_unlock(&lock);
	}
	note(hash, words[(at + 3) % WORDS]);
}

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument;
	uint64_t hash = 0;
	for (unsigned round = 0;; round++) {
		char line[64];
		for (unsigned i = 0; i < EACH; i++)
			step(me, round * EACH + i, &hash);
		int n = snprintf(line, sizeof line, "%u %u %016llx\n", me, round, (unsigned long long)hash);
		if (write(1, line, (size_t)n) != n)
			return NULL;
		if (round % 8 == 7)
			usleep(1000);
	}
}

int main(void)
{
	pthread_t threads[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

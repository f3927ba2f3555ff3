/*
 * Stamps outside their objects (runtime/sync/stamps.c): far more objects than the first level has places, by several threads
 * at once, many of them with the same hash. What could go wrong: two places for one object, so that a part of its chain is
 * lost; two objects in one place; a level that a second thread maps over the first one's.
 */
// run: our-addresses
#define _GNU_SOURCE
#include "runtime/sync/stamps.c"
#include "runtime/memory/limits.c"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 4, OBJECTS = 400000, ALIKE = 1000 };
bool memory_torn = true;
static int failures;

#define EXPECT(condition) \
	((condition) ? (void)0 : (void)(failures++, printf("stamps_test:%d: %s\n", __LINE__, #condition)))

long gate(long nr, long a, long b, long c, long d, long e, long f)
{
	long r = syscall(nr, a, b, c, d, e, f);
	return r < 0 ? -errno : r;
}
void cannot(const char *format, ...)
{
	printf("cannot: %s\n", format);
	_exit(1);
}

/* Most are neighbours, as in an array; some differ only where the first level does not look. */
static const void *object(unsigned i)
{
	return (const void *)(i < ALIKE ? 0x5550000000000ul + i * (8ul << 32) * 16 : 0x1000000000ul + i * 32ul);
}

/* Each thread adds 1 to the stamp of each object. */
static void *work(void *from)
{
	for (unsigned n = 0; n < OBJECTS; n++) {
		uint64_t *stamp = stamp_lock(object((n + (unsigned)(uint64_t)from) % OBJECTS));
		++*stamp;
		stamp_unlock(stamp);
	}
	return 0;
}

int main(void)
{
	pthread_t threads[THREADS];
	for (uint64_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, work, (void *)(i * 1000));
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	for (unsigned i = 0; i < OBJECTS; i++) {
		uint64_t *stamp = stamp_lock(object(i));
		EXPECT(*stamp == THREADS);
		if (i % 1000)
			stamp_unlock(stamp);
	}
	EXPECT(levels[1] != 0);
	stamps_forked(); /* those that are still locked */
	for (unsigned i = 0; i < OBJECTS; i += 1000)
		stamp_unlock(stamp_lock(object(i)));
	if (failures)
		return 1;
	printf("stamps_test: ok\n");
	return 0;
}

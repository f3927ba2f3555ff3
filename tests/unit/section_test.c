/*
 * Sections (runtime/sync/section.c) while recording, with stand-ins for the log: they exclude each other, count an op per
 * enter and leave, form a chain (every enter that follows another thread's leave gets that leave's stamp), survive removal
 * and reuse of places under contention, and an interrupted enter is no op.
 */
#define _GNU_SOURCE
#include "runtime/sync/section.c"

#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS	20000
#define OBJECTS 8

bool replaying;
static struct thread threads[THREADS + 1];
static struct front fronts[THREADS + 1];
static _Thread_local uint64_t edge;
static int failures;

#define EXPECT(condition) \
	((condition) ? (void)0 : (void)(failures++, printf("section_test:%d: %s\n", __LINE__, #condition)))

uint64_t op_begin(struct thread *t)
{
	edge = 0;
	return fronts[t->slot].clock + 1;
}
void op_edge(struct thread *t, uint64_t stamp)
{
	edge = STAMP_SLOT(stamp) == t->slot ? 0 : stamp;
}
long op_outcome(struct thread *t, long result)
{
	(void)t;
	return result;
}
void op_end(struct thread *t)
{
	fronts[t->slot].clock++;
}
static bool interrupt;
long sync_wait(struct thread *t, uint32_t *word, uint32_t value, int clockid, const int64_t *deadline)
{
	(void)t, (void)clockid, (void)deadline;
	if (interrupt)
		return -EINTR;
	syscall(SYS_futex, word, 128, value, 0);
	return 0;
}
void sync_wake(uint32_t *word, int count)
{
	syscall(SYS_futex, word, 129, count);
}
long gate(long nr, long a, long b, long c, long d, long e, long f)
{
	return syscall(nr, a, b, c, d, e, f);
}
void cannot(const char *format, ...)
{
	printf("cannot: %s\n", format);
	_exit(1);
}

static struct {
	uint64_t last; /* stamp of the last leave, kept by the holder */
	long count;
	uint32_t inside;
} objects[OBJECTS];

static void *work(void *number)
{
	struct thread *t = &threads[(long)number];
	unsigned seed = (unsigned)(long)number;
	for (int i = 0; i < ROUNDS; i++) {
		unsigned k = (seed = seed * 1103515245 + 12345) >> 16 & (OBJECTS - 1);
		uint64_t object = 0x10000 + k * 64;
		bool forget_it = i % 16 == 0, try = i % 3 == 0;
		uint64_t before = fronts[t->slot].clock;
		if (sync_section_enter(t, object, try ? SECTION_TRY : 0, 0, 0)) {
			EXPECT(try);
			continue;
		}
		uint64_t got = edge;
		EXPECT(!__atomic_exchange_n(&objects[k].inside, 1, __ATOMIC_RELAXED));
		/* the chain: at least the last leave (another object's, if the place was used again, may come instead of none) */
		if (objects[k].last && STAMP_SLOT(objects[k].last) != t->slot && i % 16 != 0)
			EXPECT(got == objects[k].last || objects[k].last == ~0ull);
		sync_section_enter(t, object, 0, 0, 0);
		objects[k].count++;
		sync_section_leave(t, object, 0, 0, 0);
		EXPECT(fronts[t->slot].clock == before + 3);
		objects[k].last = forget_it ? ~0ull : STAMP(t->slot, before + 4);
		__atomic_store_n(&objects[k].inside, 0, __ATOMIC_RELAXED);
		sync_section_leave(t, object, forget_it ? SECTION_FORGET : 0, 0, 0);
	}
	return 0;
}

int main(void)
{
	pthread_t ids[THREADS];
	for (long i = 0; i <= THREADS; i++) {
		threads[i].slot = (uint32_t)i;
	}
	for (long i = 0; i < THREADS; i++)
		pthread_create(&ids[i], 0, work, (void *)i);
	for (long i = 0; i < THREADS; i++)
		pthread_join(ids[i], 0);
	for (unsigned i = 0; i < SECTIONS; i++)
		EXPECT(!sections[i].word && !sections[i].owner);

	/* interrupted, busy, forked */
	struct thread *a = &threads[0], *b = &threads[1];
	EXPECT(!sync_section_enter(a, 5, 0, 0, 0));
	uint64_t clock = fronts[1].clock;
	interrupt = true;
	EXPECT(sync_section_enter(b, 5, 0, 0, 0) == SYNC_INTERRUPTED && fronts[1].clock == clock);
	EXPECT(sync_section_enter(b, 5, SECTION_TRY, 0, 0) == EBUSY && fronts[1].clock == clock + 1);
	EXPECT(!sync_section_leave(b, 5, 0, 0, 0)); /* not its own: nothing happens */
	EXPECT(sync_section_enter(b, 5, SECTION_TRY, 0, 0) == EBUSY);
	EXPECT(!sync_section_enter(b, 6, 0, 0, 0));
	sections_forked(b);
	EXPECT(!sync_section_enter(b, 5, SECTION_TRY, 0, 0));
	EXPECT(sync_section_enter(a, 6, SECTION_TRY, 0, 0) == EBUSY);

	/* more objects over time than there are places */
	for (uint64_t i = 0; i < 3 * SECTIONS; i++) {
		sync_section_enter(a, 0x100000 + i * 16, 0, 0, 0);
		sync_section_leave(a, 0x100000 + i * 16, SECTION_FORGET, 0, 0);
	}
	printf("%d failures\n", failures);
	return failures != 0;
}

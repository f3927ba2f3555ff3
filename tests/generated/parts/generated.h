/*
 * What generated programs share (tests/generate.py makes them): memory that they fight about, locks, and a main() that runs the
 * program of one seed. Every value that is read goes into the thread's hash, and the hash into what it writes, so that a single
 * read of a wrong value changes what is printed and the exit status.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define UNUSED	      __attribute__((unused))
#define THREADS_MAX   16
#define PAGE	      4096
#define LOOK_AGAIN()  __asm__ volatile("" ::: "memory")
#define AT(type, off) (*(type *)(void *)(memory + (off)))
#define PACKED(type)                     \
	struct __attribute__((packed)) { \
		type v;                  \
	}
#define UNALIGNED(type, off) (((PACKED(type) *)(void *)(memory + (off)))->v)

enum { PAGES = 8, SLOTS = 6 };
struct bits {
	unsigned a : 3, b : 5, c : 13, d : 11;
};
struct part {
	uint64_t a;
	uint32_t b;
	uint16_t c;
	uint8_t d[11];
};

static _Alignas(PAGE) unsigned char memory[PAGES * PAGE];
static pthread_mutex_t mutexes[3] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t gate;
static unsigned char *blocks[SLOTS]; /* on the heap: anybody may free one and put another there */
static pthread_t threads[THREADS_MAX];
static uint64_t seen[THREADS_MAX];
static int file, pipes[2];

static inline UNUSED void note(uint64_t *hash, uint64_t value)
{
	*hash = (*hash ^ value) * 0x9e3779b97f4a7c15ull;
	*hash ^= *hash >> 29;
}

static inline UNUSED size_t block_size(unsigned slot)
{
	return 24 + slot * 29;
}

static void on_signal(int number)
{
	AT(uint32_t, 48) += (uint32_t)number;
	__atomic_fetch_add(&AT(uint32_t, 52), AT(uint32_t, 8), __ATOMIC_RELAXED);
}

typedef void work(unsigned me, uint64_t *hash);
struct program {
	uint32_t seed;
	unsigned threads, phases;
	work *const *work; /* [thread][phase] */
};
static const struct program *running;

static void *run_thread(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	uint64_t hash = me;

	for (unsigned phase = 0; phase < running->phases; phase++) {
		pthread_barrier_wait(&gate);
		running->work[me * running->phases + phase](me, &hash);
	}
	pthread_barrier_wait(&gate); /* nobody is sent a signal after its end */
	seen[me] = hash;
	return NULL;
}

static int run_program(const struct program *p)
{
	uint64_t hash = p->seed;

	running = p;
	signal(SIGUSR1, on_signal);
	file = memfd_create("generated", 0);
	if (ftruncate(file, 512) || pipe(pipes))
		abort();
	pthread_barrier_init(&gate, NULL, p->threads + 1);
	for (unsigned i = 0; i < p->threads; i++)
		if (pthread_create(&threads[i], NULL, run_thread, (void *)(uintptr_t)i))
			abort();
	for (unsigned i = 0; i <= p->phases; i++)
		pthread_barrier_wait(&gate);
	for (unsigned i = 0; i < p->threads; i++) {
		pthread_join(threads[i], NULL);
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
		note(&hash, seen[i]);
	}
	for (unsigned i = 0; i < sizeof memory; i++)
		note(&hash, memory[i]);
	printf("program %u: %016llx\n", p->seed, (unsigned long long)hash);
	return (int)(hash % 64);
}

static int run_seed(const struct program *programs, size_t n, const char *seed)
{
	for (size_t i = 0; seed && i < n; i++)
		if (programs[i].seed == strtoul(seed, NULL, 10))
			return run_program(&programs[i]);
	fprintf(stderr, "usage: PROGRAM SEED, one of those in it\n");
	return 121;
}

/*
 * What malloc and free cost in the usual loops: nanoseconds for each pair, for one thread and for several.
 *
 *   malloc_loop [LIBRARY]        with a library: each loop natively and with it preloaded, and the ratio
 *   malloc_loop LOOP THREADS     one loop: prints nanoseconds per pair, peak memory in KiB
 *
 * Outside Heddle LIBRARY is tests/unit/heap_alone.c built as its header says. Rounds take turns; the best counts.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void *touch(void *p)
{
	*(volatile char *)p = 1;
	return p;
}

/* ---- the loops: each returns the number of pairs ------------------------------------------------ */

static uint64_t pair(uint64_t n, size_t size)
{
	for (uint64_t i = 0; i < n; i++)
		free(touch(malloc(size)));
	return n;
}
static uint64_t pair_64(unsigned thread)
{
	(void)thread;
	return pair(20000000, 64);
}
static uint64_t pair_2000(unsigned thread)
{
	(void)thread;
	return pair(10000000, 2000);
}
static uint64_t pair_200k(unsigned thread)
{
	(void)thread;
	return pair(2000000, 200000);
}
static uint64_t pair_4m(unsigned thread)
{
	(void)thread;
	return pair(200000, 4 << 20);
}

/* A stack of blocks, as recursion and containers do. */
static uint64_t stack(unsigned thread)
{
	(void)thread;
	enum { DEPTH = 1000, ROUNDS = 10000 };
	void **p = malloc(DEPTH * sizeof *p);
	for (int r = 0; r < ROUNDS; r++) {
		for (int i = 0; i < DEPTH; i++)
			p[i] = touch(malloc(16 + (size_t)i % 32 * 16));
		for (int i = DEPTH; i--;)
			free(p[i]);
	}
	free(p);
	return (uint64_t)DEPTH * ROUNDS;
}

/* A million blocks live, then all freed, in the order of their making. */
static uint64_t build(unsigned thread)
{
	(void)thread;
	enum { COUNT = 1000000, ROUNDS = 5 };
	void **p = malloc(COUNT * sizeof *p);
	for (int r = 0; r < ROUNDS; r++) {
		for (int i = 0; i < COUNT; i++)
			p[i] = touch(malloc(16 + (size_t)i % 8 * 16));
		for (int i = 0; i < COUNT; i++)
			free(p[i]);
	}
	free(p);
	return (uint64_t)COUNT * ROUNDS;
}

/* Random sizes replace each other at random places: what servers do. */
static uint64_t mixed_in(unsigned thread, unsigned places, size_t most, uint64_t pairs)
{
	void **p = calloc(places, sizeof *p);
	uint64_t r = 88172645463325252ull + thread;
	for (uint64_t i = 0; i < pairs; i++) {
		uint64_t x = next_random(&r);
		void **at = &p[x % places];
		free(*at);
		/* more small ones than large */
		*at = touch(malloc(8 + (x >> 40) % (16 + (most >> (x >> 32 & 7)))));
	}
	for (unsigned i = 0; i < places; i++)
		free(p[i]);
	free(p);
	return pairs;
}
static uint64_t mixed(unsigned thread)
{
	return mixed_in(thread, 10000, 2000, 10000000);
}
static uint64_t mixed_large(unsigned thread)
{
	return mixed_in(thread, 1000, 200000, 2000000);
}

static uint64_t grow(unsigned thread)
{
	(void)thread;
	uint64_t pairs = 0;
	for (int r = 0; r < 300; r++) {
		char *p = 0;
		for (size_t n = 16; n < 4 << 20; n += n / 4, pairs++) {
			p = realloc(p, n);
			memset(p + n / 5 * 4, 1, n / 5);
		}
		free(p);
	}
	return pairs;
}

static uint64_t zeroed(unsigned thread)
{
	(void)thread;
	for (uint64_t i = 0; i < 10000000; i++)
		free(touch(calloc(1, 100)));
	return 10000000;
}

/* Even threads allocate, their neighbours free: batches go through a queue with a lock. */
enum { BATCH = 100, QUEUE = 64 };
static struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned from, to;
	void *blocks[QUEUE][BATCH];
} queues[32];

static void put(struct queue *q, void *batch[BATCH])
{
	pthread_mutex_lock(&q->lock);
	while (q->to - q->from == QUEUE)
		pthread_cond_wait(&q->changed, &q->lock);
	memcpy(q->blocks[q->to++ % QUEUE], batch, sizeof q->blocks[0]);
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

static void get(struct queue *q, void *batch[BATCH])
{
	pthread_mutex_lock(&q->lock);
	while (q->to == q->from)
		pthread_cond_wait(&q->changed, &q->lock);
	memcpy(batch, q->blocks[q->from++ % QUEUE], sizeof q->blocks[0]);
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

static uint64_t handover(unsigned thread)
{
	enum { ROUNDS = 50000 };
	struct queue *q = &queues[thread / 2]; /* zeros are what the initialisers give */
	uint64_t r = 4711 + thread;
	void *batch[BATCH];
	for (int i = 0; i < ROUNDS; i++) {
		if (thread % 2)
			get(q, batch);
		for (int k = 0; k < BATCH; k++) {
			if (thread % 2)
				free(batch[k]);
			else
				batch[k] = touch(malloc(16 + (size_t)(next_random(&r) % 500)));
		}
		if (thread % 2 == 0)
			put(q, batch);
	}
	return thread % 2 ? 0 : (uint64_t)ROUNDS * BATCH;
}

static const struct loop {
	const char *name;
	uint64_t (*run)(unsigned thread);
	unsigned threads[3]; /* measured with so many */
} loops[] = {
	{ "pair_64", pair_64, { 1, 2 } },     { "pair_2000", pair_2000, { 1, 2 } },
	{ "pair_200k", pair_200k, { 1, 2 } }, { "pair_4m", pair_4m, { 1 } },
	{ "stack", stack, { 1, 2 } },	      { "build", build, { 1, 2 } },
	{ "mixed", mixed, { 1, 2, 4 } },      { "mixed_large", mixed_large, { 1, 2 } },
	{ "grow", grow, { 1, 2 } },	      { "calloc", zeroed, { 1 } },
	{ "handover", handover, { 2, 4 } },
};
#define LOOPS (sizeof loops / sizeof loops[0])

/* ---- measuring --------------------------------------------------------------------------------------- */

static const struct loop *chosen;
static uint64_t pairs[64];

static void *run_thread(void *number)
{
	unsigned i = (unsigned)(uintptr_t)number;
	pairs[i] = chosen->run(i);
	return 0;
}

static int run_loop(const char *name, unsigned threads)
{
	for (unsigned i = 0; i < LOOPS; i++)
		if (!strcmp(loops[i].name, name))
			chosen = &loops[i];
	if (!chosen || !threads || threads > 64)
		return 1;
	pthread_t thread[64];
	struct timespec from, to;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (unsigned i = 1; i < threads; i++)
		pthread_create(&thread[i], 0, run_thread, (void *)(uintptr_t)i);
	run_thread(0);
	uint64_t all = pairs[0];
	for (unsigned i = 1; i < threads; i++) {
		pthread_join(thread[i], 0);
		all += pairs[i];
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
	printf("%.2f %ld\n", ns / (double)all, usage.ru_maxrss);
	return 0;
}

struct figures {
	double ns;
	long kib;
};

static int measure(const char *name, unsigned threads, const char *library, struct figures *best)
{
	char command[4096], self[1024];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n < 0)
		return 1;
	self[n] = 0;
	snprintf(command, sizeof command, "%s%s '%s' %s %u", library ? "LD_PRELOAD=" : "", library ? library : "", self,
		 name, threads);
	FILE *f = popen(command, "r");
	struct figures now;
	if (!f || fscanf(f, "%lf %ld", &now.ns, &now.kib) != 2 || pclose(f)) {
		fprintf(stderr, "malloc_loop: failed: %s\n", command);
		return 1;
	}
	if (!best->ns || now.ns < best->ns)
		best->ns = now.ns;
	if (now.kib > best->kib)
		best->kib = now.kib;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return run_loop(argv[1], (unsigned)atoi(argv[2]));
	printf("%-12s %7s   %9s %9s %6s   %9s %9s %6s\n", "", "threads", "native ns", "ours ns", "ratio", "KiB",
	       "ours KiB", "ratio");
	for (unsigned i = 0; i < LOOPS; i++)
		for (unsigned k = 0; k < 3 && loops[i].threads[k]; k++) {
			struct figures native = { 0, 0 }, ours = { 0, 0 };
			for (int round = 0; round < 3; round++)
				if (measure(loops[i].name, loops[i].threads[k], 0, &native) ||
				    (argc > 1 && measure(loops[i].name, loops[i].threads[k], argv[1], &ours)))
					return 1;
			printf("%-12s %7u   %9.1f %9.1f %6.2f   %9ld %9ld %6.2f\n", loops[i].name, loops[i].threads[k],
			       native.ns, ours.ns, ours.ns / native.ns, native.kib, ours.kib,
			       (double)ours.kib / (double)native.kib);
			fflush(stdout);
		}
	return 0;
}

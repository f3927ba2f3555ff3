/*
 * The allocator gives blocks that nobody else has, aligned and large enough, keeps their bytes, takes memory back,
 * and gives the same addresses when its ops come in the same order. What could go wrong: overlapping blocks, a block
 * lost between a thread's list and the pool, runs that are not joined again, a class that does not fit its size,
 * bytes lost when a large block moves, an address that depends on who came first, a failure that replay does not repeat.
 */
// run: flags="-DHEAP_RENAMED -include tests/unit/heap_alone.h -Wno-unused-function" sources="interpose/malloc.c" timeout=300
#include "heap_alone.c"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPS (1 << 20) /* that can be recorded */

static int failures;
#define EXPECT(condition, ...)                             \
	do {                                               \
		if (!(condition)) {                        \
			printf("heap_test: " __VA_ARGS__); \
			printf(" (%s)\n", #condition);     \
			fflush(stdout);                    \
			if (++failures > 20)               \
				_exit(1);                  \
		}                                          \
	} while (0)

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Every slice belongs to one run, free runs are joined and in their bins, counts agree. */
static void check_pool(const char *when)
{
	uint64_t used = 0, dirty = 0, runs = 0, binned = 0;
	unsigned before = SPAN_NONE;
	for (uint32_t i = 1; i < pool.top;) {
		const struct span *s = &heap_spans[i];
		EXPECT(s->use != SPAN_NONE && s->slices && i + s->slices <= pool.top, "%s: slice %u", when, i);
		bool is_free = s->use == SPAN_FREE || s->use == SPAN_UNMAPPED;
		if (is_free) {
			const struct span *last = s + s->slices - 1;
			EXPECT(s->use != before, "%s: two free runs at %u", when, i);
			EXPECT(last->use == s->use && last->first == i && last->slices == s->slices,
			       "%s: end of run %u", when, i);
			dirty += s->dirty;
			runs++;
		} else {
			used += s->slices;
		}
		if (s->use == SPAN_BLOCKS) {
			uint32_t n = 0;
			for (struct heap_block *b = s->blocks; b; b = heap_next(b), n++)
				EXPECT(heap_spans[slice_of(b)].first == i, "%s: strange block in span %u", when, i);
			EXPECT(n + s->total - s->fresh == s->free && s->free < s->total, "%s: count of span %u", when,
			       i);
		}
		for (uint32_t k = 0; k < s->slices; k++) {
			unsigned class = s->use == SPAN_BLOCKS	    ? s->class :
					 s->use == SPAN_LARGE && !k ? HEAP_CLASS_LARGE :
								      0;
			EXPECT(heap_class_table[i + k] == class, "%s: class of slice %u", when, i + k);
		}
		before = is_free ? s->use : SPAN_NONE;
		i += s->slices;
		if (!s->slices)
			return;
	}
	for (unsigned u = 0; u < 2; u++)
		for (unsigned b = 0; b < BINS; b++)
			for (uint32_t r = pool.bins[u][b].head; r; r = heap_spans[r].next, binned++)
				EXPECT(bin_of(heap_spans[r].slices) == b &&
					       heap_spans[r].use == (u ? SPAN_UNMAPPED : SPAN_FREE),
				       "%s: bin %u", when, b);
	EXPECT(runs == binned, "%s: %lu free runs, %lu in bins", when, runs, binned);
	EXPECT(used == pool.used && dirty == pool.dirty, "%s: %lu used, %lu dirty", when, used, dirty);
}

/* ---- sizes ------------------------------------------------------------------------------------ */

static void test_classes(void)
{
	for (uint64_t n = 1; n <= HEAP_SMALL; n++) {
		unsigned c = heap_class(n);
		EXPECT(c >= 1 && c <= HEAP_CLASS_COUNT && heap_class_size(c) >= n && heap_class_size(c - 1) < n,
		       "size %lu", n);
	}
	EXPECT(heap_class(HEAP_SMALL) == HEAP_CLASS_COUNT, "last class");
	for (unsigned c = 1; c <= HEAP_CLASS_COUNT; c++) {
		uint32_t bytes = span_slices(c) << HEAP_SLICE_SHIFT, lost = bytes % heap_class_size(c);
		EXPECT(heap_class_size(c) % 16 == 0 && lost * 8 <= bytes, "class %u loses %u", c, lost);
	}
}

static void test_edges(void)
{
	void *a = malloc(0), *b = malloc(0);
	EXPECT(a && b && a != b, "malloc(0)");
	free(a);
	free(b);
	free(0);
	EXPECT(malloc_usable_size(0) == 0, "usable size of nothing");
	volatile size_t huge = SIZE_MAX - 8; /* the compiler need not know */
	errno = 0;
	EXPECT(!calloc(huge / 4, huge / 4) && errno == ENOMEM, "calloc overflow");
	errno = 0;
	EXPECT(!malloc(huge) && errno == ENOMEM, "too much");
	errno = 0;
	EXPECT(!malloc((size_t)1 << 46) && errno == ENOMEM, "more than there is room for");
	errno = 0;
	EXPECT(!reallocarray(0, huge, 2) && errno == ENOMEM, "reallocarray overflow");
	void *p = (void *)1;
	EXPECT(posix_memalign(&p, 3, 10) == EINVAL && posix_memalign(&p, 4, 10) == EINVAL && p == (void *)1,
	       "bad alignment");
	errno = 7;
	EXPECT(posix_memalign(&p, 64, (size_t)1 << 50) == ENOMEM && errno == 7, "posix_memalign leaves errno");
	EXPECT(!memalign(SIZE_MAX, 1) && errno == EINVAL, "memalign");
	p = realloc(0, 100);
	EXPECT(p && !realloc(p, 0), "realloc frees");
	p = malloc(100);
	EXPECT(malloc_usable_size(p) == 112 && realloc(p, 112) == p && realloc(p, 60) == p, "stays in its class");
	free(p);
	errno = 5;
	p = malloc(100000);
	free(p);
	EXPECT(errno == 5, "errno is left alone");
}

static void test_alignment(void)
{
	for (size_t align = 1; align <= (size_t)1 << 24; align *= 2)
		for (size_t n = 0; n <= 3000000; n = n * 3 + 1) {
			size_t power = align < 8 ? 8 : align;
			void *p[4] = { memalign(align, n), aligned_alloc(align, n), 0, malloc(n) };
			EXPECT(!posix_memalign(&p[2], power, n), "posix_memalign(%zu, %zu)", power, n);
			for (int i = 0; i < 4; i++) {
				size_t want = i == 3 || align < 16 ? 16 : align;
				EXPECT(p[i] && (uintptr_t)p[i] % want == 0, "alignment %zu of %zu bytes", align, n);
				EXPECT(malloc_usable_size(p[i]) >= n, "%zu bytes", n);
				memset(p[i], i, n);
			}
			for (int i = 0; i < 4; i++)
				free(p[i]);
		}
	void *v = valloc(5), *w = pvalloc(5);
	EXPECT((uintptr_t)v % 4096 == 0 && (uintptr_t)w % 4096 == 0 && malloc_usable_size(w) >= 4096, "valloc");
	free(v);
	free(w);
	check_pool("alignment");
}

/* ---- a model: each block is filled with its number, and must still be when it is freed --------------- */

struct owned {
	uint8_t *p;
	size_t n;
	uint8_t fill;
};

static size_t random_size(uint64_t *r)
{
	uint64_t x = next_random(r);
	switch (x % 16) {
	case 0: return x >> 8 & (x >> 32 & 3 ? 0x1ffff : 0x1fffff);
	case 1:
	case 2: return x >> 8 & 0x1ffff;
	case 3:
	case 4:
	case 5: return x >> 8 & 0x3fff;
	default: return x >> 8 & 0x1ff;
	}
}

/* Ends and middle are enough: whoever overlaps hits one of them with some block. */
static void fill(struct owned *o)
{
	size_t step = o->n < 512 ? 1 : 61;
	for (size_t i = 0; i < o->n; i += step)
		o->p[i] = o->fill;
	if (o->n)
		o->p[o->n - 1] = o->fill;
}
static bool is_filled(const struct owned *o, size_t n)
{
	size_t step = o->n < 512 ? 1 : 61;
	for (size_t i = 0; i < n; i += step)
		if (o->p[i] != o->fill)
			return false;
	return !n || n < o->n || o->p[n - 1] == o->fill;
}

static void play(struct owned *own, unsigned count, unsigned rounds, uint64_t *r, uint64_t *hash)
{
	for (unsigned i = 0; i < rounds; i++) {
		struct owned *o = &own[next_random(r) % count];
		uint64_t what = next_random(r) % 8;
		if (o->p && what < 2) {
			size_t n = random_size(r) + 1;
			uint8_t *p = realloc(o->p, n);
			if (!p) {
				EXPECT(0, "realloc to %zu", n);
				continue;
			}
			o->p = p;
			EXPECT(is_filled(o, n < o->n ? n : o->n), "realloc from %zu to %zu lost bytes", o->n, n);
			o->n = n;
		} else if (o->p) {
			EXPECT(is_filled(o, o->n), "%zu bytes at %p were changed", o->n, (void *)o->p);
			free(o->p);
			o->p = 0;
			continue;
		} else {
			o->n = random_size(r);
			o->p = what < 4	 ? calloc(1, o->n) :
			       what == 4 ? memalign(16u << (o->n % 10), o->n) :
					   malloc(o->n);
			EXPECT(o->p, "%zu bytes", o->n);
			if (what < 4)
				for (size_t k = 0; k < o->n; k++)
					if (o->p[k]) {
						EXPECT(0, "calloc(%zu) is not zero at %zu", o->n, k);
						break;
					}
		}
		*hash = (*hash ^ (uint64_t)o->p) * 0x100000001b3ull;
		o->fill = (uint8_t)next_random(r);
		fill(o);
	}
}

static void test_model(void)
{
	static struct owned own[2000];
	uint64_t r = 88172645463325252ull, hash = 0;
	for (int i = 0; i < 20; i++) {
		play(own, COUNT(own), 5000, &r, &hash);
		check_pool("model");
	}
	for (unsigned i = 0; i < COUNT(own); i++) {
		free(own[i].p);
		own[i].p = 0;
	}
	check_pool("all freed");
}

/* ---- large blocks ------------------------------------------------------------------------------------ */

static void test_large(void)
{
	size_t n = 40000;
	uint32_t *p = malloc(n);
	p[0] = 1, p[5000] = 2;
	for (; n < (size_t)300 << 20; n += n / 2 + 12345) {
		p = realloc(p, n);
		EXPECT(p && p[0] == 1 && p[5000] == 2 && malloc_usable_size(p) >= n, "growing to %zu", n);
		p[n / 4 - 1] = 3;
		check_pool("growing");
	}
	p = realloc(p, 10000000);
	EXPECT(p[5000] == 2 && malloc_usable_size(p) < 10100000, "shrinking");
	check_pool("shrinking");
	p = realloc(p, 50000);
	p = realloc(p, 4000);
	EXPECT(p[0] == 1 && malloc_usable_size(p) == 4096, "small again");
	free(p);
	/* goes back to the system: what comes next is zero, and little stays */
	char *big = malloc((size_t)400 << 20);
	memset(big, 1, (size_t)400 << 20);
	free(big);
	EXPECT(pool.dirty <= KEEP_DIRTY + pool.used / 8, "%lu slices are kept", pool.dirty);
	big = calloc(1, (size_t)400 << 20);
	for (size_t i = 0; i < (size_t)400 << 20; i += 4096)
		if (big[i])
			EXPECT(0, "a recycled byte at %zu", i);
	free(big);
	check_pool("large");
}

/* A hundred free runs that are too short stand in the bin before the one that is long enough, or can be made so. */
static void test_many_runs(void)
{
	char *held[100], *got[60];
	for (unsigned i = 0; i < 100; i++) {
		held[i] = aligned_alloc((size_t)16 << 20, (size_t)88 << 16);
		EXPECT(held[i], "block %u", i);
	}
	for (unsigned i = 0; i < 60; i++) {
		size_t n = (size_t)(169 + i * 37 % 80) << 16;
		got[i] = malloc(n);
		EXPECT(got[i] && malloc_usable_size(got[i]) >= n, "block %u behind short runs", i);
		got[i][0] = got[i][n - 1] = 1;
		check_pool("many runs");
	}
	for (unsigned i = 0; i < 100; i++)
		free(held[i]);
	for (unsigned i = 0; i < 60; i++)
		free(got[i]);
	check_pool("many runs freed");
}

/* Blocks of one class, all freed, serve another: memory is not kept by class. */
static void test_classes_share(void)
{
	static void *p[100000];
	uint32_t top = 0;
	for (unsigned round = 0; round < 6; round++) {
		size_t n = 48 + 64 * round;
		unsigned count = (unsigned)(4800000 / n);
		for (unsigned i = 0; i < count; i++)
			p[i] = malloc(n);
		for (unsigned i = 0; i < count; i++)
			free(p[i * 7919ul % count]); /* count is no multiple of this prime */
		if (!round)
			top = pool.top;
		check_pool("classes share");
	}
	EXPECT(pool.top <= top + 64, "grew from %u to %u slices", top, pool.top);
}

/* ---- misuse --------------------------------------------------------------------------------------------- */

static void double_free(void)
{
	void *p = malloc(50);
	free(p);
	free(p);
}
static void double_free_later(void)
{
	void *p = malloc(50), *q = malloc(50);
	free(p);
	free(q);
	free(p);
}
static void double_free_large(void)
{
	void *p = malloc(500000);
	free(p);
	free(p);
}
static void free_inside(void)
{
	char *p = malloc(500000);
	free(p + 16);
}
static void free_odd(void)
{
	char *p = malloc(50);
	free(p + 1);
}
static void free_stack(void)
{
	long long p[4] __attribute__((aligned(16)));
	void *volatile q = p;
	free(q);
}

static void expect_abort(void (*misuse)(void), const char *name)
{
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		close(2);
		misuse();
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == 6, "%s is not noticed", name);
}

static void test_misuse(void)
{
	expect_abort(double_free, "double free");
	expect_abort(double_free_later, "double free, later");
	expect_abort(double_free_large, "double free of a large block");
	expect_abort(free_inside, "free inside a block");
	expect_abort(free_odd, "free of an odd address");
	expect_abort(free_stack, "free of the stack");
}

/* ---- threads ------------------------------------------------------------------------------------------------ */

#define THREADS 4
#define ROUNDS	12000

/* Where threads hand blocks over. At replay who gets what must be as recorded: here each has its own box to read, and a
   barrier between the phases, so that only the allocator's own order can differ. */
struct player {
	pthread_t thread;
	struct alone_thread *slot;
	unsigned number;
	uint64_t hash;
	struct owned own[600];
	struct owned box[THREADS][200]; /* from each */
};
static struct player players[THREADS];
static pthread_barrier_t phase;

static void *run_player(void *given)
{
	struct player *me = given;
	uint64_t r = 77777 + me->number * 1000003ull;
	alone_become(me->slot);
	for (int round = 0; round < 12; round++) {
		play(me->own, COUNT(me->own), ROUNDS / 12, &r, &me->hash);
		for (unsigned to = 0; to < THREADS; to++)
			for (unsigned i = 0; i < 200; i++) {
				struct owned *o = &players[to].box[me->number][i];
				o->n = random_size(&r) % 5000;
				o->p = malloc(o->n);
				o->fill = (uint8_t)i;
				me->hash = (me->hash ^ (uint64_t)o->p) * 0x100000001b3ull;
				fill(o);
			}
		pthread_barrier_wait(&phase);
		for (unsigned from = 0; from < THREADS; from++)
			for (unsigned i = 0; i < 200; i++) {
				struct owned *o = &me->box[from][i];
				EXPECT(is_filled(o, o->n), "thread %u: block %u of thread %u", me->number, i, from);
				free(o->p);
			}
		pthread_barrier_wait(&phase);
	}
	for (unsigned i = 0; i < COUNT(me->own); i++) {
		free(me->own[i].p);
		me->own[i].p = 0;
	}
	heap_thread_ended((struct thread *)me->slot);
	return 0;
}

/* As at the start of a process. */
static void forget_everything(void)
{
	for (uint32_t i = 0; i < MAP_SLOTS; i++)
		if (mapped[i])
			memset((void *)(HEAP_STATES + i * state_stride()), 0, state_stride());
	if (pool.spans_mapped)
		SYS2(__NR_munmap, HEAP_SPANS, pool.spans_mapped * sizeof(struct span));
	if (pool.classes_mapped)
		SYS2(__NR_munmap, HEAP_CLASSES, pool.classes_mapped);
	SYS2(__NR_munmap, HEAP_SLICES, (uint64_t)pool.top << HEAP_SLICE_SHIFT);
	memset(&pool, 0, sizeof pool);
	pool.top = 1;
	memset(mapped, 0, sizeof mapped);
}

static void run_players(uint64_t hashes[THREADS])
{
	forget_everything();
	pthread_barrier_init(&phase, 0, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		players[i] = (struct player){ .number = i, .slot = &alone[100 + i] };
		players[i].slot->front = (struct front){ .slot = 100 + i };
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&players[i].thread, 0, run_player, &players[i]);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(players[i].thread, 0);
		hashes[i] = players[i].hash;
	}
}

static uint64_t hash_memory(void)
{
	uint64_t hash = 0;
	for (uint32_t i = 1; i < pool.top; i += heap_spans[i].slices) {
		const uint64_t *p = address(i);
		if (heap_spans[i].use != SPAN_UNMAPPED)
			for (uint64_t k = 0; k < (uint64_t)heap_spans[i].slices * (HEAP_SLICE / 8); k++)
				hash = (hash ^ p[k]) * 0x100000001b3ull;
	}
	return hash;
}

static void test_threads(void)
{
	static uint64_t recorded[THREADS], replayed[THREADS];
	unsigned differ = 0;
	ops_limit = OPS;
	for (int round = 0; round < 2; round++) {
		ops_count = 0;
		run_players(recorded);
		check_pool("threads");
		EXPECT(pool.used == 0, "%lu slices are lost", pool.used);
		struct pool after = pool;
		uint64_t memory = hash_memory();
		replaying = true;
		for (int again = 0; again < 2; again++) {
			ops_next = 0;
			run_players(replayed);
			EXPECT(ops_next == ops_count, "%lu ops of %lu", ops_next, ops_count);
			EXPECT(!memcmp(recorded, replayed, sizeof recorded), "addresses differ at replay");
			EXPECT(pool.top == after.top && pool.dirty == after.dirty &&
				       !memcmp(pool.bins, after.bins, sizeof pool.bins),
			       "the pool differs at replay");
			EXPECT(hash_memory() == memory, "bytes differ at replay");
		}
		replaying = false;
		/* The same again, unordered: if this never differed, the test would show nothing. */
		ops_count = 0;
		run_players(replayed);
		differ += memcmp(recorded, replayed, sizeof recorded) != 0;
	}
	EXPECT(differ, "without order the addresses are the same, too");
	ops_limit = 0;
	printf("heap_test: %lu ops of the pool for %u calls\n", ops_count, THREADS * (ROUNDS + 12 * THREADS * 200 * 2));
}

/* ---- little memory: failures are part of the recording ----------------------------------------------------------- */

static uint64_t use_until_full(void)
{
	static void *p[5000];
	uint64_t hash = 0, r = 4711;
	for (unsigned i = 0; i < COUNT(p); i++) {
		size_t n = next_random(&r) % 400000;
		errno = 0;
		p[i] = malloc(n);
		EXPECT(p[i] || errno == ENOMEM, "errno %d", errno);
		hash = hash * 31 + (uint64_t)p[i];
		if (i % 3 == 0) {
			unsigned k = (unsigned)(next_random(&r) % (i + 1));
			free(p[k]);
			p[k] = 0;
		}
	}
	for (unsigned i = 0; i < COUNT(p); i++)
		free(p[i]);
	return hash;
}

static void test_limit(void)
{
#ifndef __SANITIZE_ADDRESS__
	static uint64_t missing;
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		uint64_t pages = 0;
		FILE *f = fopen("/proc/self/statm", "r");
		EXPECT(f && fscanf(f, "%lu", &pages) == 1, "statm");
		ops_limit = OPS;
		ops_count = 0;
		/* The heap of this thread must be there before and after. */
		forget_everything();
		alone_self->front.clock = 0;
		heap_thread_started((struct thread *)alone_self);
		struct rlimit all, limit;
		getrlimit(RLIMIT_AS, &all);
		limit = all;
		limit.rlim_cur = (rlim_t)pages * 4096 + (200ul << 20);
		setrlimit(RLIMIT_AS, &limit);
		uint64_t hash = use_until_full();
		setrlimit(RLIMIT_AS, &all);
		for (uint64_t i = 0; i < ops_count; i++)
			missing += ops[i].outcome == -ENOMEM;
		check_pool("full");
		EXPECT(missing, "the limit was never reached");
		forget_everything();
		alone_self->front.clock = 0;
		heap_thread_started((struct thread *)alone_self);
		replaying = true;
		ops_next = 0;
		EXPECT(use_until_full() == hash && ops_next == ops_count, "failures differ at replay");
		_exit(failures != 0);
	}
	int status;
	waitpid(child, &status, 0);
	EXPECT(status == 0, "status %x", status);
#endif
}

/* ---- fork ------------------------------------------------------------------------------------------------------- */

static volatile bool stop_churning;
static void *churn(void *given)
{
	static struct owned own[8][300];
	uint64_t r = 12345 + (uint64_t)given, hash = 0;
	while (!stop_churning)
		play(own[(uint64_t)given], 300, 200, &r, &hash);
	for (unsigned i = 0; i < 300; i++)
		free(own[(uint64_t)given][i].p);
	return 0;
}

static void test_fork(void)
{
	pthread_t thread[2];
	for (uint64_t i = 0; i < 2; i++)
		pthread_create(&thread[i], 0, churn, (void *)i);
	for (int i = 0; i < 50; i++) {
		fflush(stdout);
		pid_t child = fork();
		if (!child) {
			uint64_t r = 99 + (uint64_t)i, hash = 0;
			static struct owned own[300];
			check_pool("child");
			play(own, 300, 2000, &r, &hash);
			_exit(failures != 0);
		}
		int status;
		waitpid(child, &status, 0);
		EXPECT(status == 0, "child %d: %x", i, status);
	}
	stop_churning = true;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], 0);
	check_pool("parent");
}

/* Producers allocate what consumers free: the pool gets it back. */
static void *volatile mailbox[64];
static void *produce(void *count)
{
	for (uint64_t i = 0; i < (uint64_t)count; i++) {
		void *p = malloc(16 + i * 31 % 2000);
		while (__atomic_load_n(&mailbox[i % 64], __ATOMIC_ACQUIRE))
			SYS0(__NR_sched_yield);
		__atomic_store_n(&mailbox[i % 64], p, __ATOMIC_RELEASE);
	}
	return 0;
}

static void test_handover(void)
{
	uint64_t count = 300000;
	pthread_t producer;
	uint32_t top = pool.top;
	pthread_create(&producer, 0, produce, (void *)count);
	for (uint64_t i = 0; i < count; i++) {
		void *p;
		while (!(p = __atomic_load_n(&mailbox[i % 64], __ATOMIC_ACQUIRE)))
			SYS0(__NR_sched_yield);
		__atomic_store_n(&mailbox[i % 64], 0, __ATOMIC_RELEASE);
		free(p);
	}
	pthread_join(producer, 0);
	check_pool("handover");
	/* 300 MB went through; two threads may keep lists and spans of 25 classes */
	EXPECT(pool.top - top < 25 * 5, "%u slices for what fits into one", pool.top - top);
}

int main(void)
{
	ops = (struct alone_op *)SYS6(__NR_mmap, 0, OPS * sizeof *ops, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	test_many_runs(); /* first: what others have freed would serve it */
	test_classes();
	test_edges();
	test_alignment();
	test_model();
	test_large();
	test_classes_share();
	test_misuse();
	test_handover();
	test_fork();
	test_limit();
	test_threads();
	if (!failures)
		printf("heap_test: ok\n");
	return failures != 0;
}

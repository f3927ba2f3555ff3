/*
 * The allocator without the rest of Heddle: stand-ins for ops, threads and the gate. See heap_alone.h.
 *
 * Ops can be recorded and replayed here, too: their order, and their outcomes.
 */
#include "tests/unit/heap_alone.h"
#include "runtime/memory/heap.c"
#include "runtime/memory/limits.c"
#include <pthread.h>

extern long syscall(long nr, ...);
extern int *__errno_location(void);
extern _Noreturn void abort(void);

long gate(long nr, long a, long b, long c, long d, long e, long f)
{
	int saved = *__errno_location();
	long r = syscall(nr, a, b, c, d, e, f);
	if (r == -1)
		r = -*__errno_location();
	*__errno_location() = saved;
	return r;
}

static void complain(const char *what)
{
	gate(__NR_write, 2, (long)what, (long)strlen(what), 0, 0, 0);
	gate(__NR_write, 2, (long)"\n", 1, 0, 0, 0);
}

void cannot(const char *format, ...)
{
	complain(format);
	abort();
}

void diverged(struct thread *t, const struct entry *recorded, const char *now)
{
	(void)t, (void)recorded;
	complain(now);
	abort();
}

const struct entry *log_peek(struct thread *t)
{
	(void)t;
	return 0;
}

void futex_wait(uint32_t *word, uint32_t value, unsigned ms)
{
	(void)ms;
	SYS4(__NR_futex, word, 0, value, 0);
}

void futex_wake(uint32_t *word)
{
	SYS3(__NR_futex, word, 1, 1);
}

bool replaying, one_thread;
uint64_t page_size = 4096;

/* ---- ops --------------------------------------------------------------------------------- */

/* The ops of the pool in their order, if ops_limit is not 0. */
struct alone_op {
	uint64_t stamp;
	long outcome;
};
static struct alone_op *ops;
static uint64_t ops_limit, ops_count, ops_next, ops_edges;

struct alone_thread {
	struct front front;
	struct alone_thread *next_free;
};
static struct alone_thread alone[MAP_SLOTS];
static uint32_t alone_count;
static struct alone_thread *alone_free, *alone_last;
static uint32_t alone_waiting;
static pthread_mutex_t alone_lock = PTHREAD_MUTEX_INITIALIZER;

struct front *front_of(struct thread *t)
{
	return &((struct alone_thread *)t)->front;
}

uint64_t op_begin(struct thread *t)
{
	struct front *f = front_of(t);
	uint64_t stamp = STAMP(f->slot, f->clock + 1);
	/* The chain says that the op before ours has ended; acquire pairs with op_end(). */
	for (unsigned n = 0; replaying; n++) {
		uint64_t next = __atomic_load_n(&ops_next, __ATOMIC_ACQUIRE);
		if (next >= ops_count)
			diverged(t, 0, "heap_alone: more ops than were recorded");
		if (ops[next].stamp == stamp)
			break;
		if (n > 20)
			SYS0(__NR_sched_yield);
	}
	return f->clock + 1;
}

void op_edge(struct thread *t, uint64_t stamp)
{
	/* under the pool's lock */
	ops_edges += stamp && STAMP_SLOT(stamp) != front_of(t)->slot;
}

long op_outcome(struct thread *t, long result)
{
	struct front *f = front_of(t);
	if (replaying)
		return ops[ops_next].outcome;
	if (ops_limit) {
		if (ops_count == ops_limit)
			cannot("heap_alone: too many ops");
		ops[ops_count++] = (struct alone_op){ STAMP(f->slot, f->clock + 1), result };
	}
	return result;
}

void op_end(struct thread *t)
{
	front_of(t)->clock++;
	if (replaying)
		__atomic_store_n(&ops_next, ops_next + 1, __ATOMIC_RELEASE);
}

/* ---- threads ------------------------------------------------------------------------------- */

static __thread struct alone_thread *alone_self;
static pthread_key_t alone_key;
static pthread_once_t alone_once = PTHREAD_ONCE_INIT;

static struct front *alone_front(void);

/* As thread exit. What the thread still frees waits in its slot, which others get only much later. */
static void alone_ends(void *ended)
{
	struct alone_thread *t = ended;
	heap_thread_ended(ended);
	pthread_mutex_lock(&alone_lock);
	t->next_free = 0;
	*(alone_free ? &alone_last->next_free : &alone_free) = t;
	alone_last = t;
	alone_waiting++;
	pthread_mutex_unlock(&alone_lock);
}

static void before_fork(void)
{
	alone_front();
	op_begin((struct thread *)alone_self);
	heap_before_fork((struct thread *)alone_self);
}

static void after_fork(void)
{
	heap_after_fork((struct thread *)alone_self, false);
	op_end((struct thread *)alone_self);
}

static void after_fork_child(void)
{
	heap_after_fork((struct thread *)alone_self, true);
}

static void alone_start(void)
{
	pthread_key_create(&alone_key, alone_ends);
	pthread_atfork(before_fork, after_fork, after_fork_child);
}

static void alone_become(struct alone_thread *t)
{
	alone_self = t;
	heap_thread_started((struct thread *)t);
}

static struct front *alone_front(void)
{
	if (!alone_self) {
		pthread_mutex_lock(&alone_lock);
		struct alone_thread *t = alone_free;
		if (alone_waiting > MAP_SLOTS / 8) {
			alone_free = t->next_free;
			alone_waiting--;
		} else {
			t = &alone[alone_count];
			t->front.slot = alone_count++;
		}
		pthread_mutex_unlock(&alone_lock);
		alone_become(t);
		pthread_once(&alone_once, alone_start);
		pthread_setspecific(alone_key, t);
	}
	return &alone_self->front;
}

static long alone_call(sync_function *f, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	alone_front();
	return f((struct thread *)alone_self, a, b, c, d);
}

const struct sync_entries heap_alone_entries = {
	.call = alone_call,
	.self = alone_front,
	.functions = { [SYNC_heap_refill] = sync_heap_refill,
		       [SYNC_heap_return] = sync_heap_return,
		       [SYNC_heap_large] = sync_heap_large,
		       [SYNC_heap_large_free] = sync_heap_large_free },
};

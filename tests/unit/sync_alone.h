/*
 * The primitives of runtime/sync/ without the rest of Heddle: a thin stand-in for the runtime, real threads, many more
 * than cores, random yields and interruptions. For sync_test.c and sync_replay_test.c.
 */
#ifndef TESTS_UNIT_SYNC_ALONE_H
#define TESTS_UNIT_SYNC_ALONE_H
#define _GNU_SOURCE
#define HEDDLE_RUNTIME
#include "runtime/sync/mutex.c"
#define follow rw_follow
#include "runtime/sync/rwlock.c"
#undef follow
#define take barrier_take
#include "runtime/sync/barrier.c"
#undef take
#define follow spin_follow
#include "runtime/sync/spin.c"
#undef follow
#include "runtime/sync/cond.c"
#define take sem_take_
#include "runtime/sync/semaphore.c"
#undef take
#include "runtime/sync/once.c"
#include "runtime/sync/stamps.c"
#include "runtime/memory/limits.c"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- the runtime, as far as the primitives see it -------------------------------------------- */

#define THREADS 9

static struct thread all[THREADS + 1];
static struct front fronts[THREADS + 1];
static struct process no_process;
static uint64_t done[THREADS + 1]; /* as at replay: published ends of ops, to check edges with */
static __thread uint64_t seed;
static int chaos = 1;

bool replaying, one_thread;
uint32_t image_number;
struct process process;

static void check_at(bool good, const char *what, int line)
{
	if (good)
		return;
	printf("line %d: %s\n", line, what);
	fflush(stdout);
	_exit(1);
}
#define CHECK(what) check_at(what, #what, __LINE__)

static unsigned random_below(unsigned n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(seed >> 33) % n;
}

/* What a thread's stream would hold, of the last recording. */
struct logged {
	uint64_t op, stamp; /* stamp 0: an outcome */
	long outcome;
};
static struct {
	struct logged *entries;
	size_t count, room, next;
	uint64_t known[THREADS + 1];
} logs[THREADS + 1];
static bool logging;

static void log_add(struct thread *t, struct logged entry)
{
	__typeof__(logs[0]) *l = &logs[t->front->slot];
	if (!logging)
		return;
	if (l->count == l->room) {
		l->room = l->room ? 2 * l->room : 4096;
		l->entries = realloc(l->entries, l->room * sizeof *l->entries);
	}
	l->entries[l->count++] = entry;
}

struct front *front_of(struct thread *t)
{
	return t->front;
}

uint64_t op_begin(struct thread *t)
{
	uint64_t op = t->front->clock + 1;
	if (chaos && !random_below(16))
		sched_yield();
	for (__typeof__(logs[0]) *l = &logs[t->front->slot]; replaying && l->next < l->count; l->next++) {
		struct logged *e = &l->entries[l->next];
		CHECK(e->op >= op); /* else one was left over */
		if (e->op != op || !e->stamp)
			break;
		while (__atomic_load_n(&done[STAMP_SLOT(e->stamp)], __ATOMIC_ACQUIRE) < STAMP_CLOCK(e->stamp))
			sched_yield();
	}
	return op;
}

uint64_t op_begin_taken(struct thread *t)
{
	return op_begin(t);
}

uint64_t op_begin_giving(struct thread *t)
{
	return op_begin(t);
}

/* Every edge comes from an op that has begun, so that replay cannot wait for the future. A failed trylock reads the stamp without any order: the
   fences, here and in op_end(), are for this look at the other's count alone. */
void op_edge(struct thread *t, uint64_t stamp)
{
	uint32_t slot = STAMP_SLOT(stamp);
	uint64_t *known = &logs[t->front->slot].known[slot];
	CHECK(slot <= THREADS);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	CHECK(!stamp || STAMP_CLOCK(stamp) <= __atomic_load_n(&fronts[slot].clock, __ATOMIC_ACQUIRE) + 1);
	t->waits_for = stamp; /* the last one, for tests that look at it */
	if (replaying || !stamp || slot == t->front->slot || *known >= STAMP_CLOCK(stamp))
		return;
	*known = STAMP_CLOCK(stamp);
	log_add(t, (struct logged){ t->front->clock + 1, stamp, 0 });
}

long op_outcome(struct thread *t, long result)
{
	__typeof__(logs[0]) *l = &logs[t->front->slot];
	if (!replaying) {
		if (result)
			log_add(t, (struct logged){ t->front->clock + 1, 0, result });
		return result;
	}
	if (l->next == l->count || l->entries[l->next].op != t->front->clock + 1)
		return 0;
	CHECK(!l->entries[l->next].stamp); /* edges come before the outcome */
	return l->entries[l->next++].outcome;
}

void op_end(struct thread *t)
{
	__atomic_store_n(&t->front->clock, t->front->clock + 1, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&done[t->front->slot], t->front->clock, __ATOMIC_RELEASE);
}

static long futex(uint32_t *word, int op, uint32_t value, const void *time)
{
	long r = syscall(SYS_futex, word, op, value, time, 0, 0xffffffff);
	return r < 0 ? -errno : r;
}
long sync_wait(struct thread *t, uint32_t *word, uint32_t value, int clockid, const int64_t *deadline)
{
	(void)t;
	if (chaos && !random_below(8))
		return -EINTR; /* a signal is held */
	return futex(word, FUTEX_WAIT_BITSET | (deadline && clockid == 0 ? FUTEX_CLOCK_REALTIME : 0), value, deadline);
}
void sync_wake(uint32_t *word, int count)
{
	futex(word, FUTEX_WAKE, (uint32_t)count, 0);
}
void futex_wait(uint32_t *word, uint32_t value, unsigned ms)
{
	(void)ms;
	futex(word, FUTEX_WAIT, value, 0);
}
void futex_wake(uint32_t *word)
{
	futex(word, FUTEX_WAKE, 0x7fffffff, 0);
}
long user_copy(void *to, const void *from, size_t n)
{
	memcpy(to, from, n);
	return 0;
}
void cannot(const char *format, ...)
{
	check_at(false, format, 0);
	abort();
}
void bug_at(const char *file, int line, const char *what)
{
	check_at(false, what, line);
	(void)file;
	abort();
}

bool memory_torn;
long gate(long nr, long a, long b, long c, long d, long e, long f)
{
	long r = syscall(nr, a, b, c, d, e, f);
	return r < 0 ? -errno : r;
}

/* What the way into the runtime does: an op that was interrupted is called again. */
#define AGAIN(call)                                       \
	({                                                \
		long r_;                                  \
		while ((r_ = (call)) == SYNC_INTERRUPTED) \
			;                                 \
		r_;                                       \
	})

#define LOCK(t, m)   AGAIN(sync_mutex_lock(t, (uint64_t)(m), MUTEX_WAIT, 0, 0))
#define TRY(t, m)    AGAIN(sync_mutex_lock(t, (uint64_t)(m), MUTEX_TRY, 0, 0))
#define UNLOCK(t, m) sync_mutex_unlock(t, (uint64_t)(m), 0, 0, 0)

static long wait_for(struct thread *t, struct cond *c, struct mutex *m, int clockid, const int64_t *until)
{
	long place = sync_cond_enter(t, (uint64_t)c, (uint64_t)m, 0, 0);
	CHECK(place >= 0 && place < PER_SLOT);
	long r = AGAIN(sync_cond_wait(t, (uint64_t)c, (uint64_t)place, (uint64_t)clockid, (uint64_t)until));
	CHECK(!AGAIN(sync_mutex_lock(t, (uint64_t)m, MUTEX_AGAIN, 0, 0)));
	return r;
}

static const char *running = "";
static void run(const char *name, void (*routine)(struct thread *), unsigned count)
{
	pthread_t threads[THREADS];
	running = name;
	for (unsigned i = 0; i < count; i++)
		CHECK(!pthread_create(&threads[i], 0, (void *(*)(void *))(void *)routine, &all[i + 1]));
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], 0);
}

static void *watch(void *unused)
{
	sleep(100);
	printf("%s hangs\n", running);
	fflush(stdout);
	_exit(1);
	return unused;
}

static void begin(struct thread *t)
{
	seed = t->front->slot * 7919 + 1;
}

static void in(int ms, int clockid, int64_t until[2])
{
	struct timespec now;
	clock_gettime(clockid, &now);
	until[0] = now.tv_sec + ms / 1000;
	until[1] = now.tv_nsec + ms % 1000 * 1000000l;
	if (until[1] >= 1000000000) {
		until[0]++;
		until[1] -= 1000000000;
	}
}

/* Every test begins with it; one that hangs is ended, with a word on where. */
static void sync_alone(void)
{
	pthread_t watcher;
	for (unsigned i = 0; i <= THREADS; i++) {
		fronts[i] = (struct front){ .slot = i, .tid = 1000 + i };
		all[i].front = &fronts[i];
		all[i].slot = i;
		all[i].process = &no_process;
	}
	seed = 1;
	pthread_create(&watcher, 0, watch, 0);
}
#endif

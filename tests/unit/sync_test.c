/*
 * The primitives of runtime/sync/ by themselves, as they run at record: real threads, many
 * more than cores, random yields and interruptions; a thin stand-in for the rest of the runtime.
 *
 * What could go wrong: two holders at once, a wakeup that is lost (the test hangs, and says where
 * after 100 s), an error code that is not glibc's, a stamp that does not lead to who came before.
 */
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
	printf("sync_test: line %d: %s\n", line, what);
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

/* Every edge comes from an op that has begun, so that replay cannot wait for the future. */
void op_edge(struct thread *t, uint64_t stamp)
{
	uint32_t slot = STAMP_SLOT(stamp);
	uint64_t *known = &logs[t->front->slot].known[slot];
	CHECK(slot <= THREADS);
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
	printf("sync_test: %s hangs\n", running);
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

/* ---- mutual exclusion -------------------------------------------------------------------------- */

static struct mutex mutex;
/* volatile: gcc sees that no function here stores to them while it waits, and would keep them in registers */
static volatile long counter;
static volatile struct {
	uint64_t stamp;
} last_holder;

static void exclude(struct thread *t)
{
	int64_t until[2];
	begin(t);
	for (int i = 0; i < 40000; i++) {
		unsigned way = random_below(8);
		if (way == 0) {
			if (TRY(t, &mutex))
				continue;
		} else if (way == 1) {
			in(1, CLOCK_MONOTONIC, until);
			long r = AGAIN(
				sync_mutex_lock(t, (uint64_t)&mutex, MUTEX_WAIT, CLOCK_MONOTONIC, (uint64_t)until));
			CHECK(r == 0 || r == ETIMEDOUT);
			if (r)
				continue;
		} else {
			CHECK(!LOCK(t, &mutex));
		}
		/* the chain leads to the one who had it before us */
		CHECK(t->waits_for == last_holder.stamp);
		CHECK(mutex.owner == t->front->tid && (mutex.users == 1 || (mutex.kind & MUTEX_ROBUST)));
		counter++;
		if (!random_below(64))
			sched_yield();
		counter--;
		CHECK(counter == 0);
		last_holder.stamp = STAMP(t->front->slot, t->front->clock + 1);
		CHECK(!UNLOCK(t, &mutex));
	}
}

static void test_mutex(void)
{
	static const uint32_t kinds[] = {
		0, MUTEX_RECURSIVE, MUTEX_ERRORCHECK, MUTEX_ADAPTIVE, MUTEX_ROBUST, MUTEX_SHARED, MUTEX_INHERIT
	};
	for (unsigned i = 0; i < COUNT(kinds); i++) {
		memset(&mutex, 0, sizeof mutex);
		memset(first, 0, sizeof first);
		last_holder.stamp = 0;
		mutex.kind = kinds[i];
		run("mutex", exclude, THREADS);
		CHECK(!(mutex.lock & ~(uint32_t)2) && !mutex.owner);
	}
}

static uint32_t spin;
static void spinning(struct thread *t)
{
	begin(t);
	for (int i = 0; i < 20000; i++) {
		if (AGAIN(sync_spin_lock(t, (uint64_t)&spin, random_below(4) ? MUTEX_WAIT : MUTEX_TRY, 0, 0)))
			continue;
		CHECK(++counter == 1);
		if (!random_below(256))
			sched_yield();
		counter--;
		sync_spin_unlock(t, (uint64_t)&spin, 0, 0, 0);
	}
}

/* ---- conditions: every item that is put in is taken out once --------------------------------------- */

static struct cond not_empty, not_full;
static volatile int64_t queue_room, produced, consumed, timeouts;
#define ITEMS 150000

static void produce_or_consume(struct thread *t)
{
	int64_t until[2];
	begin(t);
	bool producer = t->front->slot % 2;
	for (;;) {
		LOCK(t, &mutex);
		if (producer) {
			while (produced < ITEMS && queue_room == 4)
				wait_for(t, &not_full, &mutex, 0, 0);
			if (produced == ITEMS)
				break;
			produced++;
			queue_room++;
			bool late = random_below(2);
			if (!late)
				sync_cond_wake(t, (uint64_t)&not_empty, 1, 0, 0);
			UNLOCK(t, &mutex);
			if (late)
				sync_cond_wake(t, (uint64_t)&not_empty, 1, 0, 0);
		} else {
			while (consumed + queue_room < ITEMS + queue_room && consumed < ITEMS && !queue_room) {
				int clockid = random_below(2) ? CLOCK_REALTIME : CLOCK_MONOTONIC;
				in((int)random_below(20), clockid, until);
				bool timed = !random_below(4);
				long r = wait_for(t, &not_empty, &mutex, clockid, timed ? until : 0);
				CHECK(r == 0 || (timed && r == ETIMEDOUT));
				timeouts += r != 0;
				/* as pthread says: a wakeup that came with a timeout is not lost for the others */
			}
			if (consumed == ITEMS)
				break;
			consumed++;
			queue_room--;
			sync_cond_wake(t, (uint64_t)&not_full, 1, 0, 0);
			UNLOCK(t, &mutex);
		}
	}
	UNLOCK(t, &mutex);
	sync_cond_wake(t, (uint64_t)&not_empty, 2, 0, 0);
	sync_cond_wake(t, (uint64_t)&not_full, 2, 0, 0);
}

static void test_cond(bool shared)
{
	memset(&mutex, 0, sizeof mutex);
	memset(&not_empty, 0, sizeof not_empty);
	memset(&not_full, 0, sizeof not_full);
	not_empty.flags = not_full.flags = shared ? COND_SHARED : 0;
	queue_room = produced = consumed = 0;
	run(shared ? "shared condition" : "condition", produce_or_consume, THREADS - 1);
	CHECK(produced == ITEMS && consumed == ITEMS && queue_room == 0 && mutex.users == 0);
	for (unsigned i = 0; i < QUEUES; i++)
		CHECK(!queues[i].first && !queues[i].last);
}

/* Two threads hand a ball back and forth: one lost signal, and it stops. */
static volatile int ball;
static void ping_pong(struct thread *t)
{
	begin(t);
	int me = t->front->slot % 2;
	struct cond *mine = me ? &not_empty : &not_full, *other = me ? &not_full : &not_empty;
	LOCK(t, &mutex);
	for (int i = 0; i < 60000; i++) {
		while (ball != me)
			wait_for(t, mine, &mutex, 0, 0);
		ball = !me;
		sync_cond_wake(t, (uint64_t)other, 1, 0, 0);
	}
	UNLOCK(t, &mutex);
}

/* A cancelled waiter hands its wakeup on: n wakeups, n threads that take one, whoever leaves. */
static volatile int tokens, taken;
static void leaving(struct thread *t)
{
	begin(t);
	for (int i = 0; i < 4000;) {
		LOCK(t, &mutex);
		if (t->front->slot <= 2) {
			tokens++;
			sync_cond_wake(t, (uint64_t)&not_empty, 1, 0, 0);
			UNLOCK(t, &mutex);
			i++;
			continue;
		}
		bool left = false;
		while (!tokens && taken < 8000 && !left) {
			long place = sync_cond_enter(t, (uint64_t)&not_empty, (uint64_t)&mutex, 0, 0);
			long r = sync_cond_wait(t, (uint64_t)&not_empty, (uint64_t)place, 0, 0);
			left = r == SYNC_INTERRUPTED || !random_below(4);
			if (left)
				sync_cond_leave(t, (uint64_t)&not_empty, (uint64_t)place, 0, 0);
			AGAIN(sync_mutex_lock(t, (uint64_t)&mutex, MUTEX_AGAIN, 0, 0));
		}
		if (!left && tokens) {
			tokens--;
			taken++;
		}
		bool over = taken == 8000;
		if (over)
			sync_cond_wake(t, (uint64_t)&not_empty, 2, 0, 0);
		UNLOCK(t, &mutex);
		if (over)
			return;
	}
}

/* ---- barrier ----------------------------------------------------------------------------------------- */

static struct barrier barrier;
static uint64_t rounds[THREADS + 1];
static int serials;

static void barrier_rounds(struct thread *t)
{
	begin(t);
	for (uint64_t i = 1; i <= 3000; i++) {
		__atomic_store_n(&rounds[t->front->slot], i, __ATOMIC_RELAXED);
		long place = sync_barrier_arrive(t, (uint64_t)&barrier, 0, 0, 0);
		if (place == BARRIER_SERIAL)
			__atomic_fetch_add(&serials, 1, __ATOMIC_RELAXED);
		else
			AGAIN(sync_barrier_leave(t, (uint64_t)&barrier, (uint64_t)place, 0, 0));
		for (unsigned k = 1; k <= barrier.count; k++) {
			uint64_t r = __atomic_load_n(&rounds[k], __ATOMIC_RELAXED);
			CHECK(r == i || r == i + 1);
		}
	}
}

static void test_barrier(bool shared)
{
	memset(&barrier, 0, sizeof barrier);
	barrier.count = 5;
	barrier.shared = shared;
	serials = 0;
	run(shared ? "shared barrier" : "barrier", barrier_rounds, 5);
	CHECK(serials == 3000 && barrier.arrived == 0);
}

/* ---- semaphore -------------------------------------------------------------------------------------------- */

static struct semaphore semaphore;
static long takes, gives;

static void sem_users(struct thread *t)
{
	int64_t until[2];
	begin(t);
	for (int i = 0; i < 40000; i++) {
		if (t->front->slot % 2) {
			CHECK(!sync_sem_give(t, (uint64_t)&semaphore, 0, 0, 0));
			__atomic_fetch_add(&gives, 1, __ATOMIC_RELAXED);
			continue;
		}
		bool try = !random_below(8), timed = !random_below(8);
		in(1, CLOCK_REALTIME, until);
		long r = AGAIN(sync_sem_take(t, (uint64_t)&semaphore, try, 0, timed ? (uint64_t)until : 0));
		CHECK(r == 0 || (try && r == EAGAIN) || (timed && r == ETIMEDOUT));
		if (r) {
			i--;
			continue;
		}
		CHECK(__atomic_add_fetch(&takes, 1, __ATOMIC_RELAXED) <= __atomic_load_n(&gives, __ATOMIC_RELAXED) + 8);
	}
}

static void test_semaphore(bool shared)
{
	memset(&semaphore, 0, sizeof semaphore);
	semaphore.shared = shared ? 128 : 0;
	takes = gives = 0;
	run("semaphore", sem_users, 8);
	CHECK(takes == gives && semaphore.value == 0 && semaphore.waiters == 0);
	semaphore.value = VALUE_MAX;
	CHECK(sync_sem_give(&all[1], (uint64_t)&semaphore, 0, 0, 0) == EOVERFLOW);
	CHECK(sync_sem_value(&all[1], (uint64_t)&semaphore, 0, 0, 0) == VALUE_MAX);
}

/* ---- rwlock -------------------------------------------------------------------------------------------- */

static struct rwlock rwlock;
static int readers_in, writers_in, most_readers;

static void read_or_write(struct thread *t)
{
	int64_t until[2];
	begin(t);
	for (int i = 0; i < 20000; i++) {
		bool write = !random_below(5), try = !random_below(10), timed = !random_below(10);
		in(1, CLOCK_REALTIME, until);
		long r = AGAIN(sync_rwlock_lock(t, (uint64_t)&rwlock, (write ? RW_WRITE : RW_READ) | (try ? RW_TRY : 0),
						0, timed ? (uint64_t)until : 0));
		CHECK(r == 0 || (try && r == EBUSY) || (timed && r == ETIMEDOUT));
		if (r)
			continue;
		if (write) {
			CHECK(__atomic_add_fetch(&writers_in, 1, __ATOMIC_RELAXED) == 1);
			CHECK(__atomic_load_n(&readers_in, __ATOMIC_RELAXED) == 0);
			CHECK(sync_rwlock_lock(t, (uint64_t)&rwlock, RW_READ, 0, 0) == EDEADLK);
			CHECK(sync_rwlock_lock(t, (uint64_t)&rwlock, RW_WRITE, 0, 0) == EDEADLK);
			CHECK(sync_rwlock_lock(t, (uint64_t)&rwlock, RW_READ | RW_TRY, 0, 0) == EBUSY);
			counter++;
		} else {
			int n = __atomic_add_fetch(&readers_in, 1, __ATOMIC_RELAXED);
			CHECK(__atomic_load_n(&writers_in, __ATOMIC_RELAXED) == 0);
			if (n > __atomic_load_n(&most_readers, __ATOMIC_RELAXED))
				__atomic_store_n(&most_readers, n, __ATOMIC_RELAXED);
		}
		if (!random_below(16))
			sched_yield();
		if (write)
			__atomic_sub_fetch(&writers_in, 1, __ATOMIC_RELAXED);
		else
			__atomic_sub_fetch(&readers_in, 1, __ATOMIC_RELAXED);
		sync_rwlock_unlock(t, (uint64_t)&rwlock, 0, 0, 0);
	}
}

static void test_rwlock(uint32_t prefer, bool shared)
{
	memset(&rwlock, 0, sizeof rwlock);
	rwlock.prefer = prefer;
	rwlock.shared = shared;
	run("rwlock", read_or_write, THREADS);
	CHECK(rwlock.state == 0 && rwlock.writer == 0 && most_readers > 1);
}

/* ---- once -------------------------------------------------------------------------------------------- */

static uint32_t onces[500];
static uint64_t guards[500];
static volatile int ran[500], guarded[500], value[500];

static void do_once(struct thread *t)
{
	begin(t);
	for (unsigned i = 0; i < 500; i++) {
		while (AGAIN(sync_once_begin(t, (uint64_t)&onces[i], 0, 0, 0))) {
			bool fails = !random_below(3);
			ran[i] += !fails;
			sched_yield();
			sync_once_end(t, (uint64_t)&onces[i], fails, 0, 0);
		}
		CHECK(ran[i] == 1 && __atomic_load_n(&onces[i], __ATOMIC_RELAXED) & ONCE_DONE);
		while (AGAIN(sync_guard_acquire(t, (uint64_t)&guards[i], 0, 0, 0))) {
			bool fails = !random_below(3);
			guarded[i] += !fails;
			value[i] = (int)t->front->slot;
			sched_yield();
			sync_guard_release(t, (uint64_t)&guards[i], fails, 0, 0);
		}
		uint64_t word = __atomic_load_n(&guards[i], __ATOMIC_RELAXED);
		CHECK(guarded[i] == 1 && word & GUARD_DONE && !(word & 0xff));
		CHECK(STAMP_SLOT(GUARD_STAMP(word)) == (uint32_t)value[i]);
	}
}

/* ---- results, against glibc's ---------------------------------------------------------------------------- */

static void test_results(void)
{
	static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK };
	struct thread *t = &all[1], *u = &all[2];
	int64_t past[2] = { 0, 0 }, bad[2] = { 0, 1000000000 }, early[2] = { -1, 0 };
	for (unsigned i = 0; i < COUNT(types); i++) {
		pthread_mutexattr_t attr;
		pthread_mutex_t theirs;
		struct mutex ours = { .kind = (uint32_t)types[i] };
		pthread_mutexattr_init(&attr);
		pthread_mutexattr_settype(&attr, types[i]);
		pthread_mutex_init(&theirs, &attr);
		struct timespec p = { 0, 0 }, b = { 0, 1000000000 }, e = { -1, 0 };
#ifndef __SANITIZE_THREAD__ /* it complains */
		CHECK(types[i] == PTHREAD_MUTEX_NORMAL || UNLOCK(t, &ours) == pthread_mutex_unlock(&theirs));
#endif
		CHECK(LOCK(t, &ours) == pthread_mutex_lock(&theirs));
		CHECK(TRY(t, &ours) == pthread_mutex_trylock(&theirs));
#define TIMED(o, g) \
	CHECK(sync_mutex_lock(t, (uint64_t)&ours, MUTEX_WAIT, 0, (uint64_t)(o)) == pthread_mutex_timedlock(&theirs, g))
		TIMED(past, &p);
		TIMED(bad, &b);
		TIMED(early, &e);
		CHECK(ours.count == theirs.__data.__count || types[i] != PTHREAD_MUTEX_RECURSIVE);
		if (types[i] != PTHREAD_MUTEX_NORMAL)
			CHECK(UNLOCK(u, &ours) == EPERM);
		CHECK(TRY(u, &ours) == EBUSY);
		CHECK(ours.users == theirs.__data.__nusers && ours.owner == 1001);
		do
			CHECK(UNLOCK(t, &ours) == pthread_mutex_unlock(&theirs));
		while (ours.count);
		CHECK(ours.users == 0 && ours.lock == 0 && ours.owner == 0);
	}
}

static void test_robust(void)
{
	struct thread *t = &all[1], *u = &all[2];
	struct mutex a = { .kind = MUTEX_ROBUST }, b = { .kind = MUTEX_ROBUST | MUTEX_RECURSIVE };
	CHECK(!LOCK(t, &a) && !LOCK(t, &b) && !LOCK(t, &b) && TRY(u, &a) == EBUSY);
	mutex_owner_died(t);
	CHECK(TRY(u, &a) == EOWNERDEAD && LOCK(u, &b) == EOWNERDEAD && b.count == 1 && b.users == 1);
	CHECK(a.owner == MUTEX_INCONSISTENT && TRY(t, &a) == EBUSY);
	a.owner = u->front->tid; /* pthread_mutex_consistent() */
	CHECK(!UNLOCK(u, &a) && !UNLOCK(u, &b));
	CHECK(!LOCK(t, &a) && UNLOCK(u, &a) == EPERM && !UNLOCK(t, &a) && a.users == 0);
	CHECK(LOCK(t, &b) == ENOTRECOVERABLE && TRY(u, &b) == ENOTRECOVERABLE && b.lock == 0);
	CHECK(!held_robust[1] && !held_robust[2] && !a.next && !a.stamp);
}

static void test_timeouts(void)
{
	struct thread *t = &all[1], *u = &all[2];
	int64_t until[2], from[2], to[2];
	static const int clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC };
	memset(&mutex, 0, sizeof mutex);
	CHECK(!LOCK(u, &mutex));
	for (unsigned i = 0; i < 2; i++) {
		in(0, CLOCK_MONOTONIC, from);
		in(20, clocks[i], until);
		CHECK(AGAIN(sync_mutex_lock(t, (uint64_t)&mutex, MUTEX_WAIT, (uint64_t)clocks[i], (uint64_t)until)) ==
		      ETIMEDOUT);
		in(0, CLOCK_MONOTONIC, to);
		int64_t took = (to[0] - from[0]) * 1000000000 + to[1] - from[1];
		CHECK(took >= 19000000);
		in(20, clocks[i], until);
		struct mutex own = { 0 };
		CHECK(!LOCK(t, &own) && wait_for(t, &not_empty, &own, clocks[i], until) == ETIMEDOUT &&
		      own.owner == 1001);
	}
	UNLOCK(u, &mutex);
}

/* ---- everything at once, recorded, then replayed ------------------------------------------------------------ */

/*
 * Threads choose what to do by their own random numbers, which also take up what they see in the data that the objects
 * protect and in the results: at replay each must see the same, and all objects must end with the same bytes.
 */
#define MIX_STEPS   3000
#define MIX_THREADS 6
static struct objects {
	struct mutex mutex, recursive, shared, robust;
	struct rwlock rwlock, shared_rwlock;
	struct semaphore semaphore;
	struct barrier barrier;
	struct cond cond, shared_cond;
	uint32_t spin, once[64];
	uint64_t guard[64];
	volatile uint64_t data[16], tokens, shared_tokens;
} mix, mix_recorded;
static uint64_t seen[THREADS + 1];

static void look(uint64_t *mine, unsigned i, bool write)
{
	uint64_t value = mix.data[i];
	*mine = (*mine ^ value) * 0x9e3779b97f4a7c15ull + 1;
	if (write)
		mix.data[i] = *mine >> 7;
}

static uint64_t own_random(uint64_t *mine)
{
	*mine = *mine * 6364136223846793005ull + 1442695040888963407ull;
	return *mine >> 33;
}

static void use_cond(struct thread *t, struct cond *c, volatile uint64_t *count, unsigned way, uint64_t *mine)
{
	int64_t until[2];
	in(1, CLOCK_MONOTONIC, until);
	LOCK(t, &mix.mutex);
	if (way % 2) {
		++*count;
		sync_cond_wake(t, (uint64_t)c, way % 16 == 1 ? 2 : 1, 0, 0);
	} else {
		long r = 0;
		while (!*count && !r) /* the time is up: whoever would wake us may have ended */
			*mine += (uint64_t)(r = wait_for(t, c, &mix.mutex, CLOCK_MONOTONIC, until));
		if (*count)
			--*count;
	}
	look(mine, 0, true);
	UNLOCK(t, &mix.mutex);
}

static void use_rwlock(struct thread *t, struct rwlock *l, unsigned data, unsigned way, uint64_t *mine)
{
	int64_t until[2];
	bool write = way % 4 == 0;
	in(1, CLOCK_MONOTONIC, until);
	long r = AGAIN(sync_rwlock_lock(t, (uint64_t)l, (write ? RW_WRITE : RW_READ) | (way % 16 > 12 ? RW_TRY : 0),
					CLOCK_MONOTONIC, way % 16 > 8 ? (uint64_t)until : 0));
	*mine += (uint64_t)r;
	if (r)
		return;
	look(mine, data, write);
	if (!write && way % 3 == 0)
		sched_yield();
	sync_rwlock_unlock(t, (uint64_t)l, 0, 0, 0);
}

static void use_mutex(struct thread *t, struct mutex *m, unsigned data, unsigned way, uint64_t *mine)
{
	long r = way % 4 ? LOCK(t, m) : TRY(t, m);
	*mine += (uint64_t)r;
	if (r)
		return;
	if (way % 8 > 5)
		*mine += (uint64_t)TRY(t, m) << 8;
	look(mine, data, true);
	while (m->count > 1)
		UNLOCK(t, m);
	UNLOCK(t, m);
}

static void mixture(struct thread *t)
{
	begin(t);
	seed += (uint64_t)replaying * 12345; /* the bad luck is another */
	uint64_t mine = t->front->slot * 1234567;
	for (int i = 0; i < MIX_STEPS; i++) {
		uint64_t r = own_random(&mine);
		unsigned way = (unsigned)(r >> 8);
		int64_t until[2];
		switch (r % 14) {
		case 0:
		case 1: use_mutex(t, &mix.mutex, 1, way, &mine); break;
		case 2: use_mutex(t, &mix.recursive, 2, way, &mine); break;
		case 3: use_mutex(t, &mix.shared, 3, way, &mine); break;
		case 4: use_mutex(t, &mix.robust, 4, way & ~4u, &mine); break;
		case 5:
		case 6: use_rwlock(t, &mix.rwlock, 5, way, &mine); break;
		case 7: use_rwlock(t, &mix.shared_rwlock, 6, way, &mine); break;
		case 8:
			/* a semaphore of one, as a lock; and its value */
			in(1, CLOCK_MONOTONIC, until);
			mine += (uint64_t)sync_sem_value(t, (uint64_t)&mix.semaphore, 0, 0, 0);
			long e = AGAIN(sync_sem_take(t, (uint64_t)&mix.semaphore, way % 4 == 0, CLOCK_MONOTONIC,
						     way % 4 == 1 ? (uint64_t)until : 0));
			mine += (uint64_t)e;
			if (e)
				break;
			look(&mine, 7, true);
			sync_sem_give(t, (uint64_t)&mix.semaphore, 0, 0, 0);
			break;
		case 9: use_cond(t, &mix.cond, &mix.tokens, way, &mine); break;
		case 10: use_cond(t, &mix.shared_cond, &mix.shared_tokens, way, &mine); break;
		case 11:
			if (AGAIN(sync_spin_lock(t, (uint64_t)&mix.spin, way % 2 ? MUTEX_WAIT : MUTEX_TRY, 0, 0)))
				break;
			look(&mine, 8, true);
			sync_spin_unlock(t, (uint64_t)&mix.spin, 0, 0, 0);
			break;
		case 12:
			while (AGAIN(sync_once_begin(t, (uint64_t)&mix.once[way % 64], 0, 0, 0))) {
				if (way % 64 == 5)
					look(&mine, 9, true);
				sync_once_end(t, (uint64_t)&mix.once[way % 64], own_random(&mine) % 2, 0, 0);
			}
			if (way % 64 == 5)
				look(&mine, 9, false);
			break;
		case 13:
			while (AGAIN(sync_guard_acquire(t, (uint64_t)&mix.guard[way % 64], 0, 0, 0))) {
				if (way % 64 == 6)
					look(&mine, 10, true);
				sync_guard_release(t, (uint64_t)&mix.guard[way % 64], own_random(&mine) % 2, 0, 0);
			}
			if (way % 64 == 6)
				look(&mine, 10, false);
			break;
		}
		if (i % 100 == 0) {
			long place = sync_barrier_arrive(t, (uint64_t)&mix.barrier, 0, 0, 0);
			mine += (uint64_t)place;
			if (place != BARRIER_SERIAL)
				AGAIN(sync_barrier_leave(t, (uint64_t)&mix.barrier, (uint64_t)place, 0, 0));
			for (unsigned k = 1; k < COUNT(mix.data); k++)
				look(&mine, k, false);
			place = sync_barrier_arrive(t, (uint64_t)&mix.barrier, 0, 0, 0);
			if (place != BARRIER_SERIAL)
				AGAIN(sync_barrier_leave(t, (uint64_t)&mix.barrier, (uint64_t)place, 0, 0));
		}
	}
	seen[t->front->slot] = mine;
}

static void mix_run(const char *name)
{
	memset(&mix, 0, sizeof mix);
	memset(first, 0, sizeof first);
	mix.recursive.kind = MUTEX_RECURSIVE;
	mix.shared.kind = MUTEX_SHARED | MUTEX_ERRORCHECK;
	mix.robust.kind = MUTEX_ROBUST | MUTEX_ERRORCHECK;
	mix.shared_rwlock.shared = 1;
	mix.shared_cond.flags = COND_SHARED;
	mix.semaphore.value = 1;
	mix.barrier.count = MIX_THREADS;
	for (unsigned i = 0; i <= THREADS; i++)
		fronts[i].clock = done[i] = logs[i].next = 0;
	run(name, mixture, MIX_THREADS);
	/* what only says that somebody sleeps, or slept */
	mix.shared_cond.sequence = 0;
}

static void test_replay(void)
{
	for (int round = 0; round < 3; round++) {
		uint64_t recorded[THREADS + 1];
		for (unsigned i = 0; i <= THREADS; i++) {
			logs[i].count = 0;
			memset(logs[i].known, 0, sizeof logs[i].known);
		}
		logging = true;
		mix_run("recorded mixture");
		logging = false;
		memcpy(recorded, seen, sizeof seen);
		mix_recorded = mix;
		for (int times = 0; times < 3; times++) {
			replaying = true;
			mix_run("replayed mixture");
			replaying = false;
			CHECK(!memcmp(recorded, seen, sizeof seen));
			for (size_t i = 0; i < sizeof mix / 4; i++)
				if (((uint32_t *)&mix)[i] != ((uint32_t *)&mix_recorded)[i])
					printf("sync_test: word %zu differs\n", i);
			CHECK(!memcmp(&mix, &mix_recorded, sizeof mix));
			for (unsigned i = 0; i <= THREADS; i++)
				CHECK(logs[i].next == logs[i].count);
		}
	}
}

/* What a lock and an unlock cost in the runtime, without the way in. */
static void cost(void)
{
	struct timespec a, b;
	struct mutex m = { 0 };
	chaos = 0;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < 5000000; i++) {
		sync_mutex_lock(&all[1], (uint64_t)&m, 0, 0, 0);
		sync_mutex_unlock(&all[1], (uint64_t)&m, 0, 0, 0);
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%.1f ns for lock and unlock in the runtime\n",
	       (double)((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec) / 5000000);
}

int main(int argc, char **argv)
{
	pthread_t watcher;
	(void)argv;
	for (unsigned i = 0; i <= THREADS; i++) {
		fronts[i] = (struct front){ .slot = i, .tid = 1000 + i };
		all[i].front = &fronts[i];
		all[i].slot = i;
		all[i].process = &no_process;
	}
	seed = 1;
	if (argc > 1) {
		cost();
		return 0;
	}
	pthread_create(&watcher, 0, watch, 0);
	chaos = 0;
	running = "results";
	test_results();
	test_robust();
	test_timeouts();
	chaos = 1;
	test_mutex();
	run("spinlock", spinning, THREADS);
	CHECK(spin == 0);
	test_cond(false);
	test_cond(true);
	memset(&not_empty, 0, sizeof not_empty);
	memset(&not_full, 0, sizeof not_full);
	run("ping pong", ping_pong, 2);
	run("leaving", leaving, THREADS);
	test_barrier(false);
	test_barrier(true);
	test_semaphore(false);
	test_semaphore(true);
	test_rwlock(0, false);
	test_rwlock(RW_PREFER_WRITER, false);
	test_rwlock(0, true);
	counter = 0;
	run("once", do_once, THREADS);
	test_replay();
	printf("sync_test: ok\n");
	return 0;
}

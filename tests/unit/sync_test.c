/*
 * The primitives of runtime/sync/ by themselves, as they run at record.
 *
 * What could go wrong: two holders at once, a wakeup that is lost (the test hangs, and says where
 * after 100 s), an error code that is not glibc's, a stamp that does not lead to who came before.
 */
// run: our-addresses
#include "tests/unit/sync_alone.h"

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
		CHECK(r == 0 || (try && r == EAGAIN) || (timed && (r == ETIMEDOUT || r == EINTR)));
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
		CHECK((word >> 11 & 0x1fff) == (uint32_t)value[i]);
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
	CHECK(!robust_of[1].first && !robust_of[2].first && !a.next && !a.stamp);
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
	(void)argv;
	sync_alone();
	if (argc > 1) {
		cost();
		return 0;
	}
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
	printf("sync_test: ok\n");
	return 0;
}

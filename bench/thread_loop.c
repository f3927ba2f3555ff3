/*
 * One synchronisation operation many times: thread_loop KIND THREADS COUNT. Each thread makes COUNT of them.
 *
 * Prints nanoseconds per operation (of one thread alone: its CPU time; of several: wall time over all operations),
 * the number of operations, and peak memory in KiB. Under replay these are the recorded figures, so replay is
 * timed from outside.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MOST = 64 };

static unsigned threads;
static long count;

/* what all threads share, and what each has for itself, in cache lines of their own */
static struct shared {
	_Alignas(64) pthread_mutex_t lock;
	_Alignas(64) pthread_rwlock_t rwlock;
	_Alignas(64) pthread_spinlock_t spin;
	_Alignas(64) pthread_cond_t changed;
	_Alignas(64) pthread_barrier_t barrier;
	_Alignas(64) unsigned turn;
	_Alignas(64) unsigned long sum;
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER,
	     .rwlock = PTHREAD_RWLOCK_INITIALIZER,
	     .changed = PTHREAD_COND_INITIALIZER };
static struct own {
	_Alignas(64) pthread_mutex_t lock, recursive;
	pthread_rwlock_t rwlock;
	pthread_spinlock_t spin;
	sem_t sem;
	pthread_once_t once;
	unsigned long sum;
} own[MOST];

static void work(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		__asm__ volatile("" ::: "memory");
}

/* ---- nobody else wants it ----------------------------------------------------------------------- */

static void lock_own(unsigned me)
{
	for (long i = 0; i < count; i++) {
		pthread_mutex_lock(&own[me].lock);
		own[me].sum++;
		pthread_mutex_unlock(&own[me].lock);
	}
}

static void lock_recursive(unsigned me)
{
	for (long i = 0; i < count; i++) {
		pthread_mutex_lock(&own[me].recursive);
		own[me].sum++;
		pthread_mutex_unlock(&own[me].recursive);
	}
}

static void spin_own(unsigned me)
{
	for (long i = 0; i < count; i++) {
		pthread_spin_lock(&own[me].spin);
		own[me].sum++;
		pthread_spin_unlock(&own[me].spin);
	}
}

static void read_own(unsigned me)
{
	for (long i = 0; i < count; i++) {
		pthread_rwlock_rdlock(&own[me].rwlock);
		own[me].sum++;
		pthread_rwlock_unlock(&own[me].rwlock);
	}
}

static void write_own(unsigned me)
{
	for (long i = 0; i < count; i++) {
		pthread_rwlock_wrlock(&own[me].rwlock);
		own[me].sum++;
		pthread_rwlock_unlock(&own[me].rwlock);
	}
}

static void sem_own(unsigned me)
{
	for (long i = 0; i < count; i++) {
		sem_post(&own[me].sem);
		sem_wait(&own[me].sem);
	}
}

static void signal_nobody(unsigned me)
{
	(void)me;
	for (long i = 0; i < count; i++)
		pthread_cond_signal(&shared.changed);
}

static void did_once(void)
{
	shared.sum++;
}

static void once(unsigned me)
{
	for (long i = 0; i < count; i++)
		pthread_once(&own[me].once, did_once);
}

/* ---- all want it ----------------------------------------------------------------------------------- */

/* The holder does 100 steps, and 200 more outside: threads meet often, but not always. */
static void lock_shared(unsigned me)
{
	(void)me;
	for (long i = 0; i < count; i++) {
		pthread_mutex_lock(&shared.lock);
		shared.sum++;
		work(100);
		pthread_mutex_unlock(&shared.lock);
		work(200);
	}
}

static void spin_shared(unsigned me)
{
	(void)me;
	for (long i = 0; i < count; i++) {
		pthread_spin_lock(&shared.spin);
		shared.sum++;
		work(100);
		pthread_spin_unlock(&shared.spin);
		work(200);
	}
}

/* One time in 16 for writing. */
static void rw_shared(unsigned me)
{
	for (long i = 0; i < count; i++) {
		if (i % 16 == me % 16) {
			pthread_rwlock_wrlock(&shared.rwlock);
			shared.sum++;
		} else {
			pthread_rwlock_rdlock(&shared.rwlock);
		}
		work(100);
		pthread_rwlock_unlock(&shared.rwlock);
		work(200);
	}
}

/* Each wakes the next. */
static void cond_turns(unsigned me)
{
	pthread_mutex_lock(&shared.lock);
	for (long i = 0; i < count; i++) {
		while (shared.turn != me)
			pthread_cond_wait(&shared.changed, &shared.lock);
		shared.turn = (me + 1) % threads;
		if (threads == 2)
			pthread_cond_signal(&shared.changed);
		else
			pthread_cond_broadcast(&shared.changed);
	}
	pthread_mutex_unlock(&shared.lock);
}

static void sem_turns(unsigned me)
{
	if (me == 0)
		sem_post(&own[0].sem);
	for (long i = 0; i < count; i++) {
		sem_wait(&own[me].sem);
		sem_post(&own[(me + 1) % threads].sem);
	}
}

static void barrier(unsigned me)
{
	(void)me;
	for (long i = 0; i < count; i++)
		pthread_barrier_wait(&shared.barrier);
}

static void *nothing(void *p)
{
	return p;
}

static void create_join(unsigned me)
{
	(void)me;
	pthread_t t;
	for (long i = 0; i < count; i++) {
		pthread_create(&t, 0, nothing, 0);
		pthread_join(t, 0);
	}
}

/* ---- running -------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(unsigned me);
} kinds[] = {
	{ "lock", lock_own },		{ "recursive", lock_recursive },
	{ "spin", spin_own },		{ "read", read_own },
	{ "write", write_own },		{ "sem", sem_own },
	{ "signal", signal_nobody },	{ "once", once },
	{ "lock-shared", lock_shared }, { "spin-shared", spin_shared },
	{ "rw-shared", rw_shared },	{ "cond-turns", cond_turns },
	{ "sem-turns", sem_turns },	{ "barrier", barrier },
	{ "create-join", create_join },
};
static void (*run)(unsigned me);

static void *run_thread(void *number)
{
	run((unsigned)(size_t)number);
	return 0;
}

static double now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	for (unsigned i = 0; argc == 4 && i < sizeof kinds / sizeof kinds[0]; i++)
		if (!strcmp(argv[1], kinds[i].name))
			run = kinds[i].run;
	threads = run ? (unsigned)atoi(argv[2]) : 0;
	count = threads ? atol(argv[3]) : 0;
	if (!run || !threads || threads > MOST || count < 1) {
		fprintf(stderr, "usage: thread_loop KIND THREADS COUNT\n");
		return 121;
	}
	pthread_mutexattr_t recursive;
	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	for (unsigned i = 0; i < threads; i++) {
		pthread_mutex_init(&own[i].lock, 0);
		pthread_mutex_init(&own[i].recursive, &recursive);
		pthread_rwlock_init(&own[i].rwlock, 0);
		pthread_spin_init(&own[i].spin, 0);
		sem_init(&own[i].sem, 0, 0);
	}
	pthread_spin_init(&shared.spin, 0);
	pthread_barrier_init(&shared.barrier, 0, threads);

	/* One that has come and gone: what costs more in a process with threads costs it natively, too. */
	pthread_t thread[MOST];
	pthread_create(&thread[0], 0, nothing, 0);
	pthread_join(thread[0], 0);

	clockid_t clock = threads == 1 && run != create_join ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
	double began = now(clock);
	for (unsigned i = 1; i < threads; i++)
		pthread_create(&thread[i], 0, run_thread, (void *)(size_t)i);
	run_thread(0);
	for (unsigned i = 1; i < threads; i++)
		pthread_join(thread[i], 0);
	double all = (double)count * threads, took = now(clock) - began;
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("%.2f %.0f %ld\n", took / all, all, usage.ru_maxrss);
	return 0;
}

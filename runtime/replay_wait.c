/*
 * Waiting at replay: for an op of another thread, or for tickets.
 *
 * A waiter looks a few times, then yields, then sleeps on a word of its own, and
 * whoever does what it waits for wakes it alone: with thousands of threads
 * anything else goes round in vain. Among few threads yielding is best (measured:
 * 62 against 2,066 ns an event at two threads).
 *
 * Who waits for an access of another thread looks again now and then, for schemes
 * whose accesses tell nobody. Those tell where one clock is for all, or a region
 * ends: wait_moved(). (16 threads and one clock: 1.1 s, then 0.04; 20 threads and
 * regions, with --chaos: 26 s, then 2.)
 */
#include "runtime/runtime.h"

static uint64_t progress; /* without ops: each thread counts its own, one counter for all would cost more than an op */
static uint32_t watched;  /* somebody watches: wait_asleep() */
#define A_LITTLE 200000	  /* nanoseconds */

void wait_progress(void)
{
	__atomic_fetch_add(&progress, 1, __ATOMIC_SEQ_CST);
}

void wait_end_if_stopped(void)
{
	if (control->stop)
		SYS1(__NR_exit_group, EXIT_DIVERGED);
}

enum { FEW_YIELDS = 10, MANY_YIELDS = 1000 };

static bool stays_awake(unsigned *round, unsigned yields)
{
	unsigned n = (*round)++;
	if (n >= WAIT_SPINS)
		SYS0(__NR_sched_yield);
	return n < WAIT_SPINS + yields;
}

bool wait_awake(unsigned *round)
{
	return stays_awake(round, thread_highest() > 16 ? FEW_YIELDS : MANY_YIELDS);
}

static unsigned processors(void)
{
	static unsigned known; /* all who count get the same */
	uint64_t set[16] = { 0 };
	if (known)
		return known;
	unsigned n = 0;
	SYS3(__NR_sched_getaffinity, 0, sizeof set, set);
	for (unsigned i = 0; i < COUNT(set); i++)
		for (; set[i]; set[i] &= set[i] - 1)
			n++;
	return known = MAX(n, 1);
}

/* With a processor for each thread yielding is the quickest way to wait (two threads in turn: 0.2 s, asleep 0.6). With
   fewer it takes them from those who have something to do, and on a busy machine each yield gives somebody else a whole
   slice: who will be woken goes to sleep (8 threads on two processors, `lamport`: 40 s, asleep 7). */
static bool awake_for_order(unsigned *round)
{
	bool few = order_used && order_used->tells && thread_highest() > 2 * processors();
	return few ? stays_awake(round, FEW_YIELDS) : wait_awake(round);
}

/* How many milliseconds one sleeps before it looks whether the replay is to end and whether somebody watches: the more
   threads there are, the longer, or thousands would do nothing else. At most a second: thread_wait_for_others() has
   patience for little more. */
#define SLEEP_LEAST 200
#define SLEEP_MOST  1000
#define SLEEP_EACH  4 /* for each thread */

void wait_asleep(struct thread *t)
{
	/* one of those who sleep watches whether anybody still moves */
	bool watches = false;
	unsigned sleep = MAX(SLEEP_LEAST, MIN(SLEEP_MOST, SLEEP_EACH * thread_highest()));
	while (!__atomic_load_n(&t->wake, __ATOMIC_ACQUIRE)) {
		if (!watches)
			watches = !__atomic_exchange_n(&watched, 1, __ATOMIC_ACQ_REL);
		futex_wait(&t->wake, 0, watches ? 20 : sleep);
		wait_end_if_stopped();
		if (watches)
			ticket_pass_lost();
	}
	if (watches)
		wait_watch_no_more();
}

void wait_watch_no_more(void)
{
	__atomic_store_n(&watched, 0, __ATOMIC_RELEASE);
}

void wait_wake(struct thread *t)
{
	__atomic_store_n(&t->wake, 1, __ATOMIC_RELEASE);
	futex_wake(&t->wake);
}

void wait_a_little(unsigned *round)
{
	if (!wait_awake(round))
		nap(A_LITTLE);
	wait_end_if_stopped();
}

/* ---- for an access of another thread ----------------------------------------------------------------------------- */

static struct thread *sleepers;
static uint32_t sleepers_lock; /* of the list; who is in it stays in wait_ready(), where waits_arg is */

/* Relaxed: who comes into the list just now may not be seen here, nor see what has moved. It looks again by itself. */
void wait_moved(void)
{
	if (likely(!__atomic_load_n(&sleepers, __ATOMIC_RELAXED)))
		return;
	brief_lock(&sleepers_lock);
	for (struct thread *s = sleepers; s; s = s->next_waiter)
		if (!s->wake && s->waits_ready(s->waits_arg))
			wait_wake(s);
	brief_unlock(&sleepers_lock);
}

static void sleep_until_ready(struct thread *t)
{
	brief_lock(&sleepers_lock);
	t->wake = 0;
	t->next_waiter = sleepers;
	__atomic_store_n(&sleepers, t, __ATOMIC_RELAXED);
	brief_unlock(&sleepers_lock);
	while (!t->waits_ready(t->waits_arg)) {
		futex_wait_nsec(&t->wake, 0, A_LITTLE);
		wait_end_if_stopped();
		ticket_pass_lost();
	}
	brief_lock(&sleepers_lock);
	struct thread **link = &sleepers;
	while (*link != t)
		link = &(*link)->next_waiter;
	__atomic_store_n(link, t->next_waiter, __ATOMIC_RELAXED);
	brief_unlock(&sleepers_lock);
}

void wait_ready(struct thread *t, bool (*ready)(const void *arg), const void *arg, const char *why)
{
	unsigned round = 0;
	while (!ready(arg) && awake_for_order(&round))
		;
	if (ready(arg))
		return;
	/* Who looks whether all stand still reads these; they are taken away only after progress has been counted. */
	t->waits_arg = arg;
	t->waits_why = why;
	__atomic_store_n(&t->waits_ready, ready, __ATOMIC_RELEASE);
	sleep_until_ready(t);
	wait_progress();
	__atomic_store_n(&t->waits_ready, 0, __ATOMIC_RELEASE);
}

/* ---- does anybody still move? ---------------------------------------------------------------------------------- */

/* One thread: parked, ended, or waiting for something that has not come. */
static bool is_idle(const struct thread *t, uint64_t base)
{
	if (__atomic_load_n(&t->state, __ATOMIC_ACQUIRE) != THREAD_RUNS)
		return true;
	uint64_t ticket = __atomic_load_n(&t->waits_ticket, __ATOMIC_ACQUIRE);
	uint64_t stamp = __atomic_load_n(&t->waits_for, __ATOMIC_ACQUIRE);
	if (ticket)
		return ticket > base;
	if (order_is_waiting(t))
		return true;
	uint64_t place = __atomic_load_n(&t->waits_place, __ATOMIC_ACQUIRE);
	if (place)
		return __atomic_load_n(&control->shown, __ATOMIC_ACQUIRE) < place - 1;
	if (!stamp || STAMP_SLOT(stamp) >= thread_highest())
		return stamp;
	const struct front *source = thread_of(STAMP_SLOT(stamp))->front;
	return !source || __atomic_load_n(&source->done, __ATOMIC_SEQ_CST) < STAMP_CLOCK(stamp);
}

/* All that was done so far. Each of these counters only grows, so two sums that are the same mean that none of them has
   moved between its first reading and its second. */
uint64_t wait_progress_made(void)
{
	uint64_t sum = __atomic_load_n(&progress, __ATOMIC_SEQ_CST);
	for (uint32_t slot = 0; slot < thread_highest(); slot++) {
		const struct front *front = __atomic_load_n(&thread_of(slot)->front, __ATOMIC_ACQUIRE);
		sum += front ? __atomic_load_n(&front->done, __ATOMIC_SEQ_CST) : 0;
		/* who waits for another's access is let go before that is counted, and who made it waits only after */
		sum += front ? order_events(slot) : 0;
	}
	return sum;
}

bool wait_all_idle(uint64_t base)
{
	/* Nothing may move while we look: else a thread seen waiting may have been let go by one seen later. And as
	   long as things move it is not worth looking. */
	static uint64_t last;
	uint64_t before = wait_progress_made();
	if (__atomic_exchange_n(&last, before, __ATOMIC_RELAXED) != before)
		return false;
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		if (!is_idle(thread_of(slot), base))
			return false;
	return before == wait_progress_made();
}

bool wait_anybody_comes(void)
{
	for (uint32_t slot = 0; slot < thread_highest(); slot++) {
		const struct thread *t = thread_of(slot);
		if (__atomic_load_n(&t->state, __ATOMIC_ACQUIRE) != THREAD_RUNS || !t->front || t->waits_for ||
		    t->waits_ticket || t->waits_place || t->waits_futex || t->waits_ready)
			continue;
		if (t->log.head < t->log.size || t->front->clock < t->op_limit ||
		    (t->self && t->self->events < t->event_limit))
			return true;
	}
	return false;
}

#define STUCK_SECONDS 3
#define STUCK_LOOKS   20

/*
 * A lock that is not pthread's may be held, at replay, by another thread than in the recording, which waits for one
 * that wants the lock. Nobody can tell that from a thread that has been woken and does not run yet, so this takes its
 * time; and many looks, since all of us may have been stopped, or slow, for as long.
 */
bool wait_stuck_in_futexes(uint64_t base)
{
	static uint64_t seen, since, looks; /* of the one who watches; a second one only makes it last longer */
	uint64_t now = wait_progress_made(), time[2];
	bool idle = now == seen;
	SYS2(__NR_clock_gettime, 1 /* monotonic */, time);
	for (uint32_t slot = 0; idle && slot < thread_highest(); slot++)
		idle = is_idle(thread_of(slot), base) ||
		       __atomic_load_n(&thread_of(slot)->waits_futex, __ATOMIC_RELAXED);
	if (!idle || wait_progress_made() != now) {
		since = time[0];
		looks = 0;
	}
	seen = now;
	/* in a debugger all may stand still for hours, and somebody looks */
	return looks++ > STUCK_LOOKS && !debugged && time[0] > since + STUCK_SECONDS;
}

/* In the child of a fork: who waited, and who was about to, is gone. */
void wait_forked(void)
{
	watched = 0;
	sleepers = 0;
	sleepers_lock = 0;
	for (uint32_t slot = 0; slot < thread_highest(); slot++) {
		struct thread *t = thread_of(slot);
		t->waiters = 0;
		t->waiters_lock = 0;
		t->waits_for = t->waits_ticket = t->waits_place = 0;
		t->waits_futex = false;
		t->waits_ready = 0;
	}
}

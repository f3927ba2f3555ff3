/*
 * The order of system calls among the threads of a process.
 *
 * Recording: a call takes the next ticket on entry, and on exit looks how many
 * have been taken: all those calls had begun before this one was over, and may
 * have caused its result. Replaying: a call says that its ticket has begun, and
 * before it returns to the program waits until all the others have, too.
 *
 * `base` is the lowest ticket that has not begun. A ticket that its owner took
 * without ever finishing the call (it was still waiting when the process ended)
 * never begins at replay; its owner is then parked. So when every thread is
 * parked or waits for something that does not come, the lowest ticket belongs to
 * a parked one and is passed.
 */
#include "runtime/runtime.h"

#define WINDOW 65536 /* a power of two */

/* All under the lock, but base may be read without. */
static uint8_t begun[WINDOW];
static uint64_t base;
static struct thread *waiters;
static uint32_t lock;

/* ---- replay ------------------------------------------------------------------------- */

static void advance(void)
{
	uint64_t b = base;
	while (begun[b % WINDOW])
		begun[b++ % WINDOW] = 0;
	if (b == base)
		return;
	/* release: who sees the new base sees what the threads did before they entered */
	__atomic_store_n(&base, b, __ATOMIC_RELEASE);
	wait_progress();
	for (struct thread **link = &waiters; *link;) {
		struct thread *w = *link;
		if (w->waits_ticket <= b) {
			*link = w->next_waiter;
			wait_wake(w);
		} else {
			link = &w->next_waiter;
		}
	}
}

void ticket_start(uint64_t ticket)
{
	base = ticket;
}

void ticket_forked(void)
{
	memset(begun, 0, sizeof begun);
	base = 0;
	waiters = 0;
	lock = 0;
}

void ticket_enter(uint64_t ticket)
{
	unsigned round = 0;
	while (ticket >= __atomic_load_n(&base, __ATOMIC_ACQUIRE) + WINDOW)
		wait_a_little(&round);
	brief_lock(&lock);
	if (ticket >= base)
		begun[ticket % WINDOW] = 1;
	advance();
	brief_unlock(&lock);
}

static bool anybody_parked(void)
{
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		if (__atomic_load_n(&thread_of(slot)->state, __ATOMIC_RELAXED) == THREAD_PARKED)
			return true;
	return false;
}

static bool anybody_shows(void)
{
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		if (__atomic_load_n(&thread_of(slot)->waits_place, __ATOMIC_RELAXED))
			return true;
	return false;
}

/* Looking at every thread takes long when there are thousands, who may all come here: once in a while is enough. */
static bool time_to_look(void)
{
	static uint64_t last;
	uint64_t now[2], before = __atomic_load_n(&last, __ATOMIC_RELAXED);
	SYS2(__NR_clock_gettime, 1 /* monotonic */, now);
	uint64_t ms = now[0] * 1000 + now[1] / 1000000;
	return ms >= before + 10 &&
	       __atomic_compare_exchange_n(&last, &before, ms, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void ticket_pass_lost(void)
{
	if (unlikely(control->follow) || !time_to_look())
		return; /* whatever somebody waits for may still come */
	uint64_t b = __atomic_load_n(&base, __ATOMIC_ACQUIRE);
	bool in_futexes = !one_thread && wait_stuck_in_futexes(b);
	if (__atomic_load_n(&lock, __ATOMIC_RELAXED) || !(in_futexes || wait_all_idle(b)))
		return;
	brief_lock(&lock);
	bool patient = control->several && anybody_shows(); /* for another process */
	bool idle = in_futexes ? base == b : wait_all_idle(base);
	/* if nobody has come to its end, all tickets still have an owner, who waits for a lock that is not pthread's */
	bool owned = in_futexes && !anybody_parked();
	/* alone it can wait for another process; for an access, only for one that nobody makes */
	bool lonely = one_thread && !order_is_waiting(thread_here());
	bool stuck = idle && !patient && (owned || (!waiters && !lonely));
	if (waiters && idle && !stuck && !owned) {
		begun[base % WINDOW] = 1;
		advance();
	}
	brief_unlock(&lock);
	if (stuck)
		replay_stuck(thread_here());
}

static bool has_begun(uint64_t now)
{
	return __atomic_load_n(&base, __ATOMIC_ACQUIRE) >= now;
}

void ticket_leave(struct thread *t, uint64_t now)
{
	unsigned round = 0;
	while (!has_begun(now) && wait_awake(&round))
		;
	if (has_begun(now))
		return;
	brief_lock(&lock);
	t->wake = has_begun(now);
	__atomic_store_n(&t->waits_ticket, now, __ATOMIC_RELEASE);
	if (!t->wake) {
		t->next_waiter = waiters;
		waiters = t;
	}
	brief_unlock(&lock);
	wait_asleep(t);
	__atomic_store_n(&t->waits_ticket, 0, __ATOMIC_RELEASE);
}

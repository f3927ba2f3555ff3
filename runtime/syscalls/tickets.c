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
 * parked or waits here, the lowest ticket belongs to a parked one and is passed.
 */
#include "runtime/runtime.h"

#define WINDOW 65536 /* a power of two */

static uint8_t begun[WINDOW];
static uint64_t base;
static uint32_t lock;
static uint32_t waiting; /* threads in ticket_leave */
static uint64_t lowest = ~0ull; /* what the first of those waits for; under the lock */
static uint32_t moves;	 /* futex: base has reached `lowest` */

uint64_t ticket_take(void)
{
	/* relaxed: the value alone matters. Nobody else counts in a process of one thread. */
	return likely(one_thread) ? tickets++ : __atomic_fetch_add(&tickets, 1, __ATOMIC_RELAXED);
}

static void enter_lock(void)
{
	for (unsigned round = 0; __atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE); round++)
		if (round > 40)
			SYS0(__NR_sched_yield); /* held for a few instructions only */
}

static void advance(void)
{
	uint64_t b = base;
	while (begun[b % WINDOW])
		begun[b++ % WINDOW] = 0;
	/* release: who sees the new base sees what the threads did before they entered */
	__atomic_store_n(&base, b, __ATOMIC_RELEASE);
	if (b < lowest)
		return;
	lowest = ~0ull; /* who still waits says so again */
	__atomic_fetch_add(&moves, 1, __ATOMIC_RELEASE);
	futex_wake(&moves);
}

void ticket_start(uint64_t ticket)
{
	base = ticket;
}

void ticket_enter(uint64_t ticket)
{
	unsigned round = 0;
	while (ticket >= __atomic_load_n(&base, __ATOMIC_ACQUIRE) + WINDOW)
		wait_a_little(&round, (uint32_t *)&base, (uint32_t)base);
	enter_lock();
	if (ticket >= base)
		begun[ticket % WINDOW] = 1;
	advance();
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

/* Everybody stands still: the lowest ticket is one that nobody will use. */
static void pass_lost(void)
{
	if (!thread_all_idle(__atomic_load_n(&waiting, __ATOMIC_ACQUIRE)))
		return;
	enter_lock();
	if (thread_all_idle(__atomic_load_n(&waiting, __ATOMIC_ACQUIRE))) {
		begun[base % WINDOW] = 1;
		advance();
	}
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

/* Says what this thread waits for; the futex value with which it may sleep. */
static uint32_t announce(uint64_t now)
{
	enter_lock();
	lowest = MIN(lowest, now);
	uint32_t seen = __atomic_load_n(&moves, __ATOMIC_RELAXED);
	if (base >= lowest)
		advance();
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
	return seen;
}

void ticket_leave(struct thread *t, uint64_t now)
{
	(void)t;
	if (__atomic_load_n(&base, __ATOMIC_ACQUIRE) >= now)
		return;
	__atomic_fetch_add(&waiting, 1, __ATOMIC_ACQ_REL);
	unsigned round = 0;
	uint32_t seen = announce(now);
	while (__atomic_load_n(&base, __ATOMIC_ACQUIRE) < now) {
		wait_a_little(&round, &moves, seen);
		if (__atomic_load_n(&moves, __ATOMIC_ACQUIRE) != seen)
			seen = announce(now);
		if (round > 40 && round % 16 == 0)
			pass_lost();
	}
	__atomic_fetch_sub(&waiting, 1, __ATOMIC_ACQ_REL);
}

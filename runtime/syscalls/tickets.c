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

uint64_t ticket_take(void)
{
	/* relaxed: the value alone matters. Nobody else counts in a process of one thread. */
	return likely(one_thread) ? tickets++ : __atomic_fetch_add(&tickets, 1, __ATOMIC_RELAXED);
}

static void enter_lock(void)
{
	unsigned round = 0;
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		wait_a_little(&round, &lock, 1);
}

static void advance(void)
{
	uint64_t b = base;
	while (begun[b % WINDOW])
		begun[b++ % WINDOW] = 0;
	/* release: who sees the new base sees what the threads did before they entered */
	__atomic_store_n(&base, b, __ATOMIC_RELEASE);
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
	enter_lock();
	if (thread_all_idle(__atomic_load_n(&waiting, __ATOMIC_ACQUIRE))) {
		begun[base % WINDOW] = 1;
		advance();
	}
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

void ticket_leave(struct thread *t, uint64_t now)
{
	(void)t;
	if (__atomic_load_n(&base, __ATOMIC_ACQUIRE) >= now)
		return;
	__atomic_fetch_add(&waiting, 1, __ATOMIC_ACQ_REL);
	unsigned round = 0;
	while (__atomic_load_n(&base, __ATOMIC_ACQUIRE) < now) {
		wait_a_little(&round, (uint32_t *)&base, (uint32_t)base);
		if (round > 1000 && round % 16 == 0)
			pass_lost();
	}
	__atomic_fetch_sub(&waiting, 1, __ATOMIC_ACQ_REL);
}

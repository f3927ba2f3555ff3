/*
 * The address space as an object that threads use in turn.
 *
 * What one thread unmaps another may map a moment later: mmap and its kin must
 * really happen in the recorded order, not only seem to. So each is an op on one
 * object, with the lock held over the real call.
 */
#include "runtime/runtime.h"

static uint32_t lock; /* 0 free, 1 held, 2 held and somebody may sleep */
static uint64_t stamp;

/* Held while the kernel maps or unmaps, and files are saved: too long to wait for awake. */
static void take_lock(void)
{
	uint32_t free = 0;
	if (__atomic_compare_exchange_n(&lock, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(&lock, 2, __ATOMIC_ACQUIRE))
		futex_wait(&lock, 2, 0);
}

void space_enter(struct thread *t)
{
	if (one_thread)
		return;
	uint64_t op = op_begin(t);
	if (replaying)
		return; /* the edges have brought us here alone */
	take_lock();
	op_edge(t, stamp);
	stamp = STAMP(t->slot, op);
}

/* In the child of a fork, which may have been made under the lock: nobody else is left. */
void space_forked(void)
{
	lock = 0;
}

void space_leave(struct thread *t)
{
	if (one_thread)
		return;
	op_end(t);
	if (!replaying && __atomic_exchange_n(&lock, 0, __ATOMIC_RELEASE) == 2)
		futex_wake(&lock);
}

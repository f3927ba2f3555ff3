/*
 * The address space as an object that threads use in turn.
 *
 * What one thread unmaps another may map a moment later: mmap and its kin must
 * really happen in the recorded order, not only seem to. So each is an op on one
 * object, with the lock held over the real call.
 */
#include "runtime/runtime.h"

static uint32_t lock;
static uint64_t stamp;

void space_enter(struct thread *t)
{
	if (one_thread)
		return;
	uint64_t op = op_begin(t);
	if (replaying)
		return; /* the edges have brought us here alone */
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		SYS0(__NR_sched_yield);
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
	if (!replaying)
		__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

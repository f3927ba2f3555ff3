/*
 * The address space as an object that threads use in turn.
 *
 * What one thread unmaps another may map a moment later: mmap and its kin must
 * really happen in the recorded order, not only seem to. So each is an op on one
 * object, with the lock held over the real call.
 */
#include "runtime/runtime.h"

static uint32_t lock; /* held while the kernel maps or unmaps, and files are saved: too long to wait for awake */
static uint64_t stamp;

void space_enter(struct thread *t)
{
	if (one_thread)
		return;
	uint64_t op = op_begin(t);
	if (replaying)
		return; /* the edges have brought us here alone */
	sleep_lock(&lock);
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
		sleep_unlock(&lock);
}

/*
 * A replay that has come to its end: do threads wait for one another in a circle?
 *
 * All of them stand still, most in the op that they had not finished when the recording ended. What they called is in
 * their registers (sync_call's arguments), who holds it in the object itself, whose words are the recorded ones.
 * Mutexes, reader-writer locks held for writing and pthread_join have one owner, so each thread waits for at most one
 * other.
 */
#include "runtime/runtime.h"
#include "runtime/sync/objects.h"

/* At its end; or about to die by the signal that ended the recording. */
static bool stands_still(const struct thread *t)
{
	return t->state == THREAD_PARKED || t == thread_here();
}

static struct thread *thread_with_id(uint32_t tid)
{
	for (uint32_t slot = 0; tid && slot < thread_highest(); slot++)
		if (stands_still(thread_of(slot)) && thread_of(slot)->front->tid == tid)
			return thread_of(slot);
	return 0;
}

static struct thread *holder_of_mutex(uint64_t object, uint64_t how)
{
	struct mutex m;
	if (how == MUTEX_TRY || user_copy(&m, (void *)object, sizeof m))
		return 0;
	return thread_with_id(m.kind & MUTEX_ROBUST ? m.lock & MUTEX_ID : m.owner);
}

static struct thread *holder_of_rwlock(uint64_t object, uint64_t how)
{
	struct rwlock l;
	if (how & RW_TRY || user_copy(&l, (void *)object, sizeof l) || !(l.state & RW_WRITER))
		return 0;
	return thread_with_id(l.writer);
}

static struct thread *joined(uint64_t pthread, uint64_t how)
{
	struct thread *t = thread_of_pthread(pthread);
	return how || t >= thread_of(thread_highest()) ? 0 : t;
}

static const struct {
	sync_function *op;
	struct thread *(*holder)(uint64_t object, uint64_t how);
} waits[] = {
	[WAITS_MUTEX] = { sync_mutex_lock, holder_of_mutex },
	[WAITS_RWLOCK] = { sync_rwlock_lock, holder_of_rwlock },
	[WAITS_JOIN] = { sync_thread_joined, joined },
};

/* For whom the thread waits, and how; 0: for nobody, or for something without an owner. */
static struct thread *waited_for(const struct thread *t, enum place_waits *how)
{
	for (unsigned i = 1; stands_still(t) && i < COUNT(waits); i++)
		if (SYNC_CALL_ARG(&t->regs, 0) == (uint64_t)waits[i].op) {
			*how = i;
			return waits[i].holder(SYNC_CALL_ARG(&t->regs, 1), SYNC_CALL_ARG(&t->regs, 2));
		}
	return 0;
}

/* The number of threads in the circle that begins and ends with t; 0: there is none, or it is too long to be told. */
static unsigned circle(const struct thread *t)
{
	enum place_waits how;
	const struct thread *other = t;
	for (unsigned n = 1; n <= WHERE_PLACES; n++) {
		other = waited_for(other, &how);
		if (!other || other == t)
			return other ? n : 0;
	}
	return 0;
}

void deadlock_leave(void)
{
	debug_end();
	unsigned n = 0;
	uint32_t slot = 0;
	while (slot < thread_highest() && !(n = circle(thread_of(slot))))
		slot++;
	if (!n || !place_first())
		return;
	for (const struct thread *t = thread_of(slot), *other; n; n--, t = other) {
		enum place_waits how = WAITS_NOT;
		other = waited_for(t, &how);
		struct place *p = place_leave(t);
		p->waits = how;
		p->waits_for = other->slot;
	}
}

/* Threads as libheddle.so knows them: their slots and stacks before they are created, their ends for who joins them. */
#include "runtime/runtime.h"
#include "runtime/sync/objects.h"
#include <linux/mman.h>

/*
 * The room of a slot is mapped once; what an earlier thread left there is there again at replay. Only the part that the
 * thread to come asks for can be used: below lies its guard, which faults as that of libc's own stacks does.
 */
static uint64_t usable_from[MAP_SLOTS]; /* by slot; 0: not mapped yet */

static uint64_t room_of_slot(uint32_t slot)
{
	return MAP_STACKS_BASE + slot * MAP_THREAD_STACK_ROOM;
}

static uint64_t stack_of_slot(uint32_t slot, uint64_t size)
{
	uint64_t base = room_of_slot(slot), end = room_of_slot(slot + 1);
	uint64_t stack = end - ALIGN_UP(size, page_size), was = usable_from[slot];
	long r = 0;

	if (!was) {
		r = own_map(base, MAP_THREAD_STACK_ROOM, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE | MAP_STACK, -1, 0);
		was = end;
	}
	if (!is_error(r) && stack < was)
		r = own_protect(stack, was - stack, ENTRIES->stack_protection);
	else if (!is_error(r) && stack > was)
		r = own_protect(was, stack - was, PROT_NONE);
	if (is_error(r))
		no_memory("a thread", r);
	usable_from[slot] = stack;
	return stack;
}

void threads_make_executable(void)
{
	ENTRIES->stack_protection = PROT_READ | PROT_WRITE | PROT_EXEC;
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		if (usable_from[slot])
			own_protect(usable_from[slot], room_of_slot(slot + 1) - usable_from[slot],
				    ENTRIES->stack_protection);
}

/* Reserves the slot of the thread that the caller is about to create, says it, and gives a stack for it; 0: too
   large. */
long sync_thread_reserve(struct thread *t, uint64_t size, uint64_t guard, uint64_t to, uint64_t d)
{
	(void)d;
	op_begin(t);
	t->reserved = (uint32_t)op_outcome(t, replaying ? 0 : thread_choose_slot() + 1);
	uint32_t slot = t->reserved - 1;
	if (slot >= MAP_SLOTS)
		diverged(t, log_peek(t), "the program creates a thread");
	op_end(t);
	*(uint32_t *)to = slot;
	if (replaying)
		thread_wait_for_slot(t, slot);
	if (size > MAP_THREAD_STACK_ROOM || guard > MAP_THREAD_STACK_ROOM ||
	    size + guard + 2 * page_size > MAP_THREAD_STACK_ROOM)
		return 0;
	return (long)stack_of_slot(slot, size);
}

/* pthread_create failed after all. */
long sync_thread_cancel_reserve(struct thread *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	(void)a, (void)b, (void)c, (void)d;
	if (t->reserved && !replaying)
		thread_of(t->reserved - 1)->state = THREAD_NONE;
	t->reserved = 0;
	t->tell_to = 0;
	return 0;
}

/* The id of the thread to come is at `from` when libc creates it. `to` is to have it before the thread runs, as
   without us. */
long sync_thread_tell(struct thread *t, uint64_t from, uint64_t to, uint64_t c, uint64_t d)
{
	(void)c, (void)d;
	t->tell_from = from;
	t->tell_to = to;
	return 0;
}

/* The slot of a pthread_t: stacks of ours say it by their address, others by their TLS. */
struct thread *thread_of_pthread(uint64_t pthread)
{
	if (pthread >= MAP_STACKS_BASE && pthread < MAP_STACKS_END)
		return thread_of((uint32_t)((pthread - MAP_STACKS_BASE) / MAP_THREAD_STACK_ROOM));
	struct thread *last = thread_of(0);
	for (uint32_t slot = 1; slot < thread_highest(); slot++) {
		struct thread *t = thread_of(slot);
		/* a stack of the program's own may have had others */
		if (t->tls == pthread + ENTRIES->tls_offset && (!last->slot || t->number > last->number))
			last = t;
	}
	return last;
}

long sync_thread_slot(struct thread *t, uint64_t pthread, uint64_t b, uint64_t c, uint64_t d)
{
	(void)t, (void)b, (void)c, (void)d;
	return thread_of_pthread(pthread)->slot;
}

/* Nobody will look at this thread any more (joined, or detached): its slot may be used again after its end. */
long sync_thread_released(struct thread *t, uint64_t slot, uint64_t b, uint64_t c, uint64_t d)
{
	(void)t, (void)b, (void)c, (void)d;
	__atomic_store_n(&thread_of((uint32_t)slot)->claimed, 0, __ATOMIC_RELEASE);
	return 0;
}

/* The thread's id, or 0 if it has ended. An outcome: when libc's own copy of it is cleared is the kernel's affair. */
static long id_if_running(struct thread *t, struct thread *other)
{
	long id = 0;
	op_begin(t);
	/* a thread that has just been created tells its id as soon as it runs */
	while (!replaying && __atomic_load_n(&other->state, __ATOMIC_ACQUIRE) != THREAD_ENDED &&
	       !(id = __atomic_load_n(&other->front->tid, __ATOMIC_RELAXED)))
		SYS0(__NR_sched_yield);
	id = op_outcome(t, id);
	if (!id)
		op_edge(t, other->end_stamp);
	op_end(t);
	return id;
}

/*
 * The caller has the section of ends. A thread that has left it is as good as gone: then libc must find its id cleared,
 * at record and replay. Any other cannot come to its end before the caller leaves the section.
 */
long sync_thread_settled(struct thread *t, uint64_t pthread, uint64_t b, uint64_t c, uint64_t d)
{
	(void)t, (void)b, (void)c, (void)d;
	const struct thread *other = thread_of_pthread(pthread);
	if (__atomic_load_n(&other->settled, __ATOMIC_ACQUIRE))
		thread_wait_for_cleared(other);
	return 0;
}

/* Waits for the thread's end. how: enum join_how; until: a deadline of `clock`, or 0. */
long sync_thread_joined(struct thread *t, uint64_t pthread, uint64_t how, uint64_t clock, uint64_t until)
{
	struct thread *other = thread_of_pthread(pthread);
	long r = 0;
	if (how == JOIN_ID)
		return id_if_running(t, other);
	op_begin(t);
	/* acquire: with the release in thread_exit() */
	while (!replaying && !r && __atomic_load_n(&other->state, __ATOMIC_ACQUIRE) != THREAD_ENDED) {
		r = how == JOIN_TRY ? EBUSY : wait_until(t, &other->state, THREAD_RUNS, clock, until);
		if (r == SYNC_INTERRUPTED)
			return r;
		if (r == EINVAL) /* libc waits as if there were no deadline */
			until = r = 0;
	}
	r = op_outcome(t, r);
	if (!r)
		op_edge(t, other->end_stamp);
	op_end(t);
	if (!r) /* else libc would wait for that, or not, and leave other bytes on the stack */
		thread_wait_for_cleared(other);
	return r;
}

/* Has it ended? For libheddle.so itself: the program does not join it, and it orders nothing of the program's
   (runtime/races/ knows ops by their functions). */
long sync_thread_gone(struct thread *t, uint64_t pthread, uint64_t b, uint64_t c, uint64_t d)
{
	(void)b, (void)c, (void)d;
	return !sync_thread_joined(t, pthread, JOIN_TRY, 0, 0);
}

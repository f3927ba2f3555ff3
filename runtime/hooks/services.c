/*
 * What schemes may call (order.h), inside a recorded program: locks, waiting, known edges, state per granule.
 */
#include "loader/arch/arch.h"
#include "runtime/runtime.h"
#include <linux/membarrier.h>
#include <linux/mman.h>

/* ---- memory --------------------------------------------------------------------------------------------- */

static void *map(uint64_t at, uint64_t n, const char *what)
{
	long r = own_map(at, n, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);
	if (is_error(r))
		cannot("no memory for %s of --order=%s: error %d\n"
		       "heddle: it reserves address space, not memory; is there a limit on it (ulimit -v), or strict "
		       "overcommit?",
		       what, control->order, -r);
	/* a granule here and there must not cost two megabytes each */
	SYS3(__NR_madvise, r, n, MADV_NOHUGEPAGE);
	return (void *)r;
}

void *order_memory(size_t n)
{
	static uint64_t next = MAP_TABLES_BASE;
	uint64_t room = ALIGN_UP(n, 65536), at = __atomic_fetch_add(&next, room, __ATOMIC_RELAXED);
	if (at + room > MAP_TABLES_END)
		cannot("the tables of --order=%s have used up their address space", control->order);
	return map(at, room, "the tables");
}

/* Byte addr of the program has its state at MAP_SHADOW_BASE + addr / GRANULE * state_size. */
unsigned order_state_shift;
bool order_is_chaotic;

void order_services_start(void)
{
	order_is_chaotic = control->chaos && !replaying;
	if (!order_used->state_size)
		return;
	order_state_shift = (unsigned)__builtin_ctz(order_used->state_size);
	map(MAP_SHADOW_BASE, (MAP_PROGRAM_END / GRANULE) << order_state_shift, "the states of granules");
}

/* ---- locks ------------------------------------------------------------------------------------------------ */

/*
 * A lock is free, or taken, perhaps while somebody waits; whose process that was is beside it. In the child of a fork
 * the locks that gone threads held are in its memory, in some state of some granule: they have the parent's mark, and
 * count as free. Nobody of the child's can have seen one of them before, so one exchange tells: who gets a foreign mark
 * has the lock.
 */
enum { FREE, TAKEN, WANTED, LOCK_STATES = 4 };

static uint32_t in_my_process(uint32_t state)
{
	return (uint32_t)(fork_base >> FORK_SHIFT) * LOCK_STATES + state;
}

static bool is_taken(uint32_t was)
{
	return was == in_my_process(TAKEN) || was == in_my_process(WANTED);
}

void order_lock(uint32_t *lock)
{
	uint32_t was = FREE;
	if (likely(__atomic_compare_exchange_n(lock, &was, in_my_process(TAKEN), false, __ATOMIC_ACQUIRE,
					       __ATOMIC_RELAXED)))
		return;
	for (unsigned round = 0; is_taken(__atomic_exchange_n(lock, in_my_process(WANTED), __ATOMIC_ACQUIRE));
	     round++) {
		for (unsigned i = 0; i < 40 && __atomic_load_n(lock, __ATOMIC_RELAXED) != FREE; i++)
			cpu_relax();
		if (round >= 4)
			SYS0(__NR_sched_yield); /* its holder may not be running */
	}
}

void order_unlock(uint32_t *lock)
{
	if (likely(__atomic_exchange_n(lock, FREE, __ATOMIC_RELEASE) != in_my_process(WANTED)))
		return;
	/* Let the other have it: who reads a flag in a loop would take it again at once, for ever. */
	for (unsigned i = 0; i < 60; i++) {
		if (__atomic_load_n(lock, __ATOMIC_RELAXED) != FREE)
			return;
		cpu_relax();
	}
	SYS0(__NR_sched_yield);
}

/* ---- threads ------------------------------------------------------------------------------------------------ */

uint32_t order_slots(void)
{
	return thread_highest();
}

/* A scheme may ask for a thread that is not yet created: it keeps what the thread will need. */
struct order_thread *order_thread_of(uint32_t slot)
{
	if (slot >= thread_highest())
		thread_prepare(slot);
	struct thread *t = thread_of(slot);
	order_own(t);
	return &t->order;
}

uint64_t order_events(uint32_t slot)
{
	const struct hook_self *self = thread_of(slot)->self;
	return self ? __atomic_load_n(&self->events, __ATOMIC_ACQUIRE) / 2 : 0;
}

void order_begun(struct order_thread *o)
{
	order_begun_as(thread_of(o->slot)->self, o->event);
}

/* Of a thread that makes very many accesses not all are disturbed: those who spin for what it holds would spin ever
   longer. */
enum { CHAOS_ALL = 20000, CHAOS_LATER = 16 };

void order_perturb(struct order_thread *o)
{
	struct thread *t = thread_of(o->slot);
	if (t->chaos_points++ < CHAOS_ALL || t->chaos_points % CHAOS_LATER == 0)
		chaos_perturb(t);
}

void order_say(struct order_thread *o, const char *line)
{
	TEXT(out, 256);
	text_add(&out, "heddle: thread %u: %s\n", (unsigned long)o->slot, line);
	SYS3(__NR_write, 2, TEXT_OF(out), strlen(TEXT_OF(out)));
}

_Noreturn void order_cannot(const char *what)
{
	cannot("--order=%s: %s", order_used->name, what);
}

/* ---- waiting, at replay ------------------------------------------------------------------------------------------ */

bool order_is_waiting(const struct thread *t)
{
	bool (*ready)(const void *) = __atomic_load_n(&t->waits_ready, __ATOMIC_ACQUIRE);
	return ready && !ready(t->waits_arg);
}

void order_wait(struct order_thread *o, bool (*ready)(const void *arg), const void *arg, const char *why)
{
	wait_ready(thread_of(o->slot), ready, arg, why);
}

void order_moved(void)
{
	wait_moved();
}

bool order_finished(uint32_t slot, uint64_t event)
{
	if (slot >= thread_highest())
		return false; /* not yet created */
	return order_events(slot) >= event || order_over(slot);
}

/* Who follows a recording does not know what is still to come. */
bool order_over(uint32_t slot)
{
	return !control->follow && log_is_over(thread_of(slot));
}

void order_came_to(struct order_thread *o)
{
	bracket_await(thread_of(o->slot));
}

struct event_of {
	uint32_t slot;
	uint64_t event;
};

static bool event_is_finished(const void *arg)
{
	const struct event_of *e = arg;
	return order_finished(e->slot, e->event);
}

void order_wait_event(struct order_thread *o, uint32_t slot, uint64_t event)
{
	struct event_of e = { slot, event };
	if (slot >= MAP_SLOTS)
		damaged("an edge from thread %u, which cannot be", (unsigned long)slot);
	order_wait(o, event_is_finished, &e, "an access of another thread");
}

/* ---- what a thread knows, while recording ------------------------------------------------------------------------ */

/* Remembers "all events of `slot` below `event` are finished"; true if it was known. Of very late ones it knows
   nothing. */
static bool learn(struct thread *t, uint32_t slot, uint64_t event)
{
	if (unlikely(event != STAMP_CLOCK(event)))
		return false;
	for (unsigned i = 0; i < COUNT(t->known_events); i++) {
		uint64_t k = t->known_events[i];
		if (!k || STAMP_SLOT(k) != slot)
			continue;
		if (STAMP_CLOCK(k) >= event)
			return true;
		t->known_events[i] = STAMP(slot, event);
		return false;
	}
	t->known_events[t->known_events_next++ % COUNT(t->known_events)] = STAMP(slot, event);
	return false;
}

bool order_known(struct order_thread *o, uint32_t slot, uint64_t event)
{
	/* events below fork_base are of the parent's threads: they are in this process's memory */
	return slot == o->slot || event < fork_base || learn(thread_of(o->slot), slot, event + 1);
}

/*
 * The lock order. Each thread keeps for its last OP_EVENTS ops how many accesses it had finished when the op began. Who
 * follows that op (it has seen the op's stamp, which was stored with release after this) knows that all of them are
 * done. An entry that was used again meanwhile is seen by its number, read before and after: then nothing is learned.
 * libheddle.so does the same for ops of its own: see cut.h.
 */
void order_op_begins(struct thread *t, enum order_pause why)
{
	order_before_op(t, why);
	cut_note(t->op_events, t->front->clock + 1, t->self->events / 2);
}

void order_op_follows(struct thread *t, uint64_t stamp)
{
	uint32_t slot = STAMP_SLOT(stamp);
	if (slot == t->slot || STAMP_CLOCK(stamp) <= fork_base)
		return;
	const struct op_events *e = &thread_of(slot)->op_events[STAMP_CLOCK(stamp) % OP_EVENTS];
	if (__atomic_load_n(&e->op, __ATOMIC_ACQUIRE) != STAMP_CLOCK(stamp))
		return;
	uint64_t events = __atomic_load_n(&e->events, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&e->op, __ATOMIC_RELAXED) == STAMP_CLOCK(stamp))
		learn(t, slot, events);
}

/* ---- for schemes with claims ------------------------------------------------------------------------------------- */

struct hook_self *order_self(uint32_t slot)
{
	static struct hook_self none; /* a slot that is reserved, but has no thread yet */
	struct hook_self *self = thread_of(slot)->self;
	return self ? self : &none;
}

/*
 * Mapped when somebody first asks; the table stays when the slot is used again. Hooks look at two claims at a time, so
 * something must be behind each table: the beginning of the next one, which is there before that is; behind the last,
 * the loader.
 */
uint8_t *order_claims(uint32_t slot)
{
	enum { BEHIND = 65536 };      /* a page of the kernel's, at most */
	static uint32_t lock, mapped; /* slots */
	if (unlikely(slot >= __atomic_load_n(&mapped, __ATOMIC_ACQUIRE))) {
		order_lock(&lock);
		for (; mapped <= slot; __atomic_store_n(&mapped, mapped + 1, __ATOMIC_RELEASE)) {
			uint64_t at = MAP_CLAIMS_BASE + mapped * HOOK_PAGES, end = at + HOOK_PAGES + BEHIND;
			at += mapped ? BEHIND : 0;
			map(at, (end < MAP_LOADER_BASE ? end : MAP_LOADER_BASE) - at, "the claims of a thread");
		}
		order_unlock(&lock);
	}
	return (uint8_t *)(MAP_CLAIMS_BASE + slot * HOOK_PAGES);
}

void order_membarrier(void)
{
	static uint32_t registered; /* the kernel keeps it over a fork; to do it twice does no harm */
	if (unlikely(!__atomic_load_n(&registered, __ATOMIC_RELAXED))) {
		SYS3(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
		__atomic_store_n(&registered, 1, __ATOMIC_RELAXED);
	}
	long r = SYS3(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	if (is_error(r))
		cannot("this kernel has no membarrier (error %d), which --order=%s needs", -r, order_used->name);
}

void order_relax(unsigned *looked)
{
	if (++*looked < 40)
		cpu_relax();
	else
		SYS0(__NR_sched_yield);
}

/*
 * From a hook to the scheme, and back.
 *
 * A hook that misses comes here (through entry.S) on a stack of ours; what it does is in accesses.c.
 *
 * A signal that is held begins its handler here, before the access; the hook is then called again. At replay the log
 * says before which event.
 */
#include "runtime/runtime.h"
#include "loader/arch/arch.h"
#include "runtime/hooks/accesses.h"
#include "runtime/memory/heap.h"
#include "runtime/races/watch.h"

const struct order_ops *scheme_ops;
static bool only_ordered; /* record: nothing but the scheme has a say about accesses */
static const uint8_t claims_none[2] = { 0 }, claims_all[2] = { HOOK_READ | HOOK_WRITE, HOOK_READ | HOOK_WRITE };

#define HOOK_DECLARE(name) extern char hook_entry_##name[];
HOOK_OPS(HOOK_DECLARE)
_Static_assert(offsetof(struct hook_self, events) == 0 && offsetof(struct hook_self, until) == 8 &&
		       offsetof(struct hook_self, claims) == 16 && offsetof(struct hook_self, mine) == 72 &&
		       HOOK_WORDS == 8 && MAP_SHADOW_BASE == 0x640000000000ul && GRANULE == 8,
	       "entry.S knows them");
static struct hook_ops hook_table, hook_table_short;
bool order_watches;

void order_start(void)
{
#define HOOK_FILL(name) hook_table.name = (hook_function *)(uint64_t)hook_entry_##name;
	HOOK_OPS(HOOK_FILL)
	hook_table.ahead = (hook_function *)(uint64_t)hook_ahead;
	hook_table_short = hook_table;
	hook_table_short.load = (hook_function *)(uint64_t)hook_short_load;
	hook_table_short.store = (hook_function *)(uint64_t)hook_short_store;
	if (replaying && control->races)
		races_start();
	if (!control->order[0]) {
		order_sync_start(0);
		return;
	}
	order_used = order_find(control->order);
	if (!order_used)
		cannot("the trace was recorded with --order=%s, which this heddle does not have", control->order);
	if (races_watch)
		order_used = races_wrap(order_used);
	scheme_ops = replaying ? &order_used->replay : &order_used->record;
	only_ordered = !replaying && !control->chaos && !control->verify;
	order_services_start();
	order_sync_start(scheme_ops);
	if (scheme_ops->open)
		scheme_ops->open();
}

void order_opened(struct thread *t)
{
	void *own = t->order.own;	   /* it may be there before the thread */
	if (!replaying && t->front->cut) { /* of the parent's thread; order_child_begins() gives it a new one */
		t->front->cut = 0;
		t->front->quick = 0;
	}
	*t->self = (struct hook_self){ .events = fork_base * 2,
				       .begun = fork_base,
				       .until = ~0ull,
				       .group_until = ~0ull,
				       .poll_until = ~0ull,
				       .claims = scheme_ops ? claims_none : claims_all,
				       .mask = 0,
				       .ops = &hook_table };
	t->order = (struct order_thread){
		.slot = t->slot, .own = own, .last_entry = fork_base, .next_entry = ORDER_NEVER, .cut = t->order.cut
	};
	t->verify = t->verify_reads = 0; /* of a thread that the child of a fork does not have */
}

/* The next entry of the stream wants to begin a handler at a hook or poll: which, as its entry has it; 0: none. A fault
   has only the place, which is an access. */
static const struct signal_args *signal_at_hook(struct thread *t)
{
	if (t->log.head < t->log.size) /* else it would wait for more, if the recording goes on */
		futex_pass_older(t);
	const struct entry *e = t->log.head < t->log.size ? log_peek(t) : 0;
	bool here = e && (e->kind == ENTRY_SIGNAL || e->kind == ENTRY_FAULT) && e->flags & SIGNAL_AT_HOOK;
	return here ? (const struct signal_args *)(e + 1) : 0;
}

/* This thread and its own signal handler write them; others, only 0 to bring it here (region_show.c): first to
   group_until. Release: so no 0 stays there beside another `until`, which would not bring anybody here. */
static void put_until(struct thread *t, uint64_t until, uint64_t poll_until)
{
	bool faults = __atomic_load_n(&t->process->handles_faults, __ATOMIC_RELAXED);
	__atomic_store_n(&t->self->until, until, __ATOMIC_RELAXED);
	__atomic_store_n(&t->self->group_until, faults ? 0 : until, __ATOMIC_RELEASE);
	__atomic_store_n(&t->self->poll_until, poll_until, __ATOMIC_RELAXED);
}

void order_set_until(struct thread *t)
{
	if (!t->self)
		return;
	/* no bracket over many events crosses a multiple of HOOK_FAR; who comes there gets the next */
	uint64_t until = (t->self->events | (2 * HOOK_FAR - 1)) + 1, poll_until = ~0ull;
	if (!replaying && t->held)
		until = poll_until = 0;
	else if (replaying && t->order.next_entry != ORDER_NEVER)
		until = MIN(until, t->order.next_entry * 2);
	const struct signal_args *signal = replaying ? signal_at_hook(t) : 0;
	if (signal) {
		/* odd: at an access, else at a poll */
		if (signal->place & 1)
			until = MIN(until, signal->place & ~1ull);
		else
			poll_until = signal->polls;
	}
	if (replaying)
		until = MIN(until, t->event_limit & ~1ull);
	if (replaying && unlikely(control->follow))
		poll_until = MIN(poll_until, t->poll_limit);
	if (unlikely(debugged))
		until = MIN(until, debug_access_limit(t));
	if (!replaying && unlikely(control->chaos))
		until = MIN(until, t->chaos_at);
	put_until(t, until, poll_until);
	/* The handler may have come after the look above. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!replaying && __atomic_load_n(&t->held, __ATOMIC_RELAXED))
		put_until(t, 0, 0);
}

bool order_fault(struct thread *t)
{
	if (!t->self)
		return false;
	if (order_in_group(t))
		group_leave(t, scheme_ops);
	if (!(t->self->events & 1))
		return false;
	/* The access counts as done, at record and replay alike. Where a bracket may be over many events, all that may
	   be in it do: see HOOK_FAR. */
	uint64_t last = !scheme_ops || order_used->claims ? 2 * HOOK_FAR - 1 : 1;
	__atomic_store_n(&t->self->events, (t->self->events | last) + 1, __ATOMIC_RELEASE);
	order_set_until(t);
	return true;
}

/*
 * No loop runs in one bracket any more. A thread that has just set its group_until without a look at the flag is made
 * to do that before; one that is in such a bracket finishes it.
 */
void order_handles_faults(struct process *p)
{
	if (p->handles_faults)
		return;
	__atomic_store_n(&p->handles_faults, true, __ATOMIC_RELAXED);
	if (scheme_ops && order_used->claims && !one_thread)
		order_membarrier();
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		if (thread_of(slot)->self)
			__atomic_store_n(&thread_of(slot)->self->group_until, 0, __ATOMIC_RELAXED);
}

/* ---- the bracket ------------------------------------------------------------------------------------------------- */

void bracket_await(struct thread *t)
{
	while (replaying && (t->self->events | 1) >= (t->event_limit | 1))
		thread_park(t);
}

void bracket_open(struct thread *t)
{
	t->self->events |= 1;
}

/* release: who takes a claim away, or waits for an event, reads the count with acquire and then the memory. */
void bracket_close(struct thread *t)
{
	__atomic_store_n(&t->self->events, (t->self->events | 1) + 1, __ATOMIC_RELEASE);
}

/* ---- the way in -------------------------------------------------------------------------------------------------- */

_Static_assert(HOOK_NUMBER_load == 0 && HOOK_NUMBER_store == 1 && HOOK_NUMBER_load_wide == 2 &&
		       HOOK_NUMBER_store_wide == 3 && HOOK_NUMBER_rmw == 4 && HOOK_NUMBER_rmw_wide == 5 &&
		       HOOK_NUMBER_cas == 6 && HOOK_NUMBER_cas_wide == 7 && HOOK_NUMBER_set == 8 &&
		       HOOK_NUMBER_copy == 9 && HOOK_NUMBER_enter == 10 && HOOK_NUMBER_leave == 11 &&
		       HOOK_NUMBER_poll == 12 && HOOK_NUMBER_ahead == 13,
	       "entry.S lists them in this order");

/*
 * Hooks look up claims by address, and there are claims for the program's range only. What a program maps elsewhere, at
 * a place of its own choice, would have those of other threads. It may be mapped before the first hook, which may be in
 * a library that is loaded late.
 */
static uint64_t mapped_outside;
static bool any_hooked; /* one of the two is seen by who sets the other */

static void refuse_outside(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (any_hooked && mapped_outside && !replaying && order_used && order_used->claims)
		cannot("the program maps memory at %x, where --order=%s cannot follow it: record it with another "
		       "order, such as --order=lamport",
		       mapped_outside, order_used->name);
}

void order_mapped(uint64_t addr, uint64_t n)
{
	if (addr + n <= MAP_PROGRAM_END)
		return;
	mapped_outside = addr;
	refuse_outside();
}

void order_hook_thread(struct thread *t)
{
	if (unlikely(!t->hooked)) {
		t->hooked = order_watches = any_hooked = true;
		refuse_outside();
		signals_update_held(t); /* its ops take no short cut from here on, unless it has a cut */
		t->front->free = 0;
		heap_hooked(t);
	}
	if (unlikely(!t->order_begun))
		order_thread_begins(t);
}

/* No signal is held and no far multiple has come (`until`), and no mode wants to look at each access (only_ordered). */
static bool is_quick(const struct thread *t, unsigned number)
{
	uint64_t addr = SYNC_CALL_ARG(&t->regs, 2), size = SYNC_CALL_ARG(&t->regs, 3);
	return number <= HOOK_NUMBER_store && only_ordered && t->hooked && t->order_begun && t->self->events & 1 &&
	       t->self->events < t->self->until && addr % GRANULE + size <= GRANULE && !turns_wanted;
}

/* The thread stays in its bracket, and whatever else waits for it comes at the next hook. */
static bool take_ahead(struct thread *t, uint64_t addr, uint64_t size, uint8_t kind)
{
	return scheme_ops->ahead && t->order_begun && t->self->events & 1 &&
	       scheme_ops->ahead(&t->order, addr, size, kind);
}

/*
 * From entry.S, before anything of the program's is put away: only the scheme's `quick`, or `ahead`. Not done:
 * hook_run() comes next.
 */
struct hook_result hook_run_short(struct thread *t, unsigned number, uint64_t addr, uint64_t size, uint64_t value);
struct hook_result hook_run_short(struct thread *t, unsigned number, uint64_t addr, uint64_t size, uint64_t value)
{
	if (number == HOOK_NUMBER_ahead)
		return (struct hook_result){ take_ahead(t, addr, size, (uint8_t)value), 1 };
	bool writes = number == HOOK_NUMBER_store;
	struct access a; /* not zero: that takes as long as half of the rest */
	a.addr = addr, a.size = (uint32_t)size, a.granules = 1, a.value[0] = value;
	a.kind = writes ? ACCESS_WRITES : ACCESS_READS;
	a.op = writes ? OP_STORE : OP_LOAD;
	uint64_t events = t->self->events;
	bool done = events & 1 && events < t->self->until && addr % GRANULE + size <= GRANULE && !turns_wanted &&
		    scheme_ops->quick(&t->order, &a);
	return (struct hook_result){ a.old[0], done };
}

struct hook_result hook_run(struct thread *t);
struct hook_result hook_run(struct thread *t)
{
	unsigned number = (unsigned)HOOK_CALL_NUMBER(&t->regs);
	if (likely(is_quick(t, number)))
		return hook_quick(t, number == HOOK_NUMBER_store);
	uint64_t place = t->self->events | 1;
	bool accesses = number != HOOK_NUMBER_poll && number != HOOK_NUMBER_leave;
	while (replaying && accesses && (t->self->events | 1) >= (t->event_limit | 1)) {
		replay_check_end(t);
		thread_park(t); /* it had not finished this one when the recording ended */
	}
	if (unlikely(control->follow) && number == HOOK_NUMBER_poll && t->self->polls >= t->poll_limit)
		log_peek(t); /* waits until it is known to have gone on, with a signal that came here or without */
	if (unlikely(debugged) && accesses)
		debug_look(t, true);
	if (!replaying && unlikely(control->chaos) && accesses && t->self->events >= t->chaos_at &&
	    !order_in_group(t)) {
		t->self->events &= ~1ull; /* nobody waits for a bracket meanwhile: its claims can be taken away */
		chaos_preempt(t);
	}
	if (unlikely(t->held || replaying) && !order_in_group(t) && number != HOOK_NUMBER_leave) {
		t->hook_place = t->self->events | (number != HOOK_NUMBER_poll);
		t->self->events &= ~1ull; /* a handler begins before the access, outside its bracket */
		signals_deliver_at_hook(t);
	}
	order_set_until(t);
	if (accesses)
		t->self->events |= 1;
	else if (number == HOOK_NUMBER_poll)
		t->self->events &=
			~1ull; /* a thread's first hook opens a bracket whatever it is; nobody would close this one */
	if (!scheme_ops)
		return (struct hook_result){ 0, 0 };
	order_hook_thread(t);
	if (unlikely(turns_wanted))
		turns_access(t, number);
	t->in_hook = true;
	struct hook_result r = hook_bodies[number](t, SYNC_CALL_ARG(&t->regs, 1), SYNC_CALL_ARG(&t->regs, 2),
						   SYNC_CALL_ARG(&t->regs, 3), SYNC_CALL_ARG(&t->regs, 4),
						   HOOK_CALL_ARG5(&t->regs));
	t->in_hook = false;
	if (unlikely(!r.done) && number != HOOK_NUMBER_enter)
		signals_fault_at_hook(t, place);
	return r;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

void order_own(struct thread *t)
{
	/* Another thread may look at it first. Release: what is in there (zeros) comes before it; two at once waste
	   one. */
	void *none = 0;
	if (!__atomic_load_n(&t->order.own, __ATOMIC_ACQUIRE) && order_used->thread_size)
		__atomic_compare_exchange_n(&t->order.own, &none, order_memory(order_used->thread_size), false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* May libheddle.so do ops of this thread? Not without ending its regions, and not where each op is looked at. */
static void set_cut(struct thread *t, bool may)
{
	if (replaying)
		return;
	t->order.cut.noted = t->op_events;
	t->front->cut = may && only_ordered && !turns_wanted && t->order.cut.events ? &t->order.cut : 0;
	signals_update_held(t);
}

void order_thread_begins(struct thread *t)
{
	if (!scheme_ops)
		return;
	order_own(t);
	t->order_begun = true;
	t->order.event = t->self->events / 2;
	if (scheme_ops->begin)
		scheme_ops->begin(&t->order);
	if (only_ordered && scheme_ops->quick)
		t->self->ops = &hook_table_short;
	set_cut(t, true);
	if (control->verify) {
		/* every value must come by here */
		t->self->claims = claims_none;
		t->self->mask = 0;
	}
}

void order_thread_ends(struct thread *t)
{
	if (!scheme_ops || !t->order_begun)
		return;
	if (control->verify)
		hook_check_verify(t);
	t->order.event = t->self->events / 2;
	if (scheme_ops->end)
		scheme_ops->end(&t->order);
	t->self->ops = &hook_table;
	t->order_begun = false;
	set_cut(t, false);
}

/* Replay: it will do no more; nobody may wait for it. */
void order_parks(struct thread *t)
{
	if (scheme_ops && (t->order_begun || (order_syncs() && t->order.own)) && scheme_ops->end)
		scheme_ops->end(&t->order);
}

/* Where a thread was that the child of a fork does not have: the next one in its slot is nowhere yet. */
static void forget_gone(struct thread *t)
{
	t->order_begun = t->order_released = t->order_paused = t->holds = t->in_hook = false;
	t->entered = 0;
	t->given = 0;
	t->again = 0;
	t->self = 0; /* in a ring that the parent goes on with */
}

void order_forked(struct thread *t)
{
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		if (thread_of(slot) != t)
			forget_gone(thread_of(slot));
	if (scheme_ops && scheme_ops->forked)
		scheme_ops->forked(&t->order);
}

void order_child_begins(struct thread *t)
{
	if (t->order_begun && order_used->claims)
		order_thread_begins(t); /* its counts are new, and know no claims */
}

/*
 * From a hook to the scheme, and back.
 *
 * A hook that misses comes here (through entry.S) on a stack of ours. What the program does is cut into accesses that
 * each lie in one granule; each is an event of its own, so that an edge can point between any two. The last part is
 * counted by the hook itself when it closes its bracket.
 *
 * A signal that is held begins its handler here, before the access; the hook is then called again. At replay the log
 * says before which event.
 *
 * --verify: every value read is hashed, and the hash goes to the stream every VERIFY_EVERY reads.
 */
#include "runtime/runtime.h"
#include "loader/arch/arch.h"
#include "runtime/races/watch.h"

#define VERIFY_EVERY 256
#define SET_BYTES    512 /* moved at a time */

static const struct order_ops *ops; /* of the scheme, for this mode; 0: accesses are not ordered */
static bool only_ordered;	    /* record: nothing but the scheme has a say about accesses */
static const uint8_t claims_none[1] = { 0 }, claims_all[1] = { HOOK_READ | HOOK_WRITE };

#define HOOK_DECLARE(name) extern char hook_entry_##name[];
HOOK_OPS(HOOK_DECLARE)
static struct hook_ops hook_table;
bool order_watches;

void order_start(void)
{
#define HOOK_FILL(name) hook_table.name = (hook_function *)(uint64_t)hook_entry_##name;
	HOOK_OPS(HOOK_FILL)
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
	ops = replaying ? &order_used->replay : &order_used->record;
	only_ordered = !replaying && !control->chaos && !control->verify;
	order_services_start();
	order_sync_start(ops);
	if (ops->open)
		ops->open();
}

void order_opened(struct thread *t)
{
	void *own = t->order.own; /* it may be there before the thread */
	*t->self = (struct hook_self){ .events = fork_base * 2,
				       .begun = fork_base,
				       .until = ~0ull,
				       .group_until = ~0ull,
				       .poll_until = ~0ull,
				       .claims = ops ? claims_none : claims_all,
				       .shift = 63,
				       .ops = &hook_table };
	t->order = (struct order_thread){
		.slot = t->slot, .own = own, .last_entry = fork_base, .next_entry = ORDER_NEVER
	};
	t->verify_reads = 0;
}

/* The hook or poll at which the next entry of the stream wants to begin a handler, as its entry has it; 0: none. */
static const uint64_t *signal_at_hook(struct thread *t)
{
	if (t->log.head < t->log.size) /* else it would wait for more, if the recording goes on */
		futex_pass_older(t);
	const struct entry *e = t->log.head < t->log.size ? log_peek(t) : 0;
	bool here = e && (e->kind == ENTRY_SIGNAL || e->kind == ENTRY_FAULT) && e->flags & SIGNAL_AT_HOOK;
	return here ? (const uint64_t *)(e + 1) + 3 : 0;
}

/* Only this thread and its own signal handler read and write them. */
static void put_until(struct thread *t, uint64_t until, uint64_t poll_until)
{
	bool faults = __atomic_load_n(&t->process->handles_faults, __ATOMIC_RELAXED);
	__atomic_store_n(&t->self->until, until, __ATOMIC_RELAXED);
	__atomic_store_n(&t->self->group_until, faults ? 0 : until, __ATOMIC_RELAXED);
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
	const uint64_t *signal = replaying ? signal_at_hook(t) : 0;
	if (signal) {
		/* odd: at an access, else at a poll */
		until = signal[0] & 1 ? MIN(until, signal[0] & ~1ull) : until;
		poll_until = signal[0] & 1 ? poll_until : signal[1];
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

const struct order_ops *order_ops_used(void)
{
	return ops;
}

/* ---- one access --------------------------------------------------------------------------------------------- */

static void check_verify(struct thread *t)
{
	if (!replaying) {
		size_t size = sizeof(struct entry) + 8;
		struct entry *e = log_reserve(t, size);
		*e = (struct entry){
			.size = (uint32_t)size, .kind = ENTRY_VERIFY, .flags = 1, .result = (int64_t)t->verify
		};
		*(uint64_t *)(e + 1) = t->self->events;
		log_commit(t, size);
		return;
	}
	futex_pass(t);
	const struct entry *e = log_peek(t);
	if (!e)
		return; /* the recording ended before */
	uint64_t events = e->kind == ENTRY_VERIFY ? *(const uint64_t *)(e + 1) : 0;
	if (e->kind != ENTRY_VERIFY || (uint64_t)e->result != t->verify || events / 2 != t->self->events / 2) {
		TEXT(now, 160);
		text_add(&now, "the values read up to access %u have hash %x (recorded: up to access %u)",
			 t->self->events / 2, t->verify, events / 2);
		diverged(t, e, TEXT_OF(now));
	}
	log_take(t);
}

static void verify(struct thread *t, const struct access *a)
{
	t->verify = (t->verify ^ a->old[0]) * 0x9e3779b97f4a7c15ull;
	t->verify ^= t->verify >> 29;
	if (a->size == 16)
		t->verify = (t->verify ^ a->old[1]) * 0x9e3779b97f4a7c15ull;
	if (++t->verify_reads % VERIFY_EVERY == 0)
		check_verify(t);
}

/* false: it would fault. */
static bool ordered(struct thread *t, struct access *a)
{
	struct order_thread *o = &t->order;
	bool done;
	o->event = t->self->events / 2;
	if (ops->access) {
		done = ops->access(o, a);
	} else {
		ops->before(o, a);
		order_begun(o);
		done = access_perform(a);
		ops->after(o, a, done);
	}
	t->self->events |=
		1; /* a scheme that moves the count on leaves the bracket closed; a fault must find it open */
	if (unlikely(control->verify) && done && a->kind & ACCESS_READS)
		verify(t, a);
	return done;
}

/* Another access of the same hook: the one before is finished, and counted. */
static void next_part(struct thread *t)
{
	__atomic_store_n(&t->self->events, t->self->events + 2, __ATOMIC_RELEASE);
	while (replaying && t->self->events >= (t->event_limit | 1))
		thread_park(t);
}

static uint32_t part_size(uint64_t addr, uint64_t left)
{
	return (uint32_t)MIN(GRANULE - addr % GRANULE, left);
}

static bool wide(struct thread *t, uint64_t site, uint64_t addr, uint64_t size, uint8_t *data, bool writes);

/* Over several granules. With claims such an access is one event, as it is where the hook found the claim itself. */
static bool is_span(uint64_t addr, uint64_t size)
{
	return ops->span && addr / GRANULE != (addr + size - 1) / GRANULE;
}

/* A load or a store of any size; `data` is memory of ours, or of the thread alone. */
static bool plain(struct thread *t, uint64_t site, uint64_t addr, uint64_t size, uint8_t *data, bool writes)
{
	if (is_span(addr, size))
		return wide(t, site, addr, size, data, writes);
	for (uint64_t at = 0; at < size;) {
		struct access a = { .addr = addr + at,
				    .size = part_size(addr + at, size - at),
				    .kind = writes ? ACCESS_WRITES : ACCESS_READS,
				    .granules = 1,
				    .op = writes ? OP_STORE : OP_LOAD,
				    .site = (const struct hook_site *)site };
		if (at)
			next_part(t);
		if (writes)
			memcpy(a.value, data + at, a.size);
		if (!ordered(t, &a))
			return false;
		if (!writes)
			memcpy(data + at, a.old, a.size);
		at += a.size;
	}
	return true;
}

static bool span(struct thread *t, struct access_span *s)
{
	t->order.event = t->self->events / 2;
	bool done = ops->span(&t->order, s);
	t->self->events |= 1;
	return done;
}

/* ---- the hooks ------------------------------------------------------------------------------------------------ */

#define MAYBE __attribute__((unused))
#define HOOK(name)                                                                                              \
	static struct hook_result hook_##name(struct thread *t MAYBE, uint64_t site MAYBE, uint64_t addr MAYBE, \
					      uint64_t a MAYBE, uint64_t b MAYBE, uint64_t c MAYBE)
static const struct hook_result not_done = { 0, 0 };

HOOK(load)
{
	uint64_t value = 0;
	bool done = plain(t, site, addr, a, (uint8_t *)&value, false);
	return (struct hook_result){ value, done };
}

HOOK(store)
{
	return (struct hook_result){ 0, plain(t, site, addr, a, (uint8_t *)&b, true) };
}

/* Vectors and other wide values. A 16-byte atomic is one access: its site says so. */
static bool is_atomic_pair(uint64_t site, uint64_t addr, uint64_t size)
{
	return size == 16 && addr % 16 == 0 && site && ((const struct hook_site *)site)->flags & HOOK_SITE_ATOMIC;
}

struct wide {
	struct access_span s;
	uint8_t *data;
	bool writes;
};

static bool wide_perform(struct access_span *s, uint64_t from, uint64_t to)
{
	struct wide *w = (struct wide *)s;
	void *there = (void *)(s->addr + from), *here = w->data + from;
	return !user_copy(w->writes ? there : here, w->writes ? here : there, to - from);
}

static bool wide(struct thread *t, uint64_t site, uint64_t addr, uint64_t size, uint8_t *data, bool writes)
{
	if (is_atomic_pair(site, addr, size)) {
		struct access a = { .addr = addr,
				    .size = 16,
				    .kind = writes ? ACCESS_WRITES : ACCESS_READS,
				    .granules = 2,
				    .op = writes ? OP_STORE : OP_LOAD,
				    .site = (const struct hook_site *)site };
		memcpy(a.value, data, 16);
		bool done = ordered(t, &a);
		if (done && !writes)
			memcpy(data, a.old, 16);
		return done;
	}
	if (!is_span(addr, size))
		return plain(t, site, addr, size, data, writes);
	struct wide w = { .s = { .addr = addr,
				 .size = size,
				 .kind = writes ? ACCESS_WRITES : ACCESS_READS,
				 .perform = wide_perform,
				 .site = (const struct hook_site *)site },
			  .data = data,
			  .writes = writes };
	return span(t, &w.s);
}

bool order_access(struct thread *t, uint64_t addr, void *data, uint64_t n, bool writes)
{
	if (!n)
		return true; /* no event either: see order.h */
	while (replaying && (t->self->events | 1) >= (t->event_limit | 1))
		thread_park(t);
	t->self->events |= 1;
	bool done = wide(t, 0, addr, n, data, writes);
	__atomic_store_n(&t->self->events, (t->self->events | 1) + 1, __ATOMIC_RELEASE);
	return done;
}

HOOK(load_wide)
{
	return (struct hook_result){ 0, wide(t, site, addr, a, (uint8_t *)b, false) };
}

HOOK(store_wide)
{
	return (struct hook_result){ 0, wide(t, site, addr, a, (uint8_t *)b, true) };
}

HOOK(rmw)
{
	struct access x = { .addr = addr,
			    .size = a & 0xff,
			    .kind = ACCESS_READS | ACCESS_WRITES,
			    .granules = 1,
			    .op = (uint16_t)(OP_RMW + (a >> 8)),
			    .value = { b },
			    .site = (const struct hook_site *)site };
	bool done = ordered(t, &x);
	return (struct hook_result){ x.old[0], done };
}

HOOK(rmw_wide)
{
	struct access x = { .addr = addr,
			    .size = 16,
			    .kind = ACCESS_READS | ACCESS_WRITES,
			    .granules = 2,
			    .op = (uint16_t)(OP_RMW + (a >> 8)),
			    .site = (const struct hook_site *)site };
	memcpy(x.value, (void *)b, 16);
	bool done = ordered(t, &x);
	if (done)
		memcpy((void *)c, x.old, 16);
	return (struct hook_result){ 0, done };
}

HOOK(cas)
{
	struct access x = { .addr = addr,
			    .size = (uint32_t)a,
			    .kind = ACCESS_READS | ACCESS_WRITES,
			    .granules = 1,
			    .op = OP_CAS,
			    .value = { c },
			    .old = { b },
			    .site = (const struct hook_site *)site };
	bool done = ordered(t, &x);
	return (struct hook_result){ x.old[0], done };
}

HOOK(cas_wide)
{
	struct access x = { .addr = addr,
			    .size = 16,
			    .kind = ACCESS_READS | ACCESS_WRITES,
			    .granules = 2,
			    .op = OP_CAS,
			    .site = (const struct hook_site *)site };
	memcpy(x.old, (void *)b, 16);
	memcpy(x.value, (void *)c, 16);
	bool done = ordered(t, &x);
	if (done)
		memcpy((void *)a, x.old, 16);
	return (struct hook_result){ 0, done };
}

static bool set_perform(struct access_span *s, uint64_t from, uint64_t to)
{
	const struct wide *w = (const struct wide *)s;
	for (uint64_t at = from; at < to; at += SET_BYTES)
		if (user_copy((void *)(s->addr + at), w->data, MIN(to - at, SET_BYTES)))
			return false;
	return true;
}

HOOK(set)
{
	uint8_t bytes[SET_BYTES];
	memset(bytes, (int)a, MIN(b, sizeof bytes));
	struct wide w = { .s = { .addr = addr,
				 .size = b,
				 .kind = ACCESS_WRITES,
				 .perform = set_perform,
				 .site = (const struct hook_site *)site },
			  .data = bytes };
	if (b && is_span(addr, b))
		return (struct hook_result){ addr, span(t, &w.s) };
	for (uint64_t at = 0; at < b; at += sizeof bytes) {
		if (at)
			next_part(t);
		if (!wide(t, site, addr + at, MIN(b - at, sizeof bytes), bytes, true))
			return not_done;
	}
	return (struct hook_result){ addr, 1 };
}

/* One piece through a buffer of ours: read, then written. held: both ranges are, so it is no event of its own. */
static bool copy_piece(struct thread *t, uint64_t site, uint64_t to, uint64_t from, uint64_t n, bool held)
{
	uint8_t bytes[SET_BYTES];
	if (held)
		return !user_copy(bytes, (void *)from, n) && !user_copy((void *)to, bytes, n);
	if (!wide(t, site, from, n, bytes, false))
		return false;
	next_part(t);
	return wide(t, site, to, n, bytes, true);
}

static bool copy_all(struct thread *t, uint64_t site, uint64_t to, uint64_t from, uint64_t size, bool held)
{
	bool backwards = to > from && to < from + size; /* they overlap: from the end, as memmove does */
	for (uint64_t done = 0, n; done < size; done += n) {
		n = MIN(size - done, (uint64_t)SET_BYTES);
		uint64_t at = backwards ? size - done - n : done;
		if (done && !held)
			next_part(t);
		if (!copy_piece(t, site, to + at, from + at, n, held))
			return false;
	}
	return true;
}

/* With claims: one event, both ranges held. */
static bool copy_held(struct thread *t, uint64_t to, uint64_t from, uint64_t size)
{
	struct order_thread *o = &t->order;
	o->event = t->self->events / 2;
	ops->hold(o, from, size, ACCESS_READS);
	ops->hold(o, to, size, ACCESS_WRITES);
	bool done = copy_all(t, 0, to, from, size, true);
	ops->drop(o, done);
	t->self->events |= 1;
	return done;
}

HOOK(copy)
{
	bool done = ops->hold ? copy_held(t, addr, a, b) : copy_all(t, site, addr, a, b, false);
	return (struct hook_result){ addr, done };
}

/* ---- code that the compiler cannot see into ------------------------------------------------------------------------ */

/* a: bytes, b: kind, c: characters of a string */
HOOK(enter)
{
	bool done = a && b && group_add(t, ops, (const struct hook_site *)site, addr, a, (uint8_t)b, (uint32_t)c);
	return (struct hook_result){ c ? group_string_ends(addr, a, (uint32_t)c) : 0, done };
}

HOOK(leave)
{
	group_leave(t, ops);
	return (struct hook_result){ 0, 1 };
}

HOOK(poll)
{
	return (struct hook_result){ 0, 1 };
}

bool order_fault(struct thread *t)
{
	if (!t->self)
		return false;
	if (order_in_group(t))
		group_leave(t, ops);
	if (!(t->self->events & 1))
		return false;
	/* The access counts as done, at record and replay alike. Where a bracket may be over many events, all that may be in
	   it do: see HOOK_FAR. */
	uint64_t last = !ops || order_used->claims ? 2 * HOOK_FAR - 1 : 1;
	__atomic_store_n(&t->self->events, (t->self->events | last) + 1, __ATOMIC_RELEASE);
	order_set_until(t);
	return true;
}

/*
 * No loop runs in one bracket any more. A thread that has just set its group_until without a look at the flag is made to
 * do that before; one that is in such a bracket finishes it.
 */
void order_handles_faults(struct process *p)
{
	if (p->handles_faults)
		return;
	__atomic_store_n(&p->handles_faults, true, __ATOMIC_RELAXED);
	if (ops && order_used->claims && !one_thread)
		order_membarrier();
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		if (thread_of(slot)->self)
			__atomic_store_n(&thread_of(slot)->self->group_until, 0, __ATOMIC_RELAXED);
}

/* ---- the way in ------------------------------------------------------------------------------------------------------ */

typedef struct hook_result hook_body(struct thread *, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
#define HOOK_BODY(name) hook_##name,
static hook_body *const bodies[] = { HOOK_OPS(HOOK_BODY) };
#define HOOK_NUMBER(name) HOOK_NUMBER_##name,
enum { HOOK_OPS(HOOK_NUMBER) };

void order_hook_thread(struct thread *t)
{
	if (unlikely(!t->hooked)) {
		t->hooked = order_watches = true;
		signals_update_held(t); /* its ops take no short cut from here on */
		t->front->free = 0;
	}
	if (unlikely(!t->order_begun))
		order_thread_begins(t);
}

/* A load or store within a granule, which nothing but the scheme has a say about: most of what comes here. */
static struct hook_result quick(struct thread *t, bool writes)
{
	struct access a = { .addr = SYNC_CALL_ARG(&t->regs, 2),
			    .size = (uint32_t)SYNC_CALL_ARG(&t->regs, 3),
			    .kind = writes ? ACCESS_WRITES : ACCESS_READS,
			    .granules = 1,
			    .op = writes ? OP_STORE : OP_LOAD,
			    .value = { SYNC_CALL_ARG(&t->regs, 4) },
			    .site = (const struct hook_site *)SYNC_CALL_ARG(&t->regs, 1) };
	uint64_t place = t->self->events;
	bool done = ordered(t, &a);
	if (unlikely(!done))
		signals_fault_at_hook(t, place);
	return (struct hook_result){ a.old[0], done };
}

/* No signal is held and no far multiple has come (`until`), and no mode wants to look at each access (only_ordered). */
static bool is_quick(const struct thread *t, unsigned number)
{
	uint64_t addr = SYNC_CALL_ARG(&t->regs, 2), size = SYNC_CALL_ARG(&t->regs, 3);
	return number <= HOOK_NUMBER_store && only_ordered && t->hooked && t->order_begun && t->self->events & 1 &&
	       t->self->events < t->self->until && addr % GRANULE + size <= GRANULE && !turns_wanted;
}

struct hook_result hook_run(struct thread *t);
struct hook_result hook_run(struct thread *t)
{
	unsigned number = (unsigned)HOOK_CALL_NUMBER(&t->regs);
	if (likely(is_quick(t, number)))
		return quick(t, number == HOOK_NUMBER_store);
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
	if (!ops)
		return not_done;
	order_hook_thread(t);
	if (unlikely(turns_wanted))
		turns_access(t, number);
	t->in_hook = true;
	struct hook_result r = bodies[number](t, SYNC_CALL_ARG(&t->regs, 1), SYNC_CALL_ARG(&t->regs, 2),
					      SYNC_CALL_ARG(&t->regs, 3), SYNC_CALL_ARG(&t->regs, 4),
					      HOOK_CALL_ARG5(&t->regs));
	t->in_hook = false;
	if (unlikely(!r.done) && number != HOOK_NUMBER_enter)
		signals_fault_at_hook(t, place);
	return r;
}

/* ---- threads --------------------------------------------------------------------------------------------------------- */

void order_own(struct thread *t)
{
	/* Another thread may look at it first. Release: what is in there (zeros) comes before it; two at once waste one. */
	void *none = 0;
	if (!__atomic_load_n(&t->order.own, __ATOMIC_ACQUIRE) && order_used->thread_size)
		__atomic_compare_exchange_n(&t->order.own, &none, order_memory(order_used->thread_size), false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void order_thread_begins(struct thread *t)
{
	if (!ops)
		return;
	order_own(t);
	t->order_begun = true;
	t->order.event = t->self->events / 2;
	if (ops->begin)
		ops->begin(&t->order);
	if (control->verify) {
		/* every value must come by here */
		t->self->claims = claims_none;
		t->self->shift = 63;
	}
}

void order_thread_ends(struct thread *t)
{
	if (!ops || !t->order_begun)
		return;
	if (control->verify)
		check_verify(t);
	t->order.event = t->self->events / 2;
	if (ops->end)
		ops->end(&t->order);
	t->order_begun = false;
}

/* Replay: it will do no more; nobody may wait for it. */
void order_parks(struct thread *t)
{
	if (ops && (t->order_begun || (order_syncs() && t->order.own)) && ops->end)
		ops->end(&t->order);
}

void order_forked(struct thread *t)
{
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		if (thread_of(slot) != t)
			thread_of(slot)->order_begun = false;
	if (ops && ops->forked)
		ops->forked(&t->order);
}

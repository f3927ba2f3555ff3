/*
 * futex among threads: a lock that is not pthread's, of libc itself, or of the program.
 *
 * Its word is real memory at replay too, so the call is real in both modes, and not an event: whether it has to wait
 * depends on the moment, and whether it is called at all does if plain instructions look at the word before.
 *
 * A word that the thread has accessed by atomic instructions (runtime/atomics/), or any word if the thread makes hooked
 * accesses, is another matter. What the thread does after a wait is ordered, so at replay the wait may end at once; it
 * must, since who wakes it may do so before it sleeps, when the word has gone and come back meanwhile. What it answered
 * is in the log as ENTRY_FUTEX, which replay passes over if the thread did not come here. With a time limit the answer
 * tells the program which of the two ended the wait: then it is an event like any other call.
 *
 * A wait that ends at once is no wait: who would have woken the thread may itself wait, at replay, for an access of it.
 * So a thread that never came out again in the recording stops here as at the end of its recording.
 */
#include "runtime/runtime.h"
#include "runtime/syscalls/special/special.h"
#include <linux/futex.h>

/* The site of this call, a free one, or the last. Two threads may find two for the same place: heddle adds them up. */
static struct futex_site *site_of(const struct call *c, uint64_t pc, uint64_t caller)
{
	struct futex_site *s = control->futexes;
	for (; s < control->futexes + FUTEX_SITES - 1; s++) {
		uint32_t state = __atomic_load_n(&s->state, __ATOMIC_ACQUIRE); /* with the release below */
		if (state == 2 && s->pc == pc && s->caller == caller && s->image == image_number)
			return s;
		if (state ||
		    !__atomic_compare_exchange_n(&s->state, &state, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		s->image = image_number;
		s->slot = c->t->slot;
		s->event = c->t->log.events;
		s->pc = pc;
		s->caller = caller;
		__atomic_store_n(&s->state, 2, __ATOMIC_RELEASE);
		return s;
	}
	return s;
}

static bool wait_command(uint64_t operation)
{
	unsigned command = operation & FUTEX_CMD_MASK;
	return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
}

static bool waits(const struct call *c)
{
	return wait_command(c->args[1]);
}

static void log_answer(struct thread *t, long result)
{
	log_numbers(t, ENTRY_FUTEX, result, 2, (const uint64_t[]){ t->front->clock, t->self->events });
}

/* Less than 0: the wait of this entry came before what the thread does now; more: after. */
static int when(const struct thread *t, const struct entry *e)
{
	const uint64_t *args = (const uint64_t *)(e + 1);
	uint64_t events = t->self->events & ~1ull;
	if (args[0] != t->front->clock)
		return args[0] < t->front->clock ? -1 : 1;
	return args[1] == events ? 0 : args[1] < events ? -1 : 1;
}

void futex_pass(struct thread *t)
{
	for (const struct entry *e; (e = log_peek(t)) && e->kind == ENTRY_FUTEX;)
		log_take(t);
}

void futex_pass_older(struct thread *t)
{
	for (const struct entry *e;
	     t->log.head < t->log.size && (e = log_peek(t)) && e->kind == ENTRY_FUTEX && when(t, e) < 0;)
		log_take(t);
}

void futex_pass_before_op(struct thread *t)
{
	for (const struct entry *e; (e = log_peek(t)) && e->kind == ENTRY_FUTEX && when(t, e) <= 0;)
		log_take(t);
}

/* 0 also if the recording did not wait here: any wait may end for nothing. */
static long logged_answer(struct thread *t)
{
	futex_pass_older(t);
	const struct entry *e = log_peek(t);
	if (!e || e->kind != ENTRY_FUTEX || when(t, e))
		return 0;
	long result = e->result;
	log_take(t);
	return result;
}

#define LOOK_MS 200

/*
 * FUTEX_WAIT and FUTEX_WAIT_BITSET without a time limit. Replay looks up now and then whether anybody still moves: if
 * all threads wait like this one, nobody else would notice.
 */
static void wait_and_look(struct call *c)
{
	enum { RELATIVE = 0, COMMAND = 127, PRIVATE = 128, CLOCK_REALTIME_FLAG = 256 };
	uint64_t limit[2];
	/* else another process may wake it, whose progress nobody here sees */
	bool alone = c->args[1] & PRIVATE || !control->several || !shares_memory;
	__atomic_store_n(&c->t->waits_futex, alone, __ATOMIC_RELAXED);
	do {
		if ((c->args[1] & COMMAND) == RELATIVE)
			limit[0] = limit[1] = 0;
		else
			SYS2(__NR_clock_gettime, 1 /* monotonic */, limit);
		limit[1] += LOOK_MS * 1000000ul;
		limit[0] += limit[1] / 1000000000;
		limit[1] %= 1000000000;
		c->real[1] = c->args[1] & ~(uint64_t)CLOCK_REALTIME_FLAG;
		c->real[3] = (uint64_t)limit;
		call_kernel(c);
		wait_end_if_stopped();
		if (c->result == -ETIMEDOUT)
			ticket_pass_lost();
	} while (c->result == -ETIMEDOUT || c->result == -EINTR); /* by a signal of ours: checkpoint.c */
	__atomic_store_n(&c->t->waits_futex, false, __ATOMIC_RELAXED);
}

static void run_futex(struct call *c)
{
	if (replaying && waits(c) && !c->args[3])
		wait_and_look(c);
	else
		do
			call_kernel(c);
		while (replaying && c->result == -EINTR);
	if (replaying)
		wait_progress();
}

/* heddle tells where the program has locks of its own. */
static void unordered(struct call *c)
{
	if (!replaying)
		__atomic_fetch_add(&site_of(c, c->t->regs.pc, regs_caller(&c->t->regs))->calls, 1, __ATOMIC_RELAXED);
	run_futex(c);
}

/* Without a time limit. */
static void ordered_wait(struct call *c)
{
	struct thread *t = c->t;
	bool goes = !replaying || control->follow || log_goes_on(t);
	if (!goes) {
		t->waits_futex = true; /* as it is told */
		thread_stay(t);
	}
	if (replaying)
		c->result = logged_answer(t);
	else
		run_futex(c);
	if (!replaying && !c->restart)
		log_answer(t, c->result);
}

static bool is_ordered(const struct thread *t, uint64_t word)
{
	return t->hooked || atomic_knows(t, word);
}

static void ordered(struct call *c)
{
	if (!waits(c))
		run_futex(c);
	else if (c->args[3])
		call_run(c);
	else
		ordered_wait(c);
}

bool futex_is_event(const struct thread *t)
{
	const struct regs *r = &t->regs;
	return wait_command(REGS_ARG(r, 1)) && REGS_ARG(r, 3) && is_ordered(t, REGS_ARG(r, 0));
}

/* By the only thread: what the kernel makes of a word (its owner, the other word of FUTEX_WAKE_OP) is in the log. */
static void alone(struct call *c)
{
	unsigned command = c->args[1] & FUTEX_CMD_MASK;
	unsigned at = command == FUTEX_WAKE_OP ? 4 : 0;
	bool writes = command == FUTEX_WAKE_OP || command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2 ||
		      command == FUTEX_UNLOCK_PI || command == FUTEX_TRYLOCK_PI;
	if (replaying || !writes) {
		call_run(c);
		return;
	}
	call_begin(c);
	call_kernel(c);
	if (c->restart)
		return;
	if (!is_error(c->result))
		call_block(c, BLOCK_OUT, at, c->args[at], 4, (void *)c->args[at]);
	call_end(c);
}

void special_futex(struct call *c)
{
	if (one_thread && !memory_torn)
		alone(c);
	else if (is_ordered(c->t, c->args[0]))
		ordered(c);
	else
		unordered(c);
}

/*
 * Order as edges between ops: see sync.h for the words.
 *
 * front->clock counts the ops that are finished. While recording it lies in the
 * ring, so a killed thread leaves it behind, and replay stops the thread there:
 * an op that waited for ever is begun again, and waits for ever again.
 *
 * Recording: op n of this thread follows op m of thread s. The edge is left out if
 * this thread already knows of an op >= m of s. What it knows is a list of sixteen;
 * forgetting one costs an edge, never exactness.
 *
 * In the child of a fork all clocks jump to a new base: an older stamp is of a
 * thread that the child never had, and everything before it is in its memory.
 *
 * Replaying: `done` is stored (at least release) at the end of each op, and loaded
 * (at least acquire) by who waits for it: so everything the source did before is seen.
 */
#include "runtime/runtime.h"
#include "runtime/races/watch.h"
#include <linux/futex.h>

struct front *front_of(struct thread *t)
{
	return t->front;
}

/* ---- record -------------------------------------------------------------------- */

static bool is_known(struct thread *t, uint64_t stamp)
{
	for (unsigned i = 0; i < COUNT(t->known); i++) {
		if (STAMP_SLOT(t->known[i]) != STAMP_SLOT(stamp) || !t->known[i])
			continue;
		if (STAMP_CLOCK(t->known[i]) >= STAMP_CLOCK(stamp))
			return true;
		t->known[i] = stamp; /* about to be known */
		return false;
	}
	t->known[t->known_next++ % COUNT(t->known)] = stamp;
	return false;
}

void op_edge(struct thread *t, uint64_t stamp)
{
	if (unlikely(order_watches) && !replaying)
		order_op_follows(t, stamp);
	if (replaying || STAMP_CLOCK(stamp) <= fork_base || STAMP_SLOT(stamp) == t->slot || is_known(t, stamp))
		return;
	log_numbers(t, ENTRY_EDGE, 0, 2, (const uint64_t[]){ t->front->clock + 1, stamp });
}

static void log_outcome(struct thread *t, long result)
{
	log_numbers(t, ENTRY_SYNC, result, 1, &(const uint64_t){ t->front->clock + 1 });
}

/* ---- replay --------------------------------------------------------------------------- */

static bool is_done(const struct thread *source, uint64_t stamp)
{
	/* seq_cst: in one order with the stores of op_end() and the list of waiters */
	return __atomic_load_n(&source->front->done, __ATOMIC_SEQ_CST) >= STAMP_CLOCK(stamp);
}

/* It takes the source longer to get there than to wake somebody: not worth staying awake for. */
#define FAR 2048
static bool is_far(const struct thread *source, uint64_t stamp)
{
	return STAMP_CLOCK(stamp) > __atomic_load_n(&source->front->done, __ATOMIC_RELAXED) + FAR;
}

/*
 * Who waits puts itself on the source's list and then looks once more; the source
 * stores `done` and then looks at the list. One of the two sees the other.
 * `waited` is the smallest op of that list: a source that is far from it need not
 * look at the list after each op. Both change under the lock. While one who is not
 * the source takes others off the list, the old and the new value are both at
 * most what each of those left waits for, so the source misses none.
 */
static void wake_waiters(struct thread *source)
{
	brief_lock(&source->waiters_lock);
	struct thread **link = &source->waiters;
	uint64_t first = NOBODY_WAITS;
	while (*link) {
		struct thread *w = *link;
		if (is_done(source, w->waits_for)) {
			*link = w->next_waiter;
			wait_wake(w);
		} else {
			first = MIN(first, STAMP_CLOCK(w->waits_for));
			link = &w->next_waiter;
		}
	}
	__atomic_store_n(&source->front->waited, first, __ATOMIC_SEQ_CST);
	brief_unlock(&source->waiters_lock);
}

static void sleep_for_op(struct thread *t, struct thread *source)
{
	t->wake = 0;
	brief_lock(&source->waiters_lock);
	t->next_waiter = source->waiters;
	source->waiters = t;
	__atomic_store_n(&source->front->waited, MIN(source->front->waited, STAMP_CLOCK(t->waits_for)),
			 __ATOMIC_SEQ_CST);
	brief_unlock(&source->waiters_lock);
	if (is_done(source, t->waits_for))
		wake_waiters(source); /* ourselves among them */
	wait_asleep(t);
}

static void wait_for_op(struct thread *t, uint64_t stamp)
{
	uint32_t slot = STAMP_SLOT(stamp);
	unsigned round = 0;
	if (slot >= MAP_SLOTS)
		damaged("an edge from thread %u, which cannot be", (unsigned long)slot);
	struct thread *source = thread_of(slot);
	__atomic_store_n(&t->waits_for, stamp, __ATOMIC_RELEASE);
	/* it may not have been created yet */
	while (slot >= thread_highest() || !__atomic_load_n(&source->front, __ATOMIC_ACQUIRE)) {
		wait_a_little(&round);
		ticket_pass_lost();
	}
	round = 0;
	while (!is_done(source, stamp) && !is_far(source, stamp) && wait_awake(&round))
		;
	if (!is_done(source, stamp))
		sleep_for_op(t, source);
	__atomic_store_n(&t->waits_for, 0, __ATOMIC_RELEASE);
}

/* Is the next entry about the op that is under way? */
static const struct entry *entry_of_op(struct thread *t, enum entry_kind kind)
{
	const struct entry *e = log_peek(t);
	if (!e || e->kind != kind || *(const uint64_t *)(e + 1) != t->front->clock + 1)
		return 0;
	return e;
}

/*
 * Up to which op the log has nothing to say. A signal that came after op n is due at the end of n, so n is not free.
 * What is no edge, outcome or signal is taken by something else than an op, and taking it makes `free` 0: log_take().
 */
static uint64_t first_not_free(struct thread *t)
{
	const struct entry *e = log_peek(t);
	uint64_t limit = order_sees_ops(t) ? 0 : t->op_limit + 1;
	if (!e || (e->kind != ENTRY_EDGE && e->kind != ENTRY_SYNC && e->kind != ENTRY_SIGNAL && e->kind != ENTRY_FUTEX))
		return limit;
	if (e->kind == ENTRY_SIGNAL && e->flags & SIGNAL_INEXACT)
		return 0;
	if (e->kind == ENTRY_FUTEX) /* of a wait before the next op; which may not be made */
		return MIN(limit, *(const uint64_t *)(e + 1) + 1);
	return MIN(limit, *(const uint64_t *)(e + 1));
}

static bool is_free(const struct front *f)
{
	return f->clock + 1 < f->free;
}

/* The op was never finished; but it had begun, if a signal that came then is logged. So it had, while the recording
   goes on, if what is known of the thread goes further: by the end of a region, for which others may wait. */
static void begin_unfinished(struct thread *t)
{
	const struct entry *e = t->log.head < t->log.size ? log_peek(t) : 0;
	bool interrupted = e && e->kind == ENTRY_SIGNAL && !(e->flags & SIGNAL_AT_HOOK);
	if (!interrupted && !(control->follow && !e && log_has_accesses(t)))
		return;
	if (order_sees_ops(t))
		order_before_wait(t);
	signals_deliver(t, true);
}

static void replay_begin(struct thread *t)
{
	t->op_result = 0;
	if (is_free(t->front))
		return;
	futex_pass_before_op(t);
	signals_deliver(t, true); /* it interrupted the op, which is then called again */
	while (t->front->clock >= t->op_limit) {
		replay_check_end(t);
		begin_unfinished(t);
		if (unlikely(order_syncs()) && !control->follow)
			order_released(t);	    /* if it had begun: that is an event which others may wait for */
		if (t->front->clock >= t->op_limit) /* a checkpoint may have come since */
			thread_park(t);		    /* it had not finished this one when the recording ended */
	}
	if (order_sees_ops(t)) {
		order_before_wait(t);
		signals_deliver(t, true);
	}
	for (const struct entry *e; (e = entry_of_op(t, ENTRY_EDGE));) {
		uint64_t stamp = ((const uint64_t *)(e + 1))[1];
		log_take(t);
		wait_for_op(t, stamp);
	}
	t->front->free = first_not_free(t);
}

/* ---- both ------------------------------------------------------------------------------- */

static uint64_t begin(struct thread *t, enum order_pause why)
{
	if (replaying)
		replay_begin(t);
	else if (unlikely(t->front->chaos))
		chaos_perturb(t);
	if (unlikely(turns_wanted))
		turns_op(t);
	if (unlikely(order_watches) && !replaying)
		order_op_begins(t, why);
	return t->front->clock + 1;
}

uint64_t op_begin(struct thread *t)
{
	return begin(t, PAUSE_WAITS);
}

uint64_t op_begin_taken(struct thread *t)
{
	return begin(t, PAUSE_GOT);
}

uint64_t op_begin_giving(struct thread *t)
{
	return begin(t, PAUSE_GIVES);
}

long op_outcome(struct thread *t, long result)
{
	if (!replaying) {
		if (result)
			log_outcome(t, result);
		return result;
	}
	const struct entry *e = is_free(t->front) ? 0 : entry_of_op(t, ENTRY_SYNC);
	if (!e)
		return 0;
	result = t->op_result = e->result;
	log_take(t);
	return result;
}

void op_end(struct thread *t)
{
	struct front *f = t->front;
	log_settled(t, false);
	f->clock++;
	if (!replaying) {
		if (order_sees_ops(t))
			order_after_wait(t);
		return;
	}
	if (unlikely(races_watch))
		races_op(t, t->op_result);
	__atomic_store_n(&f->done, f->clock, __ATOMIC_SEQ_CST);
	if (unlikely(__atomic_load_n(&f->waited, __ATOMIC_SEQ_CST) <= f->clock))
		wake_waiters(t);
	/* After `done`: it may wait for an event of who waits for this op. */
	if (order_sees_ops(t))
		order_after_wait(t);
}

/* After an op that libheddle.so has done itself, at replay. */
long sync_op_wake(struct thread *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	(void)a, (void)b, (void)c, (void)d;
	wake_waiters(t);
	return 0;
}

/* An op on nothing: only to be an event, at whose end signals come. */
long sync_op_point(struct thread *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	(void)a, (void)b, (void)c, (void)d;
	op_begin(t);
	op_end(t);
	return 0;
}

/* ---- waiting, recording ------------------------------------------------------------------- */

long sync_wait(struct thread *t, uint32_t *word, uint32_t value, int clockid, const int64_t *deadline)
{
	/* FUTEX_WAIT_BITSET takes an absolute time; realtime is a flag */
	uint64_t op = FUTEX_WAIT_BITSET |
		      (deadline && clockid == 0 ? FUTEX_CLOCK_REALTIME :
						  0); /* not private: other processes may share the word */
	uint64_t args[6] = { (uint64_t)word, op, value, (uint64_t)deadline, 0, 0xffffffff };
	if (unlikely(turns_wanted))
		turns_leave(t, !deadline);
	log_settled(t, true); /* what comes with a signal now is the next op */
	long r = gate_wait(&t->held, __NR_futex, args);
	if (unlikely(turns_wanted))
		turns_enter(t);
	return r == GATE_HELD ? -EINTR : r;
}

void sync_wake(uint32_t *word, int count)
{
	SYS3(__NR_futex, word, 1 /* FUTEX_WAKE */, count);
}

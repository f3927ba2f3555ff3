/*
 * Threads: slots, creation, end.
 *
 * A thread is named by its slot, a small number that its creator's clone entry
 * holds, and that is used again after its end. Everything of a slot lasts: the
 * stacks of the runtime, the stream (the next thread in the slot continues it)
 * and the count of ops, so that a stamp names one op of the process for ever.
 * Whoever creates a thread in a used slot does so after the one before is gone.
 */
#include "loader/arch/arch.h"
#include "loader/patch.h"
#include "runtime/memory/heap.h"
#include "runtime/races/watch.h"
#include "runtime/runtime.h"
#include "runtime/sync/objects.h"
#include "runtime/syscalls/special/special.h"
#include <linux/mman.h>
#include <linux/sched.h>

static uint32_t highest;      /* slots ever used; grows only */
static uint32_t live = 1;     /* threads that have not ended */
static uint32_t parked;	      /* replay: threads at the end of their recording */
static uint32_t ending;	      /* replay: threads that are about to end the process */
static uint32_t slots_lock;   /* record: who chooses a slot */
static uint32_t prepare_lock; /* replay: who uses one for the first time */

bool memory_torn;

const uint32_t *thread_highest_at(void)
{
	return &highest;
}

uint32_t thread_highest(void)
{
	return __atomic_load_n(&highest, __ATOMIC_ACQUIRE);
}

static void map_room(uint64_t from, uint64_t to)
{
	long r = own_map(from, to - from, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	if (is_error(r))
		no_memory("a thread", r);
}

struct thread *thread_prepare(uint32_t slot)
{
	struct thread *t = thread_of(slot);
	/* At replay slots may be used in another order for the first time: all below the highest are there. */
	brief_lock(&prepare_lock);
	for (uint32_t s = highest; s <= slot; s++) {
		uint64_t base = (uint64_t)thread_of(s) - THREAD_STRUCT_AT;
		map_room(base + THREAD_STACK_AT, base + THREAD_STACK_END);
		map_room(base + THREAD_SIGNAL_AT, base + THREAD_STRUCT_AT + ALIGN_UP(sizeof *t, page_size));
		__atomic_store_n(&highest, s + 1, __ATOMIC_RELEASE);
	}
	brief_unlock(&prepare_lock);
	t->slot = slot;
	t->stack = (uint64_t)t - THREAD_STRUCT_AT + THREAD_STACK_END;
	t->process = &process;
	t->timer = -1;
	t->timer_us = 0;
	t->held = t->held_count = 0;
	t->waiting = false;
	t->vfork_depth = 0;
	return t;
}

/* ---- slots ---------------------------------------------------------------------------- */

/* Nobody uses the slot any more, but perhaps the kernel. */
static bool is_free(const void *slot)
{
	const struct thread *t = slot;
	uint32_t state = __atomic_load_n(&t->state, __ATOMIC_ACQUIRE);
	return state == THREAD_NONE || (state == THREAD_ENDED && !__atomic_load_n(&t->claimed, __ATOMIC_ACQUIRE));
}

static bool is_gone(const struct thread *t)
{
	return is_free(t) && (t->state == THREAD_NONE || !t->real_tid ||
			      SYS3(__NR_tgkill, SYS0(__NR_getpid), t->real_tid, 0) == -ESRCH);
}

/* Record: the lowest slot that nobody uses. */
uint32_t thread_choose_slot(void)
{
	brief_lock(&slots_lock);
	uint32_t slot = 0;
	while (slot < highest && !is_gone(thread_of(slot)))
		slot++;
	if (slot == MAP_SLOTS)
		cannot("the program has more than %d threads at once", (long)MAP_SLOTS);
	thread_prepare(slot)->state = THREAD_RUNS;
	brief_unlock(&slots_lock);
	return slot;
}

/* Replay: the thread that had this slot before must really be gone. It may itself wait, in its last call. */
void thread_wait_for_slot(struct thread *t, uint32_t slot)
{
	if (slot >= MAP_SLOTS)
		damaged("a thread in slot %u, which cannot be", (unsigned long)slot);
	if (slot >= highest)
		return;
	wait_ready(t, is_free, thread_of(slot), "the end of the thread that had the slot of the one that it creates");
	for (unsigned round = WAIT_SPINS; !is_gone(thread_of(slot));)
		wait_a_little(&round);
}

/* ---- the thread pointer ------------------------------------------------------------------ */

/* Pairs for entry.S, which reads without a lock: an entry is filled before the end mark moves on. */
struct outside {
	uint64_t tls;
	struct thread *t;
} outside_threads[MAP_SLOTS + 1] = { { 0, (struct thread *)(MAP_RUNTIME_STACKS + THREAD_STRUCT_AT) } };
static uint32_t outside_lock;

static bool on_our_stack(uint64_t tls)
{
	return tls >= MAP_STACKS_BASE && tls < MAP_STACKS_END;
}

void thread_remember_tls(struct thread *t)
{
	if (!t->tls || on_our_stack(t->tls))
		return;
	brief_lock(&outside_lock);
	unsigned i = 0;
	while (outside_threads[i].tls && outside_threads[i].tls != t->tls && outside_threads[i].t != t)
		i++;
	if (i == MAP_SLOTS)
		cannot("the program gives more than %d threads stacks of its own", (long)MAP_SLOTS);
	if (!outside_threads[i].tls)
		outside_threads[i + 1] = outside_threads[i]; /* the end mark */
	outside_threads[i].t = t;
	__atomic_store_n(&outside_threads[i].tls, t->tls, __ATOMIC_RELEASE);
	brief_unlock(&outside_lock);
}

/* ---- creation ---------------------------------------------------------------------------- */

static struct thread *new_thread(struct call *c, uint32_t slot)
{
	struct thread *parent = c->t, *t = thread_prepare(slot);
	t->real_tid = 0;
	/* release: who finds it running sees no id of the one before */
	__atomic_store_n(&t->state, THREAD_RUNS, __ATOMIC_RELEASE);
	t->born = 0;
	t->regs = parent->regs;
	t->resume = parent->resume;
	t->mask = parent->mask;
	t->alt = (struct alt_stack){ .flags = 2 /* SS_DISABLE */ };
	t->tls = c->args[0] & CLONE_SETTLS ? c->args[CLONE_TLS] : 0;
	t->clear_tid = c->args[0] & CLONE_CHILD_CLEARTID ? c->args[CLONE_CTID] : 0;
	t->end_stamp = 0;
	t->settled = false;
	t->chaos = parent->chaos * 6364136223846793005ull + slot * 2 + 1;
	t->chaos_at = 0;
	memset(t->known, 0, sizeof t->known);
	memset(t->known_events, 0, sizeof t->known_events);
	t->hooked = false;
	REGS_RESULT(&t->regs) = 0;
	t->regs.pc += SYSCALL_SIZE;
	if (c->args[1]) {
		stub_push_frame(&t->regs, c->args[1]);
		t->regs.sp = c->args[1];
	}
	if (!t->log.data)
		log_open(t, image_number);
	t->front->slot = slot;
	__atomic_store_n(&t->front->tid, 0, __ATOMIC_RELAXED); /* of the one before; the thread itself knows its own */
	t->front->chaos = control->chaos;
	if (!replaying)
		t->front->cut = 0;
	t->front->quick = !replaying && !control->chaos && !order_syncs();
	thread_remember_tls(t);
	heap_thread_started(t);
	t->number = ++ENTRIES->threads_seen; /* creators take turns: pthread_create() is a section */
	return t;
}

_Noreturn void thread_child(struct thread *t)
{
	if (unlikely(t->saved))
		checkpoint_go_on(t);
	t->real_tid = (uint32_t)SYS0(__NR_gettid);
	arch_thread_start(t);
	if (replaying) {
		const struct entry *e = log_peek(t);
		if (!e)
			thread_stay(t);
		if (e->kind != ENTRY_THREAD)
			diverged(t, e, "a thread begins");
		t->front->tid = (uint32_t)e->result;
		log_take(t);
	} else {
		/* if the process died now, replay would not have the thread, but what it did */
		while (!__atomic_load_n(&t->born, __ATOMIC_ACQUIRE))
			futex_wait(&t->born, 0, 100);
		t->front->tid = t->real_tid;
		log_numbers(t, ENTRY_THREAD, t->real_tid, 1, &t->tls);
	}
	signals_thread_start(t);
	if (unlikely(turns_wanted))
		turns_enter(t);
	if (order_syncs())
		order_created(t);
	resume_program(t);
}

#define KERNEL_WRITES (CLONE_PARENT_SETTID | CLONE_CHILD_SETTID)

static void record_clone(struct call *c)
{
	bool by_libc = c->t->reserved;
	uint32_t slot = by_libc ? c->t->reserved - 1 : thread_choose_slot();
	c->t->reserved = 0;
	bool first = one_thread;
	atomics_begin();
	one_thread = false;
	if (first && control->chaos)
		slices_shorten();
	if (order_syncs())
		order_create(c->t, thread_of(slot));
	call_begin(c);
	struct thread *t = new_thread(c, slot);
	t->claimed = by_libc; /* until somebody has joined it, or will not */
	__atomic_fetch_add(&live, 1, __ATOMIC_RELAXED);
	if (unlikely(turns_wanted))
		turns_created(t);
	signals_before_fork();
	c->result = gate_thread(c->args, t->stack, t);
	signals_after_fork(c->t, false);
	if (c->result < 0) {
		__atomic_fetch_sub(&live, 1, __ATOMIC_RELAXED);
		t->state = THREAD_NONE;
		one_thread = first;
		if (unlikely(turns_wanted))
			turns_ended(t);
	} else {
		call_block(c, BLOCK_CHILD, 1, slot, 0, 0);
		if (c->args[0] & CLONE_PARENT_SETTID)
			call_block(c, BLOCK_OUT, 2, c->args[2], 4, &c->result); /* the word may be cleared by now */
		if (c->args[0] & CLONE_CHILD_SETTID)
			call_block(c, BLOCK_OUT, CLONE_CTID, c->args[CLONE_CTID], 4, &c->result);
	}
	call_end(c);
	if (c->result < 0)
		return;
	__atomic_store_n(&t->born, 1, __ATOMIC_RELEASE);
	futex_wake(&t->born);
}

static void replay_clone(struct call *c)
{
	atomics_begin();
	const struct entry *e = log_peek(c->t);
	const struct block *child = e && e->kind == ENTRY_SYSCALL ? entry_find(e, BLOCK_CHILD, 1) : 0;
	if (child && one_thread) {
		one_thread = false;
		ticket_start(c->t->ticket);
		slices_shorten();
	}
	uint32_t slot = child ? (uint32_t)child->addr : 0;
	c->t->reserved = 0;
	if (child)
		thread_wait_for_slot(c->t, slot);
	if (e && order_syncs()) { /* before it waits for other calls, as then */
		struct thread *t = child ? thread_prepare(slot) : 0;
		if (t && !t->log.data)
			log_open(t, image_number);
		order_create(c->t, t);
	}
	/* among the calls that had begun when this one was over may be the new thread's own */
	c->leave_later = true;
	call_replay(c);
	if (!child) {
		if (!one_thread)
			ticket_leave(c->t, c->now);
		return;
	}
	struct thread *t = new_thread(c, slot);
	if (unlikely(races_watch))
		races_created(c->t, t);
	__atomic_fetch_add(&live, 1, __ATOMIC_RELAXED);
	uint64_t args[6];
	memcpy(args, c->args, sizeof args);
	args[0] &= ~(uint64_t)KERNEL_WRITES; /* the recorded id is there already */
	/* its own is known as soon as the thread is there: see checkpoint.c */
	args[0] |= CLONE_PARENT_SETTID;
	args[2] = (uint64_t)&t->real_tid;
	signals_before_fork();
	long r = gate_thread(args, t->stack, t);
	signals_after_fork(c->t, false);
	if (r < 0)
		cannot("cannot create a thread at replay: error %d", -r);
	ticket_leave(c->t, c->now);
}

/* The program gets the new thread's id, as an access of its creator's. */
static void tell_id(struct thread *t)
{
	uint64_t id = *(uint64_t *)t->tell_from;
	if (!t->hooked || !scheme_ops) {
		user_copy((void *)t->tell_to, &id, sizeof id);
	} else if (order_access(t, t->tell_to, &id, sizeof id, true)) {
		order_before_wait_again(t);
	}
	t->tell_to = 0;
	if (unlikely(control->follow))
		log_wait_at_call(t, true); /* dispatch() has waited for the access, if that came first */
}

/* A thread with TLS that libheddle.so does not know of is one of libc's own: its locks would be in no order. */
static void refuse_unannounced(const struct call *c)
{
	if (!replaying && !log_detached() && ENTRIES->announced && !c->t->reserved && c->args[0] & CLONE_SETTLS)
		cannot("the program makes libc start a thread of its own (aio_read() and its kin, getaddrinfo_a(), or "
		       "SIGEV_THREAD of timer_create() or mq_notify()), which cannot be recorded\n"
		       "heddle: let it do this in a thread that it creates itself, which waits for the file or name, "
		       "or with SIGEV_SIGNAL and sigwaitinfo() for the timer or queue");
}

void thread_clone(struct call *c)
{
	refuse_unannounced(c);
	if (c->t->tell_to)
		tell_id(c->t);
	if (!(c->args[0] & CLONE_THREAD))
		cannot("the program starts a process that shares its memory (clone flags %x), which cannot be recorded",
		       c->args[0]);
	if (replaying)
		replay_clone(c);
	else
		record_clone(c);
}

/* ---- the end --------------------------------------------------------------------------------- */

void thread_exit(struct call *c)
{
	struct thread *t = c->t;
	if (!signals_thread_ends(t)) {
		c->restart = true;
		return;
	}
	mutex_owner_died(t);
	heap_thread_ended(t);
	__atomic_store_n(&t->settled, true, __ATOMIC_RELEASE);
	sync_section_leave(t, SYNC_SECTION_ENDS, 0, 0, 0);
	uint64_t op = op_begin(t);
	t->end_stamp = STAMP(t->slot, op);
	op_end(t);
	log_settled(t, true);
	order_thread_ends(t);
	if (replaying) {
		call_replay(c);
	} else {
		call_begin(c);
		c->result = 0;
		call_end(c);
	}
	__atomic_fetch_sub(&live, 1, __ATOMIC_ACQ_REL);
	/* from here on nothing of the slot may be touched: who sees ENDED waits for the kernel to be done, too */
	__atomic_store_n(&t->state, THREAD_ENDED, __ATOMIC_RELEASE);
	sync_wake(&t->state, WAKE_ALL);
	if (unlikely(turns_wanted))
		turns_ended(t);
	for (;;)
		SYS1(__NR_exit, c->args[0]);
}

/* The kernel clears the word of a thread that has ended, soon after. It gives no sign of it but that; the limit is for
   a word that the program uses for something else. */
void thread_wait_for_cleared(const struct thread *t)
{
	uint32_t word;
	for (unsigned round = 0; round < 20000; wait_a_little(&round))
		if (!t->clear_tid || user_copy(&word, (void *)t->clear_tid, sizeof word) || word != t->front->tid)
			return;
}

void thread_wait_for_all_cleared(void)
{
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		if (thread_of(slot)->state == THREAD_ENDED)
			thread_wait_for_cleared(thread_of(slot));
}

/* Looked at and cleared by the kernel: the memory may be gone, and a fault here would find the signal stack in use. */
static void clear(const struct thread *t)
{
	enum { FUTEX_WAIT = 0, FUTEX_WAKE_OP = 5, SET_TO_0 = 0 };
	uint64_t at_once[2] = { 0, 0 };
	if (t->clear_tid &&
	    SYS4(__NR_futex, t->clear_tid, FUTEX_WAIT, t->front->tid, at_once) == -ETIMEDOUT) /* it still says so */
		SYS6(__NR_futex, t->clear_tid, FUTEX_WAKE_OP, 0, 0, t->clear_tid, SET_TO_0);
}

void thread_clear_ended(void)
{
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		if (thread_of(slot)->state == THREAD_ENDED)
			clear(thread_of(slot));
}

uint32_t threads_created(void)
{
	return __atomic_load_n(&ENTRIES->threads_seen, __ATOMIC_ACQUIRE);
}

bool thread_is_last(void)
{
	return __atomic_load_n(&live, __ATOMIC_ACQUIRE) == 1;
}

/* What other threads may be in the middle of must be whole in the child. */
void thread_before_fork(void)
{
	brief_lock(&outside_lock);
	patch_lock();
}

void thread_after_fork(void)
{
	patch_unlock();
	brief_unlock(&outside_lock);
}

void thread_forked(struct thread *t)
{
	memory_torn |= !one_thread;
	fork_base += 1ull << FORK_SHIFT;
	if (fork_base > STAMP_CLOCK(~0ull))
		cannot("%d processes, each the child of the one before by fork alone: heddle cannot tell more apart",
		       (long)(STAMP_CLOCK(~0ull) >> FORK_SHIFT));
	live = 1;
	turns_wanted = false;
	parked = ending = 0;
	one_thread = true;
	ENTRIES->threads_seen = 0;
	ENTRIES->forks++;
	if (memory_torn) { /* else nobody was ever there who could have been in the middle of something */
		limits_forked();
		sections_forked(t);
		ticket_forked();
		sleepers_forked(t);
		stamps_forked();
	}
	mutexes_forked();
	space_forked();
	heap_after_fork(t, true);
	slots_lock = prepare_lock = 0;
	shared_files_forked();
	wait_forked();
	shown_forked();
	order_forked(t);
	t->real_tid = (uint32_t)SYS0(__NR_gettid);
	for (uint32_t slot = 0; slot < highest; slot++)
		if (thread_of(slot) != t) {
			thread_of(slot)->state = THREAD_NONE;
			thread_of(slot)->front =
				0; /* who waits for an op of the next thread there waits for its front first */
		}
	/* their streams were the parent's */
	for (uint32_t slot = 0; slot < highest; slot++)
		thread_of(slot)->log.data = 0;
}

/* ---- replay: standing still ------------------------------------------------------------------------ */

_Noreturn void thread_stay(struct thread *t)
{
	for (;;)
		thread_park(t);
}

void thread_park(struct thread *t)
{
	if (t->grown) { /* stopped on its way here: whoever calls looks again */
		t->grown = false;
		return;
	}
	if (unlikely(control->follow)) {
		uint32_t never = 0;
		futex_wait(&never, 0, 1000);
		wait_end_if_stopped();
		return;
	}
	order_parks(t);
	__atomic_store_n(&t->state, THREAD_PARKED, __ATOMIC_RELEASE);
	wait_progress();
	uint32_t n = __atomic_add_fetch(&parked, 1, __ATOMIC_ACQ_REL);
	if (n >= __atomic_load_n(&live, __ATOMIC_ACQUIRE))
		replay_all_ended(t);
	for (uint32_t never = 0;;) {
		futex_wait(&never, 0, 1000);
		wait_end_if_stopped();
		if (__atomic_load_n(&parked, __ATOMIC_ACQUIRE) >= __atomic_load_n(&live, __ATOMIC_ACQUIRE))
			replay_all_ended(t);
	}
}

bool thread_ends_process(void)
{
	return __atomic_load_n(&ending, __ATOMIC_ACQUIRE);
}

void thread_wait_for_others(struct thread *t)
{
	if (t->vfork_depth)
		return; /* only a child ends */
	order_parks(t);
	__atomic_store_n(&t->state, THREAD_PARKED, __ATOMIC_RELEASE);
	wait_progress();
	__atomic_fetch_add(&ending, 1, __ATOMIC_ACQ_REL);
	/* It counts as parked: so lost tickets are passed, and two who end the process do not wait for each other.
	   A thread in an endless loop never parks: it gets a second and a half in which nobody comes further; a minute,
	   if more is recorded of it, since it may just compute, or not get to run. */
	uint64_t last = 0, now;
	for (unsigned round = 0, patience = 0; round < 3000; round++) {
		if (__atomic_load_n(&parked, __ATOMIC_ACQUIRE) + __atomic_load_n(&ending, __ATOMIC_ACQUIRE) >=
		    __atomic_load_n(&live, __ATOMIC_ACQUIRE))
			break;
		if ((now = wait_progress_made()) != last)
			patience = 0;
		if (now != last || (wait_anybody_comes() && patience++ < 120000))
			round = MIN(round, 100);
		wait_end_if_stopped();
		last = now;
		nap(round < 100 ? 20000 : 500000);
	}
	__atomic_store_n(&t->state, THREAD_RUNS, __ATOMIC_RELEASE);
}

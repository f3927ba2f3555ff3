/*
 * Processes: fork, vfork, exit.
 *
 * A fork starts a new image with a stream of its own; the parent's entry names
 * it. At replay the fork is real, and the child continues with that stream.
 *
 * A vfork child borrows its parent's memory, and the parent stands still until
 * the child has called exec or exit. So it also borrows the parent's stream:
 * its events lie between ENTRY_VFORK and ENTRY_VFORK_END. What it must not
 * change for the parent (signal actions, descriptors that are followed) it has a
 * copy of.
 */
#include "runtime/syscalls/special/special.h"
#include "loader/arch/arch.h"
#include "runtime/memory/heap.h"
#include "runtime/runtime.h"
#include "runtime/syscalls/capture.h"
#include <asm/signal.h>
#include <linux/sched.h>
#include <linux/wait.h>

/* What the kernel may be told at replay: no ids, no namespaces. */
#define REPLAY_FLAGS (CLONE_VM | CLONE_VFORK)

static void log_fork_start(struct thread *t)
{
	struct start_info info = {
		.pid = process_id, .ppid = (uint64_t)SYS0(__NR_getppid), .forked = 1, .blocked = t->mask
	};
	struct block b = { .kind = BLOCK_START, .len = sizeof info };
	log_simple(t, ENTRY_START, 0, 0, 0, &b, &info);
}

/* In the child of a fork, either mode: its own stream from here on. */
static void become_child(struct call *c, uint32_t image)
{
	struct thread *t = c->t;
	image_number = image;
	thread_forked(t);
	t->ticket = tickets = 0;
	if (replaying) {
		log_open(t, image);
		const struct entry *e = log_peek(t);
		if (!e)
			replay_ended(t);
		struct start_info info;
		if (e->kind != ENTRY_START || entry_blocks(e)->len != sizeof info)
			damaged("wrong START entry of image %u", (unsigned long)image);
		memcpy(&info, block_data(entry_blocks(e)), sizeof info);
		process_id = (uint32_t)info.pid;
		log_take(t);
		if (c->args[0] & CLONE_CHILD_SETTID) {
			int32_t tid = (int32_t)process_id;
			user_copy((void *)c->args[CLONE_CTID], &tid, sizeof tid);
		}
	} else {
		process_id = (uint32_t)SYS0(__NR_getpid);
		log_forked(t, image);
		log_fork_start(t);
	}
	order_child_begins(t);
	signals_after_fork(t, true);
	t->front->tid = process_id;
	if (c->args[1]) {
		stub_push_frame(&t->regs, c->args[1]);
		t->regs.sp = c->args[1];
	}
	c->result = 0;
}

/*
 * The child's memory is what all threads have written by now: so fork follows the
 * last op of each of them (edges of the op that space_enter() has begun). What
 * they write between two ops is not ordered.
 */
static void follow_all(struct thread *t)
{
	for (uint32_t slot = 0; slot < thread_highest(); slot++) {
		const struct front *front = __atomic_load_n(&thread_of(slot)->front, __ATOMIC_ACQUIRE);
		uint64_t clock = front ? __atomic_load_n(&front->clock, __ATOMIC_ACQUIRE) : 0;
		if (front && MAX(clock, order_events(slot)) >= fork_base + (1ull << FORK_SHIFT))
			cannot("a thread has made so many accesses and ops that those of a child could not be told "
			       "from them");
		if (clock && !one_thread && thread_of(slot)->state != THREAD_NONE)
			op_edge(t, STAMP(slot, clock));
	}
}

/* From here on nobody is alone (shown_write()). The child itself could not say so in time: its parent may be just
   between a write and its place in the order of all. */
static void expect_process(void)
{
	__atomic_fetch_add(&control->processes, 1, __ATOMIC_RELAXED);
}

/* The kernel writes the child's id, or a descriptor of it, to the caller's memory. It does without if it cannot. */
static bool gives_id(const struct call *c)
{
	return c->args[0] & (CLONE_PARENT_SETTID | CLONE_PIDFD) && !user_probe((void *)c->args[2], 4);
}

/* fork: also clone without CLONE_VM. */
static void record_fork(struct call *c)
{
	follow_all(c->t);
	uint32_t image = __atomic_fetch_add(&control->next_image, 1, __ATOMIC_RELAXED);
	call_begin(c);
	expect_process();
	signals_before_fork();
	thread_before_fork();
	log_before_fork(c->t);
	/* the child runs on a copy of this very stack; its own is set when it returns to the program */
	long pid = gate(__NR_clone, (long)c->args[0], 0, (long)c->args[2], (long)c->args[3], (long)c->args[4], 0);
	thread_after_fork();
	if (pid == 0) {
		become_child(c, image);
		return;
	}
	if (pid < 0)
		log_fork_failed(c->t);
	signals_after_fork(c->t, false);
	if (shares_memory)
		note_not_recorded(SHARED_MEMORY);
	c->result = pid;
	if (pid > 0) {
		call_block(c, BLOCK_CHILD, 0, image, 0, 0);
		if (gives_id(c))
			call_block(c, BLOCK_OUT, 2, c->args[2], 4, (void *)c->args[2]);
	}
	call_end(c);
}

static void replay_fork(struct call *c)
{
	uint32_t before = 0;
	bool changed = gives_id(c) && !user_copy(&before, (void *)c->args[2], 4);
	call_replay(c);
	const struct block *child = entry_find(c->entry, BLOCK_CHILD, -1);
	if (!child)
		return; /* it failed */
	uint32_t image = (uint32_t)child->addr;
	if (shares_memory)
		note_not_recorded(SHARED_MEMORY); /* for who diverges */
	while (SYS4(__NR_wait4, -1, 0, WNOHANG | __WALL, 0) > 0)
		; /* the program waits for its children in the log only, and these have ended */
	thread_before_fork();
	long pid = gate(__NR_clone, SIGCHLD, 0, 0, 0, 0, 0);
	thread_after_fork();
	if (pid == 0) {
		if (changed) /* in the parent's memory only */
			user_copy((void *)c->args[2], &before, 4);
		become_child(c, image);
	} else if (pid < 0) {
		cannot("cannot fork at replay: error %d", -pid);
	}
}

/* ---- vfork -------------------------------------------------------------------------- */

/* The child finds its id in the memory that both have, if the caller wants that. */
static void log_vfork(const struct call *c, bool given)
{
	struct block id = { .addr = c->args[2], .len = 4, .kind = BLOCK_OUT, .arg = 2 };
	log_simple(c->t, ENTRY_VFORK, c->nr, 0, (int64_t)c->args[0], given ? &id : 0, (void *)c->args[2]);
}

_Noreturn void vfork_child(struct thread *t)
{
	if (!replaying)
		log_vfork(t->vfork_call, gives_id(t->vfork_call));
	if (t->vfork_call->args[1]) /* here: where no child comes into being, its stack stays as it was */
		stub_push_frame(&t->regs, t->regs.sp);
	REGS_RESULT(&t->regs) = 0;
	t->regs.pc += SYSCALL_SIZE;
	resume_program(t);
}

static void do_vfork(struct call *c)
{
	struct thread *t = c->t;
	struct process copy = *t->process, *own = t->process;
	struct regs regs = t->regs;
	struct alt_stack alt = t->alt;
	uint64_t mask = t->mask, stack = t->stack, resume = t->resume;
	unsigned depth = t->vfork_depth;
	if (depth == 4)
		cannot("vfork inside vfork, more than 4 deep");
	t->process = &copy;
	/* The child's calls run below this function's frame: the parent finds its stack as it was. */
	uint64_t here = ALIGN_DOWN((uint64_t)__builtin_frame_address(0) - 4096, 16);
	if (c->args[1])
		t->regs.sp = c->args[1];
	t->stack = here - 32768;
	t->vfork_depth++;
	t->vfork_call = c;
	t->order_paused = false; /* the child's first op ends a region, too */
	uint64_t flags = replaying ? (c->args[0] & REPLAY_FLAGS) | 17 : c->args[0];
	long r = replaying ? gate_vfork(flags, here - 16384, 0, 0, 0, t) :
			     gate_vfork(flags, here - 16384, c->args[2], c->args[3], c->args[4], t);
	t->vfork_depth = depth;
	t->process = own;
	t->mask = mask;
	t->alt = alt;
	t->stack = stack;
	t->regs = regs;
	t->resume = resume;
	/* the child may have used the stack below our sp */
	stub_push_frame(&t->regs, t->regs.sp);
	c->result = r;
}

static void record_vfork(struct call *c)
{
	expect_process();
	do_vfork(c);
	if (c->result < 0) /* there was no child to say so */
		log_vfork(c, false);
	log_simple(c->t, ENTRY_VFORK_END, c->nr, 0, c->result, 0, 0);
}

static void replay_vfork(struct call *c)
{
	struct thread *t = c->t;
	const struct entry *e = log_peek(t);
	if (!e)
		replay_ended(t);
	if (e->kind != ENTRY_VFORK || (uint64_t)e->result != c->args[0])
		diverged_call(c, e, "another event was recorded here");
	const struct block *id = entry_find(e, BLOCK_OUT, -1);
	if (id)
		apply_output(c, e, id);
	log_take(t);
	e = log_peek(t);
	if (!e)
		replay_ended(t);
	if (e->kind != ENTRY_VFORK_END || e->result > 0) {
		do_vfork(c);
		if (c->result < 0)
			cannot("cannot vfork at replay: error %d", -c->result);
	}
	/* a child that was killed leaves events that nobody asked for: there are none after its last */
	e = log_peek(t);
	if (!e)
		replay_ended(t);
	if (e->kind != ENTRY_VFORK_END)
		diverged_call(c, e, "the vfork child ended early");
	c->result = e->result;
	log_take(t);
}

void special_clone(struct call *c)
{
	/* x86-64 has fork and vfork as calls of their own; both become clone */
#ifdef __NR_fork
	if (c->nr == __NR_fork || c->nr == __NR_vfork) {
		uint64_t flags = 17 | (c->nr == __NR_vfork ? CLONE_VM | CLONE_VFORK : 0);
		for (int i = 0; i < 6; i++)
			c->args[i] = i ? 0 : flags;
	}
#endif
	uint64_t flags = c->args[0];
	if (unlikely(control->ring) && !(flags & CLONE_THREAD))
		cannot("the program starts another process, and --ring records one; record it without --ring");
	if (!(flags & CLONE_VM)) {
		/* nobody changes the address space meanwhile */
		space_enter(c->t);
		heap_before_fork(c->t);
		if (replaying)
			replay_fork(c);
		else
			record_fork(c);
		if (c->result) /* the child has done so in thread_forked() */
			heap_after_fork(c->t, false);
		space_leave(c->t);
	} else if (flags & CLONE_VFORK) {
		if (replaying)
			replay_vfork(c);
		else
			record_vfork(c);
	} else {
		thread_clone(c);
	}
}

void special_clone3(struct call *c)
{
	/* glibc falls back to clone, whose arguments are simple */
	call_answer(c, -ENOSYS);
}

/* ---- exit ------------------------------------------------------------------------------ */

static void check_memory(struct thread *t)
{
	if (replaying ? !log_peek(t) || log_peek(t)->kind != ENTRY_CHECKSUM : !thread_is_last() || memory_torn)
		return; /* other threads still write, or wrote when this process was forked */
	thread_wait_for_all_cleared();
	uint64_t hash = checksum_memory(t);
	if (!replaying) {
		log_simple(t, ENTRY_CHECKSUM, 0, 0, (int64_t)hash, 0, 0);
		return;
	}
	const struct entry *e = log_peek(t);
	if (!e)
		replay_ended(t);
	TEXT(now, 128);
	text_add(&now, "memory at exit hashes to %x", hash);
	if (e->kind != ENTRY_CHECKSUM || (uint64_t)e->result != hash)
		diverged(t, e, TEXT_OF(now));
	log_take(t);
}

void special_exit_group(struct call *c)
{
	if (replaying)
		thread_wait_for_others(c->t);
	if (control->checksum && !c->t->vfork_depth)
		check_memory(c->t);
	if (replaying) {
		call_replay(c);
	} else {
		if (!c->t->vfork_depth)
			shown_end();
		call_begin(c);
		c->result = 0;
		call_end(c);
	}
	if (!c->t->vfork_depth)
		log_leave(c->t);
	for (;;)
		SYS1(__NR_exit_group, c->args[0]);
}

void special_exit(struct call *c)
{
	if (thread_is_last() || c->t->vfork_depth)
		special_exit_group(c); /* the process ends */
	else
		thread_exit(c);
}

void special_set_tid_address(struct call *c)
{
	c->t->clear_tid = c->args[0];
	call_run(c);
	/* Its word is cleared at its end, as then; the kernel gives its own id here, which nobody sees. */
	if (replaying)
		SYS1(__NR_set_tid_address, c->args[0]);
}

uint64_t regs_caller(const struct regs *r)
{
#ifdef __x86_64__
	uint64_t caller = 0;
	user_copy(&caller, (const void *)r->sp, sizeof caller);
	return caller;
#else
	return r->x[30];
#endif
}

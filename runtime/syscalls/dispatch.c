/* From a system call of the program to its row, and back with the result. */
#include "runtime/runtime.h"
#include "runtime/races/watch.h"
#include <linux/mman.h>

static _Noreturn void unknown_call(struct call *c)
{
	if (replaying && !log_peek(c->t))
		replay_ended(c->t); /* as the recording did, at this call */
	if (c->row)
		cannot("the program calls %s in a way that Heddle does not know yet (arguments %x, %x, %x)\n"
		       "heddle: its shape belongs in runtime/syscalls/; doc/adding-a-syscall.md says how",
		       c->row->name, c->args[0], c->args[1], c->args[2]);
	cannot("the program makes system call number %u, which Heddle does not know yet\n"
	       "heddle: add a row to runtime/syscalls/table.c; doc/adding-a-syscall.md says how",
	       (unsigned long)c->nr);
}

/* 0, -1: an unknown variant, or the error that answers it. */
static int find_shape(struct call *c)
{
	if (!c->row->shape) {
		memcpy(c->io, c->row->io, sizeof c->io);
		return 0;
	}
	memset(c->io, 0, sizeof c->io);
	return c->row->shape(c->args, c->io);
}

/* What a call does to the address space, where something may be: see order_space_enter(). */
static unsigned changed_ranges(const struct call *c, struct space_range to[2])
{
	const uint64_t *a = c->args;
	to[0] = (struct space_range){ a[0], a[1] };
	to[1] = (struct space_range){ a[4], a[2] };
	switch (c->nr) {
	case __NR_mmap: return a[0] != 0;
	case __NR_munmap:
	case __NR_mprotect: return 1;
	case __NR_madvise:
		return a[2] == MADV_DONTNEED || a[2] == MADV_DONTNEED_LOCKED || a[2] == MADV_FREE ||
		       a[2] == MADV_REMOVE;
	case __NR_brk: {
		uint64_t now = (uint64_t)SYS1(__NR_brk, 0), low = MIN(now, a[0]);
		to[0] = (struct space_range){ low, MAX(now, a[0]) - low };
		return a[0] && a[0] != now;
	}
	case __NR_mremap: return a[3] & MREMAP_FIXED ? 2 : 1;
	default: return 0;
	}
}

/* In a program with hooks a call that changes the address space, or reads or writes memory, is ordered, even if its
   thread has made no hooked access so far. Not futex: replay has fewer of them. */
static bool is_ordered(unsigned nr)
{
	const struct sys_row *row = sys_find(nr);
	return row && nr != __NR_futex &&
	       (row->shape || row->io[0].rule || (row->how == SYS_SPECIAL && row->flags & SYS_SPACE));
}

/* One after the other among threads (nothing if there is one only), and against accesses. */
static void change_space(struct call *c)
{
	struct space_range ranges[2];
	unsigned n = one_thread ? 0 : changed_ranges(c, ranges);
	space_enter(c->t);
	bool ordered = order_space_enter(c, ranges, n);
	c->row->special(c);
	if (ordered)
		order_space_leave(c);
	space_leave(c->t);
}

/* A call that cannot be recorded; a program that is no longer recorded may make it. */
static void run_unknown(struct call *c)
{
	const uint64_t *a = c->args;
	if (!log_detached())
		unknown_call(c);
	c->result = SYS6(c->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void run(struct call *c)
{
	if (unlikely(!c->row)) {
		/* Numbers beyond every kernel's table are probes: they fail everywhere alike. */
		if (c->nr >= 1024)
			c->result = -ENOSYS;
		else
			run_unknown(c);
		return;
	}
	int error = find_shape(c);
	if (unlikely(error)) {
		if (error < 0)
			run_unknown(c);
		else
			call_answer(c, -error);
		return;
	}
	if (unlikely(c->row->flags & SYS_NOT_TO_SHOWN) && shown_class(c->t->process, c->args[c->row->to_arg])) {
		call_answer(c, -EINVAL);
		return;
	}
	switch ((enum sys_how)c->row->how) {
	case SYS_UNKNOWN: run_unknown(c); break;
	case SYS_SPECIAL: c->row->flags &SYS_SPACE ? change_space(c) : c->row->special(c); break;
	case SYS_REFUSED:
		if (c->row->tells)
			note_not_recorded(c->row->tells);
		call_answer(c, -(long)c->row->refuse_errno);
		break;
	case SYS_FROM_LOG:
	case SYS_RUN_AGAIN: call_run(c);
	}
}

static __attribute__((noinline)) long run_generally(struct thread *t, unsigned nr)
{
	struct call c;
	c.t = t;
	c.nr = nr;
	c.row = sys_find(nr);
	for (int i = 0; i < 6; i++)
		c.args[i] = REGS_ARG(&t->regs, i);
	unsigned unused = unused_arguments(nr, c.args);
	for (int i = 0; i < 6; i++)
		c.real[i] = c.args[i] = unused >> i & 1 ? 0 : c.args[i];
	c.restart = false;
	c.leave_later = c.ticket_early = c.changes_file = false;
	c.before_bytes = 0;
	c.as_access = c.inputs_taken = false;
	run(&c);
	while (unlikely(c.restart)) {
		/* The kernel would run the handler and then the call again: so do we. If no handler begins
		   (the signal is ignored by now), the call simply goes on. */
		signals_deliver(t, true);
		memcpy(c.real, c.inputs_taken ? c.inputs : c.args, sizeof c.real);
		c.restart = false;
		run(&c);
	}
	return c.result;
}

/* Replay, a process with one thread that was killed: whatever it did after its last event nobody has seen, and it may
   be a loop without end. Who looks at it with gdb wants to see that. */
static bool is_over(struct thread *t)
{
	return !debugged && !turns_wanted && !control->follow && !log_goes_on(t);
}

void dispatch(struct thread *t)
{
	unsigned nr = (unsigned)REGS_NR(&t->regs);
	if (unlikely(control->follow))
		log_wait_at_call(t, nr != __NR_futex);
	if (replaying && nr != __NR_futex)
		futex_pass(t);
	if (unlikely(control->paranoid))
		paranoid_look(t, nr);
	signals_deliver(t, true);
	if (unlikely(control->hooked) && !t->hooked && !one_thread && scheme_ops && is_ordered(nr))
		order_hook_thread(t);
	if (unlikely(turns_wanted))
		turns_call_begins(t, nr);
	bool seen = order_sees_ops(t) &&
		    (nr != __NR_futex || futex_is_event(t)); /* others are perhaps not called again */
	if (unlikely(seen)) {
		order_before_wait(t);
		if (unlikely(control->follow))
			log_wait_at_call(t, nr != __NR_futex);
		signals_deliver(t, true);
	}
	if (unlikely(races_watch))
		races_call_begins(t, nr);
	long result = likely(!replaying && !t->hooked) ? record_quick(t, nr) : RECORD_SLOWLY;
	if (unlikely(result == RECORD_SLOWLY || result == GATE_HELD))
		result = run_generally(t, nr);
	if (unlikely(races_watch))
		races_call_ended(t, nr);
	if (unlikely(turns_wanted))
		turns_call_ended(t);
	if (unlikely(seen))
		order_after_wait(t);
	t->order_paused = false; /* whoever has set it: libheddle.so does not ask */
	REGS_RESULT(&t->regs) = (uint64_t)result;
	t->regs.pc += SYSCALL_SIZE;
	signals_deliver(t, false);
	log_settled(t, true);
	if (unlikely(replaying && one_thread) && is_over(t))
		replay_ended(t);
}

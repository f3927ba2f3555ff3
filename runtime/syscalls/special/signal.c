/*
 * The program's calls about signals: its actions, masks and alternate stack are
 * kept by us, and the kernel is told only when recording.
 */
#include "runtime/syscalls/special/special.h"
#include "loader/arch/arch.h"
#include "loader/patch.h"
#include "runtime/runtime.h"
#include "runtime/signals.h"
#include <asm/signal.h>

#define SS_ONSTACK 1

/*
 * These calls are worked out here, the same way in both modes: the kernel is
 * told only when recording. Outputs are logged as if the kernel had made them,
 * so that dump shows them and replay checks them.
 */
static void virtual_call(struct call *c, long result, uint64_t to, const void *data, uint32_t n)
{
	if (replaying) {
		call_replay(c);
		/* then the old value could not be written */
		if (c->result != result && !(c->result == -EFAULT && !result && to))
			diverged_call(c, c->entry, "the result differs");
		return;
	}
	call_begin(c);
	if (!result && to && n) {
		call_block(c, BLOCK_OUT, 0, to, n, data);
		if (user_copy((void *)to, data, n))
			result = -EFAULT;
	}
	c->result = result;
	call_end(c);
}

void special_rt_sigaction(struct call *c)
{
	uint64_t sig = c->args[0];
	struct kernel_action old = { 0 }, new = { 0 };
	long r = 0;
	if (sig < 1 || sig > SIGNALS || c->args[3] != 8)
		r = -EINVAL;
	else if (c->args[1] && user_copy(&new, (void *)c->args[1], sizeof new))
		r = -EFAULT;
	else if (c->args[1] && (sig == SIGKILL || sig == SIGSTOP))
		r = -EINVAL;
	new.mask &= ~NEVER;
	if (!r)
		old = signals_action(c->t, (int)sig, c->args[1] ? &new : 0);
	virtual_call(c, r, c->args[2], &old, sizeof old);
}

void special_rt_sigprocmask(struct call *c)
{
	struct thread *t = c->t;
	uint64_t old = t->mask, set = 0, how = c->args[0];
	long r = 0;
	if (c->args[3] != 8)
		r = -EINVAL;
	else if (c->args[1] && user_copy(&set, (void *)c->args[1], 8))
		r = -EFAULT;
	else if (c->args[1]) {
		if (how == SIG_BLOCK)
			t->mask = old | set;
		else if (how == SIG_UNBLOCK)
			t->mask = old & ~set;
		else if (how == SIG_SETMASK)
			t->mask = set;
		else
			r = -EINVAL;
		t->mask &= ~NEVER;
	}
	virtual_call(c, r, c->args[2], &old, 8);
	if (!replaying && t->mask != old) {
		signals_update_held(t);
		/* a signal that this lets in is held and delivered after this call */
		signals_set_mask(t);
	}
}

void special_sigaltstack(struct call *c)
{
	struct thread *t = c->t;
	struct alt_stack old = t->alt, new;
	bool on = t->regs.sp > old.sp && t->regs.sp <= old.sp + old.size && !(old.flags & SS_DISABLE);
	long r = 0;
	if (c->args[0]) {
		if (user_copy(&new, (void *)c->args[0], sizeof new))
			r = -EFAULT;
		else if (on)
			r = -EPERM;
		else if (new.flags & ~(SS_DISABLE | SS_ONSTACK | 0x80000000u))
			r = -EINVAL;
		else if (!(new.flags &SS_DISABLE) && new.size < MINSIGSTKSZ)
			r = -ENOMEM;
		else
			t->alt = new.flags &SS_DISABLE ? (struct alt_stack){ .flags = SS_DISABLE } :
							 (struct alt_stack){ .sp = new.sp, .size = new.size };
	}
	old.flags = old.flags & SS_DISABLE ? SS_DISABLE : on ? SS_ONSTACK : 0;
	virtual_call(c, r, c->args[1], &old, sizeof old);
}

static void go_on(struct thread *t, void *uc)
{
	struct regs r;
	context_regs(uc, &r);
	if (unlikely(t->again))
		group_return(t, r.pc, r.sp);
	context_set_pc(uc, patch_continue(r.pc));
	signals_await_inexact(t);
}

/* The result is 1 if a signal has waited for it, whose handler begins before the program goes on. */
void special_rt_sigreturn(struct call *c)
{
	uint8_t room[FRAME_ROOM];
	struct thread *t = c->t;
	struct alt_stack kernel_alt = signals_our_stack(t);
	uint64_t mask;
	struct alt_stack alt;
	struct logged_signal next;
	void *uc = frame_return(room, t->regs.sp, &mask, &alt, &kernel_alt);
	if (uc) {
		t->mask = mask & ~NEVER;
		t->alt = alt.flags & SS_DISABLE ? (struct alt_stack){ .flags = SS_DISABLE } :
						  (struct alt_stack){ .sp = alt.sp, .size = alt.size };
	}
	if (replaying) {
		call_replay(c);
	} else {
		call_begin(c);
		c->result = uc && take_let_in(t, &next);
		call_end(c);
	}
	if (order_sees_ops(t))
		order_after_wait(t); /* dispatch() does not come to it */
	if (!uc)
		die_by_signal(SIGSEGV);
	if (c->result)
		begin_let_in(t, &next, uc);
	else
		go_on(t, uc);
	signals_update_held(t);
	*context_mask(uc) = signals_kernel_mask(t->held ? ~0ull : t->mask);
	gate_sigreturn(context_frame(uc));
}

/* A wait for a signal. One that was held just before counts as having interrupted it. */
static void record_wait(struct call *c)
{
	call_begin(c);
	call_kernel(c);
	if (c->restart) {
		c->restart = false;
		c->result = -EINTR;
	}
	call_end(c);
}

void special_rt_sigsuspend(struct call *c)
{
	struct thread *t = c->t;
	uint64_t mask;
	if (replaying) {
		call_replay(c);
		if (!user_copy(&mask, (void *)c->args[0], 8)) {
			t->wait_mask = mask & ~NEVER;
			t->waiting = true;
		}
		return;
	}
	if (user_copy(&mask, (void *)c->args[0], 8)) {
		call_answer(c, -EFAULT);
		return;
	}
	t->wait_mask = mask & ~NEVER;
	t->waiting = true;
	signals_update_held(t);
	mask = signals_kernel_mask(mask);
	c->real[0] = (uint64_t)&mask;
	record_wait(c);
}

void special_pause(struct call *c)
{
	if (replaying)
		call_replay(c);
	else
		record_wait(c);
}

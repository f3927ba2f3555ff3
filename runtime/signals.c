/*
 * Signals: what the program asked for is kept here; what the kernel sees is ours.
 *
 * Recording. Every signal whose disposition is a handler, or whose default would
 * end the process, comes to on_signal(), on a stack of ours with all signals
 * blocked. A signal that the program's own instruction raised goes on to the
 * program at once. Any other is held: it is put aside, all signals are blocked
 * in the interrupted context, and the thread's next event delivers it. So it
 * begins at a place that replay finds again.
 *
 * 1. A held signal is delivered by signals_deliver() at an event, which logs it
 *    first. The program's handler gets a frame built by us: its own registers.
 * 2. Between the last look at `held` and the system call instruction lies the
 *    window gate_window..gate_svc. A signal there makes the call return
 *    GATE_HELD without having entered the kernel. The same happens when the
 *    kernel itself is about to restart the call (it has moved the pc back to
 *    gate_svc because our handler is installed with the program's SA_RESTART).
 *    So a blocking call never swallows a held signal, and restarts are decided
 *    by the kernel, not by a table.
 * 3. A thread that reaches no event: a timer of ours (SIGSYS with SI_TIMER)
 *    looks again after HOLD_MS; then a fatal default acts, or the handler runs in
 *    the middle of nowhere and the recording says that it is not exact from there.
 *
 * The kernel's mask is the program's, less SIGSYS and the signals of faults:
 * those must always reach us (user_copy() relies on it). A program that blocks
 * them is served from its own mask, which is kept in struct thread.
 *
 * Replaying. Nothing asynchronous is left: the log says after which event which
 * handler begins. Only faults are real, and each must be in the log.
 */
#include "loader/arch/arch.h"
#include "loader/patch.h"
#include "runtime/runtime.h"
#include <asm/siginfo.h>
#include <asm/signal.h>
#include <linux/time.h>

#define HOLD_MS	   50
#define SIGSYS_BIT SIGNAL_BIT(SIGSYS)
#define NEVER	   (SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP))
#define SS_ONSTACK 1
#define SS_DISABLE 2
#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000
#endif

static const uint64_t fault_signals = SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) |
				      SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGTRAP);
/* Default action: nothing, or stop. Every other default ends the process. */
static const uint64_t harmless = SIGNAL_BIT(SIGCHLD) | SIGNAL_BIT(SIGURG) | SIGNAL_BIT(SIGWINCH) | SIGNAL_BIT(SIGCONT) |
				 SIGNAL_BIT(SIGTSTP) | SIGNAL_BIT(SIGTTIN) | SIGNAL_BIT(SIGTTOU) | SIGNAL_BIT(SIGSTOP);

static void on_signal(int sig, siginfo_t *info, void *uc);
static void on_sigsys(int sig, siginfo_t *info, void *uc);

/* ---- the kernel's side ------------------------------------------------------------ */

static struct alt_stack our_stack(const struct thread *t)
{
	return (struct alt_stack){ .sp = MAP_RUNTIME_STACKS + t->slot * 0x100000 + 0x80000, .size = 0x40000 };
}

static void set_kernel_action(int sig, const struct kernel_action *action)
{
	long r = SYS4(__NR_rt_sigaction, sig, action, 0, 8);
	if (r < 0 && sig != SIGKILL && sig != SIGSTOP)
		BUG("rt_sigaction failed");
}

static bool is_fatal_default(int sig)
{
	return !(harmless & SIGNAL_BIT(sig));
}

/* What the kernel shall do for the program's wish. */
static void install(int sig)
{
	const struct kernel_action *wish = &process.actions[sig];
	struct kernel_action ours = { .handler = (uint64_t)on_signal,
				      .restorer = (uint64_t)gate_restorer,
				      .mask = ~0ull,
				      .flags = SA_SIGINFO | SA_ONSTACK | SA_RESTORER };
	if (sig == SIGSYS || sig == SIGKILL || sig == SIGSTOP)
		return;
	bool handled = wish->handler > 1;
	bool wanted = handled || (wish->handler == 0 && is_fatal_default(sig)) || (fault_signals & SIGNAL_BIT(sig));
	if (replaying)
		wanted = fault_signals & SIGNAL_BIT(sig);
	if (!wanted) {
		struct kernel_action plain = { .handler = replaying ? 0 : wish->handler,
					       .flags = replaying ? 0 : wish->flags & ~(uint64_t)SA_RESTORER };
		set_kernel_action(sig, &plain);
		return;
	}
	if (handled)
		ours.flags |= wish->flags & (SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT);
	set_kernel_action(sig, &ours);
}

uint64_t signals_kernel_mask(uint64_t mask)
{
	return replaying ? 0 : mask & ~(SIGSYS_BIT | NEVER | fault_signals);
}

static void set_kernel_mask(uint64_t mask)
{
	mask = signals_kernel_mask(mask);
	SYS4(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
}

/* Faults must find us from the beginning: the trace's disk may be full. */
void signals_early(void)
{
	struct alt_stack stack = our_stack(&main_thread);
	SYS2(__NR_sigaltstack, &stack, 0);
	set_kernel_action(SIGBUS, &(struct kernel_action){ .handler = (uint64_t)on_signal,
							   .restorer = (uint64_t)gate_restorer,
							   .mask = ~0ull,
							   .flags = SA_SIGINFO | SA_ONSTACK | SA_RESTORER });
}

void signals_start(const struct start_info *info)
{
	struct thread *t = &main_thread;
	struct kernel_action sys = { .handler = (uint64_t)on_sigsys,
				     .restorer = (uint64_t)gate_restorer,
				     .mask = ~0ull,
				     .flags = SA_SIGINFO | SA_ONSTACK | SA_RESTORER };
	set_kernel_action(SIGSYS, &sys);
	t->mask = info->blocked & ~NEVER;
	t->alt = (struct alt_stack){ .flags = SS_DISABLE };
	t->timer = -1;
	for (int sig = 1; sig <= SIGNALS; sig++) {
		bool ignored = info->ignored & SIGNAL_BIT(sig);
		process.actions[sig] = (struct kernel_action){ .handler = ignored };
		/* the others are as the kernel has them after exec */
		if (replaying || (!ignored && is_fatal_default(sig)) || (fault_signals & SIGNAL_BIT(sig)))
			install(sig);
	}
	set_kernel_mask(t->mask);
}

/*
 * Around fork all signals are blocked: one that reaches the child before it has
 * forgotten its parent's held signals would be forgotten with them.
 */
void signals_before_fork(void)
{
	set_kernel_mask(~0ull);
}

void signals_after_fork(struct thread *t, bool child)
{
	if (child) {
		t->held_count = 0;
		t->held = 0;
		t->timer = -1; /* timers are not inherited */
	}
	set_kernel_mask(t->held_count ? ~0ull : t->mask);
}

_Noreturn void die_by_signal(int sig)
{
	log_done(&main_thread);
	struct kernel_action plain = { .handler = 0 };
	uint64_t only = ~SIGNAL_BIT(sig);
	if (sig != SIGKILL && sig != SIGSTOP)
		set_kernel_action(sig, &plain);
	SYS4(__NR_rt_sigprocmask, SIG_SETMASK, &only, 0, 8);
	SYS2(__NR_kill, SYS0(__NR_getpid), sig);
	for (;;)
		SYS1(__NR_exit_group, 128 + sig);
}

/* ---- holding ------------------------------------------------------------------------- */

static void arm_timer(struct thread *t, uint64_t us)
{
	struct {
		uint64_t interval[2], value[2];
	} when = { { 0, 0 }, { us / 1000000, us % 1000000 * 1000 } };
	if (t->timer < 0) {
		struct {
			uint64_t value;
			int32_t signo, notify, tid;
			int32_t pad[11];
		} event = { .signo = SIGSYS, .notify = 4 /* SIGEV_THREAD_ID */, .tid = (int32_t)SYS0(__NR_gettid) };
		if (SYS3(__NR_timer_create, 1, &event, &t->timer) < 0) {
			t->timer = -1;
			return;
		}
	}
	SYS4(__NR_timer_settime, t->timer, 0, &when, 0);
}

static uint64_t mask_now(const struct thread *t)
{
	return t->waiting ? t->wait_mask : t->mask;
}

/* The first held signal that is not blocked, or -1. */
static int deliverable(const struct thread *t)
{
	for (uint32_t i = 0; i < t->held_count; i++)
		if (!(mask_now(t) & SIGNAL_BIT(t->held_signals[i].sig)))
			return (int)i;
	return -1;
}

void signals_update_held(struct thread *t)
{
	__atomic_store_n(&t->held, t->held_count && deliverable(t) >= 0, __ATOMIC_RELAXED);
}

static void hold(struct thread *t, int sig, const siginfo_t *info, void *uc)
{
	if (t->held_count == COUNT(t->held_signals))
		BUG("too many held signals");
	struct held_signal *h = &t->held_signals[t->held_count++];
	h->sig = sig;
	memcpy(h->info, info, sizeof h->info);
	/* our handler ran, so the signal was not blocked where it came */
	__atomic_store_n(&t->held, 1, __ATOMIC_RELAXED);
	*context_mask(uc) = signals_kernel_mask(~0ull);
	uint64_t pc = context_pc(uc);
	if (pc >= (uint64_t)gate_window && pc <= (uint64_t)gate_svc)
		context_set_pc(uc, (uint64_t)gate_held);
	else
		arm_timer(t, HOLD_MS * 1000);
}

static void take_held(struct thread *t, int i, struct held_signal *out)
{
	*out = t->held_signals[i];
	t->held_count--;
	for (uint32_t k = (uint32_t)i; k < t->held_count; k++)
		t->held_signals[k] = t->held_signals[k + 1];
	if (!t->held_count && t->timer >= 0)
		arm_timer(t, 0);
}

/* ---- delivering ------------------------------------------------------------------------- */

/* Where the handler's frame begins: the alternate stack if it wants it and is not on it yet. */
static uint64_t frame_stack(const struct thread *t, const struct kernel_action *a, uint64_t sp)
{
	bool on_alt = sp > t->alt.sp && sp <= t->alt.sp + t->alt.size && !(t->alt.flags & SS_DISABLE);
	if ((a->flags & SA_ONSTACK) && !(t->alt.flags & SS_DISABLE) && !on_alt)
		return t->alt.sp + t->alt.size;
#ifdef __x86_64__
	return sp - 128; /* the red zone */
#else
	return sp;
#endif
}

/* The masks of handler and program change as the kernel would change them. */
static uint64_t enter_masks(struct thread *t, int sig, struct kernel_action *a)
{
	uint64_t base = mask_now(t);
	uint64_t saved = t->mask;
	t->mask = base | a->mask;
	if (!(a->flags & SA_NODEFER))
		t->mask |= SIGNAL_BIT(sig);
	t->mask &= ~NEVER;
	t->waiting = false;
	if (a->flags & SA_RESETHAND) {
		process.actions[sig].handler = 0;
		process.actions[sig].flags &= ~(uint64_t)SA_SIGINFO;
		install(sig);
	}
	return saved;
}

static uint64_t restorer_of(const struct kernel_action *a)
{
	return a->flags & SA_RESTORER ? a->restorer : MAP_SIGNAL_RETURN;
}

/* Begins the program's handler with the program's registers as they are in t->regs. */
static _Noreturn void begin_handler(struct thread *t, int sig, const void *info)
{
	struct kernel_action a = process.actions[sig];
	uint64_t saved = enter_masks(t, sig, &a);
	struct handler_frame f;
	if (!frame_build(&f, frame_stack(t, &a, t->regs.sp), &t->regs, info, saved, &t->alt, 0, restorer_of(&a)))
		die_by_signal(SIGSEGV);
	signals_update_held(t);
	/* A signal that comes from here on is held, and all others are blocked again until it is delivered. */
	if (!replaying)
		set_kernel_mask(t->mask);
	enter_handler(a.handler, f.sp, (uint64_t)sig, f.info, f.context, f.lr, f.fp);
}

static void log_signal(struct thread *t, int sig, unsigned flags, int64_t us, const void *info)
{
	struct block b = { .kind = BLOCK_OUT, .len = 128 };
	log_simple(t, ENTRY_SIGNAL, (unsigned)sig, flags, us, &b, info);
}

static void record_deliver(struct thread *t, bool before)
{
	for (;;) {
		/* keeps on_signal() out while the list is changed */
		set_kernel_mask(~0ull);
		int i = deliverable(t);
		if (i < 0)
			break;
		struct held_signal h;
		take_held(t, i, &h);
		const struct kernel_action *a = &process.actions[h.sig];
		unsigned flags = before ? SIGNAL_BEFORE : 0;
		if (a->handler > 1) {
			log_signal(t, h.sig, flags, 0, h.info);
			begin_handler(t, h.sig, h.info);
		}
		/* the disposition may have changed while it was held */
		if (a->handler == 0 && is_fatal_default(h.sig)) {
			log_signal(t, h.sig, flags | SIGNAL_FATAL, 0, h.info);
			die_by_signal(h.sig);
		}
	}
	t->waiting = false;
	signals_update_held(t);
	set_kernel_mask(t->mask);
}

static void replay_deliver(struct thread *t, bool before)
{
	const struct entry *e = log_peek(t);
	if (!e || e->kind != ENTRY_SIGNAL)
		return;
	if (e->flags & SIGNAL_INEXACT) {
		if (!before) {
			/* it came in the middle of nowhere: go on, and begin it when as much time has passed */
			arm_timer(t, (uint64_t)MAX(e->result, 1000));
			return;
		}
	} else if (before != !!(e->flags & SIGNAL_BEFORE)) {
		return;
	}
	if (t->timer >= 0)
		arm_timer(t, 0);
	int sig = e->nr;
	uint8_t info[128];
	const struct block *b = entry_find(e, BLOCK_OUT, -1);
	if (!b || b->len != sizeof info || sig < 1 || sig > SIGNALS)
		cannot("the trace has a damaged signal entry at event %u", t->log.events);
	memcpy(info, block_data(b), sizeof info);
	bool fatal = e->flags & SIGNAL_FATAL;
	if (!fatal && process.actions[sig].handler <= 1)
		diverged(t, e, "the program has no handler for this signal");
	log_take(t);
	if (fatal)
		die_by_signal(sig);
	begin_handler(t, sig, info);
}

void signals_deliver_now(struct thread *t, bool before)
{
	if (replaying) {
		replay_deliver(t, before);
		if (!before)
			t->waiting = false;
	} else {
		record_deliver(t, before);
	}
}

/* ---- faults --------------------------------------------------------------------------------- */

static void log_fault(struct thread *t, int sig, bool fatal, uint64_t addr, uint64_t pc)
{
	size_t size = sizeof(struct entry) + 8;
	struct entry *e = log_reserve(t, size);
	*e = (struct entry){ .size = (uint32_t)size,
			     .nr = (uint16_t)sig,
			     .kind = ENTRY_FAULT,
			     .flags = (uint8_t)(1 | (fatal ? SIGNAL_FATAL : 0)),
			     .result = (int64_t)addr };
	memcpy(e + 1, &pc, 8);
	log_commit(t, size);
}

static void check_fault(struct thread *t, int sig, uint64_t addr, uint64_t pc)
{
	const struct entry *e = log_peek(t);
	if (!e &&
	    (control->root_status == ~0u || process.image != control->root_image || (control->root_status & 0x7f)))
		return; /* killed while it handled this */
	t->regs.pc = pc;
	TEXT(now, 128);
	text_add(&now, "signal %d raised by the program at pc %x, address %x", (long)sig, pc, addr);
	if (!e || e->kind != ENTRY_FAULT || e->nr != sig || (uint64_t)e->result != addr ||
	    *(const uint64_t *)(e + 1) != pc)
		diverged(t, e, TEXT_OF(now));
	log_take(t);
}

static void give_fault(struct thread *t, int sig, siginfo_t *info, void *uc)
{
	struct kernel_action a = process.actions[sig];
	uint64_t addr = (uint64_t)info->si_addr, pc = context_pc(uc);
	bool fatal = a.handler <= 1 || (t->mask & SIGNAL_BIT(sig));
	if (replaying)
		check_fault(t, sig, addr, pc);
	else
		log_fault(t, sig, fatal, addr, pc);
	if (fatal) {
		/* the instruction runs again and the kernel ends the process, with the right core file */
		struct kernel_action plain = { .handler = 0 };
		set_kernel_action(sig, &plain);
		log_done(t);
		return;
	}
	struct regs r;
	struct handler_frame f;
	context_regs(uc, &r);
	uint64_t saved = enter_masks(t, sig, &a);
	if (!frame_build(&f, frame_stack(t, &a, r.sp), &r, info, saved, &t->alt, uc, restorer_of(&a)))
		die_by_signal(SIGSEGV);
	context_enter_handler(uc, &f, sig, a.handler);
	if (!replaying) {
		signals_update_held(t);
		*context_mask(uc) = signals_kernel_mask(t->held_count ? ~0ull : t->mask);
	}
}

/* The program reads the cycle counter, which the kernel makes a fault: one more thing to log. */
static void give_counter(struct thread *t, void *uc)
{
	uint64_t value, pc = context_pc(uc);
	if (replaying) {
		const struct entry *e = log_peek(t);
		if (!e)
			replay_ended(t);
		t->regs.pc = pc;
		if (e->kind != ENTRY_COUNTER || *(const uint64_t *)(e + 1) != pc)
			diverged(t, e, "the program reads the cycle counter");
		value = (uint64_t)e->result;
		log_take(t);
	} else {
		value = read_counter(uc);
		size_t size = sizeof(struct entry) + 8;
		struct entry *e = log_reserve(t, size);
		*e = (struct entry){
			.size = (uint32_t)size, .kind = ENTRY_COUNTER, .flags = 1, .result = (int64_t)value
		};
		memcpy(e + 1, &pc, 8);
		log_commit(t, size);
	}
	context_give_counter(uc, value);
}

static void own_fault(int sig, siginfo_t *info, uint64_t pc)
{
	uint64_t addr = (uint64_t)info->si_addr;
	if (sig == SIGBUS && addr >= MAP_STREAMS_BASE && addr < MAP_STREAMS_END)
		cannot("the trace's disk is full: recording stops here, up to event %u of this thread\n"
		       "heddle: what was recorded can be replayed. Record with -o DIR on a larger disk",
		       main_thread.log.events);
	cannot("BUG: signal %d inside Heddle at pc %x, address %x\nheddle: please report this with the trace directory",
	       (long)sig, pc, addr);
}

/* ---- the handlers ------------------------------------------------------------------------------ */

static bool in_runtime(uint64_t pc)
{
	return (pc >= MAP_LOADER_BASE && pc < MAP_LOADER_END) || patch_is_stub(pc);
}

static void on_signal(int sig, siginfo_t *info, void *uc)
{
	struct thread *t = &main_thread;
	uint64_t pc = context_pc(uc);
	bool fault = (fault_signals & SIGNAL_BIT(sig)) && info->si_code > 0;
	if (!fault) {
		if (!replaying)
			hold(t, sig, info, uc);
		else
			die_by_signal(sig); /* from outside: the user wants this replay to end */
		return;
	}
	if (pc >= (uint64_t)user_begin && pc < (uint64_t)user_end)
		context_set_pc(uc, (uint64_t)user_fault);
	else if (in_runtime(pc) && !patch_is_stub(pc))
		own_fault(sig, info, pc);
	else if (sig == SIGSEGV && context_is_counter(uc))
		give_counter(t, uc);
	else
		give_fault(t, sig, info, uc);
}

/* The thread has reached no event for a while. */
static void on_timer(struct thread *t, void *uc)
{
	uint64_t pc = context_pc(uc);
	if (in_runtime(pc)) {
		arm_timer(t, HOLD_MS * 1000); /* an event is under way after all */
		return;
	}
	uint8_t info[128];
	int sig;
	bool fatal;
	if (replaying) {
		const struct entry *e = log_peek(t);
		if (!e || e->kind != ENTRY_SIGNAL || !(e->flags & SIGNAL_INEXACT))
			return;
		sig = e->nr;
		fatal = e->flags & SIGNAL_FATAL;
		memcpy(info, block_data(entry_blocks(e)), sizeof info);
		log_take(t);
	} else {
		int i = deliverable(t);
		if (i < 0)
			return;
		struct held_signal h;
		take_held(t, i, &h);
		sig = h.sig;
		fatal = process.actions[sig].handler == 0;
		memcpy(info, h.info, sizeof info);
		if (process.actions[sig].handler == 1)
			return;
		log_signal(t, sig, SIGNAL_INEXACT | (fatal ? SIGNAL_FATAL : 0), HOLD_MS * 1000, info);
		__atomic_fetch_add(&control->inexact, 1, __ATOMIC_RELAXED);
	}
	if (fatal)
		die_by_signal(sig);
	struct kernel_action a = process.actions[sig];
	struct regs r;
	struct handler_frame f;
	context_regs(uc, &r);
	uint64_t saved = enter_masks(t, sig, &a);
	if (!frame_build(&f, frame_stack(t, &a, r.sp), &r, info, saved, &t->alt, uc, restorer_of(&a)))
		die_by_signal(SIGSEGV);
	context_enter_handler(uc, &f, sig, a.handler);
	signals_update_held(t);
	*context_mask(uc) = signals_kernel_mask(t->mask);
}

static void on_sigsys(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	if (info->si_code == SI_TIMER)
		on_timer(&main_thread, uc);
	else if (info->si_code == 1 /* SYS_SECCOMP */)
		patch_site(uc);
	/* A SIGSYS from elsewhere is not passed on: doc/nondeterminism.md */
}

/* ---- the program's calls --------------------------------------------------------------------------- */

void special_rt_sigaction(struct call *c);
void special_rt_sigprocmask(struct call *c);
void special_rt_sigreturn(struct call *c);
void special_sigaltstack(struct call *c);
void special_rt_sigsuspend(struct call *c);
void special_pause(struct call *c);

/*
 * These calls are worked out here, the same way in both modes: the kernel is
 * told only when recording. Outputs are logged as if the kernel had made them,
 * so that dump shows them and replay checks them.
 */
static void virtual_call(struct call *c, long result, uint64_t to, const void *data, uint32_t n)
{
	if (replaying) {
		call_replay(c);
		if (c->result != result)
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
	else
		old = process.actions[sig];
	if (!r && c->args[1]) {
		process.actions[sig] = new;
		process.actions[sig].mask &= ~NEVER;
		install((int)sig);
	}
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
		if (!t->held)
			set_kernel_mask(t->mask);
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

void special_rt_sigreturn(struct call *c)
{
	static uint8_t room[FRAME_ROOM];
	struct thread *t = c->t;
	struct alt_stack kernel_alt = our_stack(t);
	uint64_t mask;
	struct alt_stack alt;
	if (replaying) {
		call_replay(c);
	} else {
		call_begin(c);
		c->result = 0;
		call_end(c);
	}
	/* looked at first: the kernel's mask depends on whether a signal is held */
	if (user_copy(room, (void *)t->regs.sp, 1))
		die_by_signal(SIGSEGV);
	void *frame = frame_return(room, t->regs.sp, &mask, &alt, 0, &kernel_alt);
	if (!frame)
		die_by_signal(SIGSEGV);
	t->mask = mask & ~NEVER;
	t->alt = alt.flags & SS_DISABLE ? (struct alt_stack){ .flags = SS_DISABLE } :
					  (struct alt_stack){ .sp = alt.sp, .size = alt.size };
	signals_update_held(t);
	uint64_t kernel_mask = signals_kernel_mask(t->held_count ? ~0ull : t->mask);
	frame = frame_return(room, t->regs.sp, &mask, &alt, kernel_mask, &kernel_alt);
	gate_sigreturn(frame);
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
	call_begin(c);
	call_kernel(c);
	if (c->restart) {
		/* held just before: it counts as having interrupted the wait */
		c->restart = false;
		c->result = -EINTR;
	}
	call_end(c);
}

void special_pause(struct call *c)
{
	call_run(c);
	if (c->restart)
		c->restart = false, c->result = -EINTR;
}

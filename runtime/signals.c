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
#include "runtime/races/watch.h"
#include "runtime/runtime.h"
#include <asm/siginfo.h>
#include <asm/signal.h>
#include <linux/time.h>

#define HOLD_MS	      50
#define SIGSYS_BIT    SIGNAL_BIT(SIGSYS)
#define NEVER	      (SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP))
#define fault_signals signals_of_faults
/* Faults come through in our own handlers, too: they copy from and to the program. */
#define OUR_MASK   (~signals_of_faults)
#define OUR_FLAGS  (SA_SIGINFO | SA_ONSTACK | SA_RESTORER | SA_NODEFER)
#define SS_ONSTACK 1
#define SS_DISABLE 2
#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000
#endif

const uint64_t signals_of_faults = SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGFPE) |
				   SIGNAL_BIT(SIGTRAP);
/* Default action: nothing, or stop. Every other default ends the process. */
static const uint64_t harmless = SIGNAL_BIT(SIGCHLD) | SIGNAL_BIT(SIGURG) | SIGNAL_BIT(SIGWINCH) | SIGNAL_BIT(SIGCONT) |
				 SIGNAL_BIT(SIGTSTP) | SIGNAL_BIT(SIGTTIN) | SIGNAL_BIT(SIGTTOU) | SIGNAL_BIT(SIGSTOP);

static void on_signal(int sig, siginfo_t *info, void *uc);
static void on_sigsys(int sig, siginfo_t *info, void *uc);

/* ---- the kernel's side ------------------------------------------------------------ */

struct alt_stack signals_our_stack(const struct thread *t)
{
	return (struct alt_stack){ .sp = (uint64_t)t - THREAD_STRUCT_AT + THREAD_SIGNAL_AT,
				   .size = THREAD_SIGNAL_END - THREAD_SIGNAL_AT };
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
void signals_install(struct process *p, int sig)
{
	const struct kernel_action *wish = &p->actions[sig];
	struct kernel_action ours = { .handler = (uint64_t)on_signal,
				      .restorer = (uint64_t)gate_restorer,
				      .mask = OUR_MASK,
				      .flags = OUR_FLAGS };
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
	if (handled && fault_signals & SIGNAL_BIT(sig))
		order_handles_faults(p);
	if (handled)
		ours.flags |= wish->flags & (SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT);
	set_kernel_action(sig, &ours);
}

/*
 * The actions are the process's: one thread may set them while another takes a signal. At replay a signal brings its own
 * with it. Nobody faults who holds the lock, and a signal that interrupts it is only held, so it is soon free again.
 */
static uint32_t actions_lock;

struct kernel_action signals_action(struct thread *t, int sig, const struct kernel_action *new)
{
	while (__atomic_exchange_n(&actions_lock, 1, __ATOMIC_ACQUIRE))
		SYS0(__NR_sched_yield);
	struct kernel_action old = t->process->actions[sig];
	if (new) {
		t->process->actions[sig] = *new;
		signals_install(t->process, sig);
	}
	__atomic_store_n(&actions_lock, 0, __ATOMIC_RELEASE);
	return old;
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
	struct alt_stack stack = signals_our_stack(thread_here());
	SYS2(__NR_sigaltstack, &stack, 0);
	set_kernel_action(SIGBUS, &(struct kernel_action){ .handler = (uint64_t)on_signal,
							   .restorer = (uint64_t)gate_restorer,
							   .mask = OUR_MASK,
							   .flags = OUR_FLAGS });
}

void signals_start(const struct start_info *info)
{
	struct thread *t = thread_here();
	struct kernel_action sys = { .handler = (uint64_t)on_sigsys,
				     .restorer = (uint64_t)gate_restorer,
				     .mask = OUR_MASK,
				     .flags = OUR_FLAGS };
	set_kernel_action(SIGSYS, &sys);
	t->mask = info->blocked & ~NEVER;
	t->alt = (struct alt_stack){ .flags = SS_DISABLE };
	t->timer = -1;
	for (int sig = 1; sig <= SIGNALS; sig++) {
		bool ignored = info->ignored & SIGNAL_BIT(sig);
		t->process->actions[sig] = (struct kernel_action){ .handler = ignored };
		/* the others are as the kernel has them after exec */
		if (replaying || (!ignored && is_fatal_default(sig)) || (fault_signals & SIGNAL_BIT(sig)))
			signals_install(t->process, sig);
	}
	set_kernel_mask(t->mask);
}

void signals_set_mask(struct thread *t)
{
	set_kernel_mask(t->held_count ? ~0ull : t->mask);
}

void signals_thread_start(struct thread *t)
{
	struct alt_stack stack = signals_our_stack(t);
	SYS2(__NR_sigaltstack, &stack, 0);
	signals_set_mask(t);
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
		actions_lock = 0;
		t->held_count = 0;
		t->held = 0;
		t->timer = -1; /* timers are not inherited */
	}
	signals_set_mask(t);
}

_Noreturn void die_by_signal(int sig)
{
	log_done(thread_here());
	struct kernel_action plain = { .handler = 0 };
	uint64_t only = ~SIGNAL_BIT(sig);
	if (sig != SIGKILL && sig != SIGSTOP)
		set_kernel_action(sig, &plain);
	SYS4(__NR_rt_sigprocmask, SIG_SETMASK, &only, 0, 8);
	/* to this thread: one that reached another thread could come after our exit_group() */
	SYS3(__NR_tgkill, SYS0(__NR_getpid), SYS0(__NR_gettid), sig);
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
	/* the quick paths of libheddle.so do not look for held signals */
	t->front->quick = !replaying && !control->chaos && !t->held && !order_sees_ops(t);
	order_set_until(t);
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
	t->front->quick = 0;
	order_set_until(t);
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
	t->order_released = t->order_paused = false;
	if (a->flags & SA_RESETHAND) {
		struct kernel_action next = *a;
		next.handler = 0;
		next.flags &= ~(uint64_t)SA_SIGINFO;
		signals_action(t, sig, &next);
	}
	return saved;
}

static uint64_t restorer_of(const struct kernel_action *a)
{
	return a->flags & SA_RESTORER ? a->restorer : MAP_SIGNAL_RETURN;
}

/* Begins the program's handler with the program's registers as they are in t->regs. */
static _Noreturn void begin_handler(struct thread *t, int sig, const void *info, struct kernel_action a)
{
	if (order_syncs())
		order_acquired(t); /* it follows what sent the signal */
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

static void log_signal(struct thread *t, int sig, unsigned flags, int64_t us, const void *info,
		       const struct kernel_action *action)
{
	struct {
		struct entry e;
		uint64_t args[5];
		struct block b;
		uint8_t info[128];
		struct block b2;
		struct kernel_action action;
	} *all = log_reserve(t, sizeof *all);
	all->e = (struct entry){ .size = sizeof *all,
				 .nr = (uint16_t)sig,
				 .kind = ENTRY_SIGNAL,
				 .flags = (uint8_t)(flags | 5),
				 .result = us };
	all->args[0] = t->front->clock;
	all->args[1] = flags & SIGNAL_BEFORE ? t->dropped_ticket : 0;
	/* what sent the signal, and what made its handler, had begun */
	all->args[2] = __atomic_load_n(&tickets, __ATOMIC_ACQUIRE);
	all->args[3] = flags & SIGNAL_AT_HOOK ? t->hook_place : t->self->events;
	all->args[4] = t->self->polls;
	all->b = (struct block){ .kind = BLOCK_OUT, .len = sizeof all->info };
	memcpy(all->info, info, sizeof all->info);
	all->b2 = (struct block){ .kind = BLOCK_ACTION, .len = sizeof all->action };
	all->action = *action;
	t->dropped_ticket = 0;
	log_commit(t, sizeof *all);
}

static void record_deliver(struct thread *t, unsigned flags)
{
	for (;;) {
		/* keeps on_signal() out while the list is changed */
		set_kernel_mask(~0ull);
		int i = deliverable(t);
		if (i < 0)
			break;
		struct held_signal h;
		take_held(t, i, &h);
		struct kernel_action a = signals_action(t, h.sig, 0);
		if (a.handler > 1) {
			log_signal(t, h.sig, flags, 0, h.info, &a);
			begin_handler(t, h.sig, h.info, a);
		}
		/* the disposition may have changed while it was held */
		if (a.handler == 0 && is_fatal_default(h.sig)) {
			shown_end();
			log_signal(t, h.sig, flags | SIGNAL_FATAL, 0, h.info, &a);
			die_by_signal(h.sig);
		}
	}
	t->waiting = false;
	signals_update_held(t);
	set_kernel_mask(t->mask);
}

/* Replay: what the program wanted when it was recorded. */
static struct kernel_action logged_action(struct thread *t, const struct entry *e)
{
	struct kernel_action a;
	const struct block *b = entry_find(e, BLOCK_ACTION, -1);
	if (!b || b->len != sizeof a)
		cannot("the trace has a damaged signal entry at event %u", t->log.events);
	memcpy(&a, block_data(b), sizeof a);
	return a;
}

static void replay_deliver(struct thread *t, unsigned flags)
{
	const struct entry *e = log_peek(t);
	bool before = flags & SIGNAL_BEFORE;
	if (!e || e->kind != ENTRY_SIGNAL)
		return;
	const uint64_t *args = (const uint64_t *)(e + 1);
	if (args[0] != t->front->clock && !(e->flags & SIGNAL_INEXACT))
		return; /* it comes after an op that is not yet done */
	if ((e->flags ^ flags) & SIGNAL_AT_HOOK ||
	    (flags & SIGNAL_AT_HOOK && (args[3] != t->hook_place || args[4] != t->self->polls)))
		return; /* at a hook further on, or after the hooks */
	if (!(flags & SIGNAL_AT_HOOK) && !(e->flags & SIGNAL_INEXACT) && args[3] != t->self->events)
		return; /* further on in the op or call that it interrupted: it is asked again there */
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
	struct kernel_action action = logged_action(t, e);
	if (!one_thread) {
		if (args[1])
			ticket_enter(args[1] - 1); /* the call that it interrupted had begun */
		ticket_leave(t, args[2]);
	}
	log_take(t);
	if (fatal) {
		thread_wait_for_others(t);
		deadlock_leave();
		die_by_signal(sig);
	}
	if (unlikely(races_watch))
		races_handler_begins(t);
	begin_handler(t, sig, info, action);
}

void signals_deliver_now(struct thread *t, bool before)
{
	unsigned flags = before ? SIGNAL_BEFORE : 0;
	if (replaying) {
		replay_deliver(t, flags);
		if (!before)
			t->waiting = false;
	} else {
		record_deliver(t, flags);
	}
}

void signals_deliver_at_hook(struct thread *t)
{
	if (replaying)
		replay_deliver(t, SIGNAL_BEFORE | SIGNAL_AT_HOOK);
	else
		record_deliver(t, SIGNAL_BEFORE | SIGNAL_AT_HOOK);
}

/* ---- faults --------------------------------------------------------------------------------- */

/* place: in a hook, see signals_fault_at_hook(); else 0. */
static void log_fault(struct thread *t, int sig, bool fatal, uint64_t addr, uint64_t pc, uint64_t place,
		      const struct kernel_action *a)
{
	struct {
		struct entry e;
		uint64_t args[4];
		struct block b;
		struct kernel_action action;
	} *all = log_reserve(t, sizeof *all);
	all->e = (struct entry){ .size = sizeof *all,
				 .nr = (uint16_t)sig,
				 .kind = ENTRY_FAULT,
				 .flags = (uint8_t)(4 | (fatal ? SIGNAL_FATAL : 0) | (place ? SIGNAL_AT_HOOK : 0)),
				 .result = (int64_t)addr };
	all->args[0] = pc;
	all->args[1] = all->args[2] = 0;
	all->args[3] = place;
	all->b = (struct block){ .kind = BLOCK_ACTION, .len = sizeof all->action };
	all->action = *a;
	log_commit(t, sizeof *all);
}

/* Replay: was it fatal, and what was done with it? Hooked and fatal: it may be in the other copy of a loop, which nothing
   will see, since the process ends here. */
static bool check_fault(struct thread *t, int sig, uint64_t addr, uint64_t pc, uint64_t place, bool hooked,
			struct kernel_action *a)
{
	futex_pass(t);
	const struct entry *e = log_peek(t);
	if (!e && (control->root_status == ~0u || image_number != control->root_image || (control->root_status & 0x7f)))
		replay_ended(t); /* killed before it was logged */
	t->regs.pc = pc;
	TEXT(now, 128);
	text_add(&now, "signal %d raised by the program at pc %x, address %x", (long)sig, pc, addr);
	const uint64_t *args = (const uint64_t *)(e + 1);
	if (!e || e->kind != ENTRY_FAULT || e->nr != sig || (uint64_t)e->result != addr || args[3] != place ||
	    (args[0] != pc && !(hooked && e->flags & SIGNAL_FATAL)))
		diverged(t, e, TEXT_OF(now));
	bool fatal = e->flags & SIGNAL_FATAL;
	*a = logged_action(t, e);
	log_take(t);
	return fatal;
}

static void give_fault(struct thread *t, int sig, siginfo_t *info, void *uc)
{
	struct kernel_action a = signals_action(t, sig, 0);
	uint64_t addr = (uint64_t)info->si_addr, pc = context_pc(uc);
	bool fatal = a.handler <= 1 || (t->mask & SIGNAL_BIT(sig));
	bool hooked = order_fault(t);
	if (fatal && !replaying)
		shown_end();
	if (replaying)
		fatal = check_fault(t, sig, addr, pc, 0, hooked, &a);
	else
		log_fault(t, sig, fatal, addr, pc, 0, &a);
	if (fatal && replaying)
		thread_wait_for_others(t);
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

void signals_fault_at_hook(struct thread *t, uint64_t place)
{
	siginfo_t info;
	memcpy(&info, t->fault_info, sizeof t->fault_info);
	int sig = info.si_signo;
	uint64_t addr = (uint64_t)info.si_addr, pc = regs_caller(&t->regs);
	struct kernel_action a = signals_action(t, sig, 0);
	if (replaying) {
		const struct entry *e = log_peek(t);
		if (!e || e->kind != ENTRY_FAULT || !(e->flags & SIGNAL_AT_HOOK))
			return;
		order_fault(t);
		check_fault(t, sig, addr, pc, place, false, &a);
	} else {
		if (one_thread || a.handler <= 1 || t->mask & SIGNAL_BIT(sig))
			return;
		order_fault(t);
		log_fault(t, sig, false, addr, pc, place, &a);
	}
	begin_handler(t, sig, &info, a);
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
		       thread_here()->log.events);
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
	struct thread *t = thread_here();
	uint64_t pc = context_pc(uc);
	bool fault = (fault_signals & SIGNAL_BIT(sig)) && info->si_code > 0;
	if (!fault) {
		if (!replaying)
			hold(t, sig, info, uc);
		else
			die_by_signal(sig); /* from outside: the user wants this replay to end */
		return;
	}
	if (patch_program_pc(pc) != pc) /* an atomic instruction, made in its stub */
		context_set_pc(uc, pc = patch_program_pc(pc));
	bool vectors = pc >= (uint64_t)user_vectors_begin && pc < (uint64_t)user_vectors_end;
	if ((pc >= (uint64_t)user_begin && pc < (uint64_t)user_end) || vectors) {
		memcpy(t->fault_info, info, sizeof t->fault_info);
		context_set_pc(uc, vectors ? (uint64_t)user_vectors_fault : (uint64_t)user_fault);
		return;
	}
	if (in_runtime(pc) && !patch_is_stub(pc))
		own_fault(sig, info, pc);
	else if (sig == SIGSEGV && info->si_code == SI_KERNEL &&
		 context_is_counter(uc)) /* si_code: or pc may not be readable */
		give_counter(t, uc);
	else if (sig == SIGILL && patch_continue(pc) != pc)
		context_set_pc(uc, patch_continue(pc));
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
	struct kernel_action a;
	int sig;
	bool fatal;
	if (replaying) {
		const struct entry *e = log_peek(t);
		if (!e || e->kind != ENTRY_SIGNAL || !(e->flags & SIGNAL_INEXACT))
			return;
		sig = e->nr;
		fatal = e->flags & SIGNAL_FATAL;
		memcpy(info, block_data(entry_blocks(e)), sizeof info);
		if (!one_thread)
			ticket_leave(t, ((const uint64_t *)(e + 1))[2]);
		a = logged_action(t, e);
		log_take(t);
	} else {
		int i = deliverable(t);
		if (i < 0)
			return;
		struct held_signal h;
		take_held(t, i, &h);
		sig = h.sig;
		a = signals_action(t, sig, 0);
		fatal = a.handler == 0;
		memcpy(info, h.info, sizeof info);
		if (a.handler == 1)
			return;
		if (fatal)
			shown_end();
		log_signal(t, sig, SIGNAL_INEXACT | (fatal ? SIGNAL_FATAL : 0), HOLD_MS * 1000, info, &a);
		__atomic_fetch_add(&control->inexact, 1, __ATOMIC_RELAXED);
	}
	if (fatal)
		die_by_signal(sig);
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
		on_timer(thread_here(), uc);
	else if (info->si_code == 1 /* SYS_SECCOMP */)
		patch_site(uc);
	/* A SIGSYS from elsewhere is not passed on: doc/nondeterminism.md */
}

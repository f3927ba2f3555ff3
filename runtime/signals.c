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
 * 3. A thread that reaches no event: a timer of ours (SIGSYS, with the thread for its value)
 *    looks again when it has run for HOLD_MS; then a fatal default acts, or the handler runs in
 *    the middle of nowhere and the recording says that it is not exact from there.
 *
 * The kernel's mask is the program's, less SIGSYS and the signals of faults:
 * those must always reach us (user_copy() relies on it). A program that blocks
 * them is served from its own mask, which is kept in struct thread.
 *
 * Replaying. Nothing asynchronous is left: the log says after which event which
 * handler begins. Only faults are real, and each must be in the log.
 */
#include "runtime/signals.h"

/* Handled by us, and never blocked, whatever the program wants. */
#define ALWAYS_OURS (SIGNAL_BIT(SIGSYS) | signals_of_faults)
/* Faults come through in our own handlers, too: they copy from and to the program. */
#define OUR_MASK (~signals_of_faults)
/* At replay they wait for other threads as well (tickets, the end), and a checkpoint stops whoever waits. */
#define OUR_MASK_NOW (OUR_MASK & ~(replaying ? SIGNAL_BIT(CHECKPOINT_SIGNAL) : 0))
#define OUR_FLAGS    (SA_SIGINFO | SA_ONSTACK | SA_RESTORER | SA_NODEFER)

const uint64_t signals_of_faults = SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGFPE) |
				   SIGNAL_BIT(SIGTRAP);
/* Default action: nothing, or stop. Every other default ends the process. */
static const uint64_t harmless = SIGNAL_BIT(SIGCHLD) | SIGNAL_BIT(SIGURG) | SIGNAL_BIT(SIGWINCH) | SIGNAL_BIT(SIGCONT) |
				 SIGNAL_BIT(SIGTSTP) | SIGNAL_BIT(SIGTTIN) | SIGNAL_BIT(SIGTTOU) | SIGNAL_BIT(SIGSTOP);

static void on_signal(int sig, siginfo_t *info, void *uc);
static void on_sigsys(int sig, siginfo_t *info, void *uc);
static void on_stop(int sig, siginfo_t *info, void *uc);

/* ---- the kernel's side ------------------------------------------------------------ */

struct alt_stack signals_our_stack(const struct thread *t)
{
	return (struct alt_stack){ .sp = (uint64_t)t - THREAD_STRUCT_AT + THREAD_SIGNAL_AT,
				   .size = THREAD_SIGNAL_END - THREAD_SIGNAL_AT };
}

void set_kernel_action(int sig, const struct kernel_action *action)
{
	long r = SYS4(__NR_rt_sigaction, sig, action, 0, 8);
	if (r < 0 && sig != SIGKILL && sig != SIGSTOP)
		BUG("rt_sigaction failed");
}

bool is_fatal_default(int sig)
{
	return !(harmless & SIGNAL_BIT(sig));
}

/* What the kernel shall do for the program's wish. */
void signals_install(struct process *p, int sig)
{
	const struct kernel_action *wish = &p->actions[sig];
	struct kernel_action ours = { .handler = (uint64_t)(sig == SIGSYS ? on_sigsys : on_signal),
				      .restorer = (uint64_t)gate_restorer,
				      .mask = OUR_MASK_NOW,
				      .flags = OUR_FLAGS };
	if (sig == SIGKILL || sig == SIGSTOP || (replaying && sig == CHECKPOINT_SIGNAL))
		return;
	bool handled = wish->handler > 1, always = ALWAYS_OURS & SIGNAL_BIT(sig);
	if (!always && (replaying || !(handled || (wish->handler == 0 && is_fatal_default(sig))))) {
		struct kernel_action plain = { .handler = replaying ? 0 : wish->handler,
					       .flags = replaying ? 0 : wish->flags & ~(uint64_t)SA_RESTORER };
		set_kernel_action(sig, &plain);
		return;
	}
	if (handled && signals_of_faults & SIGNAL_BIT(sig))
		order_handles_faults(p);
	if (handled)
		ours.flags |= wish->flags & (SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT);
	else if (always) /* ignored or blocked, it comes to us all the same, but must not end a call */
		ours.flags |= SA_RESTART;
	set_kernel_action(sig, &ours);
}

/*
 * The actions are the process's: one thread may set them while another takes a signal. At replay a signal brings its
 * own with it. Nobody faults who holds the lock, and a signal that interrupts it is only held, so it is soon free
 * again.
 */
static uint32_t actions_lock;

struct kernel_action signals_action(struct thread *t, int sig, const struct kernel_action *new)
{
	brief_lock(&actions_lock);
	struct kernel_action old = t->process->actions[sig];
	if (new) {
		t->process->actions[sig] = *new;
		signals_install(t->process, sig);
	}
	brief_unlock(&actions_lock);
	return old;
}

uint64_t signals_kernel_mask(uint64_t mask)
{
	return replaying ? 0 : mask & ~(ALWAYS_OURS | NEVER);
}

void set_kernel_mask(uint64_t mask)
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
	if (replaying)
		set_kernel_action(CHECKPOINT_SIGNAL, &(struct kernel_action){ .handler = (uint64_t)on_stop,
									      .restorer = (uint64_t)gate_restorer,
									      .mask = OUR_MASK,
									      .flags = OUR_FLAGS });
	t->mask = info->blocked & ~NEVER;
	t->alt = (struct alt_stack){ .flags = SS_DISABLE };
	t->timer = -1;
	for (int sig = 1; sig <= SIGNALS; sig++) {
		bool ignored = info->ignored & SIGNAL_BIT(sig);
		t->process->actions[sig] = (struct kernel_action){ .handler = ignored };
		/* the others are as the kernel has them after exec */
		if (replaying || (!ignored && is_fatal_default(sig)) || (ALWAYS_OURS & SIGNAL_BIT(sig)))
			signals_install(t->process, sig);
	}
	set_kernel_mask(t->mask);
}

void signals_set_mask(struct thread *t)
{
	set_kernel_mask(t->held ? ~0ull : t->mask);
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

/* ---- the handlers ------------------------------------------------------------------------------ */

static void on_signal(int sig, siginfo_t *info, void *uc)
{
	struct thread *t = thread_here();
	uint64_t pc = context_pc(uc);
	bool fault = (signals_of_faults & SIGNAL_BIT(sig)) && info->si_code > 0;
	if (!fault) {
		if (!replaying)
			hold(t, sig, info, uc);
		else
			die_by_signal(sig); /* from outside: the user wants this replay to end */
		return;
	}
	if (t->running.fault) {
		context_set_pc(uc, t->running.fault);
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
	if (pc >= (uint64_t)hook_short_load &&
	    pc < (uint64_t)hook_short_end) /* the other way comes to the same fault, where it is expected */
		context_set_pc(uc, pc < (uint64_t)hook_short_store ? (uint64_t)short_load : (uint64_t)short_store);
	else if (in_runtime(pc) && !patch_is_stub(pc))
		own_fault(sig, info, pc);
	else if (sig == SIGSEGV && info->si_code == SI_KERNEL && patch_trapped(pc))
		context_set_pc(uc, patch_trapped(pc));
	else if (sig == SIGSEGV && info->si_code == SI_KERNEL &&
		 context_is_counter(uc)) /* si_code: or pc may not be readable */
		give_counter(t, uc);
	else if (sig == SIGSEGV && info->si_code == SI_KERNEL && context_give_cpuid(uc))
		return;
	else if (sig == SIGILL &&
		 patch_is_under_way(pc)) /* first: what was under way may have ended before patch_continue() looks */
		return;
	else if (sig == SIGILL && patch_continue(pc) != pc)
		context_set_pc(uc, patch_continue(pc));
	else
		give_fault(t, sig, info, uc);
}

static void on_sigsys(int sig, siginfo_t *info, void *uc)
{
	if (is_our_timer(thread_here(), info))
		on_timer(thread_here(), uc);
	else if (info->si_code == 1 /* SYS_SECCOMP */)
		patch_site(uc);
	else
		on_signal(sig, info, uc);
}

static void on_stop(int sig, siginfo_t *info, void *uc)
{
	(void)sig, (void)info;
	checkpoint_stop(thread_here(), uc);
}

/* Signals that an instruction raised: the program's own, a look at the cycle counter, or ours. */
#include "runtime/signals.h"

/* place: in a hook, see signals_fault_at_hook(); else 0. grouped: see group_again.c. */
static void log_fault(struct thread *t, int sig, bool fatal, uint64_t addr, uint64_t pc, uint64_t place, bool grouped,
		      const struct kernel_action *a)
{
	struct {
		struct entry e;
		struct fault_args args;
		struct block b;
		struct kernel_action action;
	} *all = log_reserve(t, sizeof *all);
	all->e = (struct entry){ .size = sizeof *all,
				 .nr = (uint16_t)sig,
				 .kind = ENTRY_FAULT,
				 .flags = (uint8_t)(sizeof all->args / 8 | (fatal ? SIGNAL_FATAL : 0) |
						    (place ? SIGNAL_AT_HOOK : 0)),
				 .result = (int64_t)addr };
	all->args = (struct fault_args){ .pc = pc, .grouped = grouped, .place = place };
	all->b = (struct block){ .kind = BLOCK_ACTION, .len = sizeof all->action };
	all->action = *a;
	log_commit(t, sizeof *all);
}

/* Replay: was it fatal, and what was done with it? Hooked and fatal: it may be in the other copy of a loop or of a few
   accesses, of which another comes first there. Nothing will see that, since the process ends here. */
static bool check_fault(struct thread *t, int sig, uint64_t addr, uint64_t pc, uint64_t place, bool hooked,
			bool *grouped, struct kernel_action *a)
{
	futex_pass(t);
	const struct entry *e = log_peek(t);
	if (!e && (control->root_status == STATUS_UNKNOWN || image_number != control->root_image || root_signal()))
		replay_ended(t); /* killed before it was logged */
	TEXT(now, 128);
	text_add(&now, "signal %d raised by the program at pc %x, address %x", (long)sig, pc, addr);
	const struct fault_args *args = (const struct fault_args *)(e + 1);
	if (!e || e->kind != ENTRY_FAULT || e->nr != sig || args->place != place ||
	    ((args->pc != pc || (uint64_t)e->result != addr) && !(hooked && e->flags & SIGNAL_FATAL))) {
		t->regs.pc = pc; /* only now: a handler that begins in a hook returns to the hook, not to its caller */
		diverged(t, e, TEXT_OF(now));
	}
	bool fatal = e->flags & SIGNAL_FATAL;
	*grouped = args->grouped;
	*a = logged_action(t, e);
	log_take(t);
	return fatal;
}

void give_fault(struct thread *t, int sig, siginfo_t *info, void *uc)
{
	struct kernel_action a = signals_action(t, sig, 0);
	uint64_t addr = (uint64_t)info->si_addr, pc = context_pc(uc);
	bool fatal = a.handler <= 1 || (t->mask & SIGNAL_BIT(sig));
	bool grouped = order_in_group(t), hooked = order_fault(t);
	if (hooked && !grouped)
		grouped = group_of_access(t, addr);
	bool comes_by = grouped;
	if (fatal && !replaying)
		shown_end();
	if (replaying)
		fatal = check_fault(t, sig, addr, pc, 0, hooked, &grouped, &a);
	else
		log_fault(t, sig, fatal, addr, pc, 0, grouped, &a);
	if (fatal && replaying)
		thread_wait_for_others(t);
#ifdef __x86_64__
	if (fatal && sig == SIGTRAP)
		die_by_signal(sig); /* int3 is over when it traps */
#endif
	if (fatal) {
		/* the instruction runs again and the kernel ends the process, with the right core file */
		struct kernel_action plain = { .handler = 0 };
		set_kernel_action(sig, &plain);
		log_done(t);
		context_set_pc(uc, patch_continue(pc));
		return;
	}
	struct regs r;
	context_regs(uc, &r);
	group_faulted(t, r.pc, r.sp, grouped, comes_by);
	begin_handler_from(uc, t, sig, info, &a);
	if (!replaying) {
		signals_update_held(t);
		*context_mask(uc) = signals_kernel_mask(t->held ? ~0ull : t->mask);
	}
}

/* No call of another thread can have made the difference there: the instruction itself may fault, and a handler that
   looks for the place of a null pointer finds it. */
#define NEVER_MAPPED 4096

void signals_fault_at_hook(struct thread *t, uint64_t place)
{
	siginfo_t info;
	memcpy(&info, t->fault_info, sizeof t->fault_info);
	int sig = info.si_signo;
	uint64_t addr = (uint64_t)info.si_addr, pc = regs_caller(&t->regs);
	struct kernel_action a = signals_action(t, sig, 0);
	bool grouped;
	if (replaying) {
		const struct entry *e = log_peek(t);
		if (!e || e->kind != ENTRY_FAULT || !(e->flags & SIGNAL_AT_HOOK))
			return;
		order_fault(t);
		check_fault(t, sig, addr, pc, place, false, &grouped, &a);
	} else {
		if (one_thread || a.handler <= 1 || t->mask & SIGNAL_BIT(sig) || addr < NEVER_MAPPED)
			return;
		log_fault(t, sig, false, addr, pc, place, false, &a); /* first, as cut_region() does it */
		order_fault(t);
	}
	begin_handler(t, sig, &info, a);
}

void give_counter(struct thread *t, void *uc)
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
		log_numbers(t, ENTRY_COUNTER, (int64_t)value, 1, &pc);
	}
	context_give_counter(uc, value);
}

void own_fault(int sig, siginfo_t *info, uint64_t pc)
{
	uint64_t addr = (uint64_t)info->si_addr;
	if (sig == SIGBUS && addr >= MAP_STREAMS_BASE && addr < MAP_STREAMS_END)
		cannot("the trace's disk is full: recording stops here, up to event %u of this thread\n"
		       "heddle: what was recorded can be replayed. Record with -o DIR on a larger disk",
		       thread_here()->log.events);
	cannot("BUG: signal %d inside Heddle at pc %x, address %x\nheddle: please report this with the trace directory",
	       (long)sig, pc, addr);
}

/* What the files about signals share. */
#ifndef SIGNALS_H
#define SIGNALS_H
#include "loader/arch/arch.h"
#include "loader/patch.h"
#include "runtime/runtime.h"
#include <asm/siginfo.h>
#include <asm/signal.h>

#define NEVER	   (SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP))
#define SS_DISABLE 2
#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000
#endif

/* ---- signals.c ----------------------------------------------------------------- */

void set_kernel_action(int sig, const struct kernel_action *action);
void set_kernel_mask(uint64_t mask);
bool is_fatal_default(int sig); /* if the program has no handler, it ends */
static inline bool in_runtime(uint64_t pc)
{
	return (pc >= MAP_LOADER_BASE && pc < MAP_LOADER_END) || patch_is_stub(pc);
}

/* ---- signals_deliver.c ------------------------------------------------------------ */

/* Puts aside a signal that came while the program ran, or in a call. */
void hold(struct thread *t, int sig, const siginfo_t *info, void *uc);
/* Replay: the thread goes on, and may make no event before its next signal. */
void signals_await_inexact(struct thread *t);
/* Does a SIGSYS come from the timer that looks after held signals, and not from one of the program's? */
bool is_our_timer(const struct thread *t, const siginfo_t *info);
/* The thread has reached no event for a while. */
void on_timer(struct thread *t, void *uc);
struct logged_signal {
	int sig;
	bool fatal, inexact;
	struct signal_args args;
	struct kernel_action action;
	uint8_t info[128];
};
/* Record: a handler has returned, and t->mask is that of the program again. Takes the first signal that had to wait
   for that. All are blocked now. */
bool take_let_in(struct thread *t, struct logged_signal *s);
/* Its handler begins (replay: that of the next entry) before the program goes on, as it would have by `uc`. */
void begin_let_in(struct thread *t, struct logged_signal *s, void *uc);
/* What the program wanted done with the signal of this entry. */
struct kernel_action logged_action(struct thread *t, const struct entry *e);
/* Begins the program's handler with the program's registers as they are in t->regs. */
_Noreturn void begin_handler(struct thread *t, int sig, const void *info, struct kernel_action a);
/* Makes it begin when our own handler, which got `uc`, returns. */
void begin_handler_from(void *uc, struct thread *t, int sig, const void *info, struct kernel_action *a);

/* ---- signals_fault.c --------------------------------------------------------------- */

/* The program's own instruction raised it. */
void give_fault(struct thread *t, int sig, siginfo_t *info, void *uc);
/* The program reads the cycle counter, which the kernel makes a fault: one more thing to log. */
void give_counter(struct thread *t, void *uc);
/* An instruction of ours did. */
void own_fault(int sig, siginfo_t *info, uint64_t pc);
#endif

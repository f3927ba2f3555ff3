/*
 * What each machine must offer to the loader and the runtime, beside entry.S:
 * stubs, contexts of signal handlers, signal frames. arch/<machine>/ has the
 * same file names on both machines; x86-64 has decode.c and access.c besides.
 */
#ifndef ARCH_H
#define ARCH_H
#include "loader/arch/regs.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread;
struct alt_stack;

/* ---- entry.S --------------------------------------------------------------- */

extern char gate_begin[], gate_end[]; /* the only place that may enter the kernel */
extern char gate_window[], gate_svc[], gate_held[], gate_restorer[];
extern char user_begin[], user_end[], user_fault[];
extern char user_vectors_begin[], user_vectors_end[], user_vectors_fault[]; /* empty on x86-64 */
extern char hook_short_load[], hook_short_store[], hook_short_end[]; /* the hooks of granules that are a thread's own */
extern char hook_ahead[];
extern char short_load[], short_store[];				   /* where they go on if they are not */
extern char image_text_end[], image_data[], image_file_end[], image_end[]; /* loader.lds */
void syscall_entry(void);
void atomic_entry(void);
void vector_get(unsigned n, uint64_t to[2]); /* aarch64 only, as the next one */
void vector_set(unsigned n, const uint64_t from[2]);
/* x86-64 only: makes the instruction at `code`, in the stub of its site, with the thread's `regs`. Not 0: it faults,
   and they are as they were. */
long instruction_run(const uint8_t *code, struct regs *regs);
void program_entry(void);
_Noreturn void resume_program(struct thread *t);
_Noreturn void enter_program(uint64_t pc, uint64_t sp, uint64_t arg);
_Noreturn void enter_handler(uint64_t pc, uint64_t sp, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t lr, uint64_t fp);
_Noreturn void run_on_stack(uint64_t stack, void (*function)(void *), void *argument);
_Noreturn void gate_sigreturn(void *frame);
long gate_vfork(uint64_t flags, uint64_t stack, uint64_t ptid, uint64_t tls, uint64_t ctid, struct thread *t);

/* clone as `args` say, on `stack`; the new thread calls thread_child(t). */
long gate_thread(const uint64_t args[6], uint64_t stack, struct thread *t);
long sync_call(long (*f)(struct thread *, uint64_t, uint64_t, uint64_t, uint64_t), uint64_t a, uint64_t b, uint64_t c,
	       uint64_t d);
struct front *sync_self(void);
/* On a new thread, before anything else: whatever entry.S needs to find its struct thread. */
void arch_thread_start(struct thread *t);
/* The program's thread pointer. */
uint64_t arch_thread_pointer(void);

/* ---- stub.c ------------------------------------------------------------------- */

#ifdef __x86_64__
#define STUB_SIZE	  128
#define STUB_IN_STEPS	  true /* a patch is longer than what can be written at once */
#define INSTRUCTION_LEAST 1    /* bytes; each begins at a multiple of it */
#else
#define STUB_SIZE	  64
#define STUB_IN_STEPS	  false
#define INSTRUCTION_LEAST 4
#endif
#define STUB_NOTHING 0x06 /* no instruction of x86-64, whatever follows */
/* Farthest distance between a site and its stub; 0: any. */
extern const uint64_t stub_reach;
/* Is there a system call instruction? */
bool stub_is_site(uint64_t address);
/* Writes the stub of the site at `at`. */
void stub_write(uint8_t *at, uint64_t site);
/*
 * How to make the site, which has just called `nr`, branch to its stub: fills
 * `bytes` to be written at *where; returns their number, or 0 if this site must
 * keep trapping. May extend the stub with instructions that the branch overwrites.
 */
unsigned stub_patch(uint8_t *stub, uint64_t site, uint64_t nr, uint8_t bytes[16], uint64_t *where);
/* Where the stub goes on with the instruction after the call, if the patch of the site covers that
   instruction; else 0. */
uint64_t stub_tail(const uint8_t *stub, uint64_t site);
/* Puts below `sp` what the stub takes from there on the way back, for a call that returns on another
   stack, or whose stack somebody used meanwhile. */
void stub_push_frame(const struct regs *r, uint64_t sp);
/* Is there a branch, as patches have it? Of STUB_IN_STEPS. */
bool stub_is_jump(uint64_t pc);
void flush_code(void *from, size_t n);

/* ---- stub.c of aarch64, access.c of x86-64 ---------------------------------------- */

/* Before code at [from, to) is led away, each function of it is looked at, and each address that the linker puts into
   data (none if `fixed`: such a program has its addresses already): where may somebody jump to? False: there is no need
   to know. */
bool stub_look_begin(uint64_t from, uint64_t to, bool fixed);
void stub_look_at_address(uint64_t address);
void stub_look(uint64_t from, uint64_t to);
/* The stub of an atomic instruction: into atomic_run() and back, or, if that finds that it faults, to the instruction
   itself. */
void stub_write_atomic(uint8_t *at, uint64_t site);
/*
 * What is to lead there: `bytes`, in place of the instructions at [from, to), which run in the stub from then on; a
 * branch, or a byte that traps (patch_trapped()). All stubs of the function have been written; its code is as it was
 * from `from` on, and ends at `to`.
 */
struct lead {
	uint64_t from, to;
	unsigned size;
	uint8_t bytes[8];
};
struct lead stub_lead(uint8_t *stub, uint64_t site, uint64_t from, uint64_t to);
/* By t->resume, which points into the stub: the instruction, and where it is made for real. */
const uint8_t *stub_atomic_instruction(uint64_t resume);
uint64_t stub_atomic_itself(uint64_t resume);
/* The site of the instruction that is made for real at pc; pc if there is none. */
uint64_t stub_atomic_site(uint64_t pc);
/* Where the code goes on that lies at pc, if that is directly behind the instruction of this stub; else 0. */
uint64_t stub_atomic_behind(uint64_t stub, uint64_t pc);

/* ---- frame.c: what our signal handlers get from the kernel ------------------------ */

uint64_t context_pc(const void *uc);
void context_set_pc(void *uc, uint64_t pc);
uint64_t *context_mask(void *uc);
/* The frame that it is a part of: for gate_sigreturn(). */
void *context_frame(void *uc);
void context_regs(const void *uc, struct regs *r);
/* If the instruction at pc reads the cycle counter: gives it `value` and steps over it. */
bool context_is_counter(const void *uc);
void context_give_counter(void *uc, uint64_t value);
uint64_t read_counter(const void *uc);
void counter_prepare(void); /* before the counter is made to trap */
void cpuid_prepare(void);   /* makes the instruction trap, where that can be */
/* If the instruction at pc asks the processor what it is: answers, without what differs from core to core or announces
   random results, and steps over it. */
bool context_give_cpuid(void *uc);

/* ---- frame.c: the frames that the program's handlers see ------------------------------ */

struct handler_frame {
	uint64_t sp, info, context, fp, lr; /* for enter_handler() */
};
/*
 * Writes a frame below `sp` in the program's memory: it continues with `r`
 * (r->pc is the next instruction), `mask` and `alt`. Vector registers are those
 * of `uc` if given, else the ones live now. Returns false if there is no stack.
 */
bool frame_build(struct handler_frame *f, uint64_t sp, const struct regs *r, const void *siginfo, uint64_t mask,
		 const struct alt_stack *alt, const void *uc, uint64_t restorer);
/* Makes the handler begin when our own handler, which got `uc`, returns. */
void context_enter_handler(void *uc, const struct handler_frame *f, int sig, uint64_t pc);
/*
 * The program returns from a handler: copies the frame at its sp to `to` (at
 * least FRAME_ROOM bytes), takes out its mask and alternate stack, and puts in
 * the stack the kernel shall have. Returns its context, or 0 if there is no frame.
 */
#define FRAME_ROOM 16384
void *frame_return(uint8_t *to, uint64_t sp, uint64_t *mask, struct alt_stack *alt, const struct alt_stack *kernel_alt);

/* The instructions that unwinders and debuggers know as the end of a signal handler: to be put at
   MAP_SIGNAL_RETURN, and never patched. Returns their number of bytes. */
unsigned signal_return_code(uint8_t *to);

/* ---- frame.c: the machine -------------------------------------------------------------- */

/* The bits of AT_HWCAP2 that name instructions with random results are taken out. */
uint64_t hide_random(uint64_t hwcap2);
#endif

/*
 * Libc functions that lock inside: what the stubs, sections.c and special.c share,
 * and what the rest of libheddle.so may call.
 *
 * Words
 *   stub     what the program calls instead of a libc function; made by generate.py from functions.list
 *   section  a recorded recursive lock around one object of libc's: a FILE, or a group of its state
 *   frame    what a stub remembers while the real function runs; outside the stack, so that arguments
 *            on the stack stay where they are
 */
#ifndef INTERPOSE_LIBC_H
#define INTERPOSE_LIBC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "runtime/sync/objects.h"

#define HIDDEN __attribute__((visibility("hidden")))

/* The offsets are known to aarch64.S and x86_64.S. */
struct libc_frame {
	uint64_t ret;	    /* where the stub returns to */
	uint64_t sp;	    /* the program's stack pointer when it called the stub */
	uint64_t saved;	    /* the callee-saved register that holds this frame's address meanwhile (x19, rbx) */
	uint64_t index;	    /* which function; FRAME_FREE: none */
	uint64_t object[2]; /* sections entered, or being entered; 0: none */
	uint64_t args[9];   /* before: x0-x8, or rdi rsi rdx rcx r8 r9 rax; after: the results x0 x1, or rax rdx */
	uint64_t extra;	    /* caller: see find_gadget(); status: of the exit; input: flags taken off the FILE */
};
#define FRAME_FREE  (~0ull)
#define LIBC_FRAMES 16

struct libc_shadow {
	uint64_t depth; /* frames[0..depth) may be in use */
	uint64_t unused[7];
	struct libc_frame frames[LIBC_FRAMES];
};
_Static_assert(sizeof(struct libc_frame) == 128 && offsetof(struct libc_shadow, frames) == 64, "as the stubs have it");

/* ---- stubs.S, made by generate.py ------------------------------------------------------- */

struct libc_ordered {
	uint8_t object[2][2]; /* {how, value}: see object_of() */
	uint8_t flags, unused[3];
};
enum { FLAG_INPUT = 1, FLAG_CLOSES = 2, FLAG_CALLER = 4, FLAG_SYMBOL = 8, FLAG_STATUS = 16, FLAG_LISTED = 32 };
extern void *libc_real[] HIDDEN;	/* the real functions; before they are known, code that calls libc_resolve() */
extern void *libc_entry[] HIDDEN;	/* where the exported names of special.c jump to */
extern void *const libc_stubs[] HIDDEN; /* what the program sees */
extern const struct libc_ordered libc_ordered[] HIDDEN;
struct libc_wanted {
	uint32_t hash, name; /* name: its place in libc_names */
};
extern const struct libc_wanted libc_wanted[] HIDDEN;
extern const char libc_names[] HIDDEN;

/* ---- port.c: the way into the runtime ------------------------------------------------------ */

/* Threads ever created, without the first. */
extern const uint32_t *const libc_threads HIDDEN;
/* how: enum section_how of runtime/sync/objects.h */
long libc_section_enter(uint64_t object, unsigned how) HIDDEN;
void libc_section_leave(uint64_t object, unsigned how) HIDDEN;
/* The stack this thread was given, if it is the one in use; low == high: it is not, or not known. */
void libc_thread_stack(uint64_t *low, uint64_t *high) HIDDEN;

/* ---- sections.c ------------------------------------------------------------------------------ */

extern __thread struct libc_shadow libc_shadow HIDDEN;
bool libc_is_foreign(unsigned index) HIDDEN;
/* What dlsym(RTLD_NEXT, name) would find from here, without locks or ops: dlsym() itself is wrapped, and counts ops. */
void *libc_find(const char *name) HIDDEN;
/* The same in one library, if it is loaded. */
void *libc_find_in(const char *soname, const char *name) HIDDEN;
/* Leaves sections that a longjmp has jumped out of. For wrappers that are about to wait for another thread:
   libc_settle() stands in the function that the program has called. */
void libc_settle_at(uint64_t sp, uint64_t ret) HIDDEN;
#ifdef __x86_64__
#define libc_settle() libc_settle_at((uint64_t)__builtin_dwarf_cfa() - 8, (uint64_t)__builtin_return_address(0))
#else
#define libc_settle() libc_settle_at((uint64_t)__builtin_dwarf_cfa(), (uint64_t)__builtin_return_address(0))
#endif
/* The thread ends: leaves every section it still has. */
void libc_thread_ends(void) HIDDEN;
/* Around pthread_create and its kin, outside all other sections. */
void libc_before_create(void) HIDDEN;
void libc_after_create(void) HIDDEN;
/* Before the first thread is created: does what libc does the first time only, and which thread is first would
   differ. */
void libc_before_first_thread(void) HIDDEN;
/* Before pthread_exit and pthread_cancel: loads the unwinder, which libc otherwise does in the thread that ends
   first. */
void libc_before_unwinding(void) HIDDEN;
#endif

/*
 * Atomic instructions of binaries that heddle-cc did not build, as ops (runtime/sync/sync.h).
 *
 * Where a machine's atomic instructions can be told from others (aarch64), each is led through a stub as a system call
 * is, and becomes an op on the 16 bytes around its address. On x86-64 an atomic load or store is a plain mov:
 * nothing there can be found, and atomics stay unordered.
 *
 * Of the libraries that run OpenMP programs, whose threads wait for one another by plain loads, every load and store
 * becomes such an op.
 */
#ifndef RUNTIME_ATOMICS_H
#define RUNTIME_ATOMICS_H
#include <stdbool.h>
#include <stdint.h>

struct regs;
struct thread;

/* ---- arch/<machine>/atomic.c ------------------------------------------------------------------------- */

/* What a load-exclusive saw: the store-exclusive after it takes place if that is still there. */
struct exclusive {
	uint64_t address, value[2];
};
/* Are there instructions to be found on this machine? */
extern const bool atomics_found;
bool atomic_is(uint32_t instruction);
/* Which address the instruction accesses. */
uint64_t atomic_address(uint32_t instruction, const struct regs *r);
enum atomic_done { ATOMIC_FAULT, ATOMIC_READ, ATOMIC_WROTE };
/* Does what the instruction would, but for the program counter. A fault leaves everything as it was. */
enum atomic_done atomic_perform(uint32_t instruction, struct regs *r, struct exclusive *e);

/* ---- arch/<machine>/plain.c --------------------------------------------------------------------------- */

struct reach {
	uint64_t address;
	unsigned bytes;
};
/* Is it a load or a store that is no atomic instruction, of what another thread may access? */
bool plain_is(uint32_t instruction);
/* What it accesses. */
struct reach plain_reach(uint32_t instruction, const struct regs *r);
/* As atomic_perform(). */
enum atomic_done plain_perform(uint32_t instruction, struct regs *r);

/* ---- find.c ---------------------------------------------------------------------------------------------- */

/* Before the process has a second thread: all code that is mapped. */
void atomics_begin(void);
/* Code is mapped at [from, to), and has not run. */
void atomics_mapped(uint64_t from, uint64_t to);

/* ---- ops.c --------------------------------------------------------------------------------------------------- */

/* The instruction at t->regs.pc, from its stub. */
void atomic_run(struct thread *t);
/* Has this thread lately made an atomic access to that address? */
bool atomic_knows(const struct thread *t, uint64_t address);
#endif

/*
 * Atomic instructions of binaries that heddle-cc did not build, as ops (runtime/sync/sync.h).
 *
 * Where a machine's atomic instructions can be told from others (aarch64), each is led through a stub as a system call
 * is, and becomes an op on the 16 bytes around its address. On x86-64 an atomic load or store is a plain mov, which
 * cannot be told from others; and a lock that is taken by an op, but released by none, would be taken too early in a
 * replay. So atomics stay unordered there, but for those of OpenMP programs (`omp atomic`), which have other locks.
 *
 * Of the libraries that run OpenMP programs, whose threads wait for one another by plain loads, every load and store
 * becomes such an op, on both machines.
 */
#ifndef RUNTIME_ATOMICS_H
#define RUNTIME_ATOMICS_H
#include <stdbool.h>
#include <stdint.h>

struct regs;
struct thread;

/* ---- arch/<machine>/atomic.c and plain.c ------------------------------------------------------------- */

/* What a load-exclusive saw: the store-exclusive after it takes place if that is still there. */
struct exclusive {
	uint64_t address, value[2];
};
/* Can all atomic instructions be told from others on this machine? */
extern const bool atomics_told;
/* Bytes of the instruction at `code`, where `room` may be read; 0: it is none that is known. */
unsigned instruction_length(const uint8_t *code, uint64_t room);
/* Is it an atomic one that can be told? */
bool atomic_is(const uint8_t *code);
/* Is it another load or store, of what another thread may access? */
bool plain_is(const uint8_t *code);

/* An access that is about to be made by such an instruction. */
struct reach {
	const uint8_t *code;
	unsigned length; /* of the instruction */
	bool plain;	 /* atomic_is() does not tell it */
	uint64_t address;
	unsigned bytes; /* at least those that are accessed */
	unsigned how;	/* for reach_perform() alone */
};
struct reach reach_at(const uint8_t *code, const struct regs *r);
enum atomic_done { ATOMIC_FAULT, ATOMIC_READ, ATOMIC_WROTE };
/* Does what the instruction would, but for the program counter. A fault leaves everything as it was. */
enum atomic_done reach_perform(const struct reach *a, struct regs *r, struct exclusive *e);

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

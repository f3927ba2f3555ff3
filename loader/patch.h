/* System call sites: their stubs, and the branches that lead to them. */
#ifndef LOADER_PATCH_H
#define LOADER_PATCH_H
#include <stdbool.h>
#include <stdint.h>

/* A site has trapped (SIGSYS, context `uc`): gives it a stub, patches it if allowed, and makes
   the context continue in the stub. */
void patch_site(void *uc);
/* The instruction at pc may have given way to the patch of the call before it, or to a branch that leads it or one
   before it to a stub: returns where it is now. */
uint64_t patch_continue(uint64_t pc);
/* The instruction at pc was none because a patch of it was half made: it can be run again. */
bool patch_is_under_way(uint64_t pc);
/* The same for a site that is known, and whose code is writable now; `nr` is a call that it made. Under the lock. */
void patch_ahead(uint64_t address, uint32_t nr);
/* Gives an atomic instruction a stub of its own. Under patch_lock(). */
void patch_atomic(uint64_t address);
/* Leads it there, when all of its function have theirs; see stub_lead(). Before another thread can run it. Returns
   where the code goes on that is as it was. */
uint64_t patch_lead(uint64_t address, uint64_t from, uint64_t to);
/* The stub of the atomic instruction at pc, which traps since a branch is longer; 0: there is none. */
uint64_t patch_trapped(uint64_t pc);
/* The pc of the program that `pc`, in a stub where an atomic instruction is made for real, stands for; else pc. */
uint64_t patch_program_pc(uint64_t pc);
/* In a copy of the process (runtime/checkpoint.c), where somebody may hold the lock: what it writes to is the
   copy's. */
void patch_copied(void);
/* Held over fork, so that the child finds the tables whole. */
void patch_lock(void);
void patch_unlock(void);
/* May a patch of a system call site lie there? */
bool patch_is_near(uint64_t from, uint64_t to);
/* Is pc inside a stub? */
bool patch_is_stub(uint64_t pc);

/* ---- known_sites.c --------------------------------------------------------------- */

/* Code of the saved file `key` was mapped at `addr`, from `offset` of the file on: patches what is known of it. */
void known_sites_mapped(const char *key, uint64_t addr, uint64_t len, uint64_t offset, uint64_t prot);
/* Something else is there now. */
void known_sites_unmapped(uint64_t addr, uint64_t len);
/* The site trapped, called `nr`, and was patched. Under the lock. */
void known_sites_learn(uint64_t address, uint32_t nr);
#endif

/* System call sites: their stubs, and the branches that lead to them. */
#ifndef LOADER_PATCH_H
#define LOADER_PATCH_H
#include <stdbool.h>
#include <stdint.h>

/* A site has trapped (SIGSYS, context `uc`): gives it a stub, patches it if allowed, and makes
   the context continue in the stub. */
void patch_site(void *uc);
/* The instruction at pc may have given way to the patch of the call before it: returns where it is now. */
uint64_t patch_continue(uint64_t pc);
/* Held over fork, so that the child finds the tables whole. */
void patch_lock(void);
void patch_unlock(void);
/* Is pc inside a stub? */
bool patch_is_stub(uint64_t pc);
#endif

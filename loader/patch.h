/* System call sites: their stubs, and the branches that lead to them. */
#ifndef LOADER_PATCH_H
#define LOADER_PATCH_H
#include <stdbool.h>
#include <stdint.h>

/* A site has trapped (SIGSYS, context `uc`): gives it a stub, patches it if allowed, and makes
   the context continue in the stub. */
void patch_site(void *uc);
/* Is pc inside a stub? */
bool patch_is_stub(uint64_t pc);
#endif

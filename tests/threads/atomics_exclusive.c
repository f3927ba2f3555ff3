/* atomics.c with load-exclusive and store-exclusive instead of calls of libgcc. */
// run: varies measured-x86_64='atomics of an unmodified binary are not ordered there' timeout=30 flags="-latomic"
#ifdef __aarch64__
#pragma GCC target("arch=armv8-a", "no-outline-atomics")
#endif
#include "atomics.c"

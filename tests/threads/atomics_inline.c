/* atomics.c with the instructions of ARMv8.1 in the code itself. */
// run: varies measured-x86_64='atomics of an unmodified binary are not ordered there' timeout=30 flags="-latomic"
#ifdef __aarch64__
#pragma GCC target("arch=armv8.1-a", "no-outline-atomics")
#endif
#include "atomics.c"

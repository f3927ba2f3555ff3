/* atomics.c with the instructions of ARMv8.1 in the code itself. */
// run: varies options-x86_64=--every-access timeout=30 flags="-latomic"
#ifdef __aarch64__
#pragma GCC target("arch=armv8.1-a", "no-outline-atomics")
#endif
#include "atomics.c"

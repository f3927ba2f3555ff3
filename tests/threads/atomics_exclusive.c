/* atomics.c with load-exclusive and store-exclusive instead of calls of libgcc. */
// run: varies options-x86_64=--every-access timeout=30 flags="-latomic"
#ifdef __aarch64__
#pragma GCC target("arch=armv8-a", "no-outline-atomics")
#endif
#include "atomics.c"

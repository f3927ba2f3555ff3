/* XXH64, from its own header, compiled here once without libc. */
#include "runtime/base/base.h"
#pragma GCC diagnostic ignored "-Wunused-function"
#define XXH_INLINE_ALL
#define XXH_NO_STDLIB
#define XXH_NO_XXH3
#include <xxhash.h>

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed)
{
	return XXH64(p, n, seed);
}

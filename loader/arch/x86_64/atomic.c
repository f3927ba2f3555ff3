/*
 * x86-64: an atomic load or store is a mov like any other. What reads and writes at once can be told: by its prefix, or
 * since it exchanges. Otherwise it is like other accesses: plain.c.
 */
#include "loader/arch/x86_64/decode.h"
#include "runtime/atomics/atomics.h"

const bool atomics_told = false;

bool atomic_is(const uint8_t *code)
{
	struct instruction i;
	return decode(code, INSTRUCTION_MOST, &i) && is_told(&i) && plain_is(code);
}

/*
 * x86-64: an atomic load or store is a mov like any other. What reads and writes at once can be told: by its prefix, or
 * since it exchanges. It is made as other accesses are: plain.c.
 */
#include "loader/arch/x86_64/decode.h"
#include "runtime/atomics/atomics.h"

const bool atomics_told = false;

bool atomic_is(const uint8_t *code)
{
	struct instruction i;
	if (!decode(code, INSTRUCTION_MOST, &i) || !plain_is(code))
		return false;
	return i.locked || (i.map == MAP_ONE && (i.opcode == 0x86 || i.opcode == 0x87));
}

uint64_t atomic_address(const uint8_t *code, const struct regs *r)
{
	return plain_reach(code, r).address;
}

enum atomic_done atomic_perform(const uint8_t *code, struct regs *r, struct exclusive *e)
{
	(void)e;
	return plain_perform(code, r);
}

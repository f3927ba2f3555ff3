/* x86-64: an atomic load or store is a mov like any other, so nothing is looked for. */
#include "runtime/atomics/atomics.h"

const bool atomics_found = false;

bool atomic_is(uint32_t instruction)
{
	(void)instruction;
	return false;
}

uint64_t atomic_address(uint32_t instruction, const struct regs *r)
{
	(void)instruction, (void)r;
	return 0;
}

enum atomic_done atomic_perform(uint32_t instruction, struct regs *r, struct exclusive *e)
{
	(void)instruction, (void)r, (void)e;
	return ATOMIC_FAULT;
}

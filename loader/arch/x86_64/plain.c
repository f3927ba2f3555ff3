/* x86-64: instructions of any length, which no branch could replace: nothing is looked for. */
#include "runtime/atomics/atomics.h"

bool plain_is(uint32_t instruction)
{
	(void)instruction;
	return false;
}

struct reach plain_reach(uint32_t instruction, const struct regs *r)
{
	(void)instruction, (void)r;
	return (struct reach){ 0, 0 };
}

enum atomic_done plain_perform(uint32_t instruction, struct regs *r)
{
	(void)instruction, (void)r;
	return ATOMIC_FAULT;
}

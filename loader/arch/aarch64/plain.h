/* aarch64: loads and stores that are no atomic instructions. For reach_at() and reach_perform(). */
#ifndef AARCH64_PLAIN_H
#define AARCH64_PLAIN_H
#include "runtime/atomics/atomics.h"

/* Sets the address and the number of bytes. */
void plain_reach(uint32_t instruction, const struct regs *r, struct reach *a);
enum atomic_done plain_perform(uint32_t instruction, struct regs *r);
#endif

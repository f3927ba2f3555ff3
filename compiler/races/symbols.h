/*
 * What is known of values on one way through a function, without a solver: each is a number, or something that is not
 * known plus a number. The same made from the same is the same. Two things are bounded: a counter, which is between
 * `least` and `parties + most`; and the parties, of which there are some, but not more than a positive number of that
 * width.
 */
#ifndef COMPILER_RACES_SYMBOLS_H
#define COMPILER_RACES_SYMBOLS_H
#include "compiler/races/races.h"

typedef uint32_t symbol; /* 0: none */

void symbols_begin(void);
void symbols_end(void);
symbol symbols_number(int64_t number, unsigned bits);
symbol symbols_new(unsigned bits); /* like no other */
symbol symbols_plus(symbol s, int64_t more);
unsigned symbols_bits(symbol s);
/* What an instruction that only calculates makes of its operands. */
symbol symbols_made(LLVMValueRef inst, const symbol *operands, unsigned count);
bool symbols_is_number(symbol s, int64_t *number);
void symbols_bound(symbol counter, int64_t least, symbol parties, int64_t most);
#endif

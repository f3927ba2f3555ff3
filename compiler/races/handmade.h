/*
 * Between handmade.c, which walks through a function that may be a barrier, and handmade_cells.c, which knows what it
 * looks at.
 */
#ifndef COMPILER_RACES_HANDMADE_H
#define COMPILER_RACES_HANDMADE_H
#include "compiler/races/phases.h"
#include "compiler/races/symbols.h"

enum { MOST_CELLS = 12, MOST_VALUES_IN = 400, MOST_BLOCKS_IN = 64 };
enum role { ROLE_NONE, ROLE_WAIT, ROLE_TELL_ALL, ROLE_OTHER };

struct cell {
	uint32_t place;
	unsigned bits;
	bool own;    /* written by nobody but this function from the first thread on, and only with the lock */
	bool zero;   /* ... and 0 before that */
	bool stays;  /* written by nobody at all then */
	symbol name; /* what is there when the lock is taken, or always */
	bool known;  /* in the walk at hand: only the last one changes it */
};

/* The function at hand. */
struct handmade_function {
	uint32_t number;
	const struct function *f;
	struct map values; /* of each instruction: number + 1 */
	struct cell cells[MOST_CELLS];
	unsigned cell_count;
	uint32_t lock, condition; /* places */
	const struct call *wait;
};
extern struct handmade_function handmade;

bool handmade_open(uint32_t function); /* false: it is none; to be closed all the same */
void handmade_close(void);
enum role handmade_role(LLVMValueRef callee);
int handmade_cell(LLVMValueRef access); /* its number, or -1 */
unsigned handmade_width(LLVMValueRef v);
LLVMValueRef handmade_same_argument(LLVMValueRef parameter);
/* What is the same in all calls of the function; 0: it may not be. */
symbol handmade_fixed(LLVMValueRef v, int depth);
#endif

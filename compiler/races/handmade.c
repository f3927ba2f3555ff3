/*
 * Barriers that a program has built from a mutex, a condition and a counter. A function is one if this is true of its
 * code:
 *
 *   (1) It takes one lock, waits for one condition with it, releases it, and returns. Nothing before or after accesses
 *       what follows.
 *   (2) The counter is 0 at first, and whoever takes the lock finds 0 .. parties - 1 there. Who is not the last (0 ..
 *       parties - 2) adds one, and waits. Who is the last (parties - 1) sets it to 0, tells all, and leaves.
 *   (3) Who wakes up while the counter has not been set to 0 since he came (so that it is 1 .. parties - 1, and what
 *       only the last one changes, such as the number of the round, is as it was when he came) waits again.
 *   (4) Who wakes up after that changes none of this.
 *   (5) Nobody else writes the counter, or what (3) goes by, from the first thread on.
 *
 * Then the counter is the number of threads that have come since it was 0 last, all of them are in the function, and
 * nobody leaves it before as many have come as there are parties. With at least as many parties as threads (barriers.c)
 * all must have come. That nobody waits for ever is not looked at: it is what the program does then, and nothing races.
 *
 * (1) to (4) are found by walking through the function on all ways that the values known then (symbols.c) allow, in
 * each of the four cases.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/races/handmade.h"

enum { MOST_SLEEPS = 16, MOST_VISITS = 3, MOST_STEPS = 4000 };

enum scene { NOT_LAST, LAST, EARLY, LATE };

/* One way through the function. */
struct run {
	symbol values[MOST_VALUES_IN], cells[MOST_CELLS];
	uint8_t visits[MOST_BLOCKS_IN];
	bool locked, left, told;
};

static bool inside[MOST_BLOCKS_IN]; /* blocks between the wait and the wait again */
static enum scene scene;
static unsigned counter;	    /* which cell it is */
static symbol parties, counter_was; /* counter_was: where the walk has got the lock, or woken up */
static struct run beginning;	    /* there */
static struct run sleeps[MOST_SLEEPS];
static unsigned sleep_count, left_count, steps;
static bool failed, again; /* again: something that was supposed to be known is not */

static void find_inside(void)
{
	const uint32_t first = handmade.f->first_block;
	bool after[MOST_BLOCKS_IN] = { false };

	memset(inside, 0, sizeof inside);
	for (bool more = true; more;) {
		more = false;
		for (uint32_t b = 0; b < handmade.f->block_count; b++) {
			const struct block *block = &program.blocks[first + b];
			bool wait = first + b == handmade.wait->block, comes = wait;
			for (uint32_t i = 0; i < block->next_count; i++) {
				bool *to = &after[block->next[i] - first];
				more |= (wait || after[b]) && !*to;
				*to |= wait || after[b];
				comes |= inside[block->next[i] - first];
			}
			more |= comes && !inside[b];
			inside[b] = comes;
		}
	}
	for (uint32_t b = 0; b < handmade.f->block_count; b++)
		inside[b] &= after[b];
}

/* ---- walking ----------------------------------------------------------------------------------------------------- */

static void fail(void)
{
	failed = true;
}

static symbol value_of(const struct run *r, LLVMValueRef v)
{
	uint32_t n = map_find(&handmade.values, v);

	if (LLVMIsAConstantInt(v))
		return handmade_width(v) ? symbols_number(LLVMConstIntGetSExtValue(v), handmade_width(v)) : 0;
	if (LLVMIsAArgument(v))
		return handmade_fixed(v, 0);
	return n ? r->values[n - 1] : 0;
}

static void set(struct run *r, LLVMValueRef inst, symbol s)
{
	r->values[map_find(&handmade.values, inst) - 1] = s;
}

/* A cell that somebody changes who should not: nothing is known of it, and all begins anew. The counter must be as it
   should. */
static void spoil(unsigned cell)
{
	if (cell == counter)
		fail();
	again |= handmade.cells[cell].known;
	handmade.cells[cell].known = false;
}

static void find_cells(struct run *r)
{
	for (unsigned i = 0; i < handmade.cell_count; i++) {
		const struct cell *c = &handmade.cells[i];
		r->cells[i] = i == counter ? counter_was : c->known && scene != LATE ? c->name : symbols_new(c->bits);
	}
}

/* What others go by must be as it was found. */
static void check_unchanged(const struct run *r)
{
	for (unsigned i = 0; i < handmade.cell_count; i++)
		if (i != counter && handmade.cells[i].known && r->cells[i] != beginning.cells[i])
			spoil(i);
}

static void sleep_here(struct run *r)
{
	symbol expected = scene == NOT_LAST ? symbols_plus(counter_was, 1) : counter_was;

	if (scene == LAST || !r->locked || !expected || r->cells[counter] != expected) {
		fail();
		return;
	}
	check_unchanged(r);
	if (scene != NOT_LAST)
		return;
	if (sleep_count == MOST_SLEEPS)
		fail();
	else
		sleeps[sleep_count++] = *r;
}

static void release(struct run *r)
{
	int64_t n;
	bool zero = symbols_is_number(r->cells[counter], &n) && !n;

	if (!r->locked || scene == NOT_LAST || scene == EARLY ||
	    (scene == LAST ? !zero : r->cells[counter] != counter_was))
		fail();
	if (scene == LATE)
		check_unchanged(r);
	r->locked = false;
	r->left = true;
}

/* Returns whether the way goes on. Errors of these functions are not looked for: none of them has one if it is called
   as it is here. */
static bool call(struct run *r, const struct call *c)
{
	enum lock_action action = locksets_action(c);
	enum role role = handmade_role(LLVMGetCalledValue(c->inst));

	set(r, c->inst, action != LOCK_NOTHING || role != ROLE_NONE ? symbols_number(0, handmade_width(c->inst)) : 0);
	if (action == LOCK_TAKE) {
		if (r->locked || r->left)
			fail();
		r->locked = true;
		find_cells(r);
		beginning = *r;
	} else if (action == LOCK_RELEASE)
		release(r);
	else if (role == ROLE_WAIT)
		sleep_here(r);
	else if (role == ROLE_TELL_ALL)
		r->told |= program_single_place(LLVMGetOperand(c->inst, 0)) == handmade.condition;
	return role != ROLE_WAIT && !failed;
}

static symbol load(const struct run *r, LLVMValueRef inst)
{
	int cell = handmade_cell(inst);

	if (cell >= 0 && handmade.cells[cell].stays)
		return handmade.cells[cell].name;
	return cell >= 0 && handmade.cells[cell].known && r->locked ? r->cells[cell] :
								      symbols_new(handmade_width(inst));
}

static void store(struct run *r, LLVMValueRef inst)
{
	int cell = handmade_cell(inst);

	if (cell < 0)
		return; /* is_own() has seen that it is no cell */
	if (r->locked)
		r->cells[cell] = value_of(r, LLVMGetOperand(inst, 0));
	else
		spoil((unsigned)cell);
}

static void make(struct run *r, LLVMValueRef inst)
{
	symbol operands[3] = { 0 };
	unsigned count = (unsigned)LLVMGetNumOperands(inst);

	for (unsigned i = 0; i < count && i < 3; i++)
		operands[i] = value_of(r, LLVMGetOperand(inst, i));
	set(r, inst, count <= 3 ? symbols_made(inst, operands, count) : symbols_new(handmade_width(inst)));
}

static void go(struct run *r, LLVMValueRef from);

static void leave(const struct run *r)
{
	if (r->locked || !r->left || (scene == LAST && !r->told))
		fail();
	left_count++;
}

static void enter(const struct run *r, LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
	struct run next = *r;
	uint32_t block = map_find(&program.block_map, to) - 1;
	LLVMValueRef i = LLVMGetFirstInstruction(to);

	if (++next.visits[block - handmade.f->first_block] > MOST_VISITS || ++steps > MOST_STEPS) {
		fail();
		return;
	}
	for (; LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i))
		for (unsigned n = 0; n < LLVMCountIncoming(i); n++)
			if (LLVMGetIncomingBlock(i, n) == from)
				set(&next, i, value_of(r, LLVMGetIncomingValue(i, n)));
	go(&next, i);
}

static void finish(const struct run *r, LLVMValueRef end)
{
	LLVMBasicBlockRef here = LLVMGetInstructionParent(end);
	int64_t n;

	if (LLVMIsAReturnInst(end))
		leave(r);
	else if (LLVMIsABranchInst(end) && LLVMIsConditional(end) &&
		 symbols_is_number(value_of(r, LLVMGetCondition(end)), &n))
		enter(r, here, LLVMGetSuccessor(end, n ? 0 : 1));
	else if (LLVMIsABranchInst(end) || LLVMIsASwitchInst(end))
		for (unsigned i = 0; i < LLVMGetNumSuccessors(end) && !failed; i++)
			enter(r, here, LLVMGetSuccessor(end, i));
	else if (!LLVMIsAUnreachableInst(end)) /* exit, abort: nobody goes on */
		fail();
}

static void go(struct run *r, LLVMValueRef from)
{
	for (LLVMValueRef i = from; i && !failed; i = LLVMGetNextInstruction(i)) {
		if (LLVMIsATerminatorInst(i)) {
			finish(r, i);
			return;
		}
		if (program_call(i)) {
			if (!call(r, program_call(i)))
				return;
		} else if (LLVMIsALoadInst(i))
			set(r, i, load(r, i));
		else if (LLVMIsAStoreInst(i))
			store(r, i);
		else if (LLVMIsACallInst(i)) /* an intrinsic */
			set(r, i, symbols_new(handmade_width(i)));
		else
			make(r, i);
	}
}

/* ---- the four cases ---------------------------------------------------------------------------------------------- */

static void begin_scene(enum scene now)
{
	const int64_t least = now == EARLY, most = now == NOT_LAST ? -2 : -1;

	scene = now;
	left_count = 0;
	if (scene == LAST) {
		counter_was = symbols_plus(parties, -1);
		symbols_bound(0, 0, 0, 0);
	} else {
		counter_was = symbols_new(handmade.cells[counter].bits);
		symbols_bound(counter_was, least, parties, most);
	}
}

static void from_beginning(enum scene now)
{
	static struct run r;

	r = (struct run){ 0 };
	begin_scene(now);
	go(&r, LLVMGetFirstInstruction(program.blocks[handmade.f->first_block].ref));
}

/* What was made in a round of the loop around the wait may be of any round. */
static void from_sleep(enum scene now, const struct run *was)
{
	static struct run r;

	r = *was;
	memset(r.visits, 0, sizeof r.visits);
	for (uint32_t b = 0; b < handmade.f->block_count; b++)
		for (LLVMValueRef i = inside[b] ?
					      LLVMGetFirstInstruction(program.blocks[handmade.f->first_block + b].ref) :
					      NULL;
		     i; i = LLVMGetNextInstruction(i))
			set(&r, i, 0);
	begin_scene(now);
	find_cells(&r);
	set(&r, handmade.wait->inst, symbols_number(0, handmade_width(handmade.wait->inst)));
	beginning = r;
	go(&r, LLVMGetNextInstruction(handmade.wait->inst));
}

static bool try_once(void)
{
	sleep_count = steps = 0;
	again = failed = false;
	from_beginning(NOT_LAST);
	unsigned early = left_count;
	if (!failed)
		from_beginning(LAST);
	bool both = sleep_count && left_count && !early;
	for (unsigned i = 0; i < sleep_count && !failed && !again; i++) {
		from_sleep(EARLY, &sleeps[i]);
		if (!failed)
			from_sleep(LATE, &sleeps[i]);
	}
	return both && !failed;
}

static bool is_one(unsigned cell, symbol number)
{
	int64_t n;
	bool fine;

	if (!handmade.cells[cell].own || !handmade.cells[cell].zero ||
	    symbols_bits(number) != handmade.cells[cell].bits || (symbols_is_number(number, &n) && n < 2))
		return false;
	counter = cell;
	parties = number;
	for (unsigned i = 0; i < handmade.cell_count; i++)
		handmade.cells[i].known = handmade.cells[i].own;
	do
		fine = try_once();
	while (again && !failed);
	return fine;
}

/* ---- all functions ----------------------------------------------------------------------------------------------- */

/* ++n >= parties may have become n > parties - 2. */
static bool has_compared(LLVMValueRef v, struct handmade *found)
{
	symbol s = handmade_fixed(v, 0);

	for (int more = 0; more < 3 && s; more++)
		for (unsigned c = 0; c < handmade.cell_count; c++)
			if (is_one(c, symbols_plus(s, more))) {
				*found = (struct handmade){ LLVMIsAArgument(v) ? handmade_same_argument(v) : v, more };
				return true;
			}
	return false;
}

/* The number of parties is something that the function compares with. */
static bool find_parties(struct handmade *found)
{
	for (uint32_t b = handmade.f->first_block; b < handmade.f->first_block + handmade.f->block_count; b++)
		for (LLVMValueRef i = LLVMGetFirstInstruction(program.blocks[b].ref); i; i = LLVMGetNextInstruction(i))
			for (unsigned n = 0; LLVMIsAICmpInst(i) && n < 2; n++)
				if (has_compared(LLVMGetOperand(i, n), found))
					return true;
	return false;
}

/* Is it always called by its name, and no thread begins with it? */
static bool is_called_by_name(uint32_t function)
{
	LLVMValueRef ref = program.functions[function].ref;

	for (uint32_t i = 0; i < program.call_count; i++)
		for (uint32_t k = 0; k < program.calls[i].callee_count; k++)
			if (program.calls[i].callees[k] == function && LLVMGetCalledValue(program.calls[i].inst) != ref)
				return false;
	for (unsigned c = CLASS_FIRST; c < class_count; c++)
		if (classes[c].entry == ref)
			return false;
	return !program.functions[function].given;
}

bool handmade_find(uint32_t function, struct handmade *found)
{
	if (!handmade_may_be(program.functions[function].ref) || !is_called_by_name(function))
		return false;
	bool is = handmade_open(function);
	if (is) {
		find_inside();
		is = find_parties(found);
	}
	handmade_close();
	return is;
}

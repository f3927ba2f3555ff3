/*
 * One atomic instruction of an unmodified binary, as an op on the 16 bytes around its address.
 *
 * Recording: the op's place in the chain of its object and the access itself are one step, under the lock of the object's
 * stamps. What it follows: a read, the last write; a write, the last write and the reads since. Reads are kept one a
 * thread, in READERS places; a reader that finds none follows the one whose place it takes, and so does then every write
 * after it. Spinning readers therefore log nothing, however many they are (up to READERS), and however long they spin.
 * The op shows before the lock is let go: whoever follows it is in a recording that has it, also after a kill.
 *
 * Replaying: the edges of the op have been waited for; reads of one object since the same write may go in any order.
 *
 * An instruction that faults is no op. It is made again in the stub, outside of ours, and faults there as the program's.
 */
#include "loader/arch/arch.h"
#include "runtime/atomics/atomics.h"
#include "runtime/runtime.h"
#include "runtime/sync/objects.h"

static uint64_t object_of(uint64_t address)
{
	return ALIGN_DOWN(address, 16);
}

/* Of the last few objects, each once. */
static void remember(struct thread *t, uint64_t object)
{
	if (likely(t->atomic_objects[t->atomic_last] == object) || atomic_knows(t, object))
		return;
	t->atomic_last = (t->atomic_last + 1) % COUNT(t->atomic_objects);
	t->atomic_objects[t->atomic_last] = object;
}

bool atomic_knows(const struct thread *t, uint64_t address)
{
	for (unsigned i = 0; i < COUNT(t->atomic_objects); i++)
		if (t->atomic_objects[i] == object_of(address))
			return true;
	return false;
}

/* Where this reader's stamp goes: to its last one, to a free place, or in place of another reader, which it follows. */
static uint64_t *reader_place(struct thread *t, struct stamps *s)
{
	uint64_t *place = 0;
	for (unsigned i = 0; i < COUNT(s->readers); i++) {
		if (s->readers[i] && STAMP_SLOT(s->readers[i]) == t->slot)
			return &s->readers[i];
		if (!s->readers[i])
			place = &s->readers[i];
	}
	if (place)
		return place;
	place = &s->readers[t->slot % COUNT(s->readers)];
	op_edge(t, *place);
	return place;
}

static void follow(struct thread *t, struct stamps *s, bool wrote, uint64_t mine)
{
	op_edge(t, s->last);
	if (!wrote) {
		*reader_place(t, s) = mine;
		return;
	}
	for (unsigned i = 0; i < COUNT(s->readers); i++) {
		if (s->readers[i])
			op_edge(t, s->readers[i]);
		s->readers[i] = 0;
	}
	s->last = mine;
}

static enum atomic_done record(struct thread *t, uint32_t instruction, uint64_t object)
{
	uint64_t mine = STAMP(t->slot, op_begin(t));
	struct stamps *s = stamps_lock((void *)object);
	enum atomic_done done = atomic_perform(instruction, &t->regs, &t->exclusive);
	if (done != ATOMIC_FAULT) {
		follow(t, s, done == ATOMIC_WROTE, mine);
		op_shown(t);
	}
	stamps_unlock(s);
	if (done != ATOMIC_FAULT)
		op_end(t);
	return done;
}

static enum atomic_done replay(struct thread *t, uint32_t instruction)
{
	op_begin(t);
	enum atomic_done done = atomic_perform(instruction, &t->regs, &t->exclusive);
	if (done != ATOMIC_FAULT)
		op_end(t);
	return done;
}

void atomic_run(struct thread *t)
{
	uint32_t instruction = stub_atomic_instruction(t->resume);
	uint64_t object = object_of(atomic_address(instruction, &t->regs));
	enum atomic_done done = replaying ? replay(t, instruction) : record(t, instruction, object);
	if (done == ATOMIC_FAULT) {
		t->resume = stub_atomic_itself(t->resume);
		return;
	}
	remember(t, object);
	t->regs.pc += ATOMIC_SIZE;
	stub_push_frame(&t->regs, t->regs.sp); /* it may have changed a register that the stub takes from there */
	if (unlikely(t->held || replaying))
		signals_deliver(t, false);
}

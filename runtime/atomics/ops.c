/*
 * One atomic instruction of an unmodified binary, as an op on the 16 bytes around its address; or a plain load or
 * store, on all such pieces that it touches.
 *
 * Recording: the op's place in the chain of its object and the access itself are one step, under the lock of the
 * object's stamps. What it follows: a read, the last write; a write, the last write and the reads since. Reads are kept
 * one a thread, in READERS places; a reader that finds none follows the one whose place it takes, and so does then
 * every write after it. Spinning readers therefore log nothing, however many they are (up to READERS), and however long
 * they spin. The op shows before the lock is let go: whoever follows it is in a recording that has it, also after a
 * kill.
 *
 * Replaying: the edges of the op have been waited for; reads of one object since the same write may go in any order.
 *
 * An instruction that faults is no op. It is made again in the stub, outside of ours, and faults there as the
 * program's. At replay that is known beforehand only behind the last op, where a thread would wait for ever.
 *
 * A signal is delivered behind any op, also where the next instruction is only in the stub: patch_continue() finds it
 * there when the handler returns.
 */
#include "loader/arch/arch.h"
#include "runtime/atomics/atomics.h"
#include "runtime/races/watch.h"
#include "runtime/runtime.h"
#include "runtime/sync/objects.h"

/* A pair of vector registers, or a wide one, is 32 bytes, at any address. */
#define PIECES 3
#define PIECE  16

static uint64_t object_of(uint64_t address)
{
	return ALIGN_DOWN(address, PIECE);
}

static bool is_in(const uint64_t *objects, unsigned n, uint64_t object)
{
	for (unsigned i = 0; i < n; i++)
		if (objects[i] == object)
			return true;
	return false;
}

/* Of the last few objects, each once. */
static void remember(struct thread *t, uint64_t object)
{
	if (is_in(t->atomic_objects, COUNT(t->atomic_objects), object))
		return;
	t->atomic_last = (t->atomic_last + 1) % COUNT(t->atomic_objects);
	t->atomic_objects[t->atomic_last] = object;
}

/* A library that looks at a word by plain loads does a few others before it sleeps on that word. */
static void remember_plain(struct thread *t, uint64_t object)
{
	t->plain_objects[++t->plain_last % COUNT(t->plain_objects)] = object;
}

bool atomic_knows(const struct thread *t, uint64_t address)
{
	return is_in(t->atomic_objects, COUNT(t->atomic_objects), object_of(address)) ||
	       is_in(t->plain_objects, COUNT(t->plain_objects), object_of(address));
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

/* The pieces are locked upwards, so that no two threads wait for each other. */
static enum atomic_done record(struct thread *t, const struct reach *a)
{
	uint64_t mine = STAMP(t->slot, op_begin(t)), first = object_of(a->address);
	unsigned pieces = (unsigned)((object_of(a->address + a->bytes - 1) - first) / PIECE) + 1;
	struct stamps *s[PIECES];
	for (unsigned i = 0; i < pieces; i++)
		s[i] = stamps_lock((void *)(first + i * PIECE));
	enum atomic_done done = reach_perform(a, &t->regs, &t->exclusive);
	for (unsigned i = 0; i < pieces && done != ATOMIC_FAULT; i++)
		follow(t, s[i], done == ATOMIC_WROTE, mine);
	if (done != ATOMIC_FAULT)
		op_shown(t);
	for (unsigned i = 0; i < pieces; i++)
		stamps_unlock(s[i]);
	if (done != ATOMIC_FAULT)
		op_end(t);
	return done;
}

static bool fault_is_next(struct thread *t)
{
	const struct entry *e = t->log.head < t->log.size ? log_peek(t) : 0;
	return e && e->kind == ENTRY_FAULT;
}

static enum atomic_done replay(struct thread *t, const struct reach *a)
{
	if (unlikely(t->front->clock >= t->op_limit) && fault_is_next(t))
		return ATOMIC_FAULT;
	op_begin(t);
	enum atomic_done done = reach_perform(a, &t->regs, &t->exclusive);
	if (unlikely(races_watch) && done != ATOMIC_FAULT)
		for (uint64_t at = object_of(a->address); at < a->address + a->bytes; at += PIECE)
			races_word(t, at, done == ATOMIC_WROTE);
	if (done != ATOMIC_FAULT)
		op_end(t);
	return done;
}

void atomic_run(struct thread *t)
{
	const struct reach a = reach_at(stub_atomic_instruction(t->resume), &t->regs);
	enum atomic_done done = (replaying ? replay : record)(t, &a);
	if (done == ATOMIC_FAULT) {
		t->order_paused = false;
		t->resume = stub_atomic_itself(t->resume);
		return;
	}
	(a.plain ? remember_plain : remember)(t, object_of(a.address));
	t->regs.pc += a.length;
	stub_push_frame(&t->regs, t->regs.sp); /* it may have changed a register that the stub takes from there */
	if (unlikely(t->held || replaying))
		signals_deliver(t, false);
	log_settled(t, true);
}

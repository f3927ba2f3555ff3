/*
 * What a system call reads is copied, as hooked reads, before the call, and the kernel gets the copy. A call that a signal
 * interrupts has taken them already; replay sees that by the count of accesses in the signal's entry.
 *
 * What a system call writes to the program's memory is an access of the thread like any other: others may read it. The
 * kernel itself has written to memory of ours; the copy to the program is made here, as a hooked write.
 *
 * It must not be made while the call's entry is under construction, since the order log may need an entry of its own.
 * So the pieces are noted and copied when the entry is complete; they lie in the ring, behind everything that is written
 * meanwhile, or in the thread's scratch memory. That the program can have them is found out before, as the kernel would.
 *
 * Threads that never made a hooked access get their bytes at once.
 */
#include "runtime/runtime.h"
#include <linux/uio.h>

#define PIECES 1200 /* an iovec has at most 1024 parts */

struct given {
	uint32_t count;
	struct {
		uint64_t to, n;
		const void *from;
	} pieces[PIECES];
};

/* Can it be written? Each page is asked by exchanging a byte with itself. */
static bool may_write(uint64_t at, uint64_t n)
{
	for (uint64_t p = at; p < at + n; p = ALIGN_DOWN(p, page_size) + page_size) {
		uint64_t byte;
		if (user_load((void *)p, 1, &byte) || user_cas((void *)p, 1, &byte, byte) < 0)
			return false;
	}
	return true;
}

long order_give(struct thread *t, uint64_t to, const void *from, uint64_t n)
{
	if (likely(!t->hooked))
		return user_copy((void *)to, from, n);
	if (!t->given)
		t->given = order_memory(sizeof *t->given);
	if (!may_write(to, n))
		return -EFAULT;
	if (t->given->count == PIECES)
		BUG("a system call with too many outputs");
	t->given->pieces[t->given->count].to = to;
	t->given->pieces[t->given->count].from = from;
	t->given->pieces[t->given->count++].n = n;
	return 0;
}

void order_given(struct thread *t)
{
	struct given *g = t->given;
	/* the first piece of this call */
	if (unlikely(order_syncs()) && g && g->count && t->order_released)
		order_acquired(t);
	for (uint32_t i = 0; g && i < g->count; i++)
		order_access(t, g->pieces[i].to, (void *)(uint64_t)g->pieces[i].from, g->pieces[i].n, true);
	if (g)
		g->count = 0;
}

/* ---- inputs ------------------------------------------------------------------------------------------------- */

/* Room for n more bytes behind the first `used`, which move with it. */
static uint8_t *room_for(struct thread *t, uint64_t used, uint64_t n)
{
	if (used + n > t->inputs_room) {
		uint64_t room = ALIGN_UP((used + n) * 2, 65536);
		uint8_t *new = order_memory(room);
		memcpy(new, t->inputs, used);
		t->inputs = new;
		t->inputs_room = room;
	}
	return t->inputs + used;
}

/* Bytes are appended to the copies; false: they cannot be read, and the kernel will say so. */
static bool take(struct thread *t, uint64_t *used, uint64_t addr, uint64_t n)
{
	if (n > 1ull << 31 || !order_access(t, addr, room_for(t, *used, n), n, false))
		return false;
	*used += n;
	return true;
}

static bool take_string(struct thread *t, uint64_t *used, uint64_t addr)
{
	for (uint64_t i = 0; i < PATH_ROOM;) {
		uint64_t n = MIN(64 - (addr + i) % 64, PATH_ROOM - i); /* never into the next page for nothing */
		if (!take(t, used, addr + i, n))
			return false;
		const uint8_t *piece = t->inputs + *used - n;
		for (uint64_t k = 0; k < n; k++)
			if (!piece[k])
				return true;
		i += n;
	}
	return true;
}

/* An iovec becomes one with a single member. */
static bool take_iov(struct thread *t, uint64_t *used, uint64_t addr, uint64_t count)
{
	uint64_t at = *used;
	struct iovec v;
	room_for(t, at, sizeof v);
	*used += sizeof v;
	for (uint64_t i = 0; i < count && count <= 1024; i++) {
		if (!order_access(t, addr + i * sizeof v, &v, sizeof v, false) ||
		    !take(t, used, (uint64_t)v.iov_base, v.iov_len))
			return false;
	}
	v = (struct iovec){ 0, *used - at - sizeof v };
	memcpy(t->inputs + at, &v, sizeof v); /* its base is set when nothing moves any more */
	return count <= 1024;
}

void order_take_inputs(struct call *c)
{
	struct thread *t = c->t;
	uint64_t used = 0, starts[IO_MAX], before = t->self->events;
	if (c->inputs_taken)
		return;
	for (int i = 0; i < IO_MAX && c->io[i].rule; i++) {
		const struct sys_io *io = &c->io[i];
		uint64_t p = c->args[io->arg], start = used = ALIGN_UP(used, 16);
		bool taken = false;
		if (p && io->rule == IN_STRING)
			taken = take_string(t, &used, p);
		else if (p && io->rule == IN_BYTES)
			taken = take(t, &used, p, io->unit * (io->size_arg == NO_ARG ? 1 : c->args[io->size_arg]));
		else if (p && io->rule == IN_IOV)
			taken = take_iov(t, &used, p, c->args[io->size_arg]);
		starts[i] = taken ? start + 1 : 0;
	}
	for (int i = 0; i < IO_MAX && c->io[i].rule; i++) {
		const struct sys_io *io = &c->io[i];
		if (!starts[i])
			continue;
		uint8_t *at = t->inputs + starts[i] - 1;
		c->real[io->arg] = (uint64_t)at;
		if (io->rule == IN_IOV) {
			((struct iovec *)at)->iov_base = at + sizeof(struct iovec);
			c->real[io->size_arg] = 1;
		}
	}
	c->inputs_taken = true;
	memcpy(c->inputs, c->real, sizeof c->inputs);
	if (t->self->events != before)
		order_before_wait_again(t);
}

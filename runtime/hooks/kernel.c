/*
 * What a system call reads is copied, as hooked reads, before the call, and the kernel gets the copy. A call that a
 * signal interrupts has taken them already; replay sees that by the count of accesses in the signal's entry.
 *
 * What a system call writes to the program's memory is an access of the thread like any other: others may read it. The
 * kernel itself has written to memory of ours; the copy to the program is made here, as a hooked write.
 *
 * It must not be made while the call's entry is under construction, since the order log may need an entry of its own.
 * So the pieces are noted and copied when the entry is complete; they lie in the ring, behind everything that is
 * written meanwhile, or in the thread's scratch memory. That the program can have them is found out before, as the
 * kernel would.
 *
 * Threads that never made a hooked access get their bytes at once.
 */
#include "runtime/syscalls/capture.h"

#define IOV_MOST 1024 /* parts of an iovec */
#define DIRECT	 4096 /* a file may want bytes that begin at such a place (O_DIRECT); so does t->inputs */

struct given {
	uint32_t count, room;
	struct piece {
		uint64_t to, n;
		const void *from;
	} * pieces;
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
	struct given *g = t->given;
	if (g->count == g->room) {
		struct piece *old = g->pieces;
		g->room = g->room ? 2 * g->room : 1024;
		g->pieces = order_memory(g->room * sizeof *old);
		memcpy(g->pieces, old, g->count * sizeof *old);
	}
	g->pieces[g->count++] = (struct piece){ to, n, from };
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

/* An array of iovecs, for what the kernel writes: where that goes must not change under the call. */
static bool take_array(struct thread *t, uint64_t *used, uint64_t addr, uint64_t count)
{
	return count <= IOV_MOST && (!count || take(t, used, addr, count * sizeof(struct iovec)));
}

/* All that they point to. */
static bool take_pieces(struct thread *t, uint64_t *used, uint64_t addr, uint64_t count)
{
	struct iovec v;
	for (uint64_t i = 0; i < count && count <= IOV_MOST; i++)
		if (!order_access(t, addr + i * sizeof v, &v, sizeof v, false) ||
		    !take(t, used, (uint64_t)v.iov_base, v.iov_len))
			return false;
	return count <= IOV_MOST;
}

/* An iovec becomes one with a single member. Its base is set when nothing moves any more. */
static bool take_iov(struct thread *t, uint64_t *used, uint64_t addr, uint64_t count)
{
	uint64_t at = *used;
	struct iovec v = { 0 };
	room_for(t, at, sizeof v);
	*used += sizeof v;
	bool taken = take_pieces(t, used, addr, count);
	v.iov_len = *used - at - sizeof v;
	memcpy(t->inputs + at, &v, sizeof v);
	return taken;
}

/* A message that is sent: header, name, control, and one iovec as above. */
static bool take_sent(struct thread *t, uint64_t *used, uint64_t addr)
{
	uint64_t at = *used;
	struct message m;
	if (!take(t, used, addr, sizeof m))
		return false;
	memcpy(&m, t->inputs + at, sizeof m);
	if (m.name && !take(t, used, m.name, m.name_len))
		return false;
	*used = ALIGN_UP(*used, 8);
	if (m.control && !take(t, used, m.control, m.control_len))
		return false;
	*used = ALIGN_UP(*used, 8);
	return take_iov(t, used, m.iov, m.iov_len);
}

/* One that is received: its header, and behind it the array that says where. */
static bool take_received(struct thread *t, uint64_t *used, uint64_t addr)
{
	uint64_t at = *used;
	struct message m;
	if (!take(t, used, addr, sizeof m))
		return false;
	memcpy(&m, t->inputs + at, sizeof m);
	return take_array(t, used, m.iov, m.iov_len);
}

/* What the call reads by this rule; false: nothing, or it cannot be read. arg: which argument then points to the
   copy. */
static bool take_rule(struct call *c, const struct sys_io *io, uint64_t *used, unsigned *arg)
{
	struct thread *t = c->t;
	uint64_t p = c->args[io->arg], count = io->size_arg == NO_ARG ? 1 : c->args[io->size_arg];
	*arg = io->arg;
	if (!p && io->rule != OUT_LENGTH)
		return false;
	switch ((enum io_rule)io->rule) {
	case IN_STRING: return take_string(t, used, p);
	case IN_BYTES:
	case INOUT_FIXED:
	case INOUT_ARG: return take(t, used, p, io->unit * count);
	case IN_IOV: return take_iov(t, used, p, count);
	case IN_MSG: return take_sent(t, used, p);
	case OUT_IOV: return take_array(t, used, p, count);
	case OUT_MSG: return take_received(t, used, p);
	case OUT_LENGTH: *arg = io->size_arg; return count && take(t, used, count, 4);
	default: return false;
	}
}

/* Pointers between the copies, which stay where they are now. */
static void link_iov(uint8_t *at)
{
	((struct iovec *)at)->iov_base = at + sizeof(struct iovec);
}

static void link_sent(uint8_t *at)
{
	struct message *m = (struct message *)at;
	uint64_t p = (uint64_t)(m + 1);
	if (m->name) {
		m->name = p;
		p = ALIGN_UP(p + m->name_len, 8);
	}
	if (m->control) {
		m->control = p;
		p = ALIGN_UP(p + m->control_len, 8);
	}
	m->iov = p;
	m->iov_len = 1;
	link_iov((uint8_t *)p);
}

/* Where the copies for a rule begin, behind those for others. */
static uint64_t start_of(const struct sys_io *io, uint64_t used)
{
	const uint64_t head = sizeof(struct iovec);
	return io->rule == IN_IOV ? ALIGN_UP(used + head, DIRECT) - head : ALIGN_UP(used, 16);
}

void order_take_inputs(struct call *c)
{
	struct thread *t = c->t;
	uint64_t used = 0, starts[IO_MAX], before = t->self->events;
	unsigned args[IO_MAX];
	if (c->inputs_taken)
		return;
	for (int i = 0; i < IO_MAX && c->io[i].rule; i++) {
		uint64_t start = used = start_of(&c->io[i], used);
		starts[i] = take_rule(c, &c->io[i], &used, &args[i]) ? start + 1 : 0;
	}
	for (int i = 0; i < IO_MAX && c->io[i].rule; i++) {
		if (!starts[i])
			continue;
		uint8_t *at = t->inputs + starts[i] - 1;
		c->real[args[i]] = (uint64_t)at;
		if (c->io[i].rule == IN_MSG)
			link_sent(at);
		if (c->io[i].rule == IN_IOV) {
			link_iov(at);
			c->real[c->io[i].size_arg] = 1;
		}
	}
	c->inputs_taken = true;
	memcpy(c->inputs, c->real, sizeof c->inputs);
	if (t->self->events != before)
		order_before_wait_again(t);
}

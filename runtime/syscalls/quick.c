/*
 * The quick way to record a call.
 *
 * Most calls have at most one output of modest size (getppid, read, clock_gettime, fstat, epoll_wait), or one input
 * (write). For them this file does what record() does in general, and no more: on the way to the kernel a table
 * look-up, room in the ring, the arguments, a ticket, the input's hash; on the way back the copy to the program, the
 * entry's header, and the commit. What is shown at replay, may change a mapped file, or brings a signal mask goes the
 * general way.
 */
#include "runtime/runtime.h"

#define MOST_OUTPUT (192u << 10)
#define PLACED	    1024 /* room for an output, from which on tickets have their place before it */

enum { NOT_ASKED, NOT_QUICK, QUICK };
enum { WAITS = 1, ORDERED = 2, INPUT = 4, WRITES = 8 };

/* What the quick way needs of a row, close together. */
struct quick {
	uint8_t state, flags, nargs;
	uint8_t arg;	  /* of the output or input; NO_ARG: none */
	uint8_t size_arg; /* output: unit * this argument is the room, unit * result is written; input: unit * this
			     argument; NO_ARG: unit, always */
	uint8_t null_arg; /* must be 0: a signal mask, or a second input or output; NO_ARG: there is none */
	uint32_t unit;
	uint32_t unused; /* a power of two in all */
};
static struct quick known[512];

static const uint32_t never_held;

static bool decide(struct quick *q, unsigned nr)
{
	const struct sys_row *row = sys_find(nr);
	const struct sys_io *io = row ? row->io : 0;
	q->state = NOT_QUICK;
	if (!row || row->how != SYS_FROM_LOG || row->shape ||
	    (row->flags & ~(SYS_WAITS | SYS_NO_ORDER | SYS_NEW_FD | SYS_MASK | SYS_WRITES)))
		return false;
	if (io->parts || io[1].parts)
		return false;
	if (io->rule && io->rule != OUT_FIXED && io->rule != OUT_RESULT && io->rule != IN_BYTES)
		return false;
	if (io[1].rule && (io[2].rule || row->flags & SYS_MASK))
		return false;
	q->nargs = row->nargs;
	q->flags = (row->flags & SYS_WAITS ? WAITS : 0) | (row->flags & SYS_NO_ORDER ? 0 : ORDERED) |
		   (row->flags & SYS_WRITES ? WRITES : 0) | (io->rule == IN_BYTES ? INPUT : 0);
	q->arg = io->rule ? io->arg : NO_ARG;
	q->size_arg = io->rule == OUT_FIXED ? NO_ARG : io->size_arg;
	q->null_arg = row->flags & SYS_MASK ? row->mask_arg : io[1].rule ? io[1].arg : NO_ARG;
	q->unit = io->unit;
	q->state = QUICK; /* last: another thread may be looking */
	return true;
}

/* An entry on its way. */
struct going {
	struct entry *e;
	uint64_t *args;	  /* in the entry, and at the same time what the kernel gets */
	uint64_t *blocks; /* behind them, and behind the tickets if these have their place already */
	uint64_t ticket;
	bool placed;
};

static inline struct going begin(struct thread *t, const struct quick *q, uint64_t room)
{
	struct entry *e = log_reserve(t, sizeof *e + 6 * 8 + 16 + sizeof(struct block) + room + 8);
	uint64_t *args = (uint64_t *)(e + 1);
	/* all of them, one by one, which takes six instructions where a loop takes thirty; what follows goes over the
	   rest */
	args[0] = REGS_ARG(&t->regs, 0);
	args[1] = REGS_ARG(&t->regs, 1);
	args[2] = REGS_ARG(&t->regs, 2);
	args[3] = REGS_ARG(&t->regs, 3);
	args[4] = REGS_ARG(&t->regs, 4);
	args[5] = REGS_ARG(&t->regs, 5);
	/* To make room for tickets later means to move the output: among threads a large one leaves it from the
	   beginning. The arguments that lie there are on their way before it is used. */
	bool placed = room >= PLACED && (q->flags & ORDERED) && !one_thread;
	return (struct going){ e, args, args + q->nargs + (placed ? 2 : 0), q->flags & ORDERED ? ticket_of(t) : 0,
			       placed };
}

static inline long enter(struct thread *t, const struct quick *q, const struct going *g, unsigned nr)
{
	long result = gate_wait(q->flags & WAITS ? &t->held : &never_held, nr, g->args);
	if (unlikely(result == GATE_HELD)) /* nothing was logged */
		t->dropped_ticket = q->flags & ORDERED ? g->ticket + 1 : 0;
	return result;
}

/* Tickets are left out when nobody else was between this thread's last exit and this one. */
static inline void finish(struct thread *t, const struct quick *q, const struct going *g, unsigned nr, long result,
			  uint8_t *end)
{
	unsigned flags = q->nargs;
	if (likely(q->flags & ORDERED)) {
		uint64_t now = __atomic_load_n(&tickets, __ATOMIC_RELAXED);
		if (g->placed) {
			g->blocks[-2] = g->ticket;
			g->blocks[-1] = now;
			flags |= ENTRY_TICKETS;
		} else if (unlikely(g->ticket != t->ticket || now != g->ticket + 1)) {
			insert_tickets(g->blocks, end, g->ticket, now);
			end += 16;
			flags |= ENTRY_TICKETS;
		}
		t->ticket = now;
	}
	uint32_t size = (uint32_t)(end - (uint8_t *)g->e);
	*g->e = (struct entry){
		.size = size, .nr = (uint16_t)nr, .kind = ENTRY_SYSCALL, .flags = (uint8_t)flags, .result = result
	};
	log_commit(t, size);
	/* the next entry's place, which heddle's core may have had last */
	__builtin_prefetch(end + 64, 1);
	__builtin_prefetch(end + 128, 1);
	__builtin_prefetch(end + 192, 1);
}

static inline long without_output(struct thread *t, const struct quick *q, unsigned nr)
{
	struct going g = begin(t, q, 0);
	long result = enter(t, q, &g, nr);
	if (likely(result != GATE_HELD))
		finish(t, q, &g, nr, result, (uint8_t *)g.blocks);
	return result;
}

/* What the kernel wrote becomes a block, and goes to the program; returns the end of the entry. */
static inline uint8_t *give(const struct quick *q, struct block *b, uint64_t user, uint64_t n, long *result)
{
	uint8_t *end = (uint8_t *)(b + 1) + n;
	if (unlikely(user_copy((void *)user, b + 1, n)))
		*result = -EFAULT; /* and a part of it is there: so it will be at replay */
	*b = (struct block){ .addr = user, .len = (uint32_t)n, .kind = BLOCK_OUT, .arg = q->arg };
	while ((uint64_t)end & 7)
		*end++ = 0;
	return end;
}

/* A buffer of several pages whose end is not there gets what fits: the slow way sees to that. Within one page all fits,
   or nothing, which the copy will tell; a look at each of these would cost 6 ns. */
static inline bool ends_beyond(uint64_t user, uint64_t room)
{
	uint64_t last = user + room - 1;
	return room && (user ^ last) >> 12 && user_probe((void *)last, 1);
}

static inline uint64_t size_of(const struct thread *t, const struct quick *q)
{
	return q->size_arg == NO_ARG ? q->unit : q->unit * REGS_ARG(&t->regs, q->size_arg);
}

/* The kernel writes behind the room for the block's header, where the bytes belong anyway. */
static inline long with_output(struct thread *t, const struct quick *q, unsigned nr, uint64_t user)
{
	uint64_t room = size_of(t, q);
	if (unlikely(room > MOST_OUTPUT || ends_beyond(user, room)))
		return RECORD_SLOWLY;
	struct going g = begin(t, q, room);
	struct block *b = (struct block *)g.blocks;
	g.args[q->arg] = (uint64_t)(b + 1);
	long result = enter(t, q, &g, nr);
	if (unlikely(result == GATE_HELD))
		return result;
	if (unlikely(result == -EINVAL && !(user % 512) &&
		     (nr == __NR_read || nr == __NR_pread64))) { /* perhaps it must be aligned: see outputs.c */
		t->dropped_ticket = q->flags & ORDERED ? g.ticket + 1 : 0;
		return RECORD_SLOWLY;
	}
	g.args[q->arg] = user;
	uint8_t *end = (uint8_t *)b;
	if (unlikely(result == -EFAULT))
		touch_output(end, end + room);
	uint64_t n = result < 0 ? 0 : q->size_arg == NO_ARG ? room : MIN((uint64_t)result * q->unit, room);
	if (likely(n))
		end = give(q, b, user, n, &result);
	if (unlikely(n && result == -EFAULT && nr == __NR_read)) /* nothing was read; a pipe has lost it */
		SYS3(__NR_lseek, g.args[0], -(long)n, 1 /* SEEK_CUR */);
	finish(t, q, &g, nr, result, end);
	return result;
}

/* Of the input the entry holds a hash. What cannot be read goes the general way, to the kernel's EFAULT. */
static inline long with_input(struct thread *t, const struct quick *q, unsigned nr, uint64_t user)
{
	uint64_t n = size_of(t, q);
	uint64_t fd = REGS_ARG(&t->regs, 0);
	if (unlikely(t->front->chaos || n > UINT32_MAX || user_probe((void *)user, n) ||
		     ((q->flags & WRITES) && (shown_class(t->process, fd) || !shared_file_never(t->process, fd)))))
		return RECORD_SLOWLY;
	struct going g = begin(t, q, sizeof(uint64_t));
	uint64_t hash = hash_bytes((void *)user, n, 0); /* after the ticket, as record() takes it */
	long result = enter(t, q, &g, nr);
	if (unlikely(result == GATE_HELD))
		return result;
	struct block *b = (struct block *)g.blocks;
	*b = (struct block){ .addr = user, .len = (uint32_t)n, .kind = BLOCK_HASH, .arg = q->arg };
	memcpy(b + 1, &hash, sizeof hash);
	finish(t, q, &g, nr, result, (uint8_t *)(b + 1) + sizeof hash);
	return result;
}

long record_quick(struct thread *t, unsigned nr)
{
	struct quick *q = &known[nr % COUNT(known)];
	if (unlikely(q->state != QUICK || nr >= COUNT(known)) &&
	    (nr >= COUNT(known) || q->state == NOT_QUICK || !decide(q, nr)))
		return RECORD_SLOWLY;
	if (unlikely(q->null_arg != NO_ARG &&
		     (REGS_ARG(&t->regs, q->null_arg) || t->front->chaos || may_discard(nr, REGS_ARG(&t->regs, 3)))))
		return RECORD_SLOWLY;
	uint64_t user = q->arg == NO_ARG ? 0 : REGS_ARG(&t->regs, q->arg);
	if (!user)
		return without_output(t, q, nr);
	return q->flags & INPUT ? with_input(t, q, nr, user) : with_output(t, q, nr, user);
}

/*
 * The engine behind the rows: what a call reads and writes goes into its entry
 * when recording (inputs.c, outputs.c), and comes out of it at replay.
 */
#include "runtime/syscalls/capture.h"

/* ---- signal masks of ppoll and its kin ------------------------------------------------------ */

struct mask_copy {
	uint64_t mask;
	uint64_t pair[2]; /* pselect6 passes {mask, size} */
};

static void take_mask(struct call *c, struct mask_copy *m)
{
	uint64_t p = c->args[c->row->mask_arg];
	bool pair = c->nr == __NR_pselect6;
	if (pair && p) {
		if (user_copy(m->pair, (void *)p, sizeof m->pair))
			return;
		p = m->pair[0];
	}
	if (!p || user_copy(&m->mask, (void *)p, 8))
		return;
	c->t->wait_mask = m->mask;
	c->t->waiting = true;
	signals_update_held(c->t);
	m->mask = signals_kernel_mask(m->mask);
	m->pair[0] = (uint64_t)&m->mask;
	c->real[c->row->mask_arg] = pair ? (uint64_t)m->pair : (uint64_t)&m->mask;
}

/* ---- record -------------------------------------------------------------------------------- */

void call_kernel(struct call *c)
{
	if (unlikely(c->t->held_count) && signals_answer(c))
		return;
	if (c->row->flags & SYS_WAITS)
		c->result = gate_wait(&c->t->held, c->nr, c->real);
	else
		c->result = gate(c->nr, (long)c->real[0], (long)c->real[1], (long)c->real[2], (long)c->real[3],
				 (long)c->real[4], (long)c->real[5]);
	c->restart = c->result == GATE_HELD;
}

void touch_output(uint8_t *from, const uint8_t *to)
{
	for (volatile uint8_t *p = from; p < to + 4096; p += 4096)
		*p = *p;
}

static void record(struct call *c)
{
	struct output out[IO_MAX];
	struct vector vector;
	struct mask_copy mask;
	bool uses_scratch;
	call_begin(c);
	call_inputs(c);
	int n = place_outputs(c, out, &vector, &uses_scratch);
	if (c->row->flags & SYS_MASK)
		take_mask(c, &mask);
	uint64_t place = NOT_SHOWN;
	bool shown = (c->row->flags & SYS_WRITES) && shown_class(c->t->process, c->args[0]);
	bool to_file = (c->row->flags & SYS_WRITES) && (shared_file_count || !one_thread);
	struct file_write write = { .alone = false };
	if (to_file)
		shared_file_write_begins(c, &write);
	if (shown)
		place = shown_write(c);
	else
		call_kernel(c);
	bool looks = to_file || shared_file_count;
	if (unlikely(looks))
		shared_file_call_ended(c, &write, to_file);
	if (unlikely(c->restart)) {
		if (shown)
			shown_written();
		c->t->dropped_ticket = c->row->flags & SYS_NO_ORDER ? 0 : c->entry_ticket + 1;
		return; /* the entry was never committed */
	}
	bool in_ring = n && !uses_scratch;
	uint8_t *end = in_ring ? out[n - 1].from + ALIGN_UP(out[n - 1].room, 8) : c->at;
	if (unlikely(c->result == -EFAULT && in_ring))
		touch_output(c->at, end);
	c->kind = ENTRY_SYSCALL;
	c->flags = (uint8_t)(add_tickets(c, end) | sys_nargs(c->row));
	if (unlikely(in_ring && (c->flags & ENTRY_TICKETS)))
		for (int i = 0; i < n; i++)
			out[i].from += 16;
	if (place != NOT_SHOWN)
		call_block(c, BLOCK_SHOWN, shown_class(c->t->process, c->args[0]), place, 0, 0);
	if (to_file)
		shared_file_written(c, &write);
	if (unlikely(looks) && c->result >= 0)
		shared_files_changed(c);
	long fault = 0;
	for (int i = 0; i < n; i++)
		fault |= give_output(c, &out[i]);
	if (unlikely(fault))
		c->result = -EFAULT;
	commit_entry(c, 0);
	shared_file_call_logged(c);
	if (shown)
		shown_written();
	order_given(c->t);
	if (unlikely(uses_scratch))
		scratch_done(c->t);
}

/* ---- replay ----------------------------------------------------------------------------------- */

static void compare_arguments(struct call *c, const struct entry *e)
{
	if (e->kind != ENTRY_SYSCALL || e->nr != c->nr)
		diverged_call(c, e, "another event was recorded here");
	const uint64_t *recorded = (const uint64_t *)(e + 1);
	for (unsigned i = 0; i < ENTRY_ARGS(e->flags); i++)
		if (recorded[i] != c->args[i])
			diverged_call(c, e, "the arguments differ");
}

static void apply(struct call *c, const struct entry *e)
{
	for (const struct block *b = entry_blocks(e); b < entry_end(e); b = block_next(b)) {
		switch ((enum block_kind)b->kind) {
		case BLOCK_PATCH: shared_file_patch(b->addr, block_data(b), b->len); break;
		case BLOCK_OUT: apply_output(c, e, b); break;
		case BLOCK_STRING:
		case BLOCK_HASH: compare_input(c, e, b); break;
		case BLOCK_SHOWN: show_input(c, e, b); break;
		default: break;
		}
	}
}

/* The tickets that the entry has, or implies. */
static void replay_tickets(struct call *c, const struct entry *e, uint64_t *ticket, uint64_t *now)
{
	const uint64_t *written = (const uint64_t *)(e + 1) + ENTRY_ARGS(e->flags);
	*ticket = e->flags & ENTRY_TICKETS ? written[0] : c->t->ticket;
	*now = e->flags & ENTRY_TICKETS ? written[1] : *ticket + 1;
	c->t->ticket = *now + !!(e->flags & ENTRY_CHANGES);
}

void call_ticket_early(struct call *c)
{
	c->ticket_early = true;
	if (!replaying) {
		c->entry_ticket = ticket_of(c->t);
		return;
	}
	const struct entry *e = log_peek(c->t);
	if (one_thread || !e || e->kind != ENTRY_SYSCALL)
		return;
	uint64_t before = c->t->ticket, ticket, now;
	replay_tickets(c, e, &ticket, &now);
	c->t->ticket = before;
	ticket_enter(ticket);
}

void call_replay(struct call *c)
{
	if (unlikely(control->follow))
		log_wait_at_call(c->t, true);
	const struct entry *e = log_peek(c->t);
	if (!e)
		replay_ended(c->t);
	compare_arguments(c, e);
	c->result = e->result;
	c->entry = e;
	uint64_t ticket, now = 0;
	bool ordered = !(c->row->flags & SYS_NO_ORDER);
	if (ordered)
		replay_tickets(c, e, &ticket, &now);
	if (unlikely(ordered && !one_thread)) {
		/* its results may only be seen when what caused them has begun */
		ticket_enter(ticket);
		c->now = now;
		if (!c->leave_later)
			ticket_leave(c->t, now);
	}
	if (unlikely(c->before_bytes))
		c->before_bytes(c);
	apply(c, e);
	bool more = e->flags & ENTRY_CONTINUED, changes = e->flags & ENTRY_CHANGES;
	log_take(c->t);
	while (more) {
		e = log_peek(c->t);
		if (!e || e->kind == ENTRY_CUT)
			replay_ended(c->t);
		apply(c, e);
		more = e->flags & ENTRY_CONTINUED;
		log_take(c->t);
	}
	if (unlikely(changes && ordered && !one_thread))
		ticket_enter(now); /* who comes after it changes the same memory */
}

void call_run(struct call *c)
{
	if (unlikely(c->t->hooked)) {
		order_take_inputs(c);
		if (unlikely(control->follow))
			log_wait_at_call(c->t, true);
		if (replaying)
			signals_deliver(c->t, true); /* one that came after they were taken */
	}
	if (!replaying) {
		record(c);
		return;
	}
	c->as_access = true; /* as record() does it */
	struct mask_copy mask;
	if (c->row->flags & SYS_MASK)
		take_mask(c, &mask); /* a handler that begins after the call starts from it */
	call_replay(c);
	if (c->row->how == SYS_RUN_AGAIN && !is_error(c->result)) {
		long logged = c->result;
		call_kernel(c);
		if (c->result != logged)
			diverged_call(c, c->entry, "run again, it gave another result");
	}
}

void call_answer(struct call *c, long result)
{
	if (replaying) {
		call_replay(c);
		return;
	}
	call_begin(c);
	call_inputs(c);
	c->result = result;
	call_end(c);
}

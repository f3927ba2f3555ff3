/*
 * An entry of the log under construction: arguments, blocks, tickets, commit.
 */
#include "runtime/syscalls/capture.h"

#define INPUT_ROOM (24u << 10) /* strings and hashes of one call: five of at most PATH_ROOM */

static void begin_entry(struct call *c, size_t room)
{
	c->base = log_reserve(c->t, room);
	c->limit = c->base + room;
	c->at = c->base + sizeof(struct entry);
}

void call_begin(struct call *c)
{
	unsigned nargs = sys_nargs(c->row);
	if (unlikely(c->t->front->chaos))
		chaos_perturb(c->t);
	begin_entry(c, sizeof(struct entry) + 64 + INPUT_ROOM + RING_OUTPUT + IO_MAX * 64);
	uint64_t *at = (uint64_t *)c->at;
	for (unsigned i = 0; i < nargs; i++)
		at[i] = c->args[i];
	c->at += nargs * 8;
	if (!(c->row->flags & SYS_NO_ORDER) && !c->ticket_early)
		c->entry_ticket = ticket_of(c->t);
}

void commit_entry(struct call *c, unsigned flags)
{
	struct entry *e = (struct entry *)c->base;
	*e = (struct entry){ .size = (uint32_t)(c->at - c->base),
			     .nr = (uint16_t)c->nr,
			     .kind = c->kind,
			     .flags = (uint8_t)(c->flags | flags),
			     .result = c->result };
	log_commit(c->t, e->size);
}

void entry_begin(struct call *c, enum entry_kind kind)
{
	c->kind = kind;
	c->flags = 0;
	begin_entry(c, ENTRY_MAX / 2);
}

void entry_room(struct call *c, size_t n)
{
	if (c->at + sizeof(struct block) + ALIGN_UP(n, 8) + 64 <= c->limit)
		return;
	/* The entry so far becomes final, and another one continues it. */
	commit_entry(c, ENTRY_CONTINUED);
	entry_begin(c, ENTRY_MORE);
}

void entry_finish(struct call *c)
{
	commit_entry(c, 0);
}

void call_block(struct call *c, enum block_kind kind, unsigned arg, uint64_t addr, uint32_t len, const void *data)
{
	struct block b = { .addr = addr, .len = len, .kind = kind, .arg = (uint8_t)arg };
	uint32_t n = block_data_len(&b);
	ASSERT(c->at + sizeof b + ALIGN_UP(n, 8) <= c->limit);
	/* Data first: it may lie where the header goes. It never lies below its new place. */
	uint8_t *to = c->at + sizeof b;
	if (n && data != to)
		memmove(to, data, n);
	while (n & 7)
		to[n++] = 0;
	memcpy(c->at, &b, sizeof b);
	c->at = to + n;
}

/* Tickets are left out when nobody else was between this thread's last exit and this one. */
unsigned add_tickets(struct call *c, uint8_t *end)
{
	if (c->row->flags & SYS_NO_ORDER)
		return 0;
	uint64_t now = unlikely(c->changes_file) ? ticket_take() : __atomic_load_n(&tickets, __ATOMIC_RELAXED);
	bool alone = c->entry_ticket == c->t->ticket && now == c->entry_ticket + 1;
	unsigned changes = c->changes_file ? ENTRY_CHANGES : 0;
	c->t->ticket = now + c->changes_file;
	if (likely(alone))
		return changes;
	insert_tickets((uint64_t *)(c->base + sizeof(struct entry) + 8 * sys_nargs(c->row)), end, c->entry_ticket, now);
	c->at += 16;
	return ENTRY_TICKETS | changes;
}

void call_done(struct call *c)
{
	c->kind = ENTRY_SYSCALL;
	c->flags = (uint8_t)(add_tickets(c, c->at) | sys_nargs(c->row));
}

void call_end(struct call *c)
{
	call_done(c);
	commit_entry(c, 0);
}

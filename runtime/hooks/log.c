/*
 * A thread's order log: numbers, written at events.
 *
 * An entry is one LEB128 number (events since the entry before) << 4 | (how many numbers follow), then these, LEB128
 * each. Entries gather in the room of the ring's header, where they survive a kill, and go to the stream as one
 * ENTRY_ORDER when the room is used up: an entry each would cost 16 bytes for every two.
 *
 * 1. `used` is stored (release) after the bytes: whoever reads the header of a killed thread sees whole entries.
 * 2. `base` is the number of bytes that went to the stream before. A flush commits the ENTRY_ORDER, whose argument is
 *    base, then empties the room, and then moves base on. A kill after the first leaves the same piece twice, which the
 *    reader sees by its argument; one after the second leaves nothing. (Base before the room: and the same bytes would
 *    be there once more, as the piece that comes next.)
 *
 * At replay a second window on the stream reads ENTRY_ORDER entries alone; the first one skips them. Of a stream that
 * heddle unpacks while it is read, this window has no other entries.
 */
#include "runtime/hooks/hooks.h"
#include "runtime/runtime.h"
#include "trace/numbers.h"
#include <linux/mman.h>

#define NUMBERS_MAX    15
#define ROOM_FOR_ENTRY ((NUMBERS_MAX + 1) * 10)

static struct order_room *room_of(struct thread *t)
{
	return (struct order_room *)((uint8_t *)t->self - RING_SELF_AT + ORDER_ROOM_AT);
}

/* ---- record --------------------------------------------------------------------------------------------- */

void order_flush(struct thread *t)
{
	struct order_room *room = room_of(t);
	uint32_t n = room->used;
	if (!n)
		return;
	size_t size = sizeof(struct entry) + 8 + ALIGN_UP(n, 8);
	struct entry *e = log_reserve(t, size);
	*e = (struct entry){ .size = (uint32_t)size, .kind = ENTRY_ORDER, .flags = 1, .result = n };
	uint64_t *base = (uint64_t *)(e + 1);
	*base = room->base;
	base[ALIGN_UP(n, 8) / 8] = 0; /* the padding */
	memcpy(base + 1, room->data, n);
	log_commit(t, size);
	__atomic_store_n(&room->used, 0, __ATOMIC_RELEASE); /* invariant 2 */
	__atomic_store_n(&room->base, room->base + n, __ATOMIC_RELEASE);
	/* release, for what is written into the room from here on: heddle may look meanwhile, and must see the base
	   first */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static struct thread *thread_of_order(struct order_thread *o)
{
	return (struct thread *)((uint8_t *)o - offsetof(struct thread, order));
}

void order_log(struct order_thread *o, unsigned n, const uint64_t *numbers)
{
	struct thread *t = thread_of_order(o);
	struct order_room *room = room_of(t);
	if (n > NUMBERS_MAX)
		BUG("too many numbers in one order entry");
	if (room->used + ROOM_FOR_ENTRY > sizeof room->data)
		order_flush(t);
	uint8_t *from = room->data + room->used, *at = number_put(from, (o->event - o->last_entry) << 4 | n);
	for (unsigned i = 0; i < n; i++)
		at = number_put(at, numbers[i]);
	o->last_entry = o->event;
	o->entries++;
	o->bytes += (uint64_t)(at - from);
	__atomic_store_n(&room->used, room->used + (uint32_t)(at - from), __ATOMIC_RELEASE); /* invariant 1 */
}

/* ---- replay ----------------------------------------------------------------------------------------------- */

#define WINDOW (8ul << 20)

/* The next window, which may be empty. */
static void move_window(struct thread *t)
{
	struct order_cursor *c = &t->order_cursor;
	if (c->late) {
		c->mapped = log_late_next(c->late, c->windows);
		c->window = c->late->from;
		c->window_end = c->late->end;
		return;
	}
	c->window = ALIGN_DOWN(c->position, 65536);
	uint64_t n = MIN(WINDOW, c->size - c->window);
	c->mapped = log_map_second(t, c->window, n);
	c->window_end = c->window + n == c->size ? c->size : c->window + n - ENTRY_MAX;
}

/* What lies behind the stream, while the recording goes on. */
static bool take_tail(struct thread *t)
{
	struct order_cursor *c = &t->order_cursor;
	const struct order_room *room = &log_tail(t)->room;
	if (!control->follow || !t->log.tail || !room->used || room->base < c->bytes)
		return false;
	if (room->base > c->bytes)
		cannot("a piece of the order log of thread %u is missing", (unsigned long)t->slot);
	c->bytes += room->used;
	c->at = room->data;
	c->end = c->at + room->used;
	c->in_tail = true;
	return true;
}

/* The window is moved on and the next ENTRY_ORDER found; false: there is none. */
static bool next_piece(struct thread *t)
{
	struct order_cursor *c = &t->order_cursor;
	while (c->position < c->size) {
		if (c->position >= c->window_end) {
			move_window(t);
			continue;
		}
		const struct entry *e = (const struct entry *)(c->mapped + (c->position - c->window));
		c->position += e->size;
		if (e->kind != ENTRY_ORDER)
			continue;
		if (e->flags != 1 || e->result < 0 || (uint64_t)e->result + sizeof *e + 8 > e->size)
			damaged("wrong order entry of thread %u", (unsigned long)t->slot);
		if (*(const uint64_t *)(e + 1) < c->bytes || !e->result)
			continue; /* invariant 2; an empty piece is replaced (commands/schedule.c), or has nothing */
		if (*(const uint64_t *)(e + 1) > c->bytes)
			damaged("a piece of the order log of thread %u is missing", (unsigned long)t->slot);
		c->bytes += (uint64_t)e->result;
		c->at = (const uint8_t *)(e + 1) + 8;
		c->end = c->at + e->result;
		return true;
	}
	return take_tail(t);
}

static uint64_t get(struct thread *t)
{
	struct order_cursor *c = &t->order_cursor;
	uint64_t number = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (c->at == c->end && !next_piece(t))
			damaged("the order log of thread %u ends in the middle of an entry", (unsigned long)t->slot);
		uint8_t byte = *c->at++;
		number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return number;
	}
	damaged("the order log of thread %u has a number that is too large", (unsigned long)t->slot);
}

static void next_entry(struct thread *t)
{
	struct order_cursor *c = &t->order_cursor;
	t->order.next_entry = ORDER_NEVER;
	if (c->at == c->end && !next_piece(t))
		return;
	uint64_t head = get(t);
	c->left = head & 15;
	t->order.last_entry += head >> 4;
	t->order.next_entry = t->order.last_entry;
}

void order_log_open(struct thread *t)
{
	struct order_cursor *c = &t->order_cursor;
	*c = (struct order_cursor){ .size = t->log.late ? t->log.late->order : t->log.size };
	c->late = log_open_late_order(t, &c->windows);
	t->order.last_entry = fork_base;
	next_entry(t);
	order_set_until(t);
}

/* What was read from behind the stream is now in it, or there again, with more behind it. */
void order_log_grown(struct thread *t)
{
	struct order_cursor *c = &t->order_cursor;
	c->size = t->log.size;
	c->window_end = MIN(c->window_end, c->position);
	if (c->in_tail) {
		uint64_t used = (uint64_t)(c->end - log_tail(t)->room.data), read = used - (uint64_t)(c->end - c->at);
		c->in_tail = false;
		c->bytes -= used;
		c->at = c->end;
		if (!next_piece(t))
			cannot("a piece of the order log of thread %u is missing", (unsigned long)t->slot);
		c->at += read;
	}
	if (t->order.next_entry == ORDER_NEVER && t->self)
		next_entry(t);
	if (t->self) /* the next hook looks again */
		t->self->until = t->self->group_until = t->self->poll_until = 0;
}

/* The scheme's version is the recording's: so this thread is not where the entry was written. */
static _Noreturn void wrong_entry(struct thread *t)
{
	diverged(t, log_peek(t), "an access, a lock or an end to which its entry in the order log does not fit");
}

/* For who stops this thread: between two steps order_log_grown() may move the cursor, and not in the middle of one. The
   fence is for the compiler: it is the thread itself that stops, in a handler. */
static void set_reading(struct thread *t, bool reading)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->order_cursor.reading = reading;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

uint64_t order_number(struct order_thread *o)
{
	struct thread *t = thread_of_order(o);
	set_reading(t, true);
	if (!t->order_cursor.left--)
		wrong_entry(t);
	uint64_t number = get(t);
	set_reading(t, false);
	return number;
}

void order_taken(struct order_thread *o)
{
	struct thread *t = thread_of_order(o);
	if (t->order_cursor.left)
		wrong_entry(t);
	o->entries++;
	set_reading(t, true);
	next_entry(t);
	set_reading(t, false);
	order_set_until(t);
}

/*
 * --paranoid: at a system call now and then, the pages that changed since the last look are hashed, and replay
 * compares. What changes memory without an event is found near its cause, with its page.
 *
 * Both directions walk all pages that count, upwards, and compare them with the list of the last look. What is new,
 * another, or gone is a change; record logs them, replay expects the same ones.
 *
 * A look is only taken by a thread that is alone in its process: what others write between two events of theirs has no
 * fixed place at replay. And not at a futex call, which replay may leave out. Once there were other threads, stacks and
 * kept registers do not count: replay waits where the recording did not, or the other way round, and the runtime leaves
 * other values in registers that nobody uses any more; functions under way have put some of them into memory.
 */
#include "runtime/memory/pages.h"
#include "runtime/runtime.h"

#define PAGE  4096
#define PAGES (1u << 18) /* of the lists: 1 GiB that is not zero; what lies above that is not looked at */

struct seen {
	uint64_t page, hash;
};

struct look {
	struct call c; /* record: the entry under construction */
	struct thread *t;
	const struct entry *e; /* replay: where the next change is expected */
	const struct block *b;
	const struct seen *old, *old_end;
	struct seen *new;
};

static struct seen lists[2][PAGES];
static unsigned current;      /* which of them is of the last look */
static uint32_t counts[2];    /* how long they are */
static uint64_t last_event;   /* replay: of the last look, 0: there was none */
static uint64_t calls, after; /* record: the next look comes after so many calls */

/* ---- record: a change is logged ---------------------------------------------------------------------------------- */

static void log_change(struct look *l, uint64_t from, uint32_t len, uint64_t hash)
{
	entry_room(&l->c, sizeof hash);
	call_block(&l->c, BLOCK_HASH, 0, from, len, &hash);
}

/* ---- replay: a change is expected -------------------------------------------------------------------------------- */

static _Noreturn void differs(struct look *l, uint64_t at, const char *how)
{
	TEXT(now, 200);
	text_add(&now, "the page at %x %s", ALIGN_DOWN(at, PAGE), how);
	if (last_event)
		text_add(&now, "; at event %u all pages were as recorded", last_event);
	diverged(l->t, l->e, TEXT_OF(now));
}

/* The next change that was logged, 0: none. */
static const struct block *expected(struct look *l)
{
	while (l->b >= entry_end(l->e)) {
		if (!(l->e->flags & ENTRY_CONTINUED))
			return 0;
		log_take(l->t);
		l->e = log_peek(l->t);
		if (!l->e || l->e->kind == ENTRY_CUT)
			replay_ended(l->t);
		l->b = entry_blocks(l->e);
	}
	return l->b;
}

static void expect_change(struct look *l, uint64_t from, uint32_t len, uint64_t hash)
{
	const struct block *b = expected(l);
	if (!b || ALIGN_DOWN(b->addr, PAGE) > ALIGN_DOWN(from, PAGE))
		differs(l, from, "has changed, and had not");
	if (ALIGN_DOWN(b->addr, PAGE) < ALIGN_DOWN(from, PAGE))
		differs(l, b->addr, "has not changed, and had");
	if (b->addr != from || b->len != len || memcmp(block_data(b), &hash, sizeof hash))
		differs(l, from, "is another than it was");
	l->b = block_next(b);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static void change(struct look *l, uint64_t from, uint32_t len, uint64_t hash)
{
	replaying ? expect_change(l, from, len, hash) : log_change(l, from, len, hash);
}

/* Pages of the last look below `page` are gone, or all zero by now. */
static void gone_until(struct look *l, uint64_t page)
{
	for (; l->old < l->old_end && l->old->page < page; l->old++)
		change(l, l->old->page, 0, 0);
}

static void look_at(void *arg, uint64_t page, uint64_t from)
{
	struct look *l = arg;
	gone_until(l, page);
	if (l->new == lists[!current] + PAGES)
		return;
	uint32_t len = (uint32_t)(page + PAGE - from);
	uint64_t hash = hash_bytes((void *)from, len, from);
	bool known = l->old < l->old_end && l->old->page == page;
	if (!known || l->old->hash != hash)
		change(l, from, len, hash);
	l->old += known;
	*l->new ++ = (struct seen){ page, hash };
}

static void look(struct look *l)
{
	l->old = lists[current];
	l->old_end = l->old + counts[current];
	l->new = lists[!current];
	pages_each(l->t, one_thread, look_at, l);
	gone_until(l, ~0ull);
	current = !current;
	counts[current] = (uint32_t)(l->new - lists[current]);
}

/* So that looks take a fixed share of the time of calls: a page takes as long as a call or two. */
static bool is_time(struct thread *t, unsigned nr)
{
	if (!thread_is_last() || memory_torn || t->vfork_depth || (++calls < after && nr != __NR_exit_group))
		return false;
	after = calls + 64 + counts[current] / 4;
	return true;
}

static void record_look(struct thread *t, unsigned nr)
{
	if (!is_time(t, nr))
		return;
	thread_wait_for_all_cleared();
	struct look l = { .c.t = t, .t = t };
	entry_begin(&l.c, ENTRY_PAGES);
	look(&l);
	entry_finish(&l.c);
}

/* Threads that had ended in the recording need nothing more of this one to end here. */
static void replay_look(struct thread *t)
{
	const struct entry *e = log_peek(t);
	if (!e || e->kind != ENTRY_PAGES)
		return;
	for (unsigned round = 0; !thread_is_last();)
		wait_a_little(&round);
	thread_wait_for_all_cleared();
	struct look l = { .t = t, .e = e, .b = entry_blocks(e) };
	look(&l);
	if (expected(&l))
		differs(&l, l.b->addr, "has not changed, and had");
	last_event = t->log.events;
	log_take(t);
}

void paranoid_look(struct thread *t, unsigned nr)
{
	if (nr != __NR_futex)
		replaying ? replay_look(t) : record_look(t, nr);
}

/*
 * The accesses of a granule that may still race with a later one, and the look at them with each new one.
 *
 * An access is dropped when a later one that comes after it stands for it: the same bytes or more, a write if it was
 * one, plain if it was. Whoever would race with the first races with the second. Up to KEPT accesses from different
 * places in the source stay all the same, so that a race is told with more of its places.
 */
#include "runtime/races/races.h"
#include "runtime/races/watch.h"
#include <linux/mman.h>

#define KEPT	6
#define LOCKS	4096
#define RECORDS 64 /* taken from the common memory at a time */

/* One word per granule: the first record. */
#define WORDS	  MAP_RACES_BASE
#define WORDS_LEN (MAP_PROGRAM_END / GRANULE * sizeof(struct record *))
static uint32_t locks[LOCKS];

void races_records_start(void)
{
	long r = SYS6(__NR_mmap, WORDS, WORDS_LEN, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	if (is_error(r))
		cannot("no address space for --races: error %d; is there a limit on it (ulimit -v)?", -r);
	SYS3(__NR_madvise, WORDS, WORDS_LEN, MADV_NOHUGEPAGE);
}

static struct record **word_of(uint64_t addr)
{
	return (struct record **)WORDS + addr % MAP_PROGRAM_END / GRANULE;
}

/* Whole pages of words go back to the kernel, and come again as zeros. Their records are lost to us. */
void races_forget(uint64_t addr, uint64_t n)
{
	uint64_t from = (uint64_t)word_of(addr), to = (uint64_t)(word_of(addr + n - 1) + 1);
	uint64_t first = ALIGN_UP(from, page_size), last = ALIGN_DOWN(to, page_size);
	if (addr + n > MAP_PROGRAM_END || !n)
		return;
	if (first >= last) {
		memset((void *)from, 0, to - from);
		return;
	}
	memset((void *)from, 0, first - from);
	SYS3(__NR_madvise, first, last - first, MADV_DONTNEED);
	memset((void *)last, 0, to - last);
}

static struct record *new_record(struct racer *r)
{
	struct record *x = r->unused;
	if (x) {
		r->unused = x->next;
		return x;
	}
	if (r->room == r->room_end) {
		r->room = races_memory(RECORDS * sizeof *x);
		r->room_end = r->room + RECORDS * sizeof *x;
	}
	x = (struct record *)r->room;
	r->room += sizeof *x;
	return x;
}

static bool conflict(const struct record *a, const struct record *b)
{
	return a->bytes & b->bytes && (a->flags | b->flags) & RECORD_WRITES && !(a->flags & b->flags & RECORD_ATOMIC);
}

/* Does whoever races with x race with `now`, too? */
static bool stands_for(const struct record *now, const struct record *x)
{
	bool as_plain = !(now->flags & RECORD_ATOMIC) || x->flags & RECORD_ATOMIC;
	bool as_write = now->flags & RECORD_WRITES || !(x->flags & RECORD_WRITES);
	return as_plain && as_write && !(x->bytes & ~now->bytes);
}

/* What `now` follows: the newest access of another thread that it conflicts with, unless this thread has followed it
   already. */
static bool followed(const struct record *newest, const struct record *now, struct record *found)
{
	for (const struct record *x = newest; x; x = x->next) {
		bool conflicts = x->bytes & now->bytes && (x->flags | now->flags) & RECORD_WRITES;
		if (x->slot == now->slot && stands_for(x, now))
			return false;
		if (x->slot == now->slot || !conflicts)
			continue;
		*found = *x;
		return true;
	}
	return false;
}

static void look(struct racer *r, uint64_t granule, const struct record *now)
{
	struct record **head = word_of(granule);
	struct record found[KEPT], source;
	unsigned races = 0, length = 0;
	uint32_t *lock = &locks[granule / GRANULE % LOCKS];
	order_lock(lock);
	bool follows = control->races & WATCH_STORY && followed(*head, now, &source);
	for (struct record *x = *head; x; x = x->next)
		length++;
	for (struct record **link = head, *x; (x = *link);) {
		bool ordered = happened_before(r, x->stamp);
		if (!ordered && conflict(x, now) && races < KEPT)
			found[races++] = *x;
		if (ordered && stands_for(now, x) && (x->site == now->site || length > KEPT)) {
			*link = x->next;
			x->next = r->unused;
			r->unused = x;
			length--;
			continue;
		}
		link = &x->next;
	}
	struct record *mine = new_record(r);
	*mine = *now;
	mine->next = *head;
	*head = mine;
	order_unlock(lock);
	if (follows)
		story_conflict(&source, now, granule, !happened_before(r, source.stamp) && conflict(&source, now));
	for (unsigned i = 0; i < races && control->races & WATCH_RACES; i++)
		races_found(&found[i], now, granule);
}

static void count(unsigned flags)
{
	if (flags & RECORD_READS)
		races_count(&control->looked_at.reads);
	if (flags & RECORD_WRITES)
		races_count(&control->looked_at.writes);
}

void races_touch(struct thread *t, const struct touch *touch)
{
	struct racer *r = racer_of(t);
	struct record now = { .site = touch->site,
			      .stamp = racer_now(r),
			      .event = t->self ? t->self->events / 2 : 0,
			      .value = touch->value,
			      .size = (uint8_t)touch->known,
			      .flags = (uint8_t)touch->flags,
			      .slot = (uint16_t)t->slot,
			      .lockset = r->lockset };
	if (unlikely(control->races & WATCH_PLACES))
		places_look(t);
	if (touch->site)
		count(touch->flags);
	for (uint64_t at = touch->addr, end = touch->addr + touch->size; at < end;) {
		uint64_t granule = ALIGN_DOWN(at, GRANULE), to = MIN(granule + GRANULE, end);
		now.bytes = (uint8_t)(((1u << (to - at)) - 1) << (at - granule));
		look(r, granule, &now);
		at = to;
	}
}

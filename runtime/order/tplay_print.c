/*
 * tplay's log in the words of its paper: dSet, aSet, bSet and rwSet, found again from the entries alone.
 */
#ifdef HEDDLE_TOOL
#include "print.h"
#include "tplay.h"

static struct pool pool;

/* A transaction of the written trace, or a part of one. */
struct part {
	unsigned number;    /* over all threads, as figure 2 has it; the same for the parts of one */
	const char *cut_at; /* name of its last event, if a violation ended it; else 0 */
};

struct story {
	struct part part[PRINT_THREADS][PRINT_EVENTS];
	struct own own[PRINT_THREADS];
	const char *last[PRINT_THREADS]; /* name of the thread's event before */
	unsigned numbers;
	struct text d, a, b, rw;
};

/* As replay does, without waiting: which transaction each event is in, and which were cut. */
static void find_parts(struct told_trace *trace, struct story *s)
{
	for (unsigned i = 0; i < trace->n; i++) {
		struct told *e = &trace->event[i];
		struct own *own = &s->own[e->slot];
		if (begins_one(own, e->access)) {
			begin_one(own);
			s->part[e->slot][own->transaction].number = ++s->numbers;
		}
		for (const struct order_entry *entry = e->entry; entry < e->end; entry++) {
			if ((entry->numbers[0] & KIND) > VIOLATION)
				continue;
			struct part *old = &s->part[e->slot][own->transaction];
			if ((entry->numbers[0] & KIND) == VIOLATION)
				old->cut_at = s->last[e->slot];
			begin_one(own);
			s->part[e->slot][own->transaction].number = old->number;
		}
		own->last_was_read = !access_writes(e->access);
		s->last[e->slot] = e->name;
	}
	memset(s->own, 0, sizeof s->own);
}

static void tell_counts(const struct order_printer *p, struct story *s, const struct told *e, bool violates)
{
	struct own *own = &s->own[e->slot];

	text_add(&s->rw, "%s⟨[", s->rw.n ? ", " : "");
	for (unsigned i = 0; i < p->threads; i++)
		text_add(&s->rw, "%s%llu", i ? "," : "",
			 (unsigned long long)(i == e->slot ? own->reads : vector_get(&own->counted, i)));
	if (violates)
		text_add(&s->rw, "],%s,%s⟩", e->thread, e->name); /* at this event, not its whole transaction */
	else
		text_add(&s->rw, "],%s,tr%u⟩", e->thread, s->part[e->slot][own->transaction].number);
}

static void tell_edge(struct story *s, const struct told *e, uint32_t slot, uint64_t step, bool violates)
{
	struct own *own = &s->own[e->slot];
	uint64_t n = *vector_of(&pool, &own->waited, slot) += step;
	const struct part *source = &s->part[slot][n], *mine = &s->part[e->slot][own->transaction];

	if (violates)
		text_add(&s->b, "%s⟨t%u,tr%u,%s,%s⟩", s->b.n ? ", " : "", slot + 1, source->number, e->thread, e->name);
	else if (source->cut_at)
		text_add(&s->a, "%s⟨t%u,%s,%s,tr%u⟩", s->a.n ? ", " : "", slot + 1, source->cut_at, e->thread,
			 mine->number);
	else
		text_add(&s->d, "%s⟨t%u,tr%u,%s,tr%u⟩", s->d.n ? ", " : "", slot + 1, source->number, e->thread,
			 mine->number);
}

static void tell(const struct order_printer *p, struct story *s, struct told *e)
{
	struct own *own = &s->own[e->slot];
	bool violates = false, counted = false;

	if (begins_one(own, e->access))
		begin_one(own);
	for (const struct order_entry *entry; (entry = told_entry(e));) {
		const uint64_t *n = entry->numbers;
		switch (n[0] & KIND) {
		case VIOLATION: violates = true; /* fall through */
		case SPLIT: begin_one(own); break;
		case EDGE: tell_edge(s, e, (uint32_t)(n[0] >> 2), n[1], violates); break;
		case COUNTS:
			counted = true;
			for (unsigned i = 0; i < n[0] >> 2; i++)
				*vector_of(&pool, &own->counted, (uint32_t)n[1 + 2 * i]) += n[2 + 2 * i];
		}
	}
	if (counted)
		tell_counts(p, s, e, violates);
	if (!access_writes(e->access))
		own->reads++;
	own->last_was_read = !access_writes(e->access);
}

void tplay_print(const struct order_printer *p)
{
	struct told_trace *trace = told_open(p);
	struct story *s = print_memory(sizeof *s);

	find_parts(trace, s);
	for (unsigned i = 0; i < trace->n; i++)
		tell(p, s, &trace->event[i]);
	p->line(p->to, "dSet={%s}", s->d.at);
	p->line(p->to, "aSet={%s}", s->a.at);
	p->line(p->to, "bSet={%s}", s->b.at);
	p->line(p->to, "rwSet={%s}", s->rw.at);
	free(s);
	told_close(trace);
}

void tplay_describe(const uint64_t *numbers, unsigned n, char *to, size_t room)
{
	unsigned long long rest = (unsigned long long)numbers[0] >> 2;

	switch (numbers[0] & KIND) {
	case SPLIT:
		if (rest)
			snprintf(to, room, "the thread has had %llu transactions", rest);
		else
			snprintf(to, room, "the transaction ends before this event");
		break;
	case VIOLATION:
		snprintf(to, room, "atomicity violated by transaction %llu of thread %llu; sites %#llx, %#llx",
			 n > 1 ? (unsigned long long)numbers[1] : 0, rest, n > 2 ? (unsigned long long)numbers[2] : 0,
			 n > 3 ? (unsigned long long)numbers[3] : 0);
		break;
	case EDGE:
		snprintf(to, room, "after a transaction of thread %llu, %llu later than the last", rest,
			 n > 1 ? (unsigned long long)numbers[1] : 0);
		break;
	case COUNTS: {
		int at = snprintf(to, room, "after more reads:");
		for (unsigned i = 0; i < rest && 2 + 2 * i < n && at > 0 && (size_t)at < room; i++)
			at += snprintf(to + at, room - (size_t)at, " %llu by thread %llu",
				       (unsigned long long)numbers[2 + 2 * i], (unsigned long long)numbers[1 + 2 * i]);
	}
	}
}

const char *tplay_entries(const uint64_t *numbers, unsigned n, uint64_t *count)
{
	static const char *const names[] = {
		[SPLIT] = "splits", [VIOLATION] = "violations", [EDGE] = "interleavings", [COUNTS] = "read counts"
	};

	if (n && (numbers[0] & KIND) == SPLIT && numbers[0] >> 2) {
		*count = numbers[0] >> 2;
		return "transactions";
	}
	return n ? names[numbers[0] & KIND] : "entries";
}

bool tplay_violation(const uint64_t *numbers, unsigned n, uint64_t sites[2])
{
	sites[0] = n > 2 ? numbers[2] : 0;
	sites[1] = n > 3 ? numbers[3] : 0;
	return n && (numbers[0] & KIND) == VIOLATION;
}
#endif

/*
 * For `heddle order NAME`, tool only: the events of a written trace in its order, each with its log entries, and text
 * that grows. Schemes print what they decode from the log, so that a wrong log shows.
 */
#ifndef ORDER_PRINT_H
#define ORDER_PRINT_H
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "order.h"

/* Written traces are small; a longer one is printed as far as this. */
enum { PRINT_EVENTS = 4097, PRINT_THREADS = 64, PRINT_LOCATIONS = 257, PRINT_TEXT = 1 << 17 };

static inline void *print_memory(size_t n)
{
	void *p = calloc(1, n);
	if (!p)
		abort();
	return p;
}

/* ---- text ----------------------------------------------------------------------------------------------------- */

struct text {
	size_t n;
	char at[PRINT_TEXT];
};

__attribute__((format(printf, 2, 3), unused)) static void text_add(struct text *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vsnprintf(t->at + t->n, sizeof t->at - t->n, format, args);
	va_end(args);
	t->n = n < 0 || t->n + (size_t)n >= sizeof t->at ? sizeof t->at - 1 : t->n + (size_t)n;
}

/* Each line of it. */
__attribute__((unused)) static void text_lines(const struct order_printer *p, const struct text *t)
{
	for (const char *at = t->at; *at;) {
		int n = (int)strcspn(at, "\n");
		p->line(p->to, "%.*s", n, at);
		at += n + (at[n] == '\n');
	}
}

/* ---- the trace ------------------------------------------------------------------------------------------------- */

struct told {
	uint32_t slot, location; /* location: its number in told_trace */
	uint64_t event;
	const struct access *access;
	char name[16], thread[16];	       /* "e5", "t2" */
	long line;			       /* 5 */
	const struct order_entry *entry, *end; /* what is left of its entries */
};

struct told_trace {
	unsigned n, locations;
	struct told event[PRINT_EVENTS];
	uint64_t location[PRINT_LOCATIONS];
};

static inline int told_compare(const void *a, const void *b)
{
	long x = ((const struct told *)a)->line, y = ((const struct told *)b)->line;
	return x < y ? -1 : x > y;
}

static inline uint32_t told_location(struct told_trace *t, uint64_t addr)
{
	unsigned i = 0;
	while (i < t->locations && t->location[i] != addr)
		i++;
	if (i == t->locations && i < PRINT_LOCATIONS - 1)
		t->location[t->locations++] = addr;
	return i;
}

/* All accesses, in the order of the lines. */
__attribute__((unused)) static struct told_trace *told_open(const struct order_printer *p)
{
	struct told_trace *t = print_memory(sizeof *t);

	for (uint32_t slot = 0; slot < p->threads && slot < PRINT_THREADS; slot++) {
		size_t entries, at = 0;
		const struct order_entry *entry = p->entries(slot, &entries);
		for (uint64_t event = 0; event < order_events(slot) && t->n < PRINT_EVENTS; event++) {
			struct told *e = &t->event[t->n];
			*e = (struct told){ .slot = slot, .event = event, .access = p->access(slot, event) };
			e->entry = entry + at;
			while (at < entries && entry[at].event == event)
				at++;
			e->end = entry + at;
			if (!e->access)
				continue;
			snprintf(e->name, sizeof e->name, "%s", p->event_name(slot, event));
			snprintf(e->thread, sizeof e->thread, "t%u", slot + 1);
			e->line = atol(e->name + 1);
			t->n++;
		}
	}
	qsort(t->event, t->n, sizeof *t->event, told_compare);
	for (unsigned i = 0; i < t->n; i++)
		t->event[i].location = told_location(t, t->event[i].access->addr);
	return t;
}

static inline const struct order_entry *told_entry(struct told *e)
{
	return e->entry < e->end ? e->entry++ : 0;
}

static inline void told_close(struct told_trace *t)
{
	free(t);
}

/* leap.c; leap:field writes the same */
void leap_print(const struct order_printer *p);
void leap_describe(const uint64_t *numbers, unsigned n, char *to, size_t room);
#endif

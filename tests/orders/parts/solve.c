/*
 * Between recording and replay: light's log goes through its solver, as `heddle replay` does with a trace's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "commands/light.h"
#include "host.h"
#include "trace/numbers.h"

static void read_log(const struct left *from, struct order_log_text *to)
{
	const uint8_t *at = from->log, *end = from->log + from->bytes;
	uint64_t event = 0;

	*to = (struct order_log_text){ .n = from->entries, .room = from->entries + 1 };
	to->entry = zeroed(to->room, sizeof *to->entry);
	for (size_t i = 0; i < to->n; i++) {
		uint64_t head = number_get(&at, end);
		event += head >> 4;
		to->entry[i] = (struct order_entry){ .event = event, .n = head & 15 };
		for (unsigned k = 0; k < to->entry[i].n; k++)
			to->entry[i].numbers[k] = number_get(&at, end);
	}
}

static void write_log(const struct order_log_text *from, struct left *to)
{
	uint8_t *at = to->log;
	uint64_t event = 0;

	for (size_t i = 0; i < from->n; i++) {
		const struct order_entry *e = &from->entry[i];
		at = number_put(at, (e->event - event) << 4 | e->n);
		for (unsigned k = 0; k < e->n; k++)
			at = number_put(at, e->numbers[k]);
		event = e->event;
	}
	to->entries = from->n;
	to->bytes = (uint64_t)(at - to->log);
}

struct light_outcome host_solved;

bool host_solve(const struct light_limits *limits)
{
	struct order_log_text logs[MAX_THREADS];

	for (unsigned i = 0; i < plan.threads; i++)
		read_log(&left[i], &logs[i]);
	int r = light_solve(logs, plan.threads, limits, &host_solved);
	if (r)
		snprintf(complaint, 4000, "%s; %zu flows, %zu events, %.1f s", host_solved.problem, host_solved.flows,
			 host_solved.events, host_solved.seconds);
	for (unsigned i = 0; i < plan.threads; i++) {
		if (!r)
			write_log(&logs[i], &left[i]);
		free(logs[i].entry);
	}
	return !r;
}

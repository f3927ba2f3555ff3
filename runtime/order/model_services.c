/*
 * The reference model: what schemes may call (order.h), when threads are coroutines.
 */
#include "model_run.h"
#ifdef HEDDLE_TOOL
#include <string.h>

static struct thread *thread_of(struct order_thread *t)
{
	return &run.threads[t->slot];
}

bool access_perform(struct access *a)
{
	uint64_t *p = (uint64_t *)a->addr;

	if (a->kind & ACCESS_READS)
		a->old[0] = *p;
	if (a->kind & ACCESS_WRITES)
		*p = a->value[0];
	a->op = 1; /* done */
	return true;
}

void *order_state(uint64_t addr)
{
	return (char *)run.states + (addr - (uint64_t)run.memory) / GRANULE * run.scheme->state_size;
}

void order_log(struct order_thread *t, unsigned n, const uint64_t *numbers)
{
	struct thread *own = thread_of(t);

	if (own->entries == ENTRIES || n > 15)
		run_fail("%s logs too much", run.trace->thread[t->slot]);
	struct order_entry *e = &own->entry[own->entries++];
	*e = (struct order_entry){ .event = t->event, .n = n };
	memcpy(e->numbers, numbers, n * sizeof *numbers);
	t->last_entry = t->event;
	t->entries++;
}

void run_next_entry(struct thread *t)
{
	t->number = 0;
	t->order.next_entry = t->taken < t->entries ? t->entry[t->taken].event : ORDER_NEVER;
}

uint64_t order_number(struct order_thread *t)
{
	struct thread *own = thread_of(t);

	if (own->taken == own->entries || own->number == own->entry[own->taken].n)
		run_fail("%s takes more numbers than it has logged", run.trace->thread[t->slot]);
	return own->entry[own->taken].numbers[own->number++];
}

void order_taken(struct order_thread *t)
{
	struct thread *own = thread_of(t);

	if (own->number != own->entry[own->taken].n)
		run_fail("%s takes fewer numbers than it has logged", run.trace->thread[t->slot]);
	own->taken++;
	run_next_entry(own);
}

static bool is_free(const void *arg)
{
	return !*(const uint32_t *)arg;
}

void order_lock(uint32_t *lock)
{
	while (*lock)
		run_stop(is_free, lock);
	*lock = 1;
}

void order_unlock(uint32_t *lock)
{
	*lock = 0;
}

void order_wait(struct order_thread *t, bool (*ready)(const void *arg), const void *arg, const char *why)
{
	(void)t, (void)why;
	while (!ready(arg))
		run_stop(ready, arg);
}

/* Who waits is looked at before each step. */
void order_moved(void)
{
}

bool order_finished(uint32_t slot, uint64_t event)
{
	return (run.scheme->claims ? run.threads[slot].self.events / 2 : run.threads[slot].finished) >= event;
}

/* Every thread ends there. */
bool order_over(uint32_t slot)
{
	(void)slot;
	return false;
}

struct place {
	uint32_t slot;
	uint64_t event;
};

static bool place_finished(const void *arg)
{
	const struct place *p = arg;

	return order_finished(p->slot, p->event);
}

void order_wait_event(struct order_thread *t, uint32_t slot, uint64_t event)
{
	order_wait(t, place_finished, &(struct place){ slot, event }, "");
}

uint64_t order_events(uint32_t slot)
{
	return run.threads[slot].finished;
}

bool order_known(struct order_thread *t, uint32_t slot, uint64_t event)
{
	uint64_t *known = &thread_of(t)->known[slot];

	if (slot == t->slot || *known > event)
		return true;
	*known = event + 1;
	return false;
}

uint32_t order_slots(void)
{
	return run.trace->threads;
}

struct order_thread *order_thread_of(uint32_t slot)
{
	return &run.threads[slot].order;
}

/* nobody is killed here */
void order_came_to(struct order_thread *t)
{
	(void)t;
}

void order_begun(struct order_thread *t)
{
	(void)t;
}

/* In a written trace only a read that is split stops, once it has its value. */
void order_chaos(struct order_thread *t)
{
	struct thread *own = thread_of(t);

	if (run.searches ||
	    (run.splits && own->access[t->event].op && run.trace->event[own->line[own->next]].op == MODEL_VALUE))
		run_stop(0, 0);
}

void *order_memory(size_t n)
{
	return run_memory(n); /* until the tool ends */
}

/* Schemes with claims: there are none here, so everything goes to the scheme. */
struct hook_self *order_self(uint32_t slot)
{
	return &run.threads[slot].self;
}

uint8_t *order_claims(uint32_t slot)
{
	(void)slot;
	return 0;
}

void order_membarrier(void)
{
}

void order_relax(unsigned *looked)
{
	++*looked;
	run_stop(0, 0);
}

void order_say(struct order_thread *t, const char *line)
{
	printf("%s %s\n", run.trace->thread[t->slot], line);
}

void order_cannot(const char *what)
{
	run_fail("the scheme cannot go on: %s", what);
}
#endif

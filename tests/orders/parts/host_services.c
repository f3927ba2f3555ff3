/*
 * The services of runtime/order/order.h with pthreads and libc. See host.h.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>
#include "host_own.h"
#include "weak.h"

/* ---- log ---------------------------------------------------------------------------------------------------------- */

static uint8_t *put(uint8_t *at, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		*at++ = (uint8_t)(number | 0x80);
	*at++ = (uint8_t)number;
	return at;
}

static uint64_t get(struct worker *w)
{
	uint64_t number = 0;

	for (unsigned shift = 0;; shift += 7) {
		number |= (uint64_t)(*w->next & 0x7f) << shift;
		if (!(*w->next++ & 0x80))
			return number;
	}
}

void order_log(struct order_thread *t, unsigned n, const uint64_t *numbers)
{
	struct left *l = &left[t->slot];
	uint8_t *from = l->log + t->bytes, *at = put(from, (t->event - t->last_entry) << 4 | n);

	if (n > 15 || t->bytes + 200 > LOG_ROOM)
		give_up(CHILD_CANNOT, n > 15 ? "more than 15 numbers in an entry" : "the log is full");
	for (unsigned i = 0; i < n; i++)
		at = put(at, numbers[i]);
	t->last_entry = t->event;
	t->entries++;
	t->bytes += (uint64_t)(at - from);
}

void next_entry(struct worker *w)
{
	struct left *l = &left[w->order.slot];

	w->order.next_entry = ORDER_NEVER;
	if (w->next == l->log + l->bytes)
		return;
	uint64_t head = get(w);
	w->unread = head & 15;
	w->order.last_entry += head >> 4;
	w->order.next_entry = w->order.last_entry;
	if (w->order.next_entry < w->order.event)
		give_up(CHILD_DIVERGED, "thread %u: an entry of event %llu was not taken; it is at event %llu",
			w->order.slot, (unsigned long long)w->order.next_entry, (unsigned long long)w->order.event);
}

uint64_t order_number(struct order_thread *t)
{
	if (!worker_of(t)->unread--)
		give_up(CHILD_DIVERGED, "thread %u event %llu: more numbers taken than were logged", t->slot,
			(unsigned long long)t->event);
	return get(worker_of(t));
}

void order_taken(struct order_thread *t)
{
	if (worker_of(t)->unread)
		give_up(CHILD_DIVERGED, "thread %u event %llu: fewer numbers taken than were logged", t->slot,
			(unsigned long long)t->event);
	t->entries++;
	next_entry(worker_of(t));
}

/* ---- waiting ------------------------------------------------------------------------------------------------------ */

static void pause_a_little(void)
{
#ifdef __aarch64__
	__asm__ volatile("yield");
#else
	__builtin_ia32_pause();
#endif
}

/* Between two looks: first at once, then after others have run, then a little later. */
static void relax(unsigned looked)
{
	if (looked < 40)
		pause_a_little();
	else if (looked < 400)
		sched_yield();
	else
		nanosleep(&(struct timespec){ .tv_nsec = 20000 }, 0);
}

void host_relax(unsigned *looked)
{
	if (++*looked < (plan.threads <= 2 ? 200u : 20u))
		pause_a_little();
	else
		sched_yield();
}

/* As the runtime's: who waits says so, and who frees then lets the other have it. */
enum { FREE, TAKEN, WANTED };

static void take_lock(uint32_t *lock)
{
	uint32_t was = FREE;

	if (likely(__atomic_compare_exchange_n(lock, &was, TAKEN, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
		return;
	for (unsigned round = 0; __atomic_exchange_n(lock, WANTED, __ATOMIC_ACQUIRE) != FREE; round++) {
		for (unsigned i = 0; i < 40 && __atomic_load_n(lock, __ATOMIC_RELAXED) != FREE; i++)
			pause_a_little();
		if (round >= 4)
			sched_yield();
	}
}

void order_lock(uint32_t *lock)
{
	take_lock(lock);
	weak_after(__ATOMIC_ACQUIRE);
}

void order_unlock(uint32_t *lock)
{
	weak_before(__ATOMIC_RELEASE);
	if (likely(__atomic_exchange_n(lock, FREE, __ATOMIC_RELEASE) != WANTED))
		return;
	for (unsigned i = 0; i < 60; i++) {
		if (__atomic_load_n(lock, __ATOMIC_RELAXED) != FREE)
			return;
		pause_a_little();
	}
	sched_yield();
}

double host_now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static uint64_t all_finished(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < plan.threads; i++)
		sum += __atomic_load_n(&workers[i].finished, __ATOMIC_RELAXED) + workers[i].self.events;
	return sum;
}

static _Noreturn void stands_still(void)
{
	char text[3000];
	size_t n = 0;

	for (unsigned i = 0; i < plan.threads && n < 2800; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, " t%u at event %llu of %llu%s%s;", i,
				      (unsigned long long)workers[i].finished, (unsigned long long)workers[i].limit,
				      workers[i].why ? " waits for " : "", workers[i].why ? workers[i].why : "");
	give_up(CHILD_STOOD_STILL, "the replay stands still:%s", text);
}

void order_wait(struct order_thread *t, bool (*ready)(const void *arg), const void *arg, const char *why)
{
	uint64_t sum = 0;
	double since = 0;

	if (likely(ready(arg)))
		return;
	worker_of(t)->why = why;
	weak_before(__ATOMIC_RELEASE); /* what others wait for comes out some day */
	for (unsigned looked = 0; !ready(arg); looked++) {
		relax(looked);
		if (looked % 256 != 255)
			continue;
		if (!since || all_finished() != sum) {
			sum = all_finished();
			since = host_now(CLOCK_MONOTONIC);
		} else if (host_now(CLOCK_MONOTONIC) - since > plan.stall * 1e9) {
			stands_still();
		}
	}
	worker_of(t)->why = 0;
}

/* Nobody sleeps here. */
void order_moved(void)
{
}

bool order_finished(uint32_t slot, uint64_t event)
{
	if (scheme->claims)
		return __atomic_load_n(&workers[slot].self.events, __ATOMIC_ACQUIRE) / 2 >= event;
	bool finished = __atomic_load_n(&workers[slot].finished, __ATOMIC_ACQUIRE) >= event;

	weak_after(__ATOMIC_ACQUIRE);
	return finished;
}

/* Every worker ends. */
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
	if (!order_finished(slot, event))
		order_wait(t, place_finished, &(struct place){ slot, event }, "an event of another thread");
}

uint64_t order_events(uint32_t slot)
{
	uint64_t events = __atomic_load_n(&workers[slot].finished, __ATOMIC_ACQUIRE);

	weak_after(__ATOMIC_ACQUIRE);
	return events;
}

/* ---- the rest ----------------------------------------------------------------------------------------------------- */

void *order_state(uint64_t addr)
{
	return states + ((addr - (uint64_t)memory) >> 3) * scheme->state_size;
}

bool order_known(struct order_thread *t, uint32_t slot, uint64_t event)
{
	uint64_t *known = &worker_of(t)->known[slot];

	if (slot == t->slot || *known > event)
		return true;
	*known = event + 1;
	return false;
}

uint32_t order_slots(void)
{
	return plan.threads;
}

struct order_thread *order_thread_of(uint32_t slot)
{
	return &workers[slot].order;
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

void order_chaos(struct order_thread *t)
{
	struct worker *w = worker_of(t);

	if (likely(!plan.chaos))
		return;
	w->chaos = xorshift(w->chaos);
	if ((w->chaos >> 20 & 31) == 0)
		sched_yield();
	else if ((w->chaos >> 20 & 1023) == 1)
		usleep(50);
}

void *order_memory(size_t n)
{
	return host_map(n, MAP_PRIVATE);
}

void order_say(struct order_thread *t, const char *line)
{
	printf("t%u %s\n", t->slot, line);
}

void order_cannot(const char *what)
{
	give_up(CHILD_CANNOT, "the scheme cannot go on: %s", what);
}

/*
 * The services of runtime/order/order.h with pthreads and libc, and the driver. See host.h.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "host.h"
#include "weak.h"

enum { LOG_ROOM = 1 << 30, VALUES_ROOM = 1 << 28, TURNS_ROOM = 1 << 26 }; /* address space, not memory */
enum { CHILD_DIVERGED = 3, CHILD_STOOD_STILL = 4, CHILD_CANNOT = 5 };

const char *const outcome_names[] = { "good", "diverged", "stood still", "crashed" };

struct plan plan;
struct left *left;
uint64_t *memory;
enum host_mode host_mode;
char *complaint;

static struct worker *workers; /* of this child */
static uint8_t *states;	       /* of this child */
static uint64_t *memory_left;  /* final memory: [0] of the recording, [WORDS] of the replay */
static const struct order_scheme *scheme;
static const struct order_ops *ops;
static pthread_barrier_t together;
static pthread_t threads[MAX_THREADS];

/* The program's locks: real at record; at replay only their turns count. */
static struct mutex {
	_Alignas(128) pthread_mutex_t real;
	uint64_t turn; /* locks so far; at replay: unlocks */
	uint64_t known[MAX_THREADS];
} * mutexes;

static void *map(size_t size, int flags)
{
	void *p = mmap(0, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED) {
		perror("order-stress: mmap");
		exit(2);
	}
	return p;
}

/* Ends this child; the first complaint is kept. */
static _Noreturn void give_up(int status, const char *format, ...)
{
	static uint32_t once;
	va_list args;

	if (!__atomic_exchange_n(&once, 1, __ATOMIC_SEQ_CST)) {
		va_start(args, format);
		vsnprintf(complaint, 4000, format, args);
		va_end(args);
		_exit(status);
	}
	for (;;)
		pause(); /* the other thread ends the process */
}

struct worker *host_worker(uint32_t slot)
{
	return &workers[slot];
}

static struct worker *worker_of(struct order_thread *t)
{
	return (struct worker *)((char *)t - offsetof(struct worker, order));
}

/* ---- the access itself -------------------------------------------------------------------------------------------- */

static uint64_t low(uint64_t v, uint32_t size)
{
	return size >= 8 ? v : v & ((1ull << size * 8) - 1);
}

static uint64_t changed(const struct access *a, uint64_t old)
{
	switch (a->op) {
	case HOST_ADD: return old + a->value[0];
	case HOST_AND: return old & a->value[0];
	case HOST_CAS: return old == a->old[0] ? a->value[0] : old;
	default: return a->value[0];
	}
}

/* Up to 8 bytes anywhere in a granule, by way of the whole granule: atomic even for 3 bytes at an odd place. */
static void perform_in_granule(struct access *a)
{
	uint64_t *granule = (uint64_t *)(a->addr & ~7ull), word = __atomic_load_n(granule, __ATOMIC_RELAXED);
	unsigned shift = (unsigned)(a->addr & 7) * 8;
	uint64_t mask = low(~0ull, a->size) << shift, old, new;

	do {
		old = low(word >> shift, a->size);
		new = (word & ~mask) | (changed(a, old) << shift & mask);
	} while (a->op != HOST_LOAD &&
		 !__atomic_compare_exchange_n(granule, &word, new, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	a->old[0] = old;
}

#define PERFORM(type)                                                             \
	({                                                                        \
		type *p = (type *)a->addr;                                        \
		if (a->op == HOST_LOAD)                                           \
			a->old[0] = __atomic_load_n(p, __ATOMIC_RELAXED);         \
		else                                                              \
			__atomic_store_n(p, (type)a->value[0], __ATOMIC_RELAXED); \
	})

static void perform_16(struct access *a)
{
	unsigned __int128 *p = (unsigned __int128 *)a->addr, old, new, expected;

	memcpy(&new, a->value, 16);
	memcpy(&expected, a->old, 16);
	switch (a->op) {
	case HOST_LOAD: old = __atomic_load_n(p, __ATOMIC_SEQ_CST); break;
	case HOST_STORE: __atomic_store_n(p, new, __ATOMIC_SEQ_CST); return;
	case HOST_CAS:
		__atomic_compare_exchange_n(p, &expected, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		old = expected;
		break;
	default: old = __atomic_exchange_n(p, new, __ATOMIC_SEQ_CST);
	}
	memcpy(a->old, &old, 16);
}

bool access_perform(struct access *a)
{
	if (unlikely(weak_memory) && weak_perform(a))
		return true;
	if (a->size == 16)
		perform_16(a);
	else if (a->op > HOST_STORE || a->addr & (a->size - 1) || a->size & (a->size - 1))
		perform_in_granule(a);
	else if (a->size == 8)
		PERFORM(uint64_t);
	else if (a->size == 4)
		PERFORM(uint32_t);
	else if (a->size == 2)
		PERFORM(uint16_t);
	else
		PERFORM(uint8_t);
	return true;
}

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

static void next_entry(struct worker *w)
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

static double now(clockid_t clock)
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
			since = now(CLOCK_MONOTONIC);
		} else if (now(CLOCK_MONOTONIC) - since > plan.stall * 1e9) {
			stands_still();
		}
	}
	worker_of(t)->why = 0;
}

bool order_finished(uint32_t slot, uint64_t event)
{
	if (scheme->claims)
		return __atomic_load_n(&workers[slot].self.events, __ATOMIC_ACQUIRE) / 2 >= event;
	bool finished = __atomic_load_n(&workers[slot].finished, __ATOMIC_ACQUIRE) >= event;

	weak_after(__ATOMIC_ACQUIRE);
	return finished;
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
	return map(n, MAP_PRIVATE);
}

void order_say(struct order_thread *t, const char *line)
{
	printf("t%u %s\n", t->slot, line);
}

void order_cannot(const char *what)
{
	give_up(CHILD_CANNOT, "the scheme cannot go on: %s", what);
}

/* ---- events ------------------------------------------------------------------------------------------------------- */

static void remember(struct worker *w, uint64_t event, uint64_t value);
void host_remember(struct worker *w, uint64_t event, uint64_t value)
{
	remember(w, event, value);
}

static void remember(struct worker *w, uint64_t event, uint64_t value)
{
	uint64_t *kept = left[w->order.slot].values + event;

	w->hash = mix(w->hash, value);
	if (!plan.verify || event >= VALUES_ROOM / 8)
		return;
	if (host_mode == RECORD)
		*kept = value;
	else if (*kept != value)
		give_up(CHILD_DIVERGED, "thread %u event %llu: read %#llx, recorded %#llx", w->order.slot,
			(unsigned long long)event, (unsigned long long)value, (unsigned long long)*kept);
}

static void begins(struct worker *w)
{
	if (unlikely(w->order.event >= w->limit))
		give_up(CHILD_DIVERGED, "thread %u: more than its %llu recorded events", w->order.slot,
			(unsigned long long)w->limit);
}

static void finish(struct worker *w, uint64_t n)
{
	if (unlikely(weak_memory)) {
		weak_pause();
		weak_release();
	}
	w->order.event = w->finished + n;
	__atomic_store_n(&w->finished, w->order.event, __ATOMIC_RELEASE);
	if (unlikely(host_mode == REPLAY && w->order.next_entry < w->order.event))
		give_up(CHILD_DIVERGED, "thread %u event %llu: an entry was not taken", w->order.slot,
			(unsigned long long)w->order.next_entry);
}

static void seen(struct worker *w, const struct access *a, uint64_t event)
{
	if (a->kind & ACCESS_READS)
		remember(w, event, a->size == 16 ? mix(a->old[0], a->old[1]) : a->old[0]);
}

bool host_access(struct worker *w, struct access *a)
{
	struct order_thread *t = &w->order;
	bool done;

	if (scheme->claims)
		return inline_access(w, a);
	begins(w);
	if (w->ops->access) {
		done = w->ops->access(t, a);
	} else {
		w->ops->before(t, a);
		done = access_perform(a);
		w->ops->after(t, a, done);
	}
	seen(w, a, t->event);
	finish(w, 1);
	return done;
}

void host_bracket(struct worker *w, struct access *a, unsigned n)
{
	struct order_thread *t = &w->order;
	uint64_t first = t->event;

	if (scheme->claims) {
		inline_bracket(w, a, n);
		return;
	}
	if (!w->ops->before) {
		for (unsigned i = 0; i < n; i++)
			host_access(w, &a[i]);
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		t->event = first + i;
		begins(w);
		w->ops->before(t, &a[i]);
	}
	order_chaos(t);
	for (unsigned i = 0; i < n; i++)
		access_perform(&a[i]);
	order_chaos(t);
	for (unsigned i = 0; i < n; i++) {
		t->event = first + i;
		w->ops->after(t, &a[i], true);
		seen(w, &a[i], t->event);
	}
	finish(w, n);
}

struct own_span {
	struct access_span span;
	char *own;
};

static bool perform_span(struct access_span *s, uint64_t from, uint64_t to)
{
	char *own = ((struct own_span *)s)->own, *at = (char *)s->addr;

	for (uint64_t i = from; i < to; i++)
		if (s->kind & ACCESS_WRITES)
			__atomic_store_n(&at[i], own[i], __ATOMIC_RELAXED);
		else
			own[i] = __atomic_load_n(&at[i], __ATOMIC_RELAXED);
	return true;
}

void host_copy(struct worker *w, uint64_t addr, void *own, size_t size, bool write)
{
	char *bytes = own;

	if (w->ops->span) {
		struct own_span s = { { .addr = addr,
					.size = size,
					.kind = write ? ACCESS_WRITES : ACCESS_READS,
					.perform = perform_span },
				      own };
		if (scheme->claims) {
			inline_span(w, &s.span);
		} else {
			begins(w);
			w->ops->span(&w->order, &s.span);
		}
		uint64_t hash = 0;
		for (size_t i = 0; i < size && !write; i++)
			hash = mix(hash, (uint8_t)bytes[i]);
		remember(w, w->order.event, hash);
		if (scheme->claims)
			host_closes(w, w->self.events);
		else
			finish(w, 1);
		return;
	}
	for (size_t i = 0, n; i < size; i += n) {
		n = 8 - ((addr + i) & 7);
		if (n > size - i)
			n = size - i;
		struct access a = an_access((void *)(addr + i), (uint32_t)n, write ? HOST_STORE : HOST_LOAD);
		if (write)
			memcpy(a.value, bytes + i, n);
		host_access(w, &a);
		if (!write)
			memcpy(bytes + i, a.old, n);
	}
}

/* ---- the program's locks ------------------------------------------------------------------------------------------ */

void native_lock(unsigned mutex)
{
	pthread_mutex_lock(&mutexes[mutex].real);
}

void native_unlock(unsigned mutex)
{
	pthread_mutex_unlock(&mutexes[mutex].real);
}

struct turn {
	const uint64_t *is;
	uint64_t wanted;
};

static bool turn_has_come(const void *arg)
{
	const struct turn *t = arg;
	bool come = __atomic_load_n(t->is, __ATOMIC_ACQUIRE) == t->wanted;

	weak_after(__ATOMIC_ACQUIRE);
	return come;
}

/* For the scheme an op is an event of its own, if it wants to see it. */
static void tell_scheme(struct worker *w, void (*op)(struct order_thread *, uint64_t), struct mutex *m)
{
	if (!op)
		return;
	begins(w);
	op(&w->order, (uint64_t)m);
	finish(w, 1);
}

static void learn(uint64_t *to, const uint64_t *from)
{
	for (unsigned i = 0; i < plan.threads; i++)
		if (from[i] > to[i])
			to[i] = from[i];
}

void host_lock(struct worker *w, unsigned mutex)
{
	struct mutex *m = &mutexes[mutex];
	uint64_t *turn = &left[w->order.slot].turns[w->sync++];

	if (scheme->claims)
		inline_pause(w);
	if (w->sync > TURNS_ROOM / 8)
		give_up(CHILD_CANNOT, "too many lock operations");
	if (host_mode == RECORD) {
		pthread_mutex_lock(&m->real);
		weak_after(__ATOMIC_ACQUIRE);
		*turn = m->turn++;
		learn(w->known, m->known);
	} else {
		order_wait(&w->order, turn_has_come, &(struct turn){ &m->turn, *turn }, "a lock");
	}
	tell_scheme(w, w->ops->acquire, m);
}

void host_unlock(struct worker *w, unsigned mutex)
{
	struct mutex *m = &mutexes[mutex];

	if (scheme->claims)
		inline_pause(w);
	tell_scheme(w, w->ops->release, m);
	weak_before(__ATOMIC_RELEASE);
	if (host_mode == RECORD) {
		w->known[w->order.slot] = scheme->claims ? w->self.events / 2 : w->finished;
		learn(m->known, w->known);
		pthread_mutex_unlock(&m->real);
	} else {
		__atomic_store_n(&m->turn, m->turn + 1, __ATOMIC_RELEASE);
	}
}

/* ---- the driver --------------------------------------------------------------------------------------------------- */

void host_open(void)
{
	left = map(sizeof *left * MAX_THREADS, MAP_SHARED);
	complaint = map(4096, MAP_SHARED);
	memory_left = map(2 * WORDS * 8ul, MAP_SHARED);
	memory = mmap((void *)0x2000000000, WORDS * 8ul, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
		      0); /* as programs under Heddle */
	for (unsigned i = 0; i < MAX_THREADS; i++) {
		left[i].log = map(LOG_ROOM, MAP_SHARED);
		left[i].values = map(VALUES_ROOM, MAP_SHARED);
		left[i].turns = map(TURNS_ROOM, MAP_SHARED);
	}
}

void host_plan(const struct plan *p)
{
	plan = *p;
	for (uint32_t i = 0; i < plan.range; i++)
		memory[i] = i * 7 & 0xffff;
}

static void open_log(struct worker *w)
{
	struct left *l = &left[w->order.slot];

	w->limit = host_mode == RECORD ? ~0ull : l->events;
	w->next = l->log;
	if (host_mode == REPLAY)
		next_entry(w);
}

static void close_log(struct worker *w)
{
	struct left *l = &left[w->order.slot];

	if (scheme->claims)
		w->finished = inline_finished(w);

	if (host_mode == REPLAY && w->finished != l->events)
		give_up(CHILD_DIVERGED, "thread %u: %llu events, recorded %llu", w->order.slot,
			(unsigned long long)w->finished, (unsigned long long)l->events);
	if (host_mode == REPLAY && w->hash != l->hash)
		give_up(CHILD_DIVERGED, "thread %u: the values read differ", w->order.slot);
	l->hash = w->hash;
	l->events = w->finished;
	if (host_mode != RECORD)
		return;
	l->entries = w->order.entries;
	l->bytes = w->order.bytes;
	l->sync = w->sync;
}

static void run_workload(struct worker *w)
{
	struct left *l = &left[w->order.slot];
	void (*work)(struct worker *, uint64_t) = host_mode == NATIVE ? workloads[plan.workload].native :
									workloads[plan.workload].hooked;

	if (plan.warm) {
		work(w, plan.warm);
		if (host_mode != NATIVE && scheme->claims)
			inline_pause(w);
		if (host_mode != REPLAY) /* there it would be a wait that no scheme knows of */
			pthread_barrier_wait(&together);
	}
	l->warm_bytes = w->order.bytes;
	l->warm_events = host_mode != NATIVE && scheme->claims ? inline_finished(w) : w->finished;
	double cpu = now(CLOCK_THREAD_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
	work(w, plan.accesses);
	l->cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	l->wall = now(CLOCK_MONOTONIC) - wall;
}

/* A barrier wakes one after the other, so late that the first may be done: who is there looks until all are. */
static void start_together(void)
{
	static uint32_t there;
	unsigned looked = 0;

	pthread_barrier_wait(&together);
	for (__atomic_fetch_add(&there, 1, __ATOMIC_SEQ_CST); __atomic_load_n(&there, __ATOMIC_SEQ_CST) < plan.threads;)
		host_relax(&looked);
}

static void *body(void *arg);

/* The first thread is the parent of all others, with an event for each. */
static void create_others(struct worker *w)
{
	for (unsigned i = 1; i < plan.threads; i++) {
		if (host_mode != NATIVE && ops->create) {
			begins(w);
			ops->create(&w->order, &workers[i].order);
			finish(w, 1);
		}
		if (pthread_create(&threads[i], 0, body, &workers[i]))
			give_up(CHILD_CANNOT, "no thread %u", i);
	}
}

static void *body(void *arg)
{
	struct worker *w = arg;

	if (host_mode != NATIVE)
		open_log(w);
	if (host_mode != NATIVE && scheme->claims)
		inline_begin(w);
	else if (host_mode != NATIVE && ops->begin)
		ops->begin(&w->order);
	if (!w->order.slot)
		create_others(w);
	start_together();
	weak_after(__ATOMIC_ACQUIRE);
	run_workload(w);
	weak_before(__ATOMIC_RELEASE);
	if (host_mode != NATIVE && scheme->claims)
		inline_pause(w); /* what its end op does too, and the numbers it leaves out are counted */
	else if (host_mode != NATIVE && ops->end)
		ops->end(&w->order);
	if (host_mode != NATIVE)
		close_log(w);
	return 0;
}

static void set_up(struct worker *w, unsigned slot)
{
	w->order.slot = slot;
	w->order.next_entry = ORDER_NEVER;
	w->ops = ops;
	w->random = xorshift(xorshift((plan.seed + slot * 0x9E3779B97F4A7C15ull) | 1));
	w->chaos = (uint64_t)getpid() << 32 ^ (uint64_t)now(CLOCK_REALTIME) ^ slot << 20 ^ 1;
	if (host_mode != NATIVE && scheme->thread_size)
		w->order.own = order_memory(scheme->thread_size);
	inline_set_up(w, host_mode != NATIVE && scheme->claims);
}

static void run_child(void)
{
	workers = map(sizeof *workers * MAX_THREADS, MAP_PRIVATE);
	mutexes = map(sizeof *mutexes * MUTEXES, MAP_PRIVATE);
	if (host_mode != NATIVE && scheme->state_size)
		states = map((size_t)WORDS * scheme->state_size, MAP_PRIVATE);
	for (unsigned i = 0; i < plan.threads; i++)
		set_up(&workers[i], i);
	pthread_barrier_init(&together, 0, plan.threads);
	if (host_mode != NATIVE && ops->open)
		ops->open();
	if (pthread_create(&threads[0], 0, body, &workers[0]))
		give_up(CHILD_CANNOT, "no thread");
	pthread_join(threads[0], 0); /* it has created the others before it did anything else */
	for (unsigned i = 1; i < plan.threads; i++)
		pthread_join(threads[i], 0);
	if (host_mode != NATIVE)
		memcpy(memory_left + (host_mode == REPLAY ? WORDS : 0), memory, plan.range * 8ul);
	fflush(stdout);
	_exit(0);
}

long host_memory;

enum outcome host_run(enum host_mode mode, const struct order_scheme *with)
{
	int status;

	host_mode = mode;
	scheme = order_used = with;
	ops = mode == RECORD ? &with->record : mode == REPLAY ? &with->replay : 0;
	*complaint = 0;
	fflush(stdout);
	pid_t child = fork();
	if (child < 0) {
		perror("order-stress: fork");
		exit(2);
	}
	if (!child) {
		alarm(plan.stall * 30); /* a fault may make it go round for ever: then it is killed, and that is told */
		run_child();
	}
	struct rusage used;
	wait4(child, &status, 0, &used);
	host_memory = used.ru_maxrss;
	if (WIFSIGNALED(status)) {
		snprintf(complaint, 4000, "killed by signal %d", WTERMSIG(status));
		return CRASHED;
	}
	switch (WEXITSTATUS(status)) {
	case 0: return GOOD;
	case CHILD_DIVERGED: return DIVERGED;
	case CHILD_STOOD_STILL: return STOOD_STILL;
	default: return CRASHED;
	}
}

enum outcome host_compare(void)
{
	for (uint32_t i = 0; i < plan.range; i++)
		if (memory_left[i] != memory_left[WORDS + i]) {
			snprintf(complaint, 4000, "word %u is %#llx at the end, recorded %#llx", i,
				 (unsigned long long)memory_left[WORDS + i], (unsigned long long)memory_left[i]);
			return DIVERGED;
		}
	return GOOD;
}

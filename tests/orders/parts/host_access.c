/*
 * What a workload does: an access, by way of the scheme that is tried, and a lock. See host.h.
 */
#include <string.h>
#include "host_own.h"
#include "weak.h"

struct mutex *mutexes;

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

/* ---- events ------------------------------------------------------------------------------------------------------- */

void host_remember(struct worker *w, uint64_t event, uint64_t value)
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

void begins(struct worker *w)
{
	if (unlikely(w->order.event >= w->limit))
		give_up(CHILD_DIVERGED, "thread %u: more than its %llu recorded events", w->order.slot,
			(unsigned long long)w->limit);
}

void finish(struct worker *w, uint64_t n)
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
		host_remember(w, event, a->size == 16 ? mix(a->old[0], a->old[1]) : a->old[0]);
}

bool host_access(struct worker *w, struct access *a)
{
	struct order_thread *t = &w->order;
	bool done;

	if (scheme->claims)
		return inline_access(w, a);
	begins(w);
	if (unlikely(weak_memory))
		weak_early(a);
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
		host_remember(w, w->order.event, hash);
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
	bool got = host_mode == RECORD && !pthread_mutex_trylock(&m->real);

	if (scheme->claims)
		inline_pause(w, got ? PAUSE_GOT : PAUSE_WAITS);
	if (w->sync > TURNS_ROOM / 8)
		give_up(CHILD_CANNOT, "too many lock operations");
	if (host_mode == RECORD) {
		if (!got)
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
		inline_pause(w, PAUSE_GIVES);
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

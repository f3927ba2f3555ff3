/*
 * A host for order schemes without the rest of Heddle: every service of runtime/order/order.h, done with pthreads and
 * libc, and a driver that records a workload with real threads and replays it.
 *
 * A recording is made in one child process and replayed in others, as in Heddle, so that nothing of a scheme survives
 * but its log. What they hand over lies in shared memory: each thread's log, every value it read, how many events it
 * had, and the memory at the end. The first difference is told with thread and event.
 *
 * Workloads (workloads.c) reach memory only through load(), store() and so on below, with `hooked` a constant, so that
 * the same source is also the native program that the benchmark compares with.
 */
#ifndef HOST_H
#define HOST_H
#include <pthread.h>
#include "compiler/hooks.h"
#include "runtime/order/order.h"

enum { MAX_THREADS = 128, MUTEXES = 64, WORDS = 1 << 20, MAX_BRACKET = 8 };

/* What an access does: the host's enum access_op. */
enum host_op { HOST_LOAD, HOST_STORE, HOST_XCHG, HOST_ADD, HOST_AND, HOST_CAS };

enum host_mode { NATIVE, RECORD, REPLAY };

/* What is run. */
struct plan {
	unsigned threads, workload;
	uint64_t accesses; /* per thread, about */
	uint64_t warm;	   /* before those, not timed */
	uint32_t range;	   /* words that are shared */
	uint32_t share;	   /* of 1024 accesses: how many are not private */
	uint64_t seed;
	bool pinned;	    /* each thread has a processor, in turn */
	bool chaos, verify; /* verify: keep every value read, and compare it at once at replay */
	unsigned stall;	    /* seconds without any event until a replay is given up */
};

/* One thread of a workload. Others read only `finished` and what order.h offers. */
struct worker {
	_Alignas(128) struct order_thread order;
	const struct order_ops *ops;
	uint64_t random;	     /* the same in both runs */
	uint64_t rounds;	     /* of ping-pong so far */
	uint64_t hash;		     /* of all values read */
	uint64_t limit;		     /* replay: events that were recorded */
	const uint8_t *next;	     /* replay: in the log */
	unsigned unread;	     /* replay: numbers of the entry that is due */
	uint64_t chaos;		     /* another random number in every run */
	uint64_t sync;		     /* lock operations so far */
	uint64_t known[MAX_THREADS]; /* record: events of others that have finished before my current one */
	const char *why;	     /* replay: what it waits for */
	uint8_t *claims;	     /* for a scheme with claims, see host_inline.c */
	uint64_t skipped;	     /* numbers of events that it has left out */
	_Alignas(128) struct hook_self self;
	_Alignas(128) uint64_t finished; /* events; release stores by the thread itself */
};

/* What a thread leaves for the parent and for replay; in shared memory. */
struct left {
	uint64_t events, entries, bytes, hash, sync, warm_bytes, warm_events;
	double cpu, wall; /* of the timed part, ns */
	uint8_t *log;	  /* as runtime/order/log.c writes it */
	uint64_t *values; /* of each event, with verify */
	uint64_t *turns;  /* of each lock operation */
};

/* How one run of a child ended. */
enum outcome { GOOD, DIVERGED, STOOD_STILL, CRASHED };
extern const char *const outcome_names[];

extern struct plan plan;
extern struct left *left; /* [thread] */
extern uint64_t *memory;  /* WORDS of them: what workloads share */
extern enum host_mode host_mode;
extern char *complaint; /* what a child said about its end; shared */

void host_open(void);		      /* once */
void host_plan(const struct plan *p); /* before each recording */
enum outcome host_run(enum host_mode mode, const struct order_scheme *scheme);
extern long host_memory; /* KiB that the last run had at its peak, with its log */
/* light, after a recording: its log becomes the one for replay (solve.c). false: no schedule; sets complaint. */
struct light_limits;
extern struct light_outcome host_solved;
bool host_solve(const struct light_limits *limits);
/* After a replay: compares counts, hashes and final memory. Sets complaint. */
enum outcome host_compare(void);

/* ---- for workloads ---------------------------------------------------------------------------------- */

#define ALWAYS static inline __attribute__((always_inline))

bool host_access(struct worker *w, struct access *a);
struct worker *host_worker(uint32_t slot);
void host_remember(struct worker *w, uint64_t event, uint64_t value);

/* host_inline.c: for schemes with claims */
void inline_set_up(struct worker *w, bool claims);
uint64_t inline_finished(const struct worker *w);
void inline_begin(struct worker *w);
void inline_pause(struct worker *w, enum order_pause why);
bool inline_access(struct worker *w, struct access *a);
void inline_bracket(struct worker *w, struct access *a, unsigned n);
bool inline_span(struct worker *w, struct access_span *s);
bool inline_loop(struct worker *w, uint64_t *p, unsigned n, bool writes);
void inline_seen(struct worker *w, uint64_t value);
void inline_chaos(struct worker *w);
/* Several granules at once, ascending: all `before`s come before the first access. */
void host_bracket(struct worker *w, struct access *a, unsigned n);
/* Many bytes: through the scheme's span, or cut. Copies from or to the worker's own bytes. */
void host_copy(struct worker *w, uint64_t addr, void *own, size_t size, bool write);
void host_lock(struct worker *w, unsigned mutex);
void host_unlock(struct worker *w, unsigned mutex);
void native_lock(unsigned mutex);
void native_unlock(unsigned mutex);
void host_relax(unsigned *looked); /* between two looks at a flag */

ALWAYS uint64_t xorshift(uint64_t x)
{
	x ^= x << 13;
	x ^= x >> 7;
	return x ^ x << 17;
}

ALWAYS uint64_t mix(uint64_t hash, uint64_t value)
{
	return hash * 0x9E3779B97F4A7C15ull + value + 1;
}

ALWAYS struct access an_access(void *p, uint32_t size, enum host_op op)
{
	return (struct access){ .addr = (uint64_t)p,
				.size = size,
				.op = op,
				.granules = size == 16 ? 2 : 1,
				.kind = op == HOST_LOAD	 ? ACCESS_READS :
					op == HOST_STORE ? ACCESS_WRITES :
							   ACCESS_READS | ACCESS_WRITES };
}

/* What compiler/fast.c puts around every access. A hit closes with the count that it opened with: to load it again would
   make a chain of stores and loads through all events. */
ALWAYS bool host_opens(struct worker *w, const void *addr, uint64_t kind, uint64_t *events)
{
	struct hook_self *self = &w->self;

	*events = __atomic_load_n(&self->events, __ATOMIC_RELAXED) | 1;
	__atomic_store_n(&self->events, *events, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return ((__atomic_load_n(&self->claims[(uint64_t)addr >> HOOK_PAGE_SHIFT & self->mask], __ATOMIC_RELAXED) &
		 kind) == kind) &&
	       (*events < __atomic_load_n(&self->until, __ATOMIC_RELAXED));
}

ALWAYS void host_closes(struct worker *w, uint64_t events)
{
	__atomic_store_n(&w->self.events, (events | 1) + 1, __ATOMIC_RELEASE);
}

ALWAYS uint64_t load(struct worker *w, bool hooked, uint64_t *p)
{
	uint64_t events;

	if (!hooked)
		return __atomic_load_n(p, __ATOMIC_RELAXED);
	if (likely(host_opens(w, p, ACCESS_READS, &events))) {
		if (unlikely(plan.chaos))
			inline_chaos(w);
		uint64_t v = __atomic_load_n(p, __ATOMIC_RELAXED);
		if (unlikely(plan.verify))
			inline_seen(w, v);
		host_closes(w, events);
		return v;
	}
	struct access a = an_access(p, 8, HOST_LOAD);
	host_access(w, &a);
	return a.old[0];
}

ALWAYS void store(struct worker *w, bool hooked, uint64_t *p, uint64_t v)
{
	uint64_t events;

	if (!hooked) {
		__atomic_store_n(p, v, __ATOMIC_RELAXED);
		return;
	}
	if (likely(host_opens(w, p, ACCESS_WRITES, &events))) {
		if (unlikely(plan.chaos))
			inline_chaos(w);
		__atomic_store_n(p, v, __ATOMIC_RELAXED);
		if (unlikely(plan.chaos))
			inline_chaos(w);
		host_closes(w, events);
		return;
	}
	struct access a = an_access(p, 8, HOST_STORE);
	a.value[0] = v;
	host_access(w, &a);
}

/* As load and store, and natively with acquire and release. */
ALWAYS uint64_t load_flag(struct worker *w, bool hooked, uint64_t *p)
{
	return hooked ? load(w, true, p) : __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

ALWAYS void store_flag(struct worker *w, bool hooked, uint64_t *p, uint64_t v)
{
	if (hooked)
		store(w, true, p, v);
	else
		__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

ALWAYS void lock(struct worker *w, bool hooked, unsigned mutex)
{
	if (hooked)
		host_lock(w, mutex);
	else
		native_lock(mutex);
}

ALWAYS void unlock(struct worker *w, bool hooked, unsigned mutex)
{
	if (hooked)
		host_unlock(w, mutex);
	else
		native_unlock(mutex);
}

struct workload {
	const char *name;
	void (*native)(struct worker *w, uint64_t accesses); /* 0: only for stress */
	void (*hooked)(struct worker *w, uint64_t accesses);
	unsigned step; /* threads come in multiples of this */
	const char *about;
};
extern const struct workload workloads[]; /* ends with name 0 */
#endif

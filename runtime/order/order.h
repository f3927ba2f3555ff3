/*
 * What a scheme is: a way to record the order of accesses to shared memory, and to enforce it at replay.
 *
 * A scheme is one file here with both directions in it, and a line in all.c. Everything else is common: the hooks
 * (compiler/hooks.h), the log, waiting, thread identity, locks and system calls. See doc/adding-an-order.md.
 *
 * Words
 *   access    one load, store or read-modify-write. The common part cuts what the program does so that an access lies
 *             in one granule, each part an event of its own; only a 16-byte atomic takes two granules.
 *   granule   8 aligned bytes: the location that most schemes keep an order for.
 *   event     the number of an access within its thread (0, 1, ...), the same at replay.
 *   state     what a scheme keeps per granule: state_size bytes, zero at first. Replay has its own, zero at first.
 *   entry     what the scheme logs at one of a thread's events: a few numbers.
 *
 * THE RULE: {log the order; do the access} must be one step with respect to every other recorded access of the same
 * granule. access_perform() does the access; the scheme decides under which lock or validation.
 *
 * The files here are compiled twice: into the runtime (no libc) and into the tool (`heddle order`, unit tests), so they
 * include this header and those of this folder, and nothing else. In the tool threads are simulated one event after the
 * other, so nothing waits.
 */
#ifndef ORDER_H
#define ORDER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "compiler/hooks.h"
#include "runtime/order/cut.h"

#define GRANULE 8

#ifndef likely
#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

enum { ACCESS_READS = 1, ACCESS_WRITES = 2 };
/* OP_RMW + enum hook_rmw */
enum access_op { OP_NONE, OP_LOAD, OP_STORE, OP_CAS, OP_RMW };

struct access {
	uint64_t addr;
	uint32_t size;	   /* never over the end of a granule, except 16 */
	uint8_t kind;	   /* ACCESS_READS, ACCESS_WRITES or both */
	uint8_t granules;  /* 1, or 2: addr and addr + 8 */
	uint16_t op;	   /* enum access_op: for access_perform() */
	uint64_t value[2]; /* to be stored; operand; desired */
	uint64_t old[2];   /* what was read, once performed; cas: expected, before */
	const struct hook_site *site;
};

/* Many bytes at once: memcpy, memset, vectors. perform(s, from, to) does bytes [from, to) of it; false: fault. */
struct access_span {
	uint64_t addr, size;
	uint8_t kind;
	bool (*perform)(struct access_span *s, uint64_t from, uint64_t to);
	const struct hook_site *site;
};

static inline bool access_writes(const struct access *a)
{
	return a->kind & ACCESS_WRITES;
}

/* A thread, as schemes see it. */
struct order_thread {
	uint32_t slot;
	uint64_t event;		 /* the one under way */
	uint64_t last_entry;	 /* event of the entry before; entries are logged as differences */
	uint64_t next_entry;	 /* replay: event of the next one; ORDER_NEVER: no more */
	void *own;		 /* thread_size bytes of the scheme's, zero at first; kept when a slot is used again */
	uint64_t bytes, entries; /* logged so far, before compression */
	struct order_cut
		cut; /* a scheme with `pause` whose regions libheddle.so may end fills it in `begin`, all but `noted` */
};
#define ORDER_NEVER (~0ull)

/* ---- what a scheme may call ------------------------------------------------------------------------ */

/* Performs the access, sets a->old. false: it would fault; undo what you hold and return false too.
   Relaxed for plain accesses; the scheme orders what needs order. Atomic for up to 8 bytes within a granule and for
   aligned 16. */
#ifndef HEDDLE_RUNTIME
bool access_perform(struct access *a);
#endif

/* The state of a granule (addr is rounded down). It stays where it is. */
#ifndef HEDDLE_RUNTIME
void *order_state(uint64_t addr);
#endif

/* Record: an entry at this event. At most 15 numbers; small ones are cheap (LEB128). */
void order_log(struct order_thread *t, unsigned n, const uint64_t *numbers);
/* Replay: is there an entry at this event? Ask until false: one event may have several. */
static inline bool order_due(const struct order_thread *t)
{
	return unlikely(t->next_entry == t->event);
}
/* Replay: takes the next number of the entry that is due; after the entry's last one, order_taken(). */
uint64_t order_number(struct order_thread *t);
void order_taken(struct order_thread *t);
#define ORDER_LOG(t, ...) order_log(t, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, (const uint64_t[]){ __VA_ARGS__ })

/* A lock of one 32-bit word, for holding over {log; access}: at most a few hundred instructions. Fair enough under
   contention: it yields, and a reader that spins on a flag cannot starve its writer. In the child of a fork those that
   gone threads held are free. */
void order_lock(uint32_t *lock);
void order_unlock(uint32_t *lock);

/* Replay: waits until ready(arg) is true. Looks, yields, then sleeps in small steps; notices a replay that stands
   still. `ready` must use acquire loads where what it waits for was published. why: for "where each thread stands". */
void order_wait(struct order_thread *t, bool (*ready)(const void *arg), const void *arg, const char *why);
/* Replay: what others wait for may have come: wakes them. For schemes that `tell`. `ready` must not change anything
   then: it is called on this thread. */
void order_moved(void);
/* Replay: has thread `slot` finished all events below `event`, or all that it has? (acquire) */
bool order_finished(uint32_t slot, uint64_t event);
/* Replay: has it finished all that it has? It may compute for ever, and end no region and no transaction. (acquire) */
bool order_over(uint32_t slot);
/* Replay, after hook_self.events has been moved on: does not return if the recording of the thread ended before. */
void order_came_to(struct order_thread *t);
/* Replay: waits for that. */
void order_wait_event(struct order_thread *t, uint32_t slot, uint64_t event);
/* Record: events that thread `slot` has finished (acquire): its current event if it is inside one. */
uint64_t order_events(uint32_t slot);
/* Record: is "event `event` of thread `slot` is finished before my current one" already implied by the lock order,
   program order, or an edge that this thread logged? If not it is remembered, and the caller logs the edge. */
bool order_known(struct order_thread *t, uint32_t slot, uint64_t event);
/* Slots 0 .. order_slots()-1 have been used. */
uint32_t order_slots(void);
struct order_thread *order_thread_of(uint32_t slot);

/*
 * Record: everything about event t->event is logged, and from here on nobody else accesses the granule before this
 * thread has finished its access. If the process dies now, replay makes this access still, since nobody can tell
 * whether it took place; if it dies before, replay does not. Called between `before` and the access; an `access`,
 * `span` or `drop` of a scheme calls it itself, where it holds the granules, and so does an `acquire` or `release` that
 * others wait for.
 */
void order_begun(struct order_thread *t);
/* Record under --chaos: perhaps yields. Put it between check and access, where bad luck would show a fault. */
#ifndef HEDDLE_RUNTIME
void order_chaos(struct order_thread *t);
#endif
/* Memory that stays; zero. Not from a fast path. Large amounts are filled as they are touched. */
void *order_memory(size_t n);
/* A line for the user: only traced.c has something to say. */
void order_say(struct order_thread *t, const char *line);
/* Stops the recording or replay with a message for the user. */
_Noreturn void order_cannot(const char *what);

/* ---- for schemes with claims ------------------------------------------------------------------------------------- */

/* The program's addresses are below 1 << ORDER_ADDRESS_BITS. */
#ifndef ORDER_ADDRESS_BITS
#define ORDER_ADDRESS_BITS 40
#endif
/* order_begun() of such a scheme, which knows its thread's counts. Relaxed: only a reader of the dead process's memory
   looks at it, and sees stores in this thread's order. */
static inline void order_begun_as(struct hook_self *self, uint64_t event)
{
	__atomic_store_n(&self->begun, event + 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
/* A slot's counts, for all below order_slots(); they stay, and go on counting, when the slot is used again. */
struct hook_self *order_self(uint32_t slot);
/* A slot's table of claims, one byte per page (compiler/hooks.h) of the program's memory, zero at first; 0: there are
   none (the tool). */
uint8_t *order_claims(uint32_t slot);
/* Record: every thread of the process has run a full barrier between the call and the return. */
void order_membarrier(void);
/* Record: between two looks at something that another thread will change: looks again at once, later yields. */
void order_relax(unsigned *looked);

/* What comes after a pause. */
enum order_pause {
	PAUSE_GOT,   /* nothing: the thread has got a lock without waiting */
	PAUSE_GIVES, /* it gives a lock back, so others may go on */
	PAUSE_WAITS, /* it may wait, or let others go on */
};

/* ---- what a scheme is ----------------------------------------------------------------------------------- */

struct order_ops {
	/* Once, before the program's first instruction. Sets all static variables: the model runs a scheme many times
	   in one process. Optional. */
	void (*open)(void);
	/* On the parent, before the child exists; its `own` is there, perhaps of an earlier thread of that slot. An
	   event of its own, like acquire and release. Optional. */
	void (*create)(struct order_thread *t, struct order_thread *child);
	/* On the thread itself, before its first access and after its last; also when replay has come to where the
	   recording of this thread ends. Optional. */
	void (*begin)(struct order_thread *t);
	void (*end)(struct order_thread *t);
	/*
	 * Around the access at t->event: `before` may wait and log, and keeps every other recorded access of the
	 * granule out (or, for a read, every write) until `after`. `after` must not wait. done: the access has taken
	 * place; otherwise it would have faulted: undo as far as possible, the program's handler comes next.
	 * A thread may be between before and after for many granules at once (code that the compiler cannot see into):
	 * it comes to them in ascending order.
	 */
	void (*before)(struct order_thread *t, struct access *a);
	void (*after)(struct order_thread *t, struct access *a, bool done);
	/* Instead of {before; access_perform; after}, for schemes that validate and retry. Optional.
	   false: it would fault, and nothing has happened. */
	bool (*access)(struct order_thread *t, struct access *a);
	/* The same for a load or store, where nothing needs to be logged, waited for or looked at twice: comes first,
	   from a shorter way in. false: nothing has happened, and `access` comes next. Optional; not under --chaos or
	   --verify. */
	bool (*quick)(struct order_thread *t, struct access *a);
	/* For schemes with claims: accesses of [addr, addr + size) come next, in the bracket that is open. Gets their
	   claims as far as nothing needs to be logged or waited for. True: all. Optional. */
	bool (*ahead)(struct order_thread *t, uint64_t addr, uint64_t size, uint8_t kind);
	/* On the thread itself, outside of any event, before everything at which it may wait for another thread, at
	   record or replay: locks, joins, system calls, its own end. May move `events` on. Optional. */
	void (*pause)(struct order_thread *t, enum order_pause why);
	/* For schemes with claims: keeps all others away from [addr, addr + size) (kind: who does not read, or not
	   write), besides what is held already, until drop. May wait. It is all one event. Optional. */
	void (*hold)(struct order_thread *t, uint64_t addr, uint64_t size, uint8_t kind);
	void (*drop)(struct order_thread *t, bool done);
	/* For schemes with claims: an access over several granules, not cut. Optional; empty: the common part cuts it,
	   and each part is an event of its own. */
	bool (*span)(struct order_thread *t, struct access_span *s);
	/* Optional; empty: only the common lock edges order synchronisation, as they always do. The op on `object` (any
	   number) is under way and no other op of that object can come between. An op is an event of its own for a
	   scheme that fills these, with its own t->event. They must come with everything at which replay may wait for
	   another thread: acquire after what can wait (lock, join, end of a system call), release before what others
	   may wait for. */
	void (*acquire)(struct order_thread *t, uint64_t object);
	void (*release)(struct order_thread *t, uint64_t object);
	/* In the child of a fork; the other threads are gone. Optional. */
	void (*forked)(struct order_thread *t);
};

/* An entry of the log, read back. */
struct order_entry {
	uint64_t event;
	unsigned n;
	uint64_t numbers[15];
};

/* A thread's whole log, read back: room for `room` entries, in malloc's memory. */
struct order_log_text {
	struct order_entry *entry;
	size_t n, room;
};

/* `heddle order NAME`: prints the log as the papers write it; for the runtime's build it is empty. See
   commands/order.c. */
struct order_printer {
	void (*line)(void *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
	void *to;
	unsigned threads;
	const struct order_entry *(*entries)(uint32_t slot, size_t *count); /* the thread's log */
	const struct access *(*access)(uint32_t slot, uint64_t event); /* of the written trace; 0: no access there */
	const char *(*location_name)(uint64_t addr);		       /* "x" */
	const char *(*event_name)(uint32_t slot, uint64_t event); /* "e5": number of the line in the written trace */
};

#define SCHEDULE_TIME_IS_UP "the time is up" /* what a scheme's solve may answer */

struct order_scheme {
	const char *name;    /* as in --order=NAME; a variant has its own line: "leap:field" */
	const char *summary; /* one line, for --order=help */
	const char
		*guarantee;  /* "exact", or what the paper promises: "flow determinism: blind writes are not ordered" */
	uint32_t version;    /* raised whenever its entries change; kept in the trace */
	uint32_t state_size; /* per granule: 0, or a power of two up to 64 */
	uint32_t thread_size; /* of order_thread.own */
	/* Has a fast path: `begin` sets claims and mask of order_self(). hook_self.events is then what counts:
	   t->event is events / 2 when an op is called, and an op may move events on. Whatever the hook does at once is
	   one event. */
	bool claims;
	/* Replay calls order_moved() wherever somebody may wait for what it has just done, or nearly so: who waits goes
	   to sleep soon, and looks again after 0.2 ms by itself. */
	bool tells;
	struct order_ops record, replay;
#ifdef HEDDLE_TOOL
	/* After a written trace was fed: prints what would be in the log. */
	void (*print)(const struct order_printer *p);
	/* tplay: does this entry tell of a violation of atomicity? The addresses of its two sites. Optional. */
	bool (*violation)(const uint64_t *numbers, unsigned n, uint64_t sites[2]);
	/* What an entry tells of, in the plural, and of how many (1 so far), for heddle stat: "flows". Optional; empty:
	   "entries". */
	const char *(*entries)(const uint64_t *numbers, unsigned n, uint64_t *count);
	/* One entry of a log, for heddle dump: reads numbers, appends text. Optional. */
	void (*describe)(const uint64_t *numbers, unsigned n, char *to, size_t room);
	/* light: makes, from the log of a recording, the one that replay reads: each logs[slot].entry is replaced
	   (malloc). first: events of this process begin there. seconds: 0 is no limit. Returns what went wrong, or 0.
	   Optional. */
	const char *(*solve)(struct order_log_text *logs, uint32_t threads, uint64_t first, unsigned seconds,
			     void (*progress)(size_t done, size_t all, double seconds));
#endif
};

/* Every scheme, in the order --order=help shows them; ends with 0. See all.c. */
extern const struct order_scheme *const order_schemes[];
const struct order_scheme *order_find(const char *name);		    /* 0: none */
const struct order_scheme *order_traced(const struct order_scheme *scheme); /* the same, with each call told */
extern const struct order_scheme *order_used;				    /* the one in use; 0: none */

#ifdef HEDDLE_RUNTIME
#include "runtime/hooks/inlined.h"
#endif
#endif

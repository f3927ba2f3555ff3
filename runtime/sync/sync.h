/*
 * Synchronisation: how order is recorded, and what libheddle.so calls.
 *
 * Words
 *   op      one synchronisation operation of a thread. Each thread counts its own; the n-th op
 *           of a thread is the n-th again at replay. Ops are not logged by themselves.
 *   clock   that count. (slot, clock) names one op of the process.
 *   stamp   (slot, clock) of the last op on an object, in one word: the object's history.
 *   edge    "before my op `at`, op `clock` of thread `slot` was done": ENTRY_EDGE in the log of
 *           the thread that waits. Written only if the source is another thread and is not
 *           implied by what this thread already knows.
 *
 * The rule for every object: its ops form a chain. An op finds the stamp of the op before, takes
 * an edge from it and leaves its own stamp, atomically with respect to other ops of the object.
 * Ops that give something (unlock, post, signal) stamp before the real operation; ops that get
 * something (lock, wait) stamp after it. So whoever got something finds the giver in the chain.
 * An edge too many does no harm: its source is always earlier in time.
 *
 * At replay an op is not run for real: it waits for its logged edges, takes its logged outcome
 * (0 unless ENTRY_SYNC says otherwise), and sets the object's words as the real one would have,
 * the stamp included.
 */
#ifndef SYNC_H
#define SYNC_H
#include <stdbool.h>
#include <stdint.h>
#include "runtime/order/cut.h"

/* The part of struct thread that the quick paths in libheddle.so touch. */
struct front {
	uint64_t clock; /* ops finished so far; only this thread writes it */
	uint64_t done;	/* replay: ops finished, published with release; record: the last op that showed: op_shown() */
	uint32_t slot;	/* this thread's number */
	uint32_t quick; /* 1: recording without chaos, quick paths may be taken; 0: always call the runtime */
	uint32_t tid;	/* the recorded thread id: what owner words hold, at record and replay */
	uint32_t chaos; /* record: > 0: perturb scheduling at ops */
	void *heap;	/* the allocator's state of this thread */
	uint64_t free;	/* replay: the log has nothing about ops below this one: no edge, no outcome, no signal */
	union {
		uint64_t waited; /* replay: the first op of this thread for which somebody sleeps, or NOBODY_WAITS */
		struct order_cut *cut; /* record: what quick ops end; 0: nothing */
	};
	const void *registers; /* where libheddle.so keeps registers while functions of libc run: a page or less */
};

#define NOBODY_WAITS (~0ull)

/* 0: no op yet (clocks begin at 1) */
#define STAMP(slot, clock) ((uint64_t)(slot) << 48 | (clock))
#define STAMP_SLOT(stamp)  ((uint32_t)((stamp) >> 48))
#define STAMP_CLOCK(stamp) ((stamp)&0xffffffffffffull)

struct thread;
struct front *front_of(struct thread *t);

/* ---- edges.c: for the primitives in runtime/sync/ ------------------------------------------- */

/* Begins the thread's next op; returns its clock. Record: may perturb (chaos). Replay: waits for the
   edges that the log has for this op. */
uint64_t op_begin(struct thread *t);
uint64_t
op_begin_taken(struct thread *t); /* it has got what it wants already: it will not wait, nor let others go on */
uint64_t op_begin_giving(struct thread *t); /* it gives a lock back, and will not wait */
/* The op follows op `stamp`. Record: logs an edge unless it is implied. Replay: nothing (op_begin has waited). */
void op_edge(struct thread *t, uint64_t stamp);
/* Record: logs the outcome if it is not 0, and returns it. Replay: returns the logged outcome, whatever `result` is. */
long op_outcome(struct thread *t, long result);
/* The op is over. Replay: publishes it, so that threads that wait for it go on. */
void op_end(struct thread *t);

/* Record only: sleeps while *word == value, until woken, until the absolute deadline {sec, nsec} of `clockid` (0: none)
   passes, or until a signal is held. Returns 0, -EAGAIN, -ETIMEDOUT, or -EINTR (then the op returns
   SYNC_INTERRUPTED). */
long sync_wait(struct thread *t, uint32_t *word, uint32_t value, int clockid, const int64_t *deadline);
void sync_wake(uint32_t *word, int count);

/* For objects without room for a stamp in their own memory: the stamp word of `object`, made if it is not there, and
   locked against other users until stamp_unlock(). Record only; at replay there is nothing to remember. */
uint64_t *stamp_lock(const void *object);
void stamp_unlock(uint64_t *stamp);
/* The same, with more than one stamp: of the last op, and of ops since which only read (runtime/atomics/ops.c). */
struct stamps {
	uint64_t last, readers[4];
};
struct stamps *stamps_lock(const void *object);
void stamps_unlock(struct stamps *stamps);

/* threads.c: the thread of a pthread_t */
struct thread *thread_of_pthread(uint64_t pthread);
/* Their stacks are to be executable, as the first one is: the program asks for it, or a library that it has loaded. */
void threads_make_executable(void);
/* entries.c: the first function of an op, from entry.S; fills the table below */
long sync_run(struct thread *t);
void sync_fill_entries(void);

/* ---- the table through which libheddle.so enters the runtime ---------------------------------- */

/*
 * At MAP_ENTRIES (map.h), filled before the program starts. A function of the table is reached through `call`, which
 * switches to the runtime's own stack (nothing of ours may touch the program's), and lets held signals begin their
 * handlers after the function, or, if it returns SYNC_INTERRUPTED, before it is called again with the same arguments.
 */
/* The section of the ends of threads, left in thread_exit(). libheddle.so's other numbers for sections begin at 1. */
#define SYNC_SECTION_ENDS 4095

#define SYNC_INTERRUPTED (-512)
typedef long sync_function(struct thread *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
/* clang-format off */
#define SYNC_FUNCTIONS(X)                                                                                  \
	/* edges.c */     X(op_wake) X(op_point)                                                           \
	/* mutex.c */     X(mutex_lock) X(mutex_unlock)                                                    \
	/* rwlock.c */    X(rwlock_lock) X(rwlock_unlock)                                                  \
	/* spin.c */      X(spin_lock) X(spin_unlock)                                                      \
	/* cond.c */      X(cond_enter) X(cond_wait) X(cond_leave) X(cond_wake)                            \
	/* barrier.c */   X(barrier_arrive) X(barrier_leave)                                               \
	/* semaphore.c */ X(sem_take) X(sem_give) X(sem_value)                                             \
	/* once.c */      X(once_begin) X(once_end) X(guard_acquire) X(guard_release)                      \
	/* threads.c */   X(thread_reserve) X(thread_cancel_reserve) X(thread_tell) X(thread_released)     \
			  X(thread_slot) X(thread_settled) X(thread_gone) X(thread_joined)                 \
	/* section.c: around libc functions that lock inside */ X(section_enter) X(section_leave)          \
	/* heap.c */      X(heap_refill) X(heap_return) X(heap_large) X(heap_large_free)                   \
	/* hooks/bytes.c */ X(bytes_copy) X(bytes_clear)
/* clang-format on */
#define SYNC_DECLARE(name) sync_function sync_##name;
SYNC_FUNCTIONS(SYNC_DECLARE)
#undef SYNC_DECLARE
enum sync_index {
#define SYNC_INDEX(name) SYNC_##name,
	SYNC_FUNCTIONS(SYNC_INDEX)
#undef SYNC_INDEX
		SYNC_COUNT
};
struct sync_entries {
	uint64_t version;
	long (*call)(sync_function *f, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
	struct front *(*self)(void); /* the calling thread's front */
	uint32_t threads_seen; /* threads that the process has created; changed by a creator before its thread runs */
	uint32_t forks;	       /* that led to this process */
	uint64_t tls_offset;   /* of a thread's TLS from its pthread_t; libheddle.so says it */
	uint64_t stack_protection; /* of threads */
	uint64_t **environment;	   /* libc's variable `environ`; libheddle.so says it, too */
	sync_function *functions[SYNC_COUNT];
	uint64_t announced; /* libheddle.so is there, and says which threads are to come */
};
#endif

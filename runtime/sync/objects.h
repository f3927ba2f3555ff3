/*
 * The synchronisation objects of the program: glibc's types, as we use them.
 *
 * Size, static initialisers and attribute bits are glibc's; what lies in between
 * is ours. Shared by the runtime, which runs the operations, and libheddle.so,
 * whose quick paths do the uncontended cases in place.
 *
 * Bytes that are the same at replay: everything but words marked [waits], which
 * say only that somebody sleeps or slept, and are as if nobody did at replay.
 */
#ifndef SYNC_OBJECTS_H
#define SYNC_OBJECTS_H
#include "runtime/sync/sync.h"

/* ---- mutex: pthread_mutex_t ------------------------------------------------------ */

struct mutex {
	uint32_t lock;	/* [waits] 0 free, 1 held, 2 held and somebody may sleep; robust: see MUTEX_DIED */
	uint32_t count; /* recursive: how often its owner holds it */
	uint32_t owner; /* the holder's front->tid, 0 if nobody, or one of MUTEX_INCONSISTENT ... */
	uint32_t users; /* who holds it or waits for a condition with it: pthread_mutex_destroy() looks at it */
	uint32_t kind;
	uint32_t ceiling; /* of MUTEX_PROTECT: kept for the program, no more */
	uint64_t stamp;	  /* neither robust nor shared between processes: the last op; written by the holder */
	uint64_t next;	  /* robust: `next` of another that the same thread holds; `stamp` is the one before it */
};
enum {
	MUTEX_KIND = 3, /* the kinds below; 0 is a normal one */
	MUTEX_RECURSIVE = 1,
	MUTEX_ERRORCHECK = 2,
	MUTEX_ADAPTIVE = 3,
	MUTEX_ROBUST = 16,
	MUTEX_INHERIT = 32, /* priorities: accepted, without effect on scheduling */
	MUTEX_PROTECT = 64,
	MUTEX_SHARED = 128, /* between processes: other processes' stamps mean nothing here */
	MUTEX_SLOWLY = 127 | MUTEX_SHARED,
	/* `lock` of a robust mutex: its holder's id, and these */
	MUTEX_DIED = 0x40000000,
	MUTEX_ID = 0x3fffffff,
	/* `owner` of a robust mutex */
	MUTEX_INCONSISTENT = 0x7fffffff,
	MUTEX_NOT_RECOVERABLE = 0x7ffffffe,
};
#define MUTEX_DESTROYED (~0u) /* `kind` */
#define MUTEX_WAITED	0x80000000u
/* How: argument b of mutex_lock and mutex_unlock. */
enum mutex_how {
	MUTEX_WAIT = 0,	 /* until the deadline, if there is one */
	MUTEX_TRY = 1,	 /* EBUSY instead of waiting */
	MUTEX_TAKEN = 2, /* the quick path holds the lock word, but not yet the rest of the op */
	MUTEX_AGAIN = 3, /* after a condition: `users` still counts this thread */
	MUTEX_WAKE = 4,	 /* unlock: the quick path has done all of the op, but somebody sleeps */
};

/* ---- condition: pthread_cond_t. Private ones are never written: waiters are in cond.c's lists ----- */

struct cond {
	uint64_t unused;
	uint32_t sequence; /* [waits] shared between processes: moves with every signal */
	uint32_t sleepers; /* [waits] the same: how many may sleep on it */
	uint32_t unused2[5];
	uint32_t flags; /* COND_* and above */
	uint32_t unused3[2];
};
enum { COND_SHARED = 1, COND_MONOTONIC = 2 };

/* ---- rwlock: pthread_rwlock_t ---------------------------------------------------- */

struct rwlock {
	uint64_t state;	  /* see RW_* */
	uint64_t readers; /* stamps of reading unlocks, by slot % 3 */
	uint64_t readers1;
	uint32_t writer; /* tid of the thread that holds it for writing */
	uint32_t shared; /* between processes */
	uint64_t readers2;
	uint64_t written; /* stamp of the last writing unlock */
	uint32_t prefer;  /* glibc's kinds */
	uint32_t unused;
};
#define RW_WRITER	0x80000000ull
#define RW_READERS	0x3fffffffull
#define RW_WRITER_WAITS 0x40000000ull /* [waits] writers sleep on the low half */
#define RW_READER_WAITS (1ull << 32)  /* [waits] readers sleep on the high half */
enum { RW_PREFER_WRITER = 2 };
enum rw_how { RW_READ = 0, RW_WRITE = 1, RW_TRY = 2 }; /* RW_TRY is added */

/* ---- barrier: pthread_barrier_t --------------------------------------------------- */

struct barrier {
	uint32_t arrived; /* in this round */
	uint32_t round;	  /* [waits] shared ones: moves when all are there */
	uint32_t count;
	uint32_t shared;
	uint32_t unused[2];
	uint64_t stamp;
};

#define BARRIER_SERIAL 0x100 /* from barrier_arrive */

/* ---- semaphore: sem_t, as glibc has it, so that processes without us can share it -------- */

struct semaphore {
	uint32_t value;
	uint32_t waiters; /* [waits] */
	uint32_t shared;  /* 0: between threads only */
	uint32_t unused;
	uint64_t stamp; /* the last post, of private ones */
	uint64_t unused2;
};

/* ---- once: pthread_once_t and the guards of C++ ------------------------------------------- */

/* A once word: 0, or ONCE_RUNS | image << 4, or ONCE_DONE | who: see ONCE_WORD. */
enum { ONCE_RUNS = 1, ONCE_DONE = 2, ONCE_WAITED = 4 /* [waits] */ };
/* Tells apart the times that one address was used as a once: the running op's slot and the low bits of its clock. */
#define ONCE_WORD(slot, clock) (ONCE_DONE | (uint32_t)(slot) << 3 | (uint32_t)(clock) << 16)

/*
 * A guard is 8 bytes; the stamp is in the side table, and a part of it here, to tell its uses apart. Compiled code
 * tests its first byte itself and calls nobody if that is 1, so that the order would be lost: the byte stays 0 if other
 * threads may be there, and every pass comes to us.
 */
enum { GUARD_SET = 1, GUARD_RUNS = 0x100, GUARD_WAITED = 0x200, GUARD_DONE = 0x400 };
#define GUARD_WORD(slot, clock) (GUARD_DONE | (uint64_t)(slot) << 11 | (uint64_t)(clock) << 24)

/* ---- inside the runtime ------------------------------------------------------------------------- */

#ifdef HEDDLE_RUNTIME
extern bool replaying;

/*
 * An op that gives something ends, for the recording, before others can get it: a stamp that is seen is
 * then of an op that the recording has, even if the process is killed in between. At replay it ends after.
 */
static inline void op_given(struct thread *t)
{
	if (!replaying)
		op_end(t);
}
static inline void op_given_end(struct thread *t)
{
	if (replaying)
		op_end(t);
}
/* The same for an op that leaves its stamp before it is over: its edges are logged, and from here on others may follow
   it. If the process is killed before it is over, replay does it all the same. */
static inline void op_shown(struct thread *t)
{
	if (!replaying)
		__atomic_store_n(&front_of(t)->done, front_of(t)->clock + 1, __ATOMIC_RELEASE);
}

/* stamps.c: the op `op` follows the last one of an object whose stamp is in the side table. leaves: it is the next. */
static inline void side_follow(struct thread *t, const void *object, uint64_t op, bool leaves)
{
	if (replaying)
		return;
	uint64_t *side = stamp_lock(object);
	op_edge(t, *side); /* before the next can follow us: it relies on what we follow */
	if (leaves) {
		op_shown(t);
		*side = STAMP(front_of(t)->slot, op);
	}
	stamp_unlock(side);
}

/* mutex.c: waits for a word of the kind 0 free, 1 held, 2 held and somebody may sleep. Record only. Returns 0 (it is
   ours), EBUSY (`try`), ETIMEDOUT, EINVAL (the deadline is none), or SYNC_INTERRUPTED. */
long word_lock(struct thread *t, uint32_t *word, bool try, uint64_t clockid, uint64_t deadline);
/* sync_wait() with what a deadline of the program's may be; returns 0, ETIMEDOUT, EINVAL or SYNC_INTERRUPTED. */
long wait_until(struct thread *t, uint32_t *word, uint32_t value, uint64_t clockid, uint64_t deadline);
/* The two halves of unlocking in the op `op`. First all but the lock word; returns 0, EPERM or ENOTRECOVERABLE, and
   whether the second half must follow. `counted`: the thread is no user any more. */
long mutex_let_go(struct thread *t, struct mutex *m, uint64_t op, bool counted, bool *frees);
void mutex_free(struct thread *t, struct mutex *m);
/* The thread ends: what robust mutexes it still holds get their next owners with EOWNERDEAD. */
void mutex_owner_died(struct thread *t);
/* In the child of a fork: nobody holds a robust one. */
void mutexes_forked(void);

/* semaphore.c: does the program want calls that its handlers of the held signals interrupt to go on? */
bool handlers_restart(struct thread *t);

/* cond.c: queues of sleeping threads by the object they wait for; record only. */
struct sleeper {
	struct sleeper *next, *before;
	uint64_t object;
	uint64_t stamp; /* of the op that woke it */
	uint32_t woken; /* futex */
	uint16_t used;
	uint16_t shared; /* the condition is: who was woken may not look at that any more */
};
void sleeper_add(struct sleeper *s, uint64_t object);
/* Takes it out of its queue; false: it has been woken. */
bool sleeper_remove(struct sleeper *s);
/* Wakes the n that came first; returns how many there were. The op `stamp` is what they follow. */
unsigned sleepers_wake(uint64_t object, unsigned n, uint64_t stamp);
/* A free one of this thread's, or -1. */
int sleeper_choose(struct thread *t);
struct sleeper *sleeper_of(struct thread *t, unsigned i);
/* In the child of a fork: nobody but `t` waits any more. */
void sleepers_forked(struct thread *t);
/* section.c: the same for what other threads held. */
void sections_forked(struct thread *t);
#endif

_Static_assert(sizeof(struct mutex) == 40 && sizeof(struct cond) == 48 && sizeof(struct rwlock) == 56, "glibc's sizes");
_Static_assert(sizeof(struct barrier) == 32 && sizeof(struct semaphore) == 32, "glibc's sizes");

/* ---- how libheddle.so asks for other ops: the argument b of each ---------------------------------------------- */

/* section_enter, section_leave */
enum section_how {
	SECTION_TRY = 1,       /* enter: EBUSY instead of waiting */
	SECTION_BRIEFLY = 2,   /* the same after 100 ms */
	SECTION_PATIENTLY = 4, /* the same after seconds */
	SECTION_FORGET = 1,    /* leave: the object is gone */
};

/* thread_joined */
enum join_how {
	JOIN_WAIT = 0, /* until the deadline, if there is one */
	JOIN_TRY = 1,  /* EBUSY instead of waiting */
	JOIN_ID = 2,   /* does not join: its id, or 0 if it has ended */
};

/* cond_enter answers so much more than the error, if the mutex was not the caller's. */
#define COND_FAILED 0x100
#endif

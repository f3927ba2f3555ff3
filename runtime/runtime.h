/*
 * The runtime: everything of ours that lives inside a recorded or replayed process.
 *
 * Glossary
 *   program   the code that is being recorded, with its libraries
 *   event     one entry of a thread's stream; events are numbered from 0
 *   image     what an exec or a fork starts: the streams p<N> of the trace
 *   slot      a thread's small number within its image: one stream t<M>
 *   held      a signal that arrived and waits for the next event
 *
 * The way in is dispatch(), reached from the stub of a system call site, and the
 * signal handlers in signals.c. Both run on stacks of ours, never the program's.
 */
#ifndef RUNTIME_H
#define RUNTIME_H
#include "loader/arch/regs.h"
#include "runtime/base/base.h"
#include "runtime/atomics/atomics.h"
#include "runtime/memory/map.h"
#include "runtime/hooks/hooks.h"
#include "runtime/sync/sync.h"
#include "runtime/syscalls/describe.h"
#include "trace/format.h"

#define SIGNALS	      64
#define SIGNAL_BIT(n) (1ull << ((n)-1))

/* The kernel's struct sigaction (not libc's). */
struct kernel_action {
	uint64_t handler, flags, restorer, mask;
};

struct alt_stack {
	uint64_t sp;
	uint32_t flags, pad;
	uint64_t size;
};

struct held_signal {
	int32_t sig;
	uint8_t info[128]; /* siginfo as the kernel gave it */
};

/* The part of a thread's stream that is at hand. */
struct log {
	struct ring_header *ring; /* record */
	uint32_t number;	  /* record: the ring's */
	uint8_t *data;		  /* record: the ring, mapped twice in a row; replay: the window */
	uint64_t head;		  /* record: bytes written; replay: bytes read */
	uint64_t events;	  /* entries written or read */
	uint64_t size;		  /* replay: bytes in the stream */
	uint64_t window;	  /* replay: position of data[0] */
	uint64_t window_end;	  /* replay: entries from here on need another window */
	struct late_stream *late; /* replay: heddle unpacks the windows; 0: all is unpacked */
	uint64_t room_until;	  /* record: the ring is free up to here, as far as we know */
	bool tail;		  /* replay of a recording that goes on: log_tail() is there */
};

struct thread {
	struct regs regs; /* the program's registers; offsets known to entry.S */
	uint64_t stack;	  /* top of the runtime's stack for this thread; entry.S */
	uint64_t resume;  /* where entry.S continues in the stub */
	uint32_t held;	  /* a held signal may be delivered now; entry.S looks at it */
	uint32_t held_count;
	struct front *front; /* in the ring's header, so that its count of ops survives a kill; entry.S */
	struct {
		uint64_t code, back; /* an instruction that is made in its stub, and where that leads to */
		uint64_t stack;	     /* of ours meanwhile */
		uint64_t fault;	     /* where to go on if it faults; 0: none is being made */
	} running;		     /* x86-64: see instruction_run() in entry.S */
	struct process *process;     /* the process's; a vfork child's own copy */
	struct held_signal held_signals[8];
	uint64_t mask;	      /* the program's signal mask */
	uint64_t wait_mask;   /* what replaces it during ppoll, sigsuspend, ... */
	bool waiting;	      /* wait_mask counts */
	struct alt_stack alt; /* the program's; the kernel has ours */
	uint32_t slot;
	uint32_t vfork_depth;	       /* > 0: a vfork child runs here */
	const struct call *vfork_call; /* that has started it */
	struct log log;
	uint64_t ticket;	     /* counter at this thread's last exit from a call */
	uint64_t dropped_ticket;     /* 1 + the ticket of a call that a signal interrupted; 0: none */
	uint64_t ticket_interrupted; /* replay: the last of these that was entered */
	uint8_t *scratch;	     /* for outputs too large for the ring */
	uint64_t scratch_size;
	int timer;		     /* wakes a thread that reaches no event; -1: none yet */
	uint64_t timer_us;	     /* what it was set to; 0: it is off, or has come */
	uint32_t state;		     /* enum thread_state */
	uint32_t real_tid;	     /* the kernel's id; front->tid is the recorded one */
	uint32_t reserved;	     /* 1 + slot that this thread has reserved for the next it creates */
	uint64_t tell_from, tell_to; /* that thread's id, and who is to have it; 0: nobody */
	uint32_t claimed;	     /* somebody may still join it */
	uint32_t number;	     /* of its creation in the process: later ones have greater numbers */
	bool settled;  /* it has left the section of ends: once the kernel has said so, libc finds that it has ended */
	uint32_t born; /* record: futex, 1: its creator has logged that it exists */
	uint64_t tls;  /* what clone was given */
	uint64_t end_stamp;  /* its last op, for who joins it */
	uint64_t known[16];  /* stamps this thread is known to follow, at most one a slot */
	uint32_t known_next; /* which to forget next */
	uint64_t op_limit;   /* replay: ops that were finished in the recording */
	bool grown;	     /* replay from a checkpoint: the limits are others than those it may have looked at */
	/* replay: the op under way, for runtime/races/: what libheddle.so has called (0: nothing), and its outcome */
	sync_function *op_function;
	long op_result;
	bool in_hook; /* its registers are those of a hook that asked the runtime */
	/* replay: see replay_wait.c */
	uint64_t waits_for;	     /* the stamp it waits for, 0: none */
	uint64_t waits_ticket;	     /* the tickets that must have begun, 0: does not wait for any */
	uint64_t waits_place;	     /* 1 + the place at which its write will be shown, 0: does not wait for that */
	bool waits_futex;	     /* in a futex call of the program's own, without a time limit */
	struct thread *next_waiter;  /* in the list it is in */
	struct thread *waiters;	     /* who waits for an op of this thread */
	uint32_t waiters_lock, wake; /* wake: futex, 1: go on */
	void *saved;		     /* stopped for a checkpoint: the frame it goes on from; see checkpoint.c */
	uint64_t thread_pointer;     /* the machine's, then */
	uint64_t clear_tid;	     /* what the kernel clears at its end, 0: nothing */
	uint64_t chaos;		     /* state of its random numbers */
	uint32_t chaos_points;	     /* accesses that could be disturbed so far */
	uint64_t chaos_at;	     /* `events` at which it is next to stand still for a while; 0: not known yet */
	struct exclusive exclusive;  /* see runtime/atomics/ */
	uint64_t atomic_objects[8], plain_objects[32];
	uint32_t atomic_last, plain_last;
	/* accesses: see runtime/order/ */
	struct hook_self *self; /* in the ring's header */
	struct order_thread order;
	struct order_cursor order_cursor;
	uint8_t fault_info[128]; /* siginfo of the last fault of a copy to or from the program */
	uint64_t hook_place;  /* twice the accesses, plus 1 at an access (not at a poll): where a handler may begin */
	uint64_t event_limit; /* replay: twice the accesses that were finished in the recording */
	uint64_t poll_limit;  /* replay of a recording that goes on: polls that were passed */
	uint64_t verify, verify_reads; /* hash of what was read, and how often */
	bool hooked;		       /* it has made a hooked access */
	uint8_t *inputs;	       /* copies of what a call of this thread reads: see kernel.c */
	uint64_t inputs_room;
	struct given *given;				/* see kernel.c */
	bool holds;					/* between enter and leave of a scheme with claims */
	bool order_begun, order_released, order_paused; /* the last two: inside an op or a call */
	bool (*waits_ready)(const void *);		/* replay: in wait_ready() */
	const void *waits_arg;
	const char *waits_why;
	struct op_events op_events[OP_EVENTS];
	uint64_t known_events[16]; /* STAMP(slot, event): finished before what this thread does now */
	uint32_t known_events_next;
	struct held_range *entered; /* between the hooks enter and leave */
	struct group_again *again;  /* the same after a fault: see group_again.c */
};

enum thread_state { THREAD_NONE, THREAD_RUNS, THREAD_PARKED, THREAD_ENDED };

enum fd_kind { FD_UNKNOWN, FD_OTHER, FD_REGULAR };

/* What belongs to the process and not to its memory: a vfork child has a copy (thread.process). */
struct process {
	struct kernel_action actions[SIGNALS + 1];
	uint8_t shown[1024]; /* per descriptor: 0, 1 original stdout, 2 original stderr */
	uint8_t kinds[1024]; /* per descriptor: enum fd_kind */
	bool handles_faults; /* it has, or had, a handler for SIGSEGV or the like */
};

extern struct control *control; /* 0 until the loader has mapped it */
extern struct process process;
extern uint32_t image_number; /* p<N> */
extern uint32_t process_id;   /* of the recording */
extern uint64_t tickets;      /* one counter for all system calls of the process */
extern uint64_t fork_base;    /* ops of this process count from here; smaller clocks are of its parent's threads */
extern bool one_thread;	      /* the process has never had another */
extern uint64_t page_size;
extern char program_path[PATH_ROOM]; /* what /proc/self/exe means to the program */
extern bool exe_link_set;	     /* the kernel's exe link already says so */
extern bool replaying;

/* ---- base/fail.c ----------------------------------------------------------- */
_Noreturn void stop_tree(enum stop_kind kind, const char *message);
/* The same in two steps: only the first who begins comes back, and then tells. */
void stop_begin(enum stop_kind kind);
_Noreturn void stop_tell(enum stop_kind kind, const char *message);

/* ---- log.c ------------------------------------------------------------------ */

/* Has heddle given up recording, and lets the program go on? What is logged from then on is kept nowhere. Acquire: with
   heddle's release, after the last look at the rings. */
static inline bool log_detached(void)
{
	return unlikely(__atomic_load_n(&control->detached, __ATOMIC_ACQUIRE));
}
/* The trace cannot be written. True: heddle has given up, as it was asked to, and the program goes on. */
bool log_detach(long error);
/* Opens the ring with that number; its path, for messages. */
long log_open_ring(uint32_t number, char path[PATH_ROOM]);
/* Starts the stream of `slot` of image `image`: takes a ring, or maps the recorded stream. */
void log_open(struct thread *t, uint32_t image);
/* Room for an entry of at most n bytes (n <= ENTRY_MAX). May wait for heddle to pack. */
void log_look_for_room(struct thread *t, size_t n);
static inline void *log_reserve(struct thread *t, size_t n)
{
	/* tail only grows, so the old value errs on the safe side */
	if (unlikely(t->log.head + n > t->log.room_until))
		log_look_for_room(t, n);
	return t->log.data + t->log.head % RING_SIZE;
}
/* Makes the n bytes at log_reserve()'s place the next entry. */
void log_wake_heddle(void);
static inline void log_commit(struct thread *t, size_t n)
{
	struct ring_header *ring = t->log.ring;
	uint64_t before = t->log.head, after = before + n;
	t->log.head = after;
	ring->events = ++t->log.events;
	/* release: the entry is whole before it counts */
	__atomic_store_n(&ring->head, after, __ATOMIC_RELEASE);
	/* wake heddle each time another quarter is full */
	if (unlikely((before ^ after) & (RING_SIZE / 4)))
		log_wake_heddle();
}
/* An entry of `n` numbers. */
static inline void log_numbers(struct thread *t, enum entry_kind kind, int64_t result, unsigned n,
			       const uint64_t *numbers)
{
	size_t size = sizeof(struct entry) + n * 8;
	struct entry *e = log_reserve(t, size);
	*e = (struct entry){ .size = (uint32_t)size, .kind = (uint8_t)kind, .flags = (uint8_t)n, .result = result };
	for (unsigned i = 0; i < n; i++)
		((uint64_t *)(e + 1))[i] = numbers[i];
	log_commit(t, size);
}
/* Puts two numbers between the arguments of an entry and its blocks; what is there, up to `end`, moves up. */
void insert_tickets(uint64_t *place, uint8_t *end, uint64_t ticket, uint64_t now);
/* The next entry, which stays the next; 0 at the end of the stream. */
const struct entry *log_peek(struct thread *t);
/* Replay: does the thread do anything more in the recording? */
bool log_goes_on(struct thread *t);
/* Replay, for other threads: has it done all that it did in the recording? What it has accessed is seen then. */
bool log_is_over(const struct thread *t);
/* Its accesses were counted further than it has come here; also by a region that it has ended. */
bool log_has_accesses(const struct thread *t);
/* Takes the entry that log_peek() gave. */
void log_take(struct thread *t);
/* Replay: maps n bytes of the stream from position `from` (a multiple of 65536) in the second window. */
const uint8_t *log_map_second(struct thread *t, uint64_t from, uint64_t n);
/* Replay of a recording that goes on, at a system call: waits until more is known of the thread than that it has begun.
   `logged`: an entry tells its end. */
void log_wait_at_call(struct thread *t, bool logged);
/* Replay, all threads stand still: more of the recording is known than when they came here. */
void log_grown(struct thread *t);
/* Replay of a recording that goes on: what was known of the thread when its stream was opened. */
struct follow_tail *log_tail(const struct thread *t);
/* Replay: the next piece of a late stream, when heddle has unpacked it; `windows`: where both are. */
const uint8_t *log_late_next(struct late_stream *late, const uint8_t *windows);
/* The order log of a stream that is late; 0: it is not, or has none. */
struct late_stream *log_open_late_order(struct thread *t, const uint8_t **windows);
/* The thread will write no more. */
void log_done(struct thread *t);
/* The process ends: the same, with all signals blocked for ever. */
void log_leave(struct thread *t);
/* Record: before a fork; if it failed; in the child, instead of log_open(). */
void log_before_fork(struct thread *t);
void log_fork_failed(struct thread *t);
void log_forked(struct thread *t, uint32_t image);

/* An entry without arguments, with at most one block. */
void log_simple(struct thread *t, enum entry_kind kind, unsigned nr, unsigned flags, int64_t result,
		const struct block *block, const void *data);

static inline const struct block *entry_blocks(const struct entry *e)
{
	const uint8_t *p = (const uint8_t *)(e + 1) + 8 * ENTRY_ARGS(e->flags);
	return (const struct block *)(p + (e->flags & ENTRY_TICKETS ? 16 : 0));
}
static inline const struct block *entry_end(const struct entry *e)
{
	return (const struct block *)((const uint8_t *)e + e->size);
}
static inline uint32_t block_data_len(const struct block *b)
{
	switch (b->kind) {
	case BLOCK_HASH: return 8;
	case BLOCK_CHILD:
	case BLOCK_SHOWN: return 0;
	default: return b->len;
	}
}
static inline const struct block *block_next(const struct block *b)
{
	return (const struct block *)((const uint8_t *)(b + 1) + ALIGN_UP(block_data_len(b), 8));
}
static inline const void *block_data(const struct block *b)
{
	return b + 1;
}
/* The first block of that kind (and argument, if arg >= 0), or 0. */
const struct block *entry_find(const struct entry *e, enum block_kind kind, int arg);

/* ---- syscalls/dispatch.c ------------------------------------------------------ */

/* One system call on its way through the runtime. */
struct call {
	struct thread *t;
	const struct sys_row *row;
	unsigned nr;
	uint64_t args[6];	   /* as the program gave them: these are logged and compared */
	uint64_t real[6];	   /* as the kernel gets them */
	long result;		   /* for the program */
	bool restart;		   /* record: interrupted before it had any effect; nothing was logged */
	const struct entry *entry; /* replay: what was recorded; valid until the next entry is read */
	struct sys_io io[IO_MAX];  /* shape of this call */
	/* record: the entry under construction */
	uint8_t *at, *limit, *base;
	bool as_access;	   /* replay: what it wrote goes to the program as an access that others may see */
	bool inputs_taken; /* real points to copies of what the program passes; `inputs` keeps it */
	uint64_t inputs[6];
	bool changes_file; /* record: one that is mapped, beside other threads: ENTRY_CHANGES */
	bool ticket_early; /* it has its ticket, or at replay has said that it begins: call_ticket_early() */
	bool leave_later;  /* replay: the caller waits for the tickets itself, with ticket_leave(now) */
	void (*before_bytes)(struct call *c); /* replay: makes the memory that the recorded bytes go to */
	uint64_t now;			      /* replay: tickets that had been taken when the call was over */
	uint8_t kind, flags;		      /* for the next commit: becomes ENTRY_MORE after the first */
	uint64_t entry_ticket;
};

/* Called from entry.S: the program has made a system call; its registers are in t->regs. */
void dispatch(struct thread *t);
/* special/futex.c. Replay: the thread comes to another event, and did not make the waits that are next in its log. */
void futex_pass(struct thread *t);
/* Those of them that came before what the thread does now. */
void futex_pass_older(struct thread *t);
/* The same, and one where the thread stands now: it begins an op. Later ones stay: none of these need have an answer of
   0. */
void futex_pass_before_op(struct thread *t);
/* Is the futex call that the thread makes an event, as other calls are? */
bool futex_is_event(const struct thread *t);

/* Receives, and may leave the buffer as it was, whatever the result: with MSG_TRUNC TCP throws its bytes away. */
static inline bool may_discard(unsigned nr, uint64_t flags)
{
	return (nr == __NR_recvfrom || nr == __NR_recvmsg) && flags & 0x20 /* MSG_TRUNC */;
}

/* ---- syscalls/quick.c: call_run() when recording, for most calls ---------------- */

/* The result; GATE_HELD, with nothing logged, if a held signal came first; or RECORD_SLOWLY: not this call. */
long record_quick(struct thread *t, unsigned nr);
#define RECORD_SLOWLY (-513)

/* ---- syscalls/capture.c: all others ----------------------------------------------- */

/* The kernel could not write its output: if the trace's disk is full, touching the place tells (SIGBUS). */
void touch_output(uint8_t *from, const uint8_t *to);
/* How many of the n bytes there the program has: a buffer may go beyond the end of its mapping. Only ends are looked
   for, not holes, and not whether it may write there. */
uint64_t usable_room(uint64_t at, uint64_t n);
/* The whole of an ordinary call, in either mode: run and log, or answer from the log. */
void call_run(struct call *c);

/* The same in steps, for special/. Record: begin, then blocks, then end. */
void call_begin(struct call *c);
void call_block(struct call *c, enum block_kind kind, unsigned arg, uint64_t addr, uint32_t len, const void *data);
void call_inputs(struct call *c); /* adds what the row says the kernel reads */
/* Those which this call does not look at: bit n for argument n. */
unsigned unused_arguments(unsigned nr, const uint64_t args[6]);
/* Before call_begin(): takes the ticket. Replay: the call begins here, for those who wait for that. */
void call_ticket_early(struct call *c);
void call_end(struct call *c); /* result is set: commits */
/* ... but does not commit yet: room and call_block() for what else it brought, then entry_finish(). */
void call_done(struct call *c);
/* Replay: takes and checks the next entry, applies its outputs, sets result. */
void call_replay(struct call *c);
/* Record and replay: a call that is answered here, with the same answer in both. */
void call_answer(struct call *c, long result);
/* Runs the call for real with c->real, setting result or restart. */
void call_kernel(struct call *c);

/* For entries of other kinds that may need ENTRY_MORE: begin, then for each block room and call_block(), then
   finish. */
void entry_begin(struct call *c, enum entry_kind kind);
void entry_room(struct call *c, size_t n);
void entry_finish(struct call *c);

/* Length of a string of the program's, or -EFAULT. */
long user_strlen(const char *s, size_t max);

/* The user is told at the end, or when it diverges. */
static inline void note_not_recorded(enum not_recorded what)
{
	if (!(control->not_recorded & what))
		__atomic_fetch_or(&control->not_recorded, what, __ATOMIC_RELAXED);
}

/* ---- replay.c ----------------------------------------------------------------- */

/* The stream has ended: never returns. */
_Noreturn void replay_ended(struct thread *t);
/* The signal that ended the recorded first process; 0: none, or not known. */
static inline int root_signal(void)
{
	return control->root_status == STATUS_UNKNOWN ? 0 : (int)(control->root_status & 0x7f);
}
/* The thread has done all ops, or all accesses, that it had finished in the recording, and begins another: its
   recording was cut off in the middle of that one, unless a system call comes next in its log: then it diverges here.
   Not to be called while a system call is being replayed. */
void replay_check_end(struct thread *t);
/* All threads have come to the end of theirs. */
_Noreturn void replay_all_ended(struct thread *t);
/* All threads stand still, and not all at their end. */
_Noreturn void replay_stuck(struct thread *t);
/* Shows [p, p+n) as the write with that place among all. */
void replay_show(struct thread *t, uint64_t place, unsigned which, const void *p, size_t n);

/* ---- diverge.c ----------------------------------------------------------------- */

/* Replay left the recording: tells what was recorded, what happens now, and ends with 123. */
_Noreturn void diverged_call(struct call *c, const struct entry *recorded, const char *why);
_Noreturn void diverged(struct thread *t, const struct entry *recorded, const char *now);
/* Is this the first of the tree that has places to tell? Then it may leave them, for heddle, which can read symbols. */
bool place_first(void);
/* Where the thread is: the next of the places. */
void place_fill(struct place *p, const struct thread *t);
struct place *place_leave(const struct thread *t);
/* The pc and return addresses, as far as frame pointers tell. */
void regs_frames(const struct thread *t, uint64_t *frames, unsigned room);

/* special/process.c: where the function returns to that the program has just called. */
uint64_t regs_caller(const struct regs *r);

/* ---- debug.c: under a debugger ---------------------------------------------------- */
extern bool debugged;
/* For the loader: is there a debugger? Then it is told what it must know, and this returns in each run that it wants
   from here. */
bool debug_wanted(void);
void debug_start(uint64_t shown);
/* The run is in the program. */
void debug_entered(void);
/* Shall the process leave a copy of itself, for going back? Then all threads stop, and: true in each run that begins
   there. */
bool debug_wants_copy(void);
bool debug_leave_copy(void);
/* Has the thread come to where the debugger wants it? Then stops: after an event, or before a hooked access. */
void debug_look(const struct thread *t, bool at_access);
/* Twice the access before which it is to stop. */
uint64_t debug_access_limit(const struct thread *t);
/* The recording is over, and everything still as it was. */
void debug_end(void);

/* ---- turns.c: recording as `heddle explain` directs it, one thread at a time -------- */
extern bool turns_wanted; /* by this process; only then the others are called */
void turns_start(void);
/* Before a hooked access (the number of its hook), an op, a system call: other threads may run instead. */
void turns_access(struct thread *t, unsigned number);
void turns_op(struct thread *t);
void turns_call_begins(struct thread *t, unsigned nr);
void turns_call_ended(struct thread *t);
/* Around a wait in the kernel; forever: without a time limit. The second may wait, of course. */
void turns_leave(struct thread *t, bool forever);
void turns_enter(struct thread *t);
/* It can run as soon as somebody lets it; it ends, and touches nothing of the slot any more. */
void turns_created(struct thread *child);
void turns_ended(struct thread *t);

/* ---- checkpoint.c: a copy of the process, with all its threads -------------------- */
extern bool checkpoint_wanted; /* at replay, by this process */
void checkpoint_start(void);
/* What the first thread of a copy stands on. */
#define CHECKPOINT_STACK 65536
extern uint8_t checkpoint_stack[CHECKPOINT_STACK];
/* In a copy, wherever its memory came from: makes the threads again, which go on. */
_Noreturn void checkpoint_begin_copy(void);
/* loader/checkpoint_file.c: before the program starts; all threads stand still: can they go on without what the kernel
   keeps? If so: heddle is to write down what is in memory. */
void checkpoint_file_prepare(void);
bool checkpoint_file_possible(void);
_Noreturn void checkpoint_file_leave(void);
/* Has the thread come to the event? Then all threads stop, and go on in a copy of the process. */
void checkpoint_look(struct thread *t);
/* From the handler of the signal that stops a thread. Returns if it was not meant. */
void checkpoint_stop(struct thread *t, void *uc);
/* Memory that the program shares becomes this process's own. */
void checkpoint_own_memory(void);
/* First function of a thread that was made again: it goes on where it was stopped. */
_Noreturn void checkpoint_go_on(struct thread *t);
/* `heddle replay --repeat`: returns in each copy of this process; this process ends as the last copy did. */
void run_copies(void);

/* ---- deadlock.c: what is told if the recording ended in one ----------------------- */
void deadlock_leave(void);

/* ---- signals.c ------------------------------------------------------------------ */

void signals_early(void);			   /* before the first byte is logged */
void signals_made_again(struct thread *t);	   /* checkpoint.c: this thread was, and its timer was not */
void signals_start(const struct start_info *info); /* before the program's first instruction */
void signals_before_fork(void);
void signals_after_fork(struct thread *t, bool child);
/* At an event: begins the program's handler if a signal is held (record) or logged here (replay).
   `before`: the call that is about to run will run again after the handler. Does not return if
   a handler begins. */
void signals_deliver_now(struct thread *t, bool before);
static inline void signals_deliver(struct thread *t, bool before)
{
	if (unlikely(replaying || t->held || t->waiting))
		signals_deliver_now(t, before);
}
void signals_update_held(struct thread *t);
/* Record: the program asks for signals that it has blocked, and that we hold since the kernel must not block them.
   True: it has its answer. */
bool signals_answer(struct call *c);
/* The same in a hook, before its access. */
void signals_deliver_at_hook(struct thread *t);
/* A hook's access has faulted, in its order. If the program handles that, the handler begins here, and the hook is
   called again after it; else the instruction itself will fault. place: 2 * the access + 1, when the hook was
   called. */
void signals_fault_at_hook(struct thread *t, uint64_t place);
/* What the kernel may block when the program wants `mask`. */
uint64_t signals_kernel_mask(uint64_t mask);
_Noreturn void die_by_signal(int sig);
/* At its end: no more signals come to this thread. False: one has come, and its handler is to begin first. */
bool signals_thread_ends(struct thread *t);
void signals_thread_start(struct thread *t); /* on a new thread: stack for handlers, mask */
/* Does a rest of the runtime's own: the kernel's mask is the program's again. */
void signals_set_mask(struct thread *t);
extern const uint64_t signals_of_faults;
void signals_install(struct process *p, int sig);
/* Of this thread's process: what is to be done with the signal, and what was before; new: 0, or what it is from now
   on. */
struct kernel_action signals_action(struct thread *t, int sig, const struct kernel_action *new);
struct alt_stack signals_our_stack(const struct thread *t);

/* ---- thread.c -------------------------------------------------------------------- */

/* What libheddle.so and the runtime share: sync/sync.h. */
#define ENTRIES ((struct sync_entries *)MAP_ENTRIES)

/* Per slot, in MAP_RUNTIME_STACKS: stack for calls, stack for signal handlers, struct thread. Known to entry.S. */
#define THREAD_STACK_AT	  0x10000
#define THREAD_STACK_END  0x70000
#define THREAD_SIGNAL_AT  0x80000
#define THREAD_SIGNAL_END 0xc0000
#define THREAD_STRUCT_AT  0xc0000

static inline struct thread *thread_of(uint32_t slot)
{
	return (struct thread *)(MAP_RUNTIME_STACKS + slot * MAP_RUNTIME_STACK_ROOM + THREAD_STRUCT_AT);
}
/* Whose stack of ours are we on? */
static inline struct thread *thread_here(void)
{
	uint64_t at = (uint64_t)__builtin_frame_address(0) - MAP_RUNTIME_STACKS;
	return thread_of((uint32_t)(at / MAP_RUNTIME_STACK_ROOM));
}
/* Maps stacks and struct of a slot; the struct is empty the first time, else as its last user left it. */
struct thread *thread_prepare(uint32_t slot);
void thread_clone(struct call *c);	       /* clone with CLONE_THREAD, both directions */
void thread_exit(struct call *c);	       /* exit of one thread of several */
_Noreturn void thread_child(struct thread *t); /* first function of a new thread, from entry.S */
uint32_t threads_created(void);		       /* so many, in the life of the process */
void thread_before_fork(void);
void thread_after_fork(void);	      /* in parent and child */
void thread_forked(struct thread *t); /* in the child of a fork: all others are gone */
/* Replay: this thread has nothing more to do; sleeps until the process ends. Returns only if the recording goes on
   (control->follow): more may be known then. */
void thread_park(struct thread *t);
_Noreturn void thread_stay(struct thread *t);
/* Replay: the process ends here; waits until every other thread is parked, ended, or about to end it, too. */
void thread_wait_for_others(struct thread *t);
bool thread_ends_process(void);				    /* somebody does */
uint32_t thread_highest(void);				    /* slots ever used */
uint32_t thread_choose_slot(void);			    /* record: one that is free */
void thread_wait_for_slot(struct thread *t, uint32_t slot); /* replay: until it is */
const uint32_t *thread_highest_at(void);
bool thread_is_last(void);
/* What the kernel does to memory when the thread ends, or all that have ended, is done. */
void thread_wait_for_cleared(const struct thread *t);
void thread_wait_for_all_cleared(void);
void thread_clear_ended(void); /* does it, in a copy without the threads that had not come to it */
extern bool memory_torn;       /* forked while other threads were writing: its memory is not exact */
/* entry.S finds threads with a TLS of their own choice here; the one behind them all is the first thread. */
void thread_remember_tls(struct thread *t);

/* ---- chaos.c ---------------------------------------------------------------------- */

void chaos_perturb(struct thread *t);
/* The same at a hooked access, for longer, and chooses at which it is done next. */
void chaos_preempt(struct thread *t);

/* ---- syscalls/tickets.c: the order of system calls among threads -------------------- */

/* Record: on entry of a call. Relaxed: the value alone matters. Nobody else counts in a process of one thread. */
static inline uint64_t ticket_take(void)
{
	return likely(one_thread) ? tickets++ : __atomic_fetch_add(&tickets, 1, __ATOMIC_RELAXED);
}
/* The same for a call of this thread, which a replay that follows the recording must know of before it is over. A call
   that a signal kept from being made keeps its ticket, if no handler began and took that along: who waits for all
   tickets would else wait for one that nobody enters. */
static inline uint64_t ticket_of(struct thread *t)
{
	uint64_t ticket = unlikely(t->dropped_ticket) ? t->dropped_ticket - 1 : ticket_take();
	t->dropped_ticket = 0;
	if (unlikely(control->ring))
		__atomic_store_n(&t->log.ring->call, ticket + 1, __ATOMIC_RELAXED);
	return ticket;
}
/* --ring, recording: a handler may still begin with the end of the op that is counted now; or none can any more
   (release: what it has logged was before). Both are told before the thread does anything else. */
static inline void log_settled(struct thread *t, bool settled)
{
	if (unlikely(control->ring) && !replaying)
		__atomic_store_n(&t->log.ring->unsettled, !settled, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
/* Replay: the call with this ticket begins; at its end all tickets below `now` must have begun. */
void ticket_enter(uint64_t ticket);
void ticket_leave(struct thread *t, uint64_t now);
/* Replay: everybody may be waiting; if so, for a ticket that nobody will use: passes it. */
void ticket_pass_lost(void);
void ticket_forked(void);
/* Replay: the first thread is created: tickets count from here. */
void ticket_start(uint64_t ticket);

/* ---- replay_wait.c: waiting at replay ---------------------------------------------- */

/* Looks, then yields: false when it is time to sleep. */
bool wait_awake(unsigned *round);
#define WAIT_SPINS 40 /* rounds without a yield; who begins with this round yields at once */
/* Another process of the tree has ended the replay: then this one ends, too. */
void wait_end_if_stopped(void);
/* Sleeps until somebody has called wait_wake(t). */
void wait_asleep(struct thread *t);
void wait_wake(struct thread *t);
/* For what nobody wakes us. */
void wait_a_little(unsigned *round);
/* The same, for what another thread has to come to: who waits like this stands still. */
void wait_ready(struct thread *t, bool (*ready)(const void *arg), const void *arg, const char *why);
/* Something has changed: wakes those in wait_ready() that are. Not needed: they look by themselves, but later. */
void wait_moved(void);
/* Does every thread stand still? Then the lowest ticket is one that nobody will use. */
bool wait_all_idle(uint64_t base);
/* The same for seconds, where those in futex calls of the program's own count, too? */
bool wait_stuck_in_futexes(uint64_t base);
/* In the child of a fork. */
void wait_forked(void);
void stamps_forked(void);
/* Something other than an op was done: ops are counted by their threads. */
void wait_progress(void);
/* All that was done so far: changes whenever a thread comes further. */
uint64_t wait_progress_made(void);
bool wait_anybody_comes(void); /* somebody computes, and more is recorded of it: it needs nobody else to come there */
void wait_watch_no_more(void); /* another may watch whether anybody still moves */

/* ---- space.c: the address space is one object that threads use in turn ------------- */
void space_enter(struct thread *t);
void space_leave(struct thread *t);
void space_forked(void);

/* ---- memory/ ---------------------------------------------------------------------- */

/* An address for n bytes of the program's, not yet mapped. */
uint64_t mmap_place(uint64_t n);
uint64_t mmap_place_low(uint64_t n); /* below 2 GiB */
/* Does [addr, addr+n) touch what is ours? */
bool is_ours(uint64_t addr, uint64_t n);
/* Adds a block with the contents of an open file, or with the name under which they are kept, which is `key`
   then, else it is empty. 0, or an error. */
#define SAVED_KEY_ROOM 64
long saved_file_log(struct call *c, unsigned arg, long fd, char key[SAVED_KEY_ROOM]);
/* Opens what such a block stands for, and tells its size. */
long saved_file_open(const struct block *b, uint64_t *size);
/* The name in such a block, or "". */
const char *saved_file_key(const struct block *b);

/* ---- memory/limits.c: what the program set for itself (setrlimit) is not meant for us */

enum limit { LIMIT_FILE, LIMIT_SPACE, LIMIT_DATA, LIMITS };
/* To the hard limit, until it is restored. */
void limit_lift(enum limit which);
void limit_restore(enum limit which);
/* In the child of a fork: another thread may have lifted some. */
void limits_forked(void);
/* As mmap and mprotect, for the runtime's memory and for stacks: also where the program may have no more. */
long own_map(uint64_t at, uint64_t n, uint64_t protection, uint64_t flags, long fd, uint64_t offset);
long own_protect(uint64_t at, uint64_t n, uint64_t protection);

/* ---- memory/shared_files.c: files mapped shared, and what writes to them do to that memory */

extern unsigned shared_file_count;
/* Can a write to fd not change a mapped file, whatever other threads do before it is made? */
static inline bool shared_file_never(const struct process *p, uint64_t fd)
{
	return (one_thread && !shared_file_count) || (fd < COUNT(p->kinds) && p->kinds[fd] == FD_OTHER);
}
void shared_file_mapped(int fd, uint64_t addr, uint64_t len, uint64_t offset);
void shared_file_unmapped(uint64_t addr, uint64_t len);
bool shared_file_at(uint64_t addr);
/* How far, from `at` to at most `end`, memory is all of one such file, or of none. Under space_enter(). */
uint64_t shared_file_run(uint64_t at, uint64_t end, bool *file);
/* `stays`: it is mapped at the old place as well, from now on (MREMAP_DONTUNMAP). */
void shared_file_moved(uint64_t from, uint64_t old_len, uint64_t to, uint64_t new_len, bool stays);
void shared_files_forked(void);
/* Record: the call has changed these bytes, or brought them into sight. */
void shared_file_log(struct call *c, uint64_t at, uint64_t len);
/* Record: a write, which may change some that are mapped. */
struct file_id {
	uint64_t device, inode;
	uint64_t size;
};
struct file_write {
	struct file_id target;
	uint64_t from; /* where in the file it went */
	bool found;    /* target counts */
	bool alone;    /* others wait until it is logged */
};
void shared_file_write_begins(struct call *c, struct file_write *w);
/* Record: any call, before it gets its counter on exit, and when it is committed. Between the two no other thread logs
   what it has changed, if this call changes a mapped file. `writes`: shared_file_write_begins() came before. */
void shared_file_call_ended(struct call *c, struct file_write *w, bool writes);
void shared_file_call_logged(const struct call *c);
/* In between: logs what the program sees of a write ... */
void shared_file_written(struct call *c, const struct file_write *w);
/* ... and of a call that may have changed a file otherwise. */
void shared_files_changed(struct call *c);
bool shared_file_known(int fd);
/* Replay: mremap() of what is a copy here, with other limits than the file had. */
long shared_file_remap(uint64_t from, uint64_t old_len, uint64_t to, uint64_t new_len, bool stays);
/* Replay: changes memory that the program itself may not be allowed to write. */
void shared_file_patch(uint64_t addr, const void *data, uint32_t n);

/* Hash of all writable memory of the program. */
uint64_t checksum_memory(struct thread *t);
/* memory/paranoid.c: before a system call, with --paranoid. */
void paranoid_look(struct thread *t, unsigned nr);

#define FD_CLOSE 9 /* in the list of descriptors that exec hands over: close it once the program is open */

/* ---- stdout and stderr: shown.c ------------------------------------------------------ */

unsigned shown_class(const struct process *p, uint64_t fd);
void shown_set(struct process *p, uint64_t fd, unsigned class);
/* Makes the write for real; its place among all that are shown, or NOT_SHOWN if nothing was written. */
#define NOT_SHOWN (~0ull)
uint64_t shown_write(struct call *c);
/* The entry of that write is complete. */
void shown_written(void);
/* Record: the process is about to end. Waits for writes that are shown; no other one begins. */
void shown_end(void);
void shown_forked(void); /* in the child */
/* Writes "fd:class,..." for exec; descriptors that close on exec are left out. */
void shown_list(const struct process *p, struct text *out);
void shown_parse(struct process *p, const char *list);

#endif

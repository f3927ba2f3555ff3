/*
 * Between the common part of the orders and the rest of the runtime. Schemes do not see this.
 */
#ifndef RUNTIME_HOOKS_H
#define RUNTIME_HOOKS_H
#include "compiler/hooks.h"
#include "runtime/order/order.h"

struct thread;

/* Replay: where the thread is in its order log. */
struct order_cursor {
	uint64_t position, size;     /* in the stream: the next entry; its end */
	uint64_t window, window_end; /* what `mapped` begins with; entries from here on need another window */
	const uint8_t *mapped;
	struct late_stream *late; /* heddle unpacks the windows, of ENTRY_ORDER entries alone; 0: all is unpacked */
	const uint8_t *windows;	  /* then: where they lie */
	uint64_t bytes;		  /* of the order log, up to `end` */
	const uint8_t *at, *end;  /* what is left of the ENTRY_ORDER at hand */
	unsigned left;		  /* numbers of the current entry that have not been read */
	bool in_tail;		  /* `at` is in log_tail(), whose bytes are not in the stream yet */
	bool reading;		  /* its thread is in the middle of a step, and no checkpoint can be left */
};

/* ---- log.c: a thread's order log, both directions -------------------------------------------------------- */

/* Record: what is in the ring's header becomes an entry. Not while another entry is being written. */
void order_flush(struct thread *t);
/* Replay: finds the first entry. */
void order_log_open(struct thread *t);
/* The same where it has come to: there may be more of it. */
void order_log_grown(struct thread *t);

/* ---- hooks.c: from the program to the scheme ---------------------------------------------------------------- */

#define HOOK_NUMBER(name) HOOK_NUMBER_##name,
enum hook_number { HOOK_OPS(HOOK_NUMBER) HOOK_NUMBER_ahead };
#undef HOOK_NUMBER

/* Replay: waits for ever if the thread had not finished its next access when the recording ended. */
void bracket_await(struct thread *t);
/* Around what the runtime itself accesses in order: events is odd inside. */
void bracket_open(struct thread *t);
void bracket_close(struct thread *t);

/* The scheme orders ops itself, or some thread has made a hooked access: until then nobody asks about ops. */
extern bool order_watches;
/* In the child of a fork, once its log is open. */
void order_child_begins(struct thread *t);
/* The program has memory there now: the recording may have to end. */
void order_mapped(uint64_t addr, uint64_t n);
/* Chooses the scheme, before the program's first instruction. */
void order_start(void);
/* A stream has been opened for this thread: its struct hook_self is new. */
void order_opened(struct thread *t);
/* Sets `until`: a signal has come or gone, or replay has come further in its log. */
void order_set_until(struct thread *t);
/* The thread makes hooked accesses from here on. */
void order_hook_thread(struct thread *t);
/* On the thread itself, before its first event, and after its last, or where its recording ends. */
void order_thread_begins(struct thread *t);
void order_thread_ends(struct thread *t);
void order_parks(struct thread *t);
/* A scheme with regions ends one. */
void order_cut(struct thread *t);
void order_own(struct thread *t); /* the scheme's memory for a thread is there */
void order_forked(struct thread *t);
/* A fault of the program's own: closes the bracket. True: there was one. */
bool order_fault(struct thread *t);
/* From now on the program may handle its faults. */
struct process;
void order_handles_faults(struct process *p);

extern const struct order_ops *scheme_ops; /* for this mode; 0: accesses are not ordered */

/* ---- group.c: ranges that a thread keeps to itself ------------------------------------------------------------ */

/* Keeps others away from a range, too, until group_leave(). The bracket is open. */
bool group_enter(struct thread *t, const struct order_ops *ops, const struct hook_site *site, uint64_t addr, uint64_t n,
		 uint8_t kind);
void group_leave(struct thread *t, const struct order_ops *ops);
/* Between the two. */
bool order_in_group(const struct thread *t);
/* group_again.c: a group with strings in it, and one that a fault ended. group_add() enters a range (c: as the hook's).
   A fault has ended a group (grouped), which the program will leave (comes_by); a handler returns, and it is entered
   again. */
bool group_add(struct thread *t, const struct order_ops *ops, const struct hook_site *site, uint64_t addr, uint64_t n,
	       uint8_t kind, uint32_t c);
/* A fault in a hooked access, in none: it is to be one when it is made again. False: no memory of the program's can be
   there. */
bool group_of_access(struct thread *t, uint64_t addr);
void group_faulted(struct thread *t, uint64_t pc, uint64_t sp, bool grouped, bool comes_by);
void group_return(struct thread *t, uint64_t pc, uint64_t sp);
/* The bytes of a piece of a string up to its end, or to what cannot be read; 0: it goes on. */
uint64_t group_string_ends(uint64_t addr, uint64_t n, uint32_t string);
/* Around a call that changes the address space there. False: no order is kept, and there is nothing to leave. */
struct space_range {
	uint64_t addr, n;
};
struct call;
bool order_space_enter(struct call *c, const struct space_range *ranges, unsigned count);
void order_space_leave(struct call *c);

/* ---- kernel.c: what the kernel wrote is the thread's access ------------------------------------------------------ */

/* Gives the program n bytes that a call has written. For a thread with hooks it happens in order_given(), which comes
   when the call's entry is complete; until then `from` must stay. -EFAULT if the program cannot have them. */
long order_give(struct thread *t, uint64_t to, const void *from, uint64_t n);
void order_given(struct thread *t);
/* For a thread with hooks: reads what the kernel is going to read, as accesses; c->real then points to the copies. */
void order_take_inputs(struct call *c);
/* An access as a hook would make it. */
bool order_access(struct thread *t, uint64_t addr, void *data, uint64_t n, bool writes);

/* ---- sync.c: locks and calls, for schemes that order them themselves ------------------------------------------ */

void order_sync_start(const struct order_ops *ops);
bool order_syncs(void);
/* Does the scheme want to know of this thread's ops and calls? Then they take no short cut. */
bool order_sees_ops_of(const struct thread *t);
#define order_sees_ops(t) (unlikely(order_watches) && order_sees_ops_of(t))
/* Around an op or a call, if so. At replay a handler may begin after the first. */
void order_before_op(struct thread *t, enum order_pause why);
static inline void order_before_wait(struct thread *t)
{
	order_before_op(t, PAUSE_WAITS);
}
void order_after_wait(struct thread *t);
/* There were accesses since: whoever waits for this op or call waits for them, too. */
void order_before_wait_again(struct thread *t);
/* Only if order_syncs(): the same, for the scheme's own order; a thread is about to be created. */
void order_released(struct thread *t);
void order_acquired(struct thread *t);
void order_create(struct thread *t, struct thread *child); /* replay: after log_open(child); child 0: it failed */
void order_created(struct thread *t);			   /* on the new thread */

/* ---- services.c: what schemes may call, and what the sync layer tells ----------------------------------------- */

void order_services_start(void);
/* Record: an op of t begins; t's op follows op `stamp` of another thread. */
void order_op_begins(struct thread *t, enum order_pause why);
void order_op_follows(struct thread *t, uint64_t stamp);
/* Replay: is the thread waiting in order_wait() for something that has not come? */
bool order_is_waiting(const struct thread *t);
#endif

/*
 * What a debugger and the replay under it share (`heddle replay --gdb`): the last page of `control`, while both run.
 * Nothing of it is in a trace. All members are 8 bytes, so that a debugger needs no more than their names, in order.
 */
#ifndef TRACE_DEBUG_H
#define TRACE_DEBUG_H
#include "trace/format.h"

#define DEBUG_AT     (CONTROL_SIZE - 4096)
#define DEBUG_COPIES 16

/* clang-format off */
#define DEBUG_MEMBERS(X)                                                                                          \
	X(on)          /* heddle: 1: runs wait for a debugger */                                                  \
	X(wanted)      /* debugger: how many runs it has asked for */                                             \
	X(origin)      /* debugger: the copy that the wanted run begins at; 0: the beginning */                   \
	X(started)     /* loader: how many have begun; the last one is `pid` */                                   \
	X(pid)         /* 0: it is over */                                                                        \
	X(go)          /* debugger: the run with this number may enter the program */                             \
	X(entered)     /* runtime: the run with this number has */                                                \
	X(stop_slot)   /* debugger: 1 + thread that is to stop; 0: none */                                        \
	X(stop_event)  /* when it has done so many events; 0: not for that */                                     \
	X(stop_access) /* 1 + the hooked access before which it stops, or the next if it has none; 0: not for that */ \
	X(stop_at)     /* loader: the function that is called then */                                             \
	X(why)         /* runtime: enum debug_why, when it calls it */                                            \
	/* loader: where in the control file quiet, stop and stop_text are */                                     \
	X(quiet_at) X(ended_at) X(text_at)                                                                        \
	/* loader: addresses of struct thread of slot 0, and of the number of slots; from one to the next */      \
	X(threads) X(highest) X(thread_room)                                                                      \
	/* loader: where in it these are */                                                                       \
	X(of_state) X(of_tid) X(of_event) X(of_front) X(of_self)                                                  \
	X(of_waits_for) X(of_waits_ticket) X(of_waits_futex) X(of_waits_ready) X(of_waits_why)                    \
	/* and in its struct hook_self */                                                                         \
	X(self_until) X(self_group_until)                                                                         \
	X(spacing)     /* debugger: a run leaves a copy of itself after so many ns on a processor; 0: never */     \
	X(copy_asked)  /* loader: 1: now */                                                                       \
	X(copies_made) /* runtime */                                                                              \
	X(copies)      /* how many of them are there; the table comes next */
/* clang-format on */

struct debug_area {
#define DEBUG_MEMBER(name) uint64_t name;
	DEBUG_MEMBERS(DEBUG_MEMBER)
#undef DEBUG_MEMBER
	/* Processes that wait where a run once was, ascending. */
	struct debug_copy {
		uint64_t number;   /* from 1 on */
		uint64_t pid;	   /* 0: it is not ready yet */
		uint64_t run;	   /* which has left it */
		uint64_t position; /* events and accesses of all threads */
	} table[DEBUG_COPIES];
};
_Static_assert(sizeof(struct control) <= DEBUG_AT && sizeof(struct debug_area) <= 4096, "fits");

enum debug_why { DEBUG_REACHED = 1, DEBUG_END /* of the recording */ };
#endif

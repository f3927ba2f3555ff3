/*
 * Where the rest of the runtime tells the race detector (races.h) what happens. All of it at replay only, and only if
 * races_watch; it is false otherwise.
 */
#ifndef RACES_WATCH_H
#define RACES_WATCH_H
#include <stdbool.h>
#include <stdint.h>

struct thread;
struct order_scheme;

extern bool races_watch;

/* Before the program's first instruction. */
void races_start(void);
/* The scheme, with a look at every access. */
const struct order_scheme *races_wrap(const struct order_scheme *scheme);
/* An op is over, and nobody has been told so yet: what it means for the order of threads. */
void races_op(struct thread *t, long result);
/* A function of libheddle's has returned: blocks that the heap has handed out have no past. */
void races_returned(struct thread *t, uint64_t function, const uint64_t args[4], long result);
/* The child is about to run. */
void races_created(struct thread *parent, struct thread *child);
/* An instruction of runtime/atomics/ has accessed the 16 bytes there. */
void races_word(struct thread *t, uint64_t addr, bool wrote);
/* Around a system call: what one thread writes another may read. */
void races_call_begins(struct thread *t, unsigned nr);
void races_call_ended(struct thread *t, unsigned nr);
/* A handler, for a signal that somebody may have sent, is about to run. */
void races_handler_begins(struct thread *t);
/* These bytes are nobody's any more. */
void races_forget(uint64_t addr, uint64_t n);
#endif

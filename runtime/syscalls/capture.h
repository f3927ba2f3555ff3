/* What the files of this engine share: entry.c, inputs.c, outputs.c, capture.c. */
#ifndef CAPTURE_H
#define CAPTURE_H
#include "runtime/runtime.h"
#include <linux/uio.h>

#define RING_OUTPUT (128u << 10) /* outputs with more room go through a scratch buffer */

/* The kernel's struct msghdr. */
struct message {
	uint64_t name;
	uint32_t name_len, pad;
	uint64_t iov, iov_len, control, control_len;
	uint32_t flags, pad2;
};

/* ---- entry.c --------------------------------------------------------------- */

/* Adds tickets where they are needed, by moving up everything to `end`; the flag for the entry. */
unsigned add_tickets(struct call *c, uint8_t *end);
void commit_entry(struct call *c, unsigned flags);

/* ---- inputs.c --------------------------------------------------------------- */

/* Replay: does the program pass what this block says? */
void compare_input(struct call *c, const struct entry *e, const struct block *b);
/* Replay: shows what this write sent, from the program's memory. */
void show_input(struct call *c, const struct entry *e, const struct block *b);

/* ---- outputs.c -------------------------------------------------------------- */

struct output {
	uint64_t user;	 /* where the program wants it */
	uint64_t source; /* what goes in by the same argument: the same, or a copy (order_take_inputs()) */
	uint8_t *from;	 /* where the kernel puts it */
	uint8_t *before; /* what goes in and comes back: as it went in */
	uint32_t room, arg;
	const struct sys_io *io;
	uint64_t length_user; /* OUT_LENGTH: where the program keeps the length */
	uint32_t length;      /* OUT_LENGTH: what the kernel made of it */
	uint32_t length_before;
	struct vector *vector; /* OUT_IOV, OUT_MSG */
};

/* What the kernel gets instead of the program's iovec or message; a call has at most one. */
struct vector {
	struct iovec iov;
	struct message msg;
};

/* Where the kernel shall put the outputs: points c->real there; how many there are. */
int place_outputs(struct call *c, struct output *out, struct vector *vector, bool *uses_scratch);
/* Logs what the kernel wrote and copies it to the program; 0, or -EFAULT. */
long give_output(struct call *c, struct output *o);
/* Replay: the same from the log. */
void apply_output(struct call *c, const struct entry *e, const struct block *b);
/* A buffer of this thread's, until the next call. */
uint8_t *scratch(struct thread *t, uint64_t n);
void scratch_done(struct thread *t);
#endif

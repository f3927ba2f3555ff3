/*
 * How one system call is recorded and replayed: the words that rows are made of.
 *
 * table.c holds the rows, capture.c acts on them. A row says what the kernel
 * reads and writes through the arguments, and what replay does with the call.
 * The same rows drive record, replay, `heddle dump` and the list of supported
 * calls in the manual; they are compiled into the runtime and into the tool.
 */
#ifndef SYSCALLS_DESCRIBE_H
#define SYSCALLS_DESCRIBE_H
#include <stdint.h>

struct thread;
struct call;

/* What replay does with a call. */
enum sys_how {
	SYS_UNKNOWN = 0, /* no row: recording stops, names the call and table.c */
	SYS_FROM_LOG,	 /* not run again; result and outputs come from the log */
	SYS_RUN_AGAIN,	 /* run again at replay too; the result must equal the logged one */
	SYS_SPECIAL,	 /* a function in special/ owns both directions */
	SYS_REFUSED,	 /* answered with `refuse_errno`, in record and replay alike; never run */
};

enum io_rule {
	IO_NONE = 0,
	/* read by the kernel */
	IN_STRING, /* text up to its 0 */
	IN_BYTES,  /* `unit` bytes, or if size_arg != NO_ARG: unit * args[size_arg] */
	IN_IOV,	   /* an iovec array with args[size_arg] members; what they point to is hashed up to
		      the call's result */
	IN_MSG,	   /* a struct msghdr that is sent: name, control, iov */
	/* written by the kernel */
	OUT_FIXED,  /* `unit` bytes when the call succeeds */
	OUT_RESULT, /* unit * result bytes; room is unit * args[size_arg] */
	OUT_ARG,    /* unit * args[size_arg] bytes when the call succeeds */
	OUT_LENGTH, /* value-result: args[size_arg] points to a 32-bit length that says the room
		       before and the full length after the call; the smaller one was written.
		       The length itself is logged too */
	OUT_IOV,    /* an iovec array with args[size_arg] members, filled up to the result */
	OUT_MSG,    /* a struct msghdr that is received into */
	/* both */
	INOUT_ARG,   /* unit * args[size_arg] bytes, read and, when the call succeeds, written */
	INOUT_FIXED, /* unit bytes, read and written */
	OUT_EINTR,   /* `unit` bytes, written only when the call fails with EINTR (nanosleep) */
};

/* What of it the kernel reads; the rest is not compared. See parts.c. */
enum io_parts { PARTS_ALL, PARTS_ADDRESS, PARTS_EPOLL, PARTS_LOCK, PARTS_SIGEVENT };

#define NO_ARG 7
#define IO_MAX 5

struct sys_io {
	uint8_t rule;	  /* enum io_rule */
	uint8_t arg;	  /* which argument points to it */
	uint8_t size_arg; /* which argument tells the size, or NO_ARG */
	uint32_t unit;
	uint8_t parts; /* enum io_parts: of IN_BYTES */
};

/* Properties, ORed into sys_row.flags. */
enum {
	SYS_WAITS = 1,	       /* may block: a held signal must interrupt it */
	SYS_MASK = 2,	       /* carries a signal mask that replaces the thread's while it waits: see mask_arg */
	SYS_NEW_FD = 4,	       /* the result is a new descriptor */
	SYS_WRITES = 8,	       /* sends data to args[0]: shown at replay if that is the original stdout/stderr */
	SYS_NO_ORDER = 16,     /* takes no ticket: its result depends on nothing that another thread does.
			      The comment at the row gives the reason */
	SYS_NOT_TO_SHOWN = 32, /* refused with EINVAL when args[to_arg] is the original stdout or stderr,
				  so that the program falls back to write (splice, copy_file_range) */
	SYS_SPACE = 64,	       /* changes the address space: threads do it one after the other */
	SYS_CHANGES = 128,     /* changes the bytes of file args[0], which may be mapped */
};

struct sys_row {
	const char *name;
	const char *args; /* one letter an argument, for dump: d int, u unsigned, x hex, p pointer,
			     f descriptor, s string, o octal mode, g signal */
	uint8_t nargs;	  /* letters in args */
	uint8_t how;	  /* enum sys_how */
	uint8_t flags;
	uint8_t refuse_errno;
	uint8_t tells;	  /* SYS_REFUSED: enum not_recorded, if the user should know */
	uint8_t mask_arg; /* SYS_MASK: the argument that points to the mask (pselect6: to {mask, size}) */
	uint8_t to_arg;	  /* SYS_NOT_TO_SHOWN: the descriptor that gets the data */
	struct sys_io io[IO_MAX];
	/* Calls whose shape depends on an argument (ioctl, fcntl, prctl): fills io[IO_MAX] from the
	   arguments; returns 0; -1 if this variant is unknown (recording stops and names it); or an
	   errno with which this variant is refused. */
	int (*shape)(const uint64_t args[6], struct sys_io *io);
	/* SYS_SPECIAL, runtime only: see special/special.h */
	void (*special)(struct call *c);
};

extern const struct sys_row sys_table[];
extern const unsigned sys_table_len;

/* The row of a call, or 0. */
const struct sys_row *sys_find(unsigned nr);
static inline unsigned sys_nargs(const struct sys_row *row)
{
	return row->nargs;
}
#endif

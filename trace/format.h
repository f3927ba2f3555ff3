/*
 * Every byte that lies between record and replay.
 *
 * A trace is a directory:
 *
 *   meta.json       what was recorded, where, with which settings; see commands/meta.c
 *   files/KEY       contents of the files that the program mapped
 *   p<N>.t<M>.log   the packed stream of thread slot M of process image N (a fork or an exec starts a
 *                   new image): what replay reads
 *   <K>.ring        one stream while it is being recorded; gone once packed
 *   control         shared by all recorded processes while recording; gone afterwards
 *
 * A stream is one sequence of entries, numbered by its byte position from 0.
 * While recording, the newest part lies in the ring file, which the recorded
 * process writes through a shared mapping; `heddle` moves older parts into
 * chunks of the .log file. The two may overlap after a crash: positions say so.
 *
 * All numbers are little-endian. doc/trace-format.md repeats this with examples.
 */
#ifndef TRACE_FORMAT_H
#define TRACE_FORMAT_H
#include <stddef.h>
#include <stdint.h>
#include "trace/mask.h"

#define TRACE_VERSION 21 /* raised with every change of anything in this file */
/* In the child of a fork, ops and accesses count from the next multiple of this power of two: what is smaller is its
   parent's. A region of --order=region, and so an op, takes up to 256 of these numbers. */
#define FORK_SHIFT 40

#if defined __aarch64__
#define TRACE_ARCH 183 /* ELF's EM_AARCH64 */
#elif defined __x86_64__
#define TRACE_ARCH 62 /* ELF's EM_X86_64 */
#endif

/* ---- entries ------------------------------------------------------------ */

/*
 * OFFSET SIZE MEANING
 *      0    4 size of the whole entry, a multiple of 8
 *      4    2 system call number, or signal number; else 0
 *      6    1 enum entry_kind
 *      7    1 flags, ENTRY_*
 *      8    8 result of the call; for other kinds see below
 *     16      ENTRY_ARGS(flags) arguments of 8 bytes each,
 *             then with ENTRY_TICKETS two numbers of 8 bytes (ticket on entry, counter on exit),
 *             then blocks until the entry's end
 */
struct entry {
	uint32_t size;
	uint16_t nr;
	uint8_t kind;
	uint8_t flags;
	int64_t result;
};

enum entry_kind {
	ENTRY_NONE = 0,	 /* never written: a zero here is damage */
	ENTRY_START,	 /* first entry of an image; a BLOCK_START block, then strings */
	ENTRY_SYSCALL,	 /* a system call that returned, or never returns (exit, exec) */
	ENTRY_SIGNAL,	 /* the program's handler, or a fatal default action, began here;
			      nr is the signal, result the number of microseconds since the
			      last event (SIGNAL_INEXACT only), BLOCK_OUT holds the siginfo, BLOCK_ACTION what
			      the program wanted to be done with the signal at that moment; arguments: struct
			      signal_args */
	ENTRY_FAULT,	 /* a signal the program's own instruction raised; nr the signal,
			      result the faulting address; arguments: struct fault_args; BLOCK_ACTION as above */
	ENTRY_VFORK,	 /* a vfork child runs from here in this stream until ENTRY_VFORK_END */
	ENTRY_VFORK_END, /* it called exec or exit, or died; the parent goes on */
	ENTRY_CHECKSUM,	 /* result is the hash of all writable memory at this point */
	ENTRY_MORE,	 /* further BLOCK_OUT pieces of the entry before, which is ENTRY_CONTINUED */
	ENTRY_COUNTER,	 /* the program read the cycle counter; result is its value, arg 0 the pc */
	ENTRY_EDGE,	 /* arguments: op of this thread, stamp (slot << 48 | op) that came before it */
	ENTRY_SYNC,	 /* an op with an outcome other than 0: result; argument: op of this thread */
	ENTRY_LAST,	 /* put at the end by heddle: result is the number of ops that the thread had finished;
			      argument: twice the hooked accesses */
	ENTRY_THREAD,	 /* a thread begins in this slot; result is its id, argument: its pthread_self or tls */
	ENTRY_ORDER,  /* a piece of the thread's order log, written by the scheme in meta.json's "order": result bytes
			      follow the argument, which is the piece's position in that log */
	ENTRY_VERIFY, /* --verify: result is the hash of all values read at hooks; argument: twice the hooks done */
	ENTRY_FUTEX,  /* a futex wait of a thread with hooks, or on a word of atomic instructions, answered `result`;
			 arguments: ops done before, twice the hooked accesses. Replay passes over it if the thread does
			 not wait there */
	ENTRY_PAGES,  /* --paranoid: BLOCK_HASH of pages that changed since the last of these; length 0: it is gone */
	ENTRY_CUT,    /* put there by heddle instead of an ENTRY_MORE: the thread was killed before it wrote it */
	ENTRY_KINDS
};

#define ENTRY_ARGS(flags) ((flags)&7) /* 0..6 arguments follow */
struct signal_args {
	uint64_t ops;	 /* this thread's op count */
	uint64_t ticket; /* 1 + the ticket of a call it interrupted; 0: none */
	uint64_t now;	 /* tickets taken */
	uint64_t place;	 /* twice the hooked accesses done; plus 1 at an access (SIGNAL_AT_HOOK) */
	uint64_t polls;	 /* passed */
};
struct fault_args {
	uint64_t pc;
	uint64_t grouped; /* 1: between the hooks enter and leave */
	uint64_t zero;
	uint64_t
		place; /* of a hook's access that faulted in its order (SIGNAL_AT_HOOK): as signal_args.place; else 0 */
};
_Static_assert(offsetof(struct signal_args, place) == offsetof(struct fault_args, place), "hooks look there for both");
#define ENTRY_TICKETS 0x08 /* tickets follow; absent: nobody else was between */
#define ENTRY_CHANGES \
	0x10 /* ENTRY_SYSCALL: it has changed a mapped file. Its counter on exit is a ticket, too, which has begun at
		replay when its BLOCK_PATCHes are in memory */
#define SIGNAL_BEFORE  0x10 /* ENTRY_SIGNAL: before the next call, which then runs (again) */
#define SIGNAL_INEXACT 0x20 /* ENTRY_SIGNAL: at no event; the place is not reproduced exactly */
#define SIGNAL_FATAL   0x40 /* ENTRY_SIGNAL, ENTRY_FAULT: the default action ended the process */
#define SIGNAL_AT_HOOK 0x80 /* ENTRY_SIGNAL, ENTRY_FAULT: at the hooked access that its fourth argument counts to */
#define ENTRY_CONTINUED \
	0x80 /* ENTRY_SYSCALL, START, PAGES, MORE: an ENTRY_MORE or ENTRY_CUT follows and belongs to it */

/*
 * OFFSET SIZE MEANING
 *      0    8 address in the program (BLOCK_OUT, BLOCK_STRING, BLOCK_HASH), else a number
 *      8    4 length: bytes of data for OUT and STRING; bytes that were hashed for HASH
 *     12    1 enum block_kind
 *     13    1 argument that led here
 *     14    2 zero
 *     16      data, padded with zeros to a multiple of 8
 */
struct block {
	uint64_t addr;
	uint32_t len;
	uint8_t kind;
	uint8_t arg;
	uint16_t zero;
};

enum block_kind {
	BLOCK_NONE = 0,
	BLOCK_OUT,     /* the kernel wrote these bytes at addr */
	BLOCK_STRING,  /* the program passed this text (without the final 0) */
	BLOCK_HASH,    /* the program passed len bytes; 8 bytes of data: their XXH64 */
	BLOCK_CHILD,   /* addr: number of the image that a fork or an exec started; no data */
	BLOCK_SHOWN,   /* addr: place of this write among all that reached the original
			 stdout (arg 1) or stderr (arg 2); no data */
	BLOCK_FILE,    /* a saved file was mapped: data is its key (its name in files/);
			 addr: how many bytes of it are there */
	BLOCK_START,   /* struct start_info */
	BLOCK_PATCH,   /* a file that is mapped: a write changed these bytes at addr, or mremap() shows them */
	BLOCK_CONTENT, /* a small file was mapped: these are its bytes */
	BLOCK_ACTION,  /* the kernel's struct sigaction: handler, flags, restorer, mask; 8 bytes each */
	BLOCK_SEGMENT, /* shmat: addr: bytes of the segment; no data */
	BLOCK_KINDS
};

/* How an image began. Strings follow as blocks: see START_*. */
struct start_info {
	uint64_t pid, ppid;
	uint64_t blocked, ignored; /* signal masks at exec, bit n-1 for signal n */
	uint64_t hwcap, hwcap2, hwcap3, hwcap4;
	uint64_t uid, euid, gid, egid, secure, clktck, minsigstksz, pagesz;
	uint64_t stack_limit;
	uint8_t random[16];
	uint64_t argc, envc;
	uint64_t shown[2]; /* descriptors 0..63 that reach the original stdout, stderr */
	uint64_t forked;   /* 1: began by fork, so it continues its parent's memory; the
				      strings are absent then */
};
/* BLOCK_STRING.arg in ENTRY_START, in this order: one each, then argc, then envc of them */
enum start_string { START_PATH = 1, START_CWD, START_PLATFORM, START_PRELOAD, START_ARG, START_ENV };
/* BLOCK_FILE.arg in ENTRY_START */
enum start_file { START_PROGRAM = 1, START_INTERPRETER };

/* ---- the ring: <K>.ring ------------------------------------------------- */

#define RING_MAGIC  0x676e69722e646568ull /* "hed.ring" */
#define RING_HEADER 65536		  /* the header's room: a multiple of any page size */
#define RING_SIZE   (1u << 20)		  /* then the data; position p lies at RING_HEADER + p % RING_SIZE */
#define RING_SPARES 16			  /* rings that wait for new threads, at most */
#define RING_NAMELESS \
	0x80000000u /* in a ring's number: it is no file of the trace, but descriptor (number without it) of heddle's */
#define ENTRY_MAX \
	(RING_SIZE / 2) /* no entry is larger: bigger outputs are cut into pieces,
					     in ENTRY_MORE entries */

/* heddle makes the file; a thread takes it over (control.spare) and stores the magic last. */
struct ring_header {
	uint64_t magic;
	uint32_t version, arch;
	uint32_t image, slot; /* whose stream it is: p<image>.t<slot> */
	uint64_t pid;
	uint64_t head;	  /* bytes committed; the recorded thread stores it (release) after each entry */
	uint64_t events;  /* entries committed; advances with head */
	uint64_t tail;	  /* bytes that are safe in .log; only heddle stores it (release) */
	uint32_t waiting; /* futex: 1 while the thread waits for room */
	uint32_t done;	  /* enum ring_done: nothing more will be written */
	uint32_t
		forks; /* forked children that still look at `front` here, because they have no ring of their own yet */
	uint64_t call; /* --ring: 1 + the ticket of the last call that was begun */
	uint64_t unsettled; /* --ring: 1 from before an op counts until no signal can begin with its end any more */
	uint64_t front[8];  /* struct front of runtime/sync/sync.h */
};
/* Further on in the header's room: struct hook_self of compiler/hooks.h, and struct order_room. */
#define RING_SELF_AT  1024
#define ORDER_ROOM_AT 4096

/* What heddle reads of the two structs of the runtime's, as numbers of 8 bytes. */
enum {
	FRONT_FINISHED = 0, /* synchronisation ops finished */
	FRONT_SHOWN = 1,    /* the last one that others could see, finished or not */
	SELF_EVENTS = 0,    /* twice the hooked accesses finished, plus 1 inside one */
	SELF_POLLS = 5,
	SELF_BEGUN = 7, /* 1 + the last access that the runtime began */
	SELF_READ = 8	/* so many of them */
};

/* The newest part of the thread's order log: becomes an ENTRY_ORDER when it is full, or at the end. */
struct order_room {
	uint64_t base; /* bytes of the order log before it, all in ENTRY_ORDER entries */
	uint32_t used, zero;
	uint8_t data[8160];
};

enum ring_done {
	RING_IN_USE = 0,
	RING_DONE,	/* the thread writes no more, but may still look */
	RING_LEFT,	/* nobody looks any more: the only thread of the process has ended */
	RING_IMAGE_OVER /* nor does any other of its image: the process has become another program */
};

/* ---- the packed stream: p<N>.t<M>.log -------------------------------------- */

#define LOG_MAGIC   0x676f6c2e64656805ull /* "\5hed.log" */
#define CHUNK_MAGIC 0x6b6e6843u		  /* "Chnk" */
#define CHUNK_MAX   RING_SIZE

struct log_header {
	uint64_t magic;
	uint32_t version, arch;
	uint32_t image, slot;
	uint64_t hash; /* XXH64 of the bytes before it */
};

/* Of a stream from which a part was dropped (--ring), between its first chunk, if that is kept, and another: another
   magic, and more. */
#define LOG_CUT_MAGIC 0x676f6c2e64656806ull /* "\6hed.log" */
struct log_cut_header {
	uint64_t magic;
	uint32_t version, arch;
	uint32_t image, slot;
	uint64_t kept; /* position where the kept beginning ends; 0: there is none */
	uint64_t position,
		events; /* of the first chunk after what was dropped: how many bytes, how many entries came before */
	uint64_t hash;	/* XXH64 of the bytes before it */
};

/* A chunk: this header, then `packed` bytes of one zstd frame. Chunks hold whole entries. */
struct chunk_header {
	uint32_t magic;
	uint32_t packed;   /* bytes that follow */
	uint64_t position; /* of its first byte in the stream */
	uint32_t raw;	   /* bytes it unpacks to */
	uint32_t events;   /* entries in it */
	uint64_t hash;	   /* XXH64 of the bytes before it, then of the packed bytes */
};

/* ---- control: shared by heddle and every process of the tree --------------- */

#define CONTROL_MAGIC 0x6c7274632e646568ull /* "hed.ctrl" */
#define CONTROL_SIZE  131072
#define MISSING_MAX   256
#define PATH_ROOM     4096
#ifdef __x86_64__
#define WHERE_REGISTERS 17
#else
#define WHERE_REGISTERS 32
#endif

enum run_mode { MODE_RECORD = 1, MODE_REPLAY = 2 };

/* Yes or no: members of struct control and of struct meta. */
#define SETTINGS(X) X(patch) X(atomics) X(every) X(checksum) X(verify) X(paranoid)

/* Heddle's own exit statuses. High, because record and replay pass on the program's. */
enum { EXIT_RACES = 120, EXIT_USAGE = 121, EXIT_CANNOT = 122, EXIT_DIVERGED = 123 };

#define STATUS_UNKNOWN (~0u) /* as a wait status: how the process ended was not seen */

/* Replay: stops a thread for a checkpoint (SIGPWR, which programs do not use). */
#define CHECKPOINT_SIGNAL 30

/* What a recording does not have. */
enum not_recorded {
	SHARED_MEMORY = 1, /* processes share writable memory: the order in which they use it */
	OWN_FILTER = 2,	   /* the program wanted a seccomp filter of its own: it is not in force */
	OWN_ROOT = 4,	   /* it wanted another root directory: refused */
	UNREADABLE = 8,	   /* it wanted to start a program that may be executed, but not read: refused */
};

/* What replay --races has looked at: accesses at hooked sites, and locks that were taken. */
struct looked_at {
	uint64_t reads, writes, locks;
};

/* How the run of the tree ended, set once by the first who knows (0: goes on). */
enum stop_kind {
	STOP_NONE = 0,
	STOP_CANNOT,   /* heddle cannot go on (unknown call, disk full): EXIT_CANNOT */
	STOP_DIVERGED, /* replay left the recording: EXIT_DIVERGED */
	STOP_ENDED,    /* replay reached the end of a recording that has no end: exit 0 */
};

/* Where a thread stands. */
#define WHERE_PLACES 8
struct place {
	uint32_t image, slot;
	uint32_t waits;	    /* enum place_waits */
	uint32_t waits_for; /* the slot of the thread that has what it waits for */
	uint64_t event, pc;
	uint64_t registers[WHERE_REGISTERS]; /* by their DWARF numbers */
	uint64_t stack_at, stack_len;
	uint8_t stack[8192]; /* a piece of the thread's stack, from its stack pointer on */
};
enum place_waits { WAITS_NOT, WAITS_MUTEX, WAITS_RWLOCK, WAITS_JOIN };

/* A place from where the program has called futex while it had threads, and so orders them unseen. */
#define FUTEX_SITES 32
struct futex_site {
	uint32_t state;	      /* 0 free, 1 being filled, 2 in use */
	uint32_t image, slot; /* who was there first */
	uint64_t event;
	uint64_t pc, caller; /* pc may be in libc's syscall() */
	uint64_t calls;	     /* atomic; the last site has those of all that found no place */
};

/*
 * Replay: a stream that is too long to be unpacked as a whole has p<N>.t<M>.late instead of p<N>.t<M>.raw, and a file
 * p<N>.t<M>.window with room for two pieces of it: whole entries. The thread raises `asked` and control.work when it
 * has read those of the newest piece; heddle unpacks the next ones over the other, then raises `given`. Piece number n,
 * from 1 on, lies at n % 2 * LATE_PIECE. Never part of a trace.
 *
 * The order log is read at a pace of its own. If the stream has pieces of one, then p<N>.t<M>.late-order and
 * .window-order are the same for a stream of these entries alone, whose positions count from 0; a piece of it may be
 * empty.
 */
#define LATE_PIECE (2u << 20)
struct late_stream {
	uint64_t size;		/* bytes of whole events, without ENTRY_LAST */
	uint64_t ops, accesses; /* from ENTRY_LAST */
	uint64_t order;		/* bytes of ENTRY_ORDER entries */
	uint64_t from, end;	/* positions of the newest piece */
	uint32_t asked, given;	/* counts; futex on `given` */
};

/*
 * Replay of a recording that goes on (control.follow): p<N>.t<M>.tail says how far the thread is known to have come
 * when its ring was last looked at, and has the newest part of its order log. p<N>.t<M>.raw may be longer by now. Never
 * part of a trace.
 */
struct follow_tail {
	uint64_t size;		       /* bytes of the stream */
	uint64_t ops, accesses, polls; /* finished, and nothing that came with them is missing; accesses: twice */
	uint64_t call;		       /* 1 + the ticket of the last call that it has begun */
	struct order_room room;
};

struct control {
	uint64_t magic;
	uint32_t version, arch;
	uint32_t mode;		       /* enum run_mode */
	uint32_t heddle_pid;	       /* who packs the rings; when it is gone, recording ends */
	uint32_t next_image;	       /* record: number of the next process image (atomic) */
	uint32_t work;		       /* futex: raised when a ring wants packing, or was taken */
	uint32_t spare[RING_SPARES];   /* record: 1 + number of a ring that nobody has, 0: none; taken by exchange */
	uint32_t ring_wanted;	       /* record: futex: 1 while somebody waits for a spare ring */
	uint64_t shown;		       /* record: writes to the original stdout/stderr so far (atomic);
				replay: how many have been shown (futex on its low half) */
	uint64_t missing[MISSING_MAX]; /* replay: places that no entry has, ascending: a killed process took them */
	uint32_t missing_count;
	uint32_t several;   /* replay: the trace has more than one image */
	uint32_t show_lock; /* record: process that writes to stdout or stderr right now, 0: none (futex) */
	/* from `heddle record`'s options; those of SETTINGS are stored in meta.json and restored for replay */
	uint32_t patch;		  /* 0: every system call traps (--no-patch) */
	uint32_t atomics;	  /* 1: atomic instructions of unmodified code are ops (not with --no-atomics) */
	uint32_t every;		  /* 1: and so are all its loads and stores (--every-access) */
	uint32_t chaos;		  /* > 0: perturb scheduling; the seed */
	uint32_t checksum;	  /* 1: hash writable memory at exit */
	uint32_t verify;	  /* 1: hash every value that is read at a hook */
	uint32_t paranoid;	  /* 1: hash changed pages now and then */
	char order[32];		  /* the scheme; empty: accesses are not ordered */
	uint32_t turns;		  /* record: 1: one thread at a time, as DIR/turns says */
	uint32_t hooked;	  /* 1: the program was built by heddle-cc */
	uint32_t quiet;		  /* replay: do not show output */
	uint32_t races;		  /* replay: enum watch of watched.h */
	uint32_t repeat;	  /* replay: how often, 0 and 1 mean once */
	uint32_t checkpoint_slot; /* replay: 1 + thread after whose event the process is copied, 0: it is not */
	uint32_t copied;	  /* replay: 1: it was */
	uint64_t checkpoint_event;
	uint32_t save;	      /* replay: 1: then heddle reads its memory, and ends it */
	uint32_t stopped;     /* replay: a thread of it, once all stand still for that */
	uint32_t save_asked;  /* replay: 1: now, wherever threads are; with CHECKPOINT_SIGNAL */
	uint32_t follow;      /* replay: 1: the recording goes on; a thread that comes to what is not known yet waits */
	uint32_t entered;     /* replay: 1: it can be asked */
	uint32_t grown;	      /* replay: 1: streams are longer than when the checkpoint was made at which it begins */
	uint32_t ring;	      /* record: 1: --ring: one process, which a replay follows */
	uint32_t filtered;    /* 1: the seccomp filter is installed, descendants inherit it */
	uint32_t root_image;  /* the image whose end is the end of the run; 0 unless one process is replayed alone */
	uint32_t root_status; /* replay: wait status of the recorded root process, or STATUS_UNKNOWN */
	uint32_t inexact;     /* signals delivered at no event */
	uint32_t not_recorded;		/* enum not_recorded, ORed: what the user is told of */
	uint32_t runs_done, runs_exact; /* replay with repeat */
	uint32_t processes; /* record: that have been forked, and images that have started; 1: there is nobody else */
	uint32_t stop;	    /* enum stop_kind */
	uint32_t stop_lock;
	char trace[PATH_ROOM];	  /* absolute path of the trace directory */
	char work_dir[PATH_ROOM]; /* replay: unpacked streams, p<N>.t<M>.raw; record: same as trace */
	char loader[PATH_ROOM];	  /* absolute path of the loader, for exec */
	char cache[PATH_ROOM];	  /* record: copies of mapped files that traces share by hard links; empty: none */
	char sites[PATH_ROOM];	  /* where the system call sites of mapped files are kept; empty: nowhere */
	struct futex_site futexes[FUTEX_SITES]; /* record */
	/* replay, for people: where it left the recording, set before stop is STOP_DIVERGED; or the threads of a
	   deadlock */
	uint32_t where_lock;  /* 1: somebody writes or wrote here */
	uint32_t where_count; /* of places */
	struct place where[WHERE_PLACES];
	char stop_text[8192]; /* what to tell the user, several lines */
	uint32_t only_pid; /* replay: the process that is replayed alone; its children run, but show nothing; 0: all */
	/* record, --on-full=detach: if the trace's disk is full, the program goes on unrecorded */
	uint32_t may_detach;
	uint32_t detach_wanted; /* an error of a recorded process that could not write: heddle is to detach */
	uint32_t detached;	/* futex: 1: it has; nothing that rings get from now on is kept */
	/* values of the environment are masked in the trace (--mask-env); record: the further names, NAME,NAME */
	uint32_t masks;
	char mask[MASK_ROOM];
	char begin_at[PATH_ROOM];   /* replay: the file of the checkpoint that it begins at; empty: the beginning */
	struct looked_at looked_at; /* replay, if races */
	uint64_t shown_end;	    /* replay: what `shown` comes to, if nothing is missing in the end */
};

_Static_assert(sizeof(struct entry) == 16 && sizeof(struct block) == 16, "fixed by the format");
_Static_assert(sizeof(struct log_header) == 32 && sizeof(struct chunk_header) == 32, "fixed by the format");
_Static_assert(sizeof(struct ring_header) <= RING_HEADER && sizeof(struct control) <= CONTROL_SIZE, "fits");
#endif

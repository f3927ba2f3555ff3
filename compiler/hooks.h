/*
 * The hooks: what code built by heddle-cc and the runtime agree on.
 *
 * Every hooked access is compiled to this, whatever the scheme (compiler/fast.c holds it as C):
 *
 *	events = self->events |= 1                               the bracket opens
 *	if (self->claims[addr >> HOOK_PAGE_SHIFT & self->mask] & kind  &&  events < self->until)
 *		the access itself, as the program wrote it
 *	else if (!self->ops->load(self, site, addr, ...).done)    the runtime performs the access ...
 *		the access itself                                  ... unless it would fault, or heddle is not there
 *	self->events = (self->events | 1) + 1  (release)         the bracket closes: one more event
 *
 * Accesses that follow one another have a second copy without any hooks (compiler/groups.c):
 *
 *	events = self->events |= 1
 *	if (all that it accesses is claimed  &&  events + 2 * accesses < self->group_until)
 *		the copy
 *		self->events = events + 2 * accesses - 1  (release)
 *	else
 *		self->events &= ~1; the original, with its hooks
 *
 * A loop in which nothing waits or calls is in one bracket. Its accesses count in a register, and look at their claims
 * and at no more (compiler/held.c); a loop in it whose accesses are all known before it begins also has a copy without
 * any hooks (compiler/loops.c), and so has a nest, a loop with loops in it, if they are known to lie within bounds; its
 * copy counts accesses and polls as it goes:
 *
 *	events = opened = self->events |= 1
 *	if (self->claims[addr >> HOOK_PAGE_SHIFT & self->mask] & kind  &&  events < limit)
 *		the access itself
 *	else
 *		self->events = events  (release), and then as above: in a new bracket, which is the same for this thread
 *	events += 2, and so on, until the loop is left
 *	self->events = events - 1  (release)
 *
 * Words
 *   event    one hooked access of a thread. `events` is twice their number, plus one inside a bracket. Only the
 *            thread itself writes it, so record and replay count alike, whichever way an access took.
 *   page     HOOK_PAGE bytes, aligned; smaller than the kernel's: what two threads use side by side seldom shares one.
 *   claim    a right to access a page without asking. The byte of a page has HOOK_READ and HOOK_WRITE. With mask 0
 *            one byte answers for all memory: both bits outside heddle, none for a scheme without a fast path. What
 *            may cross into the next page looks at two bytes at once: there is one more behind the last, in which
 *            nothing need stand, and where it lacks the bits each page is looked at by itself.
 *            Otherwise an address beyond the program's range finds the claim of another page: such an access faults
 *            by itself, or it has a tag (the top byte on aarch64), and then the claim is the right one.
 *   until    an access whose count has come to it goes to the runtime, claim or not: a held signal or a question of
 *            another thread (0), the next entry of the log at replay, the end of the recording.
 *   group_until   the same for a bracket over many events. None of them may be an entry of the log, so that a loop
 *            counts alike whichever copy ran. Also none while the program has a handler for faults: whether and where
 *            it is resumed must not depend on the copy.
 *   far      HOOK_FAR events. No bracket over many events crosses a multiple of it, and a fault moves the count on to
 *            the next one. So what a thread counts after a fault does not depend on the copy in which it took place.
 *   limit    of a bracket held over a loop: group_until, or HOOK_HELD events after it was stored last.
 *   bracket  who takes a claim away clears the byte, makes every core see it (membarrier), and waits until `events`
 *            has changed. So check and access are one step for everybody else.
 *
 * `self` is found through a thread-local pointer of each linked file, which begins as &__heddle_unattached. Its ops
 * attach the thread on its first access: to the runtime (through __heddle_attach_as, which libheddle.so exports and
 * which is absent outside heddle) or to a struct of the thread's own whose claims are always there.
 *
 * A fault inside the bracket: the runtime closes it before the program's handler begins. When that returns to the
 * access, the runtime opens a group for it; closing the bracket leaves the group, since the count is not what it was.
 */
#ifndef HOOKS_H
#define HOOKS_H
#include <stdint.h>

#define HOOK_VERSION 9

#define HOOK_PAGE_SHIFT 9
#define HOOK_PAGE	(1ull << HOOK_PAGE_SHIFT)
#define HOOK_PAGES	(1ull << 31) /* that have claims */
#define HOOK_FAR	(1ull << 24)
#define HOOK_HELD	1024 /* events or jumps back, after which others get their turn in a bracket held over a loop */
#define HOOK_POLL_EACH	256  /* jumps back, of which one comes by a poll: compiler/polls.c */
#define HOOK_ROUNDS_MAX (1ull << 18)   /* of a loop in one bracket, for which others may have to wait */
#define HOOK_BYTES_MAX	(64ull << 10)  /* of a call in one bracket, likewise */
#define HOOK_AHEAD	(256ull << 10) /* of claims that are asked for at once */
#define HOOK_RANGE_MAX	8192	       /* of an access in one bracket */

/* Bits of a claim. Words: some granules of the page may be the thread's own, which entry.S looks up where the claim is
   missing. */
enum { HOOK_READ = 1, HOOK_WRITE = 2, HOOK_WORDS = 8 };
/* Of a string that is entered: bytes of a character; no more of it is accessed; the character that ends it
   (memchr's); so does 0 (strchr's). */
#define HOOK_UNIT(c)   ((c)&255u)
#define HOOK_LIMITED   256u
#define HOOK_END_SHIFT 16
#define HOOK_END(c)    ((uint8_t)((c) >> HOOK_END_SHIFT))
#define HOOK_OR_ZERO   (1u << 24)

/* What the operand does to the old value. The numbers are stored in code. */
enum hook_rmw {
	HOOK_XCHG,
	HOOK_ADD,
	HOOK_SUB,
	HOOK_AND,
	HOOK_NAND,
	HOOK_OR,
	HOOK_XOR,
	HOOK_MAX,
	HOOK_MIN,
	HOOK_UMAX,
	HOOK_UMIN,
	HOOK_UINC_WRAP,
	HOOK_UDEC_WRAP,
};

struct hook_result {
	uint64_t value; /* load, rmw, cas: what was read */
	uint64_t done;	/* 0: nothing has happened; the caller makes the access itself */
};

struct hook_self;
struct hook_site;

/*
 * The compiler's preserve_all: all but x0-x8, x16-x18 and v0-v7 (x86-64: rax, rdx, r11) are preserved; ours touch no
 * vectors. The functions run on a stack of the runtime's. They may wait, and begin the program's signal handlers before
 * they act.
 */
#ifdef __clang__
#define HOOK_CALL __attribute__((preserve_all))
#else
#define HOOK_CALL
#endif
typedef HOOK_CALL struct hook_result hook_function(struct hook_self *self, const struct hook_site *site, void *addr,
						   uint64_t a, uint64_t b, uint64_t c);
#define HOOK_OPS(X)                                                                                                  \
	X(load)	      /* a: size 1..8. value: zero-extended */                                                       \
	X(store)      /* a: size 1..8, b: value */                                                                   \
	X(load_wide)  /* a: size, b: where to put the bytes (memory that is the thread's own) */                     \
	X(store_wide) /* a: size, b: where the bytes are */                                                          \
	X(rmw)	      /* a: size 1..8 | enum hook_rmw << 8, b: operand */                                            \
	X(rmw_wide)   /* 16 bytes, aligned. a: enum hook_rmw << 8, b: operand's address, c: for the old value */     \
	X(cas)	      /* a: size 1..8, b: expected, c: desired. It has taken place if value == expected */           \
	X(cas_wide)   /* 16 bytes, aligned. a: for the old value, b: expected's address, c: desired's */             \
	X(set)	      /* memset: a: byte, b: length */                                                               \
	X(copy)	      /* memcpy and memmove to addr: a: from, b: length */                                           \
	X(enter)      /* code that the pass cannot see into is about to access a bytes; b: HOOK_READ | HOOK_WRITE; \
			 until the next leave (which ends all that were entered) nobody else does; c: 0, or the \
			 size of a character: it is a piece of a string, which may end before. value: how many \
			 bytes, with the end or what cannot be read; 0: it goes on. b may be 0: only tells. c with \
			 HOOK_LIMITED: no more of the string is accessed than this */ \
	X(leave)      /* addr unused */                                                                              \
	X(poll)	      /* polls has come to poll_until, at a loop's back edge: no access, no event */

struct hook_ops {
#define HOOK_MEMBER(name) hook_function *name;
	HOOK_OPS(HOOK_MEMBER)
#undef HOOK_MEMBER
	/* No hook: accesses come next that want these claims. Gets what can be had at once; neither waits nor counts,
	   and begins no handler. In a bracket; only where claims have a mask. a: bytes, b: HOOK_READ | HOOK_WRITE.
	   value: are all there now? */
	hook_function *ahead;
};

/* One per thread. Under heddle it lies in the header of the thread's ring, so that a kill leaves the count behind. */
struct hook_self {
	uint64_t events;
	uint64_t until;
	const uint8_t *claims;
	uint64_t mask; /* HOOK_PAGES - 1, or 0 */
	const struct hook_ops *ops;
	uint64_t polls;	     /* looks of loops without a sure access that were passed */
	uint64_t poll_until; /* the poll with this count, and later ones, go to the runtime */
	uint64_t begun;	     /* 1 + the access that the runtime was about to make last: see order_begun() */
	uint64_t group_until;
	uint64_t
		mine; /* the runtime's: the word of a granule that is this thread's own (runtime/order/shadow_word.h) */
};

/* Where the runtime finds itself: see above. */
struct hook_self *__heddle_attach_as(uint64_t version);
struct hook_self *__heddle_attach(void); /* up to version 4: libheddle.so says that they are too old */

/* ---- what the binary tells about itself -------------------------------------------------------------------------- */

enum hook_kind {
	HOOK_LOAD,
	HOOK_STORE,
	HOOK_RMW,
	HOOK_CAS,
	HOOK_RANGE_READ,
	HOOK_RANGE_WRITE,
	HOOK_ASM,
	HOOK_CALLED,
	HOOK_POLL
};
enum {
	HOOK_SITE_ATOMIC = 1,
	HOOK_SITE_VOLATILE = 2,
	HOOK_SITE_LEFT_OUT = 4, /* not hooked; `why` says why */
	/* of an atomic: what it orders. Both in a program with fences: nobody can tell what a relaxed one is for */
	HOOK_SITE_ACQUIRE = 8,
	HOOK_SITE_RELEASE = 16
};

/* Section "heddle_sites": one per access, in order of their ids. Strings: offsets from the member itself (0: none). */
struct hook_site {
	int32_t file, function, why;
	uint32_t line;
	uint16_t column; /* 0: not known, and the line is about right */
	uint8_t kind;	 /* enum hook_kind */
	uint8_t flags;
	uint32_t size;	  /* bytes, 0: known only at run time */
	uint32_t element; /* sites with different ones never access the same byte; 0: anything. See elements.c */
};

/* ELF note "Heddle", type 1, in section ".note.heddle": "key=value\n" lines: version, select, mode (lto or per-file),
   sites. */
#define HOOK_NOTE_NAME "Heddle"
#define HOOK_NOTE_TYPE 1

#endif

/*
 * The pass of heddle-cc: what its files share.
 *
 * A module is instrumented in three steps. First the walk (instrument.c) lists every access as a struct access, in the
 * order of the code, with polls at the end, and asks which may be left out (select.c, escape.c). Then it becomes the
 * site table (sites.c); an access's place in it is its id. At last each access that stays is rewritten (rewrite.c).
 */
#ifndef COMPILER_INTERNAL_H
#define COMPILER_INTERNAL_H
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdbool.h>
#include <stdint.h>
#include "compiler/hooks.h"

/* How an access is rewritten. */
enum shape {
	SHAPE_LOAD, /* of 1, 2, 4 or 8 bytes */
	SHAPE_STORE,
	SHAPE_LOAD_WIDE, /* any other size, through memory of the thread's own */
	SHAPE_STORE_WIDE,
	SHAPE_RMW,
	SHAPE_RMW_WIDE,
	SHAPE_CAS,
	SHAPE_CAS_WIDE,
	SHAPE_SET,	/* memset */
	SHAPE_COPY,	/* memcpy, memmove: both ends may be shared */
	SHAPE_COPY_IN,	/* ... only the source */
	SHAPE_COPY_OUT, /* ... only the target */
	SHAPE_AROUND,	/* enter, the instruction, leave */
	SHAPE_BEFORE,	/* enter, leave, the instruction */
	SHAPE_AFTER,	/* the instruction, enter, leave */
	SHAPE_POLL,	/* before the instruction, which ends a loop's body */
	SHAPE_NONE,	/* left out */
};

/* A range that code which the pass cannot see into accesses, and how its size is known. NULL stands for "none". */
enum range_form {
	RANGE_BYTES,	   /* size * times */
	RANGE_STRING,	   /* the string at addr, with its end, at most `size` of it; `other`: only if that is > plus */
	RANGE_LIKE_STRING, /* as long as the string at `other`, at most `size` of it */
	RANGE_APPEND,	   /* the same, at the end of the string at addr */
	RANGE_RESULT,	   /* as many bytes as the call has returned (size), plus `plus`, at most `times` */
};
struct range {
	LLVMValueRef addr, size, times, other;
	LLVMValueRef until; /* of a string: the character that ends it; NULL: 0 */
	bool or_zero;	    /* so does 0 */
	enum range_form form;
	unsigned kind;	     /* HOOK_READ | HOOK_WRITE */
	unsigned unit, plus; /* unit: bytes of a character */
};

struct access {
	LLVMValueRef inst;
	LLVMValueRef addr; /* of the one range; SHAPE_AROUND, BEFORE and AFTER have `ranges` */
	const char *why;   /* of one left out; the string lives for ever */
	struct range *ranges;
	unsigned range_count;
	uint32_t size; /* 0: known at run time only */
	uint32_t element;
	enum shape shape;
	uint8_t kind, flags; /* of struct hook_site */
	int8_t rmw;	     /* enum hook_rmw */
	bool is_short;	     /* a poll, of a loop with short rounds */
	struct held *held;   /* it is in a loop with a held bracket: held.c */
};

struct module {
	LLVMModuleRef module;
	LLVMContextRef context;
	LLVMTargetDataRef layout;
	LLVMTypeRef i1, i8, i16, i32, i64, ptr, nothing;
	struct access *accesses;
	size_t count, room;
	LLVMValueRef sites; /* the table */
	LLVMTypeRef sites_type;
	bool has_fences;
};

/* What heddle-cc was told, from the environment variable HEDDLE_CC_PASS (see driver.c). */
enum select { SELECT_NONE, SELECT_ALL, SELECT_ESCAPE, SELECT_RACES };
struct settings {
	enum select select;
	bool per_file;
	const char *fast;	  /* path of fast.bc */
	const char *replaced;	  /* replaced.bc: functions of libc that call back */
	const char *races_report; /* a file for what races/ finds */
	const char *barriers;	  /* functions that are barriers, separated by ':' */
	const char *without;	  /* steps of races/ that are left out, each with ':' after it */
	const char *foreign;	  /* objects of other compilers in this link, separated by ':' */
};
extern struct settings settings;

/* instrument.c: the entries of the pass. They return whether the module was changed. */
int instrument_start(LLVMModuleRef module);
int instrument_file(LLVMModuleRef module);
/* Hooks will be put in now; not if this is one file of a program in which that is done when it is linked. */
bool instrument_comes_next(void);
bool instrument_has_marked(void); /* of the whole program, which accesses get no hook */
int instrument_early(LLVMModuleRef module);

/* replace.c: functions of libc that cannot have hooks become code of the program. True: there were some. */
bool replace_some(struct module *m);
/* formats.c: are there calls of printf and its kin that must become others? They become them. */
bool formats_found(struct module *m);
void formats_rewrite(struct module *m);
/* polls.c: jumps back that no round of a loop can avoid hooks on its way to, and that are not few: shows the jumps
   without. */
void polls_find(LLVMValueRef function, bool (*hooked)(void *arg, LLVMBasicBlockRef block),
		void (*found)(void *arg, LLVMValueRef jump, bool is_short), void *arg);
/* Where rounds are short, only some come by a poll. */
void polls_thin(struct module *m);
/* scans.c: the same for scanf and its kin. */
bool scans_found(struct module *m);
void scans_rewrite(struct module *m);
/* replace.c, for these two. Ours that takes the place of a function; is this user of it a call? Room in the frame of
   the caller, one for all calls since it is used by one at a time; and the call becomes another. */
LLVMValueRef replaced_named(struct module *m, const char *name);
bool is_call_of(LLVMValueRef user, LLVMValueRef function);
LLVMValueRef room_on_stack(struct module *m, LLVMValueRef call, const char *name, LLVMTypeRef type);
void call_instead(LLVMBuilderRef b, LLVMValueRef call, LLVMValueRef ours, LLVMValueRef *args, unsigned n);
/* emit.c: links the bitcode of a file of ours into the module. */
void link_part(struct module *m, const char *path);
/* instrument.c: the last entry of the pass */
int instrument_last(LLVMModuleRef module);

/* Unless its address says that nobody else can be there. */
void access_add_range(struct access *a, struct range range);

/* libc.c: fills in what a call of a function of libc's reads and writes. False: it is not one that does. */
bool libc_ranges(struct module *m, LLVMValueRef call, struct access *before, struct access *after, bool *exact);

/* The text of a constant string, or NULL. */
const char *libc_constant_text(LLVMValueRef value);

/* foreign.c: the same for inline assembler and for intrinsics of the machine */
bool foreign_asm(struct module *m, LLVMValueRef call, struct access *a);
bool foreign_intrinsic(struct module *m, LLVMValueRef call, struct access *a);

/* select.c: why needs this address no hook? NULL if it needs one. */
const char *select_private(LLVMValueRef addr);
/* Is this function none of the program's code that can be hooked? select_begin() comes first. */
bool select_ignored(struct module *m, LLVMValueRef function);
void select_begin(struct module *m);

/* escape.c: leaves out what the whole program shows not to be shared */
void escape_apply(struct module *m);

/* races/: leaves out what cannot race; early, and marks it for the last entry */
void races_apply(struct module *m);
bool races_prepare(LLVMModuleRef module);

/* rounding.c: every copy of this function's code will compute the same numbers. */
void rounding_settle(struct module *m, LLVMValueRef function);

/* elements.c: numbers what can never meet in memory */
void elements_find(struct module *m);

/* sites.c */
void sites_build(struct module *m);
LLVMValueRef sites_of(struct module *m, size_t id);
/* The instruction whose line stands for this one's: mostly itself. */
LLVMValueRef sites_line(LLVMValueRef inst);
const char *sites_file(LLVMValueRef inst, char *room, size_t size); /* "dir/file" of its place, or NULL */
void sites_keep_text(struct module *m, const char *text, size_t size, const char *name, const char *section);

/* emit.c: fast.bc is linked into the module before the first use, and cleaned up after the last */
void emit_begin(struct module *m);
void emit_end(void);

/* rewrite.c; it begins before anything is copied */
void rewrite_begin(struct module *m);
void rewrite(struct module *m, size_t id);
void rewrite_end(void);
bool may_cross(const struct access *a); /* into another page of claims */

/* loops.c: brings loops into a common form, which must not change afterwards; then gives loops whose accesses are all
   known before they begin a copy without hooks */
void loops_tidy(struct module *m);
void loops_copy(struct module *m);

/* held.c: opens one bracket for a whole loop where that can be; before loops_copy(). At the end its variables are
   gone. */
void held_find(struct module *m);
void held_end(void);

/* groups.c: gives accesses that follow one another a copy without hooks */
void groups_copy(struct module *m);

/* marks.c: marks an access as left out for a reason, so that the mark reaches the end of the optimiser; NULL: not
   marked */
void mark_left_out(struct module *m, LLVMValueRef inst, const char *why);
const char *marked_left_out(struct module *m, LLVMValueRef inst);
void marks_remove(struct module *m); /* before code is generated, which would keep them in mind */

/* harmless.c: can it be among hooked accesses in one bracket? anywhere: also jumps, and values that come together */
bool is_harmless(LLVMValueRef inst);
bool is_harmless_anywhere(LLVMValueRef inst);
bool is_harmless_in_copy(LLVMValueRef inst);
/* Can it as well be computed earlier? Is the function not to be optimised? */
bool is_computed(LLVMValueRef inst);
bool is_unoptimised(LLVMValueRef function);

/* plugin.cpp, and copying.cpp for copies of loops: what LLVM-C does not offer */
LLVMBasicBlockRef plugin_split(LLVMValueRef before);
void plugin_erase_metadata(LLVMModuleRef module, const char *name);
/* Where code can be put that runs after the call has returned. */
LLVMValueRef plugin_after(LLVMValueRef call);
void plugin_keep(LLVMModuleRef module, LLVMValueRef global);
bool plugin_expand_rmw(LLVMValueRef rmw);
/* Calls found() for each object that the address may point into (NULL: not known). */
void plugin_objects(LLVMValueRef addr, void (*found)(void *arg, LLVMValueRef object), void *arg);
bool plugin_captured(LLVMValueRef object, bool by_return);
/* Jumps back, of loops or not, from block to block. */
void plugin_back_edges(LLVMValueRef function, void (*found)(void *arg, LLVMBasicBlockRef from, LLVMBasicBlockRef to),
		       void *arg);

/* Loops and dominators of one function at a time. */
struct plugin_loop {
	/* before: the block that enters it; each is NULL unless there is exactly one */
	LLVMBasicBlockRef header, before, latch, exiting, exit;
};
void plugin_forget_shape(void);
bool plugin_dominates(LLVMBasicBlockRef a, LLVMBasicBlockRef b);
LLVMBasicBlockRef plugin_dominator(LLVMBasicBlockRef block);
/* Does every way to the block pass this edge? */
bool plugin_edge_dominates(LLVMBasicBlockRef from, LLVMBasicBlockRef to, LLVMBasicBlockRef block);
/* The innermost loop around a block, or the one `out` further out. False: there is none. */
bool plugin_loop(LLVMBasicBlockRef block, unsigned out, struct plugin_loop *found);
/* How often the loop with this header goes round, with those in it that are as short; 0: often, nobody knows, or there
   is none. */
unsigned plugin_rounds(LLVMBasicBlockRef header);
bool plugin_in_loop(LLVMBasicBlockRef header, LLVMBasicBlockRef block);
/* Can it be computed earlier, though nobody may want it? */
bool plugin_is_safe_earlier(LLVMValueRef inst);
unsigned plugin_alignment(LLVMValueRef access, LLVMValueRef addr);
bool plugin_apart(LLVMModuleRef module, LLVMValueRef a, LLVMValueRef b, int64_t *bytes);
/* Gives every loop of the function one block before it and after it, and values used outside a place there. */
void plugin_tidy_loops(LLVMValueRef function);
/* Finds loops that can have a copy without hooks, and makes it. What scalar evolution knows is `const void *`. */
struct plugin_copying;
struct plugin_range {
	LLVMValueRef addr;
	uint64_t size;
	bool writes;
	const void *places; /* of a nest: at so many at most */
};
struct loop_copier {
	void *arg;
	/* A loop is looked at, or a nest: a loop with loops in it. False: it is not wanted. */
	bool (*begin)(void *arg, LLVMBasicBlockRef header, bool nest);
	/* The hooked ranges of an instruction, -1: it cannot be in such a loop. */
	int (*ranges)(void *arg, LLVMValueRef inst, struct plugin_range to[2]);
	/* One of them begins at `first`, and moves on by `stride` (NULL: does not); in a nest it lies between `first`
	   and so many bytes behind. False: it cannot be checked. */
	bool (*add)(void *arg, struct plugin_copying *c, const void *first, const void *stride,
		    const struct plugin_range *range);
	/* The loop is suited, and goes round `more` times after the first; of a nest, so often do all loops together at
	   most. Builds what says whether it is worth to look further, what check() needs, and what says whether the
	   copy may run. accesses: of a nest, at most so many. */
	LLVMValueRef (*worth)(void *arg, LLVMValueRef at, LLVMValueRef more);
	void (*expand)(void *arg, struct plugin_copying *c, LLVMValueRef at);
	LLVMValueRef (*check)(void *arg, LLVMValueRef at, LLVMValueRef more, LLVMValueRef accesses);
	void (*after_copy)(void *arg, LLVMValueRef at);
	bool (*is_poll)(void *arg, LLVMValueRef inst);
	/* Before `at`, in its copy: so many of its accesses, and polls, have been passed. */
	void (*count)(void *arg, LLVMValueRef at, unsigned accesses, unsigned polls);
};
void plugin_copy_loops(LLVMValueRef function, const struct loop_copier *copier);
/* How far is b behind a, if that is always the same? */
bool plugin_always_apart(struct plugin_copying *c, const void *a, const void *b, int64_t *bytes);
LLVMValueRef plugin_expand_address(struct plugin_copying *c, const void *address, int64_t plus, LLVMValueRef at);
LLVMValueRef plugin_expand_stride(struct plugin_copying *c, const void *stride, LLVMValueRef at);
struct plugin_nest {
	LLVMBasicBlockRef before;
	const LLVMBasicBlockRef *blocks, *exits;
	size_t block_count, exit_count;
};
/* Headers of the loops right inside one, or of the outermost (NULL). How many there are. */
size_t plugin_loops_in(LLVMValueRef function, LLVMBasicBlockRef header, LLVMBasicBlockRef *to, size_t room);
/* The loop with this header, until the next is asked for. False: it has no block before it, or is left to where others
   come, too. */
bool plugin_nest(LLVMBasicBlockRef header, struct plugin_nest *nest);
/* Does it call setjmp or its like? */
bool plugin_returns_twice(LLVMValueRef function);
/* Has it loops that are entered at several places? What is known of loops does not hold for them. */
bool plugin_is_irreducible(LLVMValueRef function);
/* These local variables of one function become registers. */
void plugin_promote(const LLVMValueRef *variables, size_t count);

void compiler_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
#endif

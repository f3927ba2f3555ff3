/*
 * A checkpoint that outlives its process, both directions: `heddle replay --checkpoint --save` and `--from`.
 *
 * A process that is stopped for a checkpoint (runtime/checkpoint.c) is its memory and nothing else: each thread's
 * registers are in the frame on its signal stack. heddle reads that memory and writes it to a file
 * (commands/checkpoint.c, trace/checkpoint.h); a new loader maps it at the same addresses, its own data included, and
 * makes the threads again as a copy does.
 *
 * 1. A fork copies what the kernel keeps of a process, and an exec does not. What replay uses of that is kept here, in
 *    memory, or done again: the actions of signals, the end of the heap, the filter, the trap of the counter, the
 *    registration for membarrier(). The masks and stacks of signals are in the frames.
 * 2. Whoever puts the memory back runs on checkpoint_stack, which is not put back: nobody needs what it held.
 * 3. The runtime opens files only to map or read them, and closes them again. A thread that is stopped in between would
 *    go on with a descriptor that the new process does not have. So as long as there is one that was not there when the
 *    program started, the threads go on a little and are stopped again. So they do while one is in the middle of a step
 *    through its order log, which has grown in the new process (order_log_grown()).
 * 4. Streams are mapped again from the new work directory. They were unpacked from the same trace, and lie there under
 *    the same names: threads stand in the middle of their windows.
 */
#include "loader/loader.h"
#include "loader/arch/arch.h"
#include "trace/checkpoint.h"
#include <linux/fcntl.h>
#include <linux/membarrier.h>
#include <linux/mman.h>
#include <linux/prctl.h>

/* Of the process that was stopped: see 1. */
static struct {
	struct kernel_action actions[SIGNALS + 1];
	uint64_t heap_end;
	char name[16];
} kept;

/* ---- the process that is left ----------------------------------------------------------------- */

/* More threads than that are never in the middle of it; a file gets the lowest number that is free. */
#define DESCRIPTORS 4096
static uint64_t were_open[DESCRIPTORS / 64]; /* when the program started */

static bool is_open(unsigned fd)
{
	return SYS2(__NR_fcntl, fd, F_GETFD) >= 0;
}

void checkpoint_file_prepare(void)
{
	memset(were_open, 0, sizeof were_open);
	for (unsigned fd = 0; fd < DESCRIPTORS; fd++)
		if (is_open(fd))
			were_open[fd / 64] |= 1ull << fd % 64;
}

bool checkpoint_file_possible(void)
{
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		if (thread_of(slot)->order_cursor.reading)
			return false;
	for (unsigned fd = 0; fd < DESCRIPTORS; fd++)
		if (is_open(fd) && !(were_open[fd / 64] >> fd % 64 & 1))
			return false;
	return true;
}

/* What comes before is not needed any more, in the stream of each slot, but for entries that a thread is in the middle
   of. */
static void leave_positions(void)
{
	TEXT(path, PATH_ROOM + 16);
	text_add(&path, "%s/positions", control->work_dir);
	long fd = file_open(TEXT_OF(path), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	for (uint32_t slot = 0; slot < thread_highest(); slot++) {
		const struct thread *t = thread_of(slot);
		uint64_t needed = MIN(t->log.head, t->order_cursor.position);
		if (SYS3(__NR_write, fd, &needed, sizeof needed) != sizeof needed)
			cannot("%s cannot be written", TEXT_OF(path));
	}
	file_close(fd);
}

_Noreturn void checkpoint_file_leave(void)
{
	for (int sig = 1; sig <= SIGNALS; sig++)
		SYS4(__NR_rt_sigaction, sig, 0, &kept.actions[sig], 8);
	kept.heap_end = (uint64_t)SYS1(__NR_brk, 0);
	if (control->follow)
		leave_positions();
	SYS5(__NR_prctl, PR_GET_NAME, kept.name, 0, 0, 0);
	/* release: everything is in its place before heddle looks */
	__atomic_store_n(&control->stopped, (uint32_t)SYS0(__NR_gettid), __ATOMIC_RELEASE);
	for (uint32_t never = 0;; wait_end_if_stopped())
		futex_wait(&never, 0, 1000); /* heddle ends us */
}

/* ---- the process that begins there -------------------------------------------------------------- */

struct file {
	long fd;
	uint64_t at;
};

static void take(struct file *f, void *to, uint64_t n)
{
	if (file_read(f->fd, to, n, f->at) != (long)n)
		cannot("%s ends too early: it was changed meanwhile", control->begin_at);
	f->at += n;
}

/* All but what we stand on: see 2. */
static void take_memory(struct file *f, uint64_t from, uint64_t n)
{
	uint64_t end = from + n, stack = (uint64_t)checkpoint_stack, stack_end = stack + CHECKPOINT_STACK;
	if (end <= stack || from >= stack_end) {
		take(f, (void *)from, n);
		return;
	}
	uint64_t before = MAX(from, stack) - from, after = end - MIN(end, stack_end);
	take(f, (void *)from, before);
	f->at += n - before - after;
	take(f, (void *)(end - after), after);
}

/* -1: no file is behind it. */
static long open_behind(const struct point_range *r)
{
	TEXT(path, PATH_ROOM + POINT_NAME + 8);
	if (r->kind == POINT_MEMORY)
		return -1;
	text_add(&path, "%s/%s%s", r->kind == POINT_FILE ? control->trace : control->work_dir,
		 r->kind == POINT_FILE ? "files/" : "", r->name);
	long fd = file_open(TEXT_OF(path), O_RDONLY, 0);
	if (fd < 0)
		cannot("%s, which the checkpoint needs, cannot be opened: error %d", TEXT_OF(path), -fd);
	return fd;
}

static void map_range(const struct point_range *r)
{
	long fd = open_behind(r);
	int flags = MAP_FIXED | MAP_NORESERVE | (r->flags & POINT_SHARED ? MAP_SHARED : MAP_PRIVATE) |
		    (fd < 0 ? MAP_ANONYMOUS : 0) | (r->flags & POINT_GROWS ? MAP_GROWSDOWN : 0);
	/* there are bytes for what may not be read or written, too */
	long to = SYS6(__NR_mmap, r->from, r->to - r->from, PROT_READ | PROT_WRITE, flags, fd, r->offset);
	if (is_error(to))
		cannot("the memory of a checkpoint, %u bytes at %x, cannot be mapped: error %d", r->to - r->from,
		       r->from, -to);
	if (fd >= 0)
		file_close(fd);
}

static void protect_range(const struct point_range *r)
{
	int protection = (r->flags & POINT_READ ? PROT_READ : 0) | (r->flags & POINT_WRITE ? PROT_WRITE : 0) |
			 (r->flags & POINT_EXECUTE ? PROT_EXEC : 0);
	if (protection != (PROT_READ | PROT_WRITE))
		SYS3(__NR_mprotect, r->from, r->to - r->from, protection);
}

/* False: it is behind the last. */
static bool take_range(struct file *f)
{
	struct point_range r;
	struct point_run run;
	take(f, &r, sizeof r);
	if (!r.kind)
		return false;
	if (r.kind != POINT_LOADER)
		map_range(&r);
	for (take(f, &run, sizeof run); run.size; take(f, &run, sizeof run)) {
		take_memory(f, run.from, run.size);
		if (r.flags & POINT_EXECUTE)
			flush_code((void *)run.from, run.size);
	}
	if (r.kind != POINT_LOADER)
		protect_range(&r);
	return true;
}

/* What no run covers is zero. The loader's first data are in runs: leave_own_file() has written each page of them. */
static void clear_loader(void)
{
	uint64_t from = ALIGN_UP(image_file_end, page_size), stack = (uint64_t)checkpoint_stack;
	SYS3(__NR_madvise, from, stack - from, MADV_DONTNEED);
	SYS3(__NR_madvise, stack + CHECKPOINT_STACK, (uint64_t)image_end - stack - CHECKPOINT_STACK, MADV_DONTNEED);
	control = (struct control *)MAP_CONTROL_BASE;
}

static void take_all(void)
{
	struct file f = { file_open(control->begin_at, O_RDONLY, 0), sizeof(struct point_header) };
	if (f.fd < 0)
		cannot("%s: error %d", control->begin_at, -f.fd);
	clear_loader();
	while (take_range(&f))
		;
	file_close(f.fd);
}

/* See 1. */
static void tell_kernel(void)
{
	struct alt_stack none = { .flags = 2 /* SS_DISABLE */ };
	SYS2(__NR_sigaltstack, &none, 0); /* it was the first thread's */
	stack_tell_kernel_again(kept.heap_end);
	for (int sig = 1; sig <= SIGNALS; sig++)
		SYS4(__NR_rt_sigaction, sig, &kept.actions[sig], 0, 8); /* SIGKILL and SIGSTOP refuse it */
	SYS3(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	SYS5(__NR_prctl, PR_SET_NAME, kept.name, 0, 0, 0);
	kernel_prepare();
}

static void begin(void *unused)
{
	(void)unused;
	take_all();
	tell_kernel();
	if (control->save)
		checkpoint_file_prepare(); /* those that were open before are another process's */
	for (uint32_t slot = 0; control->grown && slot < thread_highest(); slot++)
		if (thread_of(slot)->front)
			log_grown(thread_of(slot));
	if (control->repeat > 1)
		run_copies();
	if (debug_wanted())
		debug_start(control->shown);
	checkpoint_begin_copy();
}

_Noreturn void checkpoint_file_begin(void)
{
	run_on_stack((uint64_t)checkpoint_stack + CHECKPOINT_STACK, begin, 0);
}

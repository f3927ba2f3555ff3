/*
 * A checkpoint: at replay, all threads stop, the process is copied, and the threads go on in the copy. It can be gone
 * on from any number of times. Under a debugger they go on in the process itself, too, and the copy waits until the
 * debugger wants a run that begins there (debug.c).
 *
 * Stopping. When its thread comes to the event, each thread gets a signal, which nobody blocks at replay. (Not SIGSYS:
 * the kernel drops a second one that is pending, and that may be the trap of a system call.) It stops in the handler:
 * the frame that the kernel has put on its signal stack holds general, FP and vector registers, signal mask and signal
 * stack, and struct thread has its place in its stream. Only the thread pointer is kept beside. A thread may be
 * anywhere then:
 *
 * 1. In the program's own code, between two events. What it does there depends on its registers and memory alone.
 * 2. In the runtime, in the middle of an op: the runtime's memory is copied as the program's is, and who holds a lock
 *    of ours goes on holding it, since it will be there, too.
 * 3. Waiting for an edge, a ticket, a lock or a turn. Each such wait is a loop that looks at memory and then at most
 *    sleeps in futex() or nanosleep(), which the signal ends. So in the copy it looks again; nobody needs to have
 *    remembered who slept, and no wake-up is lost that came between the copy and the sleep.
 * 4. In a call that is real at replay, too. Those on the address space are over before the signal comes; a write to the
 *    terminal, and a futex() of the program's own, are made again when the signal ends them.
 * 5. Between clone() and its first instruction: the kernel has stored its id (CLONE_PARENT_SETTID) before its creator
 *    goes on. A creator that stops before the call makes it in the copy.
 *
 * A thread with an id that has not stopped is asked until all have: who has stopped creates none. One look at all of
 * them is not enough: somebody may have created a thread in a slot that was passed, and then stopped. So they must be
 * as many as at the look before, and none created meanwhile: then whoever was seen had stopped before the look began.
 *
 * Copying is fork(): the kernel copies memory. Memory that the program shares is made the copy's own. The copy's first
 * thread is none of the program's, since the first of a process cannot be gone while others are there, and a slot
 * waits for its thread to be gone before it is used again. It makes each thread again by clone(), with the same slot,
 * thread pointer and cleared word; the new thread's first act is the return from the handler, by the saved frame. A
 * thread that had ended, but for its last system call, is not made again: nothing of it is left to do but to clear that
 * word, as the kernel would have, for who joins it or takes its stack.
 *
 * What the kernel keeps and a fork does not: the real ids, which nobody uses at replay, and timers: that of a signal
 * which came at no event is set again.
 *
 * The copy may also be a file, from which another process gets its memory: loader/checkpoint_file.c.
 */
#include "loader/arch/arch.h"
#include "loader/patch.h"
#include "runtime/memory/maps.h"
#include "runtime/runtime.h"
#include "runtime/syscalls/special/special.h"
#include <asm/signal.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/sched.h>

bool checkpoint_wanted;
static struct thread *requester;
static uint32_t stop_lock; /* of the decision to stop, with what is kept of the thread */
static uint32_t rounds;	   /* futex: how often those who had stopped were told to go on */
#define STOP_ROUNDS 10000  /* a second or two */
uint8_t checkpoint_stack[CHECKPOINT_STACK] __attribute__((aligned(CHECKPOINT_STACK)));

static _Noreturn void end_like(int status)
{
	if (control->stop)
		SYS1(__NR_exit_group, EXIT_DIVERGED);
	SYS5(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0); /* one core file is enough */
	if (status & 0x7f)
		die_by_signal(status & 0x7f);
	for (;;)
		SYS1(__NR_exit_group, status >> 8);
}

/* Waits for the whole tree of that run: orphans come to us. */
static int wait_for_run(long pid)
{
	int status = 0, last = 0;
	for (long r; (r = SYS4(__NR_wait4, -1, &status, 0x40000000 /* __WALL */, 0)) != -ECHILD;)
		if (r == pid)
			last = status;
	return last;
}

void run_copies(void)
{
	uint64_t shown = control->shown;
	int last = 0;
	SYS5(__NR_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	for (uint32_t i = 0; i < MAX(control->repeat, 1); i++) {
		control->shown = shown;
		long pid = SYS5(__NR_clone, SIGCHLD, 0, 0, 0, 0);
		if (pid == 0) {
			SYS5(__NR_prctl, PR_SET_PDEATHSIG, 9, 0, 0, 0); /* which a fork forgets */
			return;
		}
		if (pid < 0)
			cannot("the process cannot be copied: error %d", -pid);
		last = wait_for_run(pid);
		control->runs_done++;
		if (control->stop)
			break;
		control->runs_exact++;
		control->quiet = 1; /* the output has been seen */
	}
	end_like(last);
}

/* ---- stopping ------------------------------------------------------------------------------ */

void checkpoint_start(void)
{
	checkpoint_wanted = replaying && control->checkpoint_slot && image_number == control->root_image;
	if (control->save)
		checkpoint_file_prepare();
}

static void signal_thread(const struct thread *t)
{
	SYS3(__NR_tgkill, SYS0(__NR_getpid), t->real_tid, CHECKPOINT_SIGNAL);
}

void checkpoint_look(struct thread *t)
{
	if (control->checkpoint_slot != t->slot + 1 || t->log.events < control->checkpoint_event || t->vfork_depth)
		return;
	checkpoint_wanted = false;
	requester = t;
	signal_thread(t); /* comes before tgkill() returns */
}

static bool is_there(const struct thread *t)
{
	/* acquire: with new_thread(); an id that is read after is this thread's */
	uint32_t state = __atomic_load_n(&t->state, __ATOMIC_ACQUIRE);
	return (state == THREAD_RUNS || state == THREAD_PARKED) && __atomic_load_n(&t->real_tid, __ATOMIC_ACQUIRE);
}

/* Asks those who have not stopped; if there are none: how many have. A second signal to one on its way is one too many,
   which the kernel drops: the first is still pending, or blocked while its handler runs. */
static uint32_t all_stopped(void)
{
	uint32_t stopped = 0;
	bool all = true;
	for (uint32_t slot = 0; slot < thread_highest(); slot++) {
		const struct thread *t = thread_of(slot);
		if (!is_there(t))
			continue;
		if (__atomic_load_n(&t->saved, __ATOMIC_ACQUIRE)) {
			stopped++;
			continue;
		}
		signal_thread(t);
		all = false;
	}
	return all ? stopped : 0;
}

/* ---- the copy --------------------------------------------------------------------------------- */

/* Other copies must not see what this one writes. Still shared, for processes that the program will fork. */
static void own_shared_range(const struct mapped *m)
{
	uint64_t n = m->to - m->from;
	int protection = (m->readable ? PROT_READ : 0) | (m->writable ? PROT_WRITE : 0) |
			 (m->executable ? PROT_EXEC : 0);
	long to = SYS6(__NR_mmap, 0, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (is_error(to))
		no_memory("a copy of what the program shares", to);
	SYS3(__NR_mprotect, m->from, n, PROT_READ);
	memcpy((void *)to, (const void *)m->from, n);
	SYS3(__NR_mprotect, to, n, protection);
	long r = SYS5(__NR_mremap, to, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, m->from);
	if (is_error(r))
		cannot("memory that the program shares cannot be copied: error %d", -r);
}

/* With a list of its own: a thread that is stopped may be in the middle of the one that all use. */
void checkpoint_own_memory(void)
{
	if (!shares_memory)
		return;
	long text = SYS6(__NR_mmap, 0, MAPS_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *maps = is_error(text) ? 0 : maps_read_to((char *)text);
	if (!maps)
		cannot("a checkpoint of memory that the program shares needs /proc, which is not mounted here");
	for (struct mapped m; maps_next(&maps, &m);)
		if (m.shared && !is_ours(m.from, m.to - m.from))
			own_shared_range(&m);
	SYS2(__NR_munmap, text, MAPS_ROOM);
}

#define LIKE_A_THREAD                                                                                      \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS | \
	 CLONE_PARENT_SETTID)

static void make_again(struct thread *t)
{
	uint64_t args[6] = { LIKE_A_THREAD, 0, (uint64_t)&t->real_tid };
	args[CLONE_TLS] = t->thread_pointer;
	args[CLONE_CTID] = t->clear_tid;
	if (t->clear_tid)
		args[0] |= CLONE_CHILD_CLEARTID;
	/* on the signal stack, below the frame, where only the handler's own calls were */
	long r = gate_thread(args, ALIGN_DOWN((uint64_t)t->saved, 16), t);
	if (r < 0)
		cannot("cannot create a thread again: error %d", -r);
}

/* Who had ended in the process that was copied, but for its last system call, may have been stopped before that. */
static void forget_real(struct thread *t)
{
	t->real_tid = 0;
	if (t->state == THREAD_ENDED)
		t->saved = 0;
}

/* Nobody may be asked to stop before: who has not begun still seems to be stopped. */
static void wait_until_all_go_on(void)
{
	unsigned round = 0;
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		while (__atomic_load_n(&thread_of(slot)->saved, __ATOMIC_ACQUIRE))
			wait_a_little(&round);
}

/* The first thread of the copy. */
static void lead_copy(void *unused)
{
	uint64_t blocked = SIGNAL_BIT(CHECKPOINT_SIGNAL);
	(void)unused;
	SYS4(__NR_rt_sigprocmask, 0 /* SIG_BLOCK */, &blocked, 0,
	     8); /* what it asks for is for the program's threads */
	checkpoint_own_memory();
	/* before the first of them runs: that may create one in the slot of one that had ended */
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		forget_real(thread_of(slot));
	thread_clear_ended();
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		if (thread_of(slot)->saved)
			make_again(thread_of(slot));
	wait_until_all_go_on();
	control->entered = 1;
	debug_entered();
	SYS5(__NR_prctl, PR_SET_NAME, "heddle", 0, 0, 0); /* for who looks at the list of threads */
	for (uint32_t never = 0;; wait_end_if_stopped())
		futex_wait(&never, 0, 1000);
}

_Noreturn void checkpoint_go_on(struct thread *t)
{
	void *frame = t->saved;
	arch_thread_start(t);
	signals_made_again(t);
	__atomic_store_n(&t->saved, 0, __ATOMIC_RELEASE);
	gate_sigreturn(frame);
}

/* False: a debugger holds somebody. */
static bool stop_all(void)
{
	unsigned round = WAIT_SPINS;
	for (uint32_t stopped, created, before = 0, created_before = 0;; before = stopped, created_before = created) {
		stopped = all_stopped();
		created = threads_created();
		if (stopped && stopped == before && created == created_before)
			return true;
		if (!stopped)
			wait_a_little(&round);
		if (debugged && round > STOP_ROUNDS)
			return false;
	}
}

/* A signal that comes after this finds nobody to stop for. */
static void let_go(void)
{
	brief_lock(&stop_lock);
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		thread_of(slot)->saved = 0;
	requester = 0;
	__atomic_fetch_add(&rounds, 1, __ATOMIC_RELEASE);
	brief_unlock(&stop_lock);
	futex_wake(&rounds);
}

/* All but the one who leads, who asks them again soon. */
static void let_others_go(void)
{
	brief_lock(&stop_lock);
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		if (thread_of(slot) != requester)
			thread_of(slot)->saved = 0;
	__atomic_fetch_add(&rounds, 1, __ATOMIC_RELEASE);
	brief_unlock(&stop_lock);
	futex_wake(&rounds);
}

/* Returns only if it was heddle that asked (control->follow), who asks again: whoever got that signal may itself have a
   file open. */
static void save(void)
{
	unsigned round = STOP_ROUNDS; /* sleeps at once */
	for (unsigned tries = 0; !checkpoint_file_possible(); tries++) {
		if (control->follow)
			return;
		if (tries > STOP_ROUNDS)
			cannot("the process has a file open all the time, and no checkpoint of it can be saved");
		let_others_go();
		wait_a_little(&round);
		stop_all();
	}
	checkpoint_file_leave();
}

_Noreturn void checkpoint_begin_copy(void)
{
	requester = 0;
	stop_lock = 0; /* a thread that was about to end may have held it */
	patch_copied();
	run_on_stack((uint64_t)checkpoint_stack + sizeof checkpoint_stack, lead_copy, 0);
}

static void lead(void)
{
	bool stopped = stop_all();
	if (debugged) {
		if (stopped && debug_leave_copy())
			checkpoint_begin_copy();
	} else {
		control->copied = 1;
		if (control->save) {
			save();
		} else {
			run_copies();
			checkpoint_begin_copy();
		}
	}
	let_go();
}

static bool is_asked(void)
{
	return control->save && __atomic_exchange_n(&control->save_asked, 0, __ATOMIC_RELAXED);
}

/* Whether to stop; `round`: until that has changed. Under the lock, since let_go() may come in between. */
static bool is_stopped(struct thread *t, void *frame, uint32_t *round)
{
	brief_lock(&stop_lock);
	if (!requester && is_there(t) && (debug_wants_copy() || is_asked()))
		requester = t;
	bool stops = requester;
	if (stops) {
		*round = rounds;
		t->thread_pointer = arch_thread_pointer();
		/* release: what it did before is in the copy */
		__atomic_store_n(&t->saved, frame, __ATOMIC_RELEASE);
	}
	brief_unlock(&stop_lock);
	return stops;
}

void checkpoint_stop(struct thread *t, void *uc)
{
	uint32_t round;
	if (!is_stopped(t, context_frame(uc), &round))
		return;
	if (t == requester)
		lead();
	/* without a debugger the process ends with its copies */
	for (; __atomic_load_n(&rounds, __ATOMIC_ACQUIRE) == round; wait_end_if_stopped())
		futex_wait(&rounds, round, 1000);
}

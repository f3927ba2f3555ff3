/*
 * A replay under a debugger. The debugger stops the process as it does any other; we only tell it where things are, and
 * call debug_stop() when a thread has come to the event it asked for, or everybody to the end of the recording.
 *
 * A thread that stands still in the debugger makes others wait, as a slow one would: no order depends on time.
 */
#include "runtime/runtime.h"
#include "trace/debug.h"
#include <asm/signal.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/wait.h>

bool debugged;

static struct debug_area *area(void)
{
	return (struct debug_area *)(MAP_CONTROL_BASE + DEBUG_AT);
}

/* Debuggers have a breakpoint here. */
static __attribute__((noinline)) void debug_stop(void)
{
	__asm__ volatile("nop" ::: "memory");
}

static void debug_describe(void)
{
	struct debug_area *a = area();
	a->stop_at = (uint64_t)debug_stop;
	a->quiet_at = offsetof(struct control, quiet);
	a->ended_at = offsetof(struct control, stop);
	a->text_at = offsetof(struct control, stop_text);
	a->threads = (uint64_t)thread_of(0);
	a->thread_room = MAP_RUNTIME_STACK_ROOM;
	a->highest = (uint64_t)thread_highest_at();
	a->of_state = offsetof(struct thread, state);
	a->of_tid = offsetof(struct thread, real_tid);
	a->of_event = offsetof(struct thread, log.events);
	a->of_front = offsetof(struct thread, front);
	a->of_self = offsetof(struct thread, self);
	a->of_waits_for = offsetof(struct thread, waits_for);
	a->of_waits_ticket = offsetof(struct thread, waits_ticket);
	a->of_waits_futex = offsetof(struct thread, waits_futex);
	a->of_waits_ready = offsetof(struct thread, waits_ready);
	a->of_waits_why = offsetof(struct thread, waits_why);
	a->self_until = offsetof(struct hook_self, until);
	a->self_group_until = offsetof(struct hook_self, group_until);
}

bool debug_wanted(void)
{
	return area()->on;
}

/* ---- runs, and copies that they leave -------------------------------------------------------------- */

/* In the loader's own process, whose children all are. Whether there is none. */
static bool reap(struct debug_area *a)
{
	long r;
	while ((r = SYS4(__NR_wait4, -1, 0, WNOHANG | __WALL, 0)) > 0)
		if ((uint64_t)r == a->pid)
			a->pid = 0;
	return r == -ECHILD;
}

/* On processors, in ns, by all its threads; not while it stands still in the debugger. */
static uint64_t time_of_process(uint64_t pid)
{
	struct {
		uint64_t sec, nsec;
	} time = { 0, 0 };
	SYS2(__NR_clock_gettime, (int)(~(uint32_t)pid << 3 | 2 /* CPUCLOCK_SCHED */), &time);
	return time.sec * 1000000000 + time.nsec;
}

/* It comes to whatever thread the kernel chooses, and wherever that is: all others, too, are stopped anywhere. */
static void ask_for_copy(struct debug_area *a)
{
	static uint64_t run, last;
	if (!a->spacing || !a->pid || a->entered != a->started || control->several)
		return;
	if (run != a->started)
		last = 0;
	run = a->started;
	uint64_t now = time_of_process(a->pid);
	if (now < last + a->spacing)
		return;
	last = now;
	a->copy_asked = 1;
	SYS2(__NR_kill, a->pid, CHECKPOINT_SIGNAL);
}

static bool is_wanted(struct debug_area *a, uint64_t copy)
{
	bool alone = copy || reap(a);
	if (__atomic_load_n(&a->wanted, __ATOMIC_ACQUIRE) == a->started || a->origin != copy) {
		if (!copy)
			ask_for_copy(a);
		return false;
	}
	/* one run at a time, with all that it has forked; a program that forks leaves no copies */
	return control->several ? alone : !a->pid;
}

static void become_run(uint64_t run)
{
	uint32_t *go = (uint32_t *)&area()->go;
	SYS5(__NR_prctl, PR_SET_PDEATHSIG, 9, 0, 0, 0); /* which a fork forgets */
	SYS5(__NR_prctl, PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	debugged = true;
	while (__atomic_load_n(go, __ATOMIC_ACQUIRE) != run)
		futex_wait(go, (uint32_t)(run - 1), 10);
}

/* Returns in each run that the debugger wants from here, when it has it: the beginning (0) or that copy; so much was
   shown. */
static void debug_runs(uint64_t copy, uint64_t shown)
{
	struct debug_area *a = area();
	for (;;) {
		while (!is_wanted(a, copy))
			futex_wait((uint32_t *)&a->wanted, (uint32_t)a->started,
				   copy ? 30 : 10); /* asked through the file */
		control->shown = shown;
		control->stop = control->stop_lock = 0;
		control->where_lock = control->where_count = 0;
		uint64_t run = a->started + 1;
		/* all are children of the loader's process, which outlives them */
		long pid = SYS5(__NR_clone, SIGCHLD | (copy ? CLONE_PARENT : 0), 0, 0, 0, 0);
		if (pid == 0) {
			become_run(run);
			return;
		}
		if (pid < 0)
			cannot("the process cannot be copied: error %d", -pid);
		a->pid = (uint64_t)pid;
		__atomic_store_n(&a->started, run, __ATOMIC_RELEASE); /* then the id is there */
	}
}

void debug_start(uint64_t shown)
{
	debug_describe();
	SYS5(__NR_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	SYS2(__NR_setpgid, 0, 0); /* or Ctrl-C would reach a run before the debugger */
	debug_runs(0, shown);
}

void debug_entered(void)
{
	if (debugged)
		area()->entered = area()->go;
}

static uint64_t position(void)
{
	uint64_t sum = 0;
	for (uint32_t slot = 0; slot < thread_highest(); slot++) {
		const struct thread *t = thread_of(slot);
		sum += t->log.events + (t->self ? t->self->events : 0);
	}
	return sum;
}

bool debug_wants_copy(void)
{
	struct debug_area *a = area();
	return debugged && __atomic_exchange_n(&a->copy_asked, 0, __ATOMIC_RELAXED) &&
	       (!a->copies || a->table[a->copies - 1].position < position());
}

/* Every second one goes, and from now on there is more between two. */
static void make_room(struct debug_area *a)
{
	if (a->copies < DEBUG_COPIES)
		return;
	a->copies = 0;
	for (unsigned i = 0; i < DEBUG_COPIES; i++)
		if (i % 2)
			a->table[a->copies++] = a->table[i];
		else
			SYS2(__NR_kill, a->table[i].pid, 9);
	a->spacing *= 2;
}

bool debug_leave_copy(void)
{
	struct debug_area *a = area();
	make_room(a);
	struct debug_copy *copy = &a->table[a->copies];
	*copy = (struct debug_copy){ .number = ++a->copies_made, .run = a->started, .position = position() };
	/* the debugger sees a fork, and takes its breakpoints out of the copy */
	long pid = SYS5(__NR_clone, SIGCHLD | CLONE_PARENT, 0, 0, 0, 0);
	if (pid == 0) {
		uint64_t number = copy->number, shown = control->shown;
		SYS5(__NR_prctl, PR_SET_PDEATHSIG, 9, 0, 0, 0);
		checkpoint_own_memory();
		__atomic_store_n(&copy->pid, (uint64_t)SYS0(__NR_getpid), __ATOMIC_RELEASE);
		debug_runs(number, shown);
		return true;
	}
	if (pid < 0) {
		a->spacing = 0; /* going back just takes longer */
		return false;
	}
	/* what it shares is its own before we go on */
	for (unsigned round = WAIT_SPINS; !__atomic_load_n(&copy->pid, __ATOMIC_ACQUIRE) && !SYS2(__NR_kill, pid, 0);)
		wait_a_little(&round);
	a->copies += copy->pid != 0;
	return false;
}

/* ---- stops ------------------------------------------------------------------------------------------- */

static bool is_meant(const struct thread *t)
{
	/* not in a process that the program has forked */
	return area()->stop_slot == t->slot + 1ull && image_number == control->root_image;
}

uint64_t debug_access_limit(const struct thread *t)
{
	const struct debug_area *a = area();
	return is_meant(t) && a->stop_access ? (a->stop_access - 1) * 2 : ~0ull;
}

void debug_look(const struct thread *t, bool at_access)
{
	struct debug_area *a = area();
	if (!is_meant(t))
		return;
	/* pieces of the order log that come next are counted already: it may be at a later event than this */
	if (at_access ? !a->stop_access || t->self->events / 2 < a->stop_access - 1 :
			!a->stop_event || t->log.events < a->stop_event)
		return;
	a->stop_slot = a->stop_event = a->stop_access = 0;
	a->why = DEBUG_REACHED;
	debug_stop();
}

void debug_end(void)
{
	if (!debugged || image_number != control->root_image)
		return;
	area()->why = DEBUG_END;
	debug_stop();
}

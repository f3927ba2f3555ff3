/*
 * A replay under a debugger. The debugger stops the process as it does any other; we only tell it where things are, and
 * call debug_stop() when a thread has come to the event it asked for, or everybody to the end of the recording.
 *
 * A thread that stands still in the debugger makes others wait, as a slow one would: no order depends on time.
 */
#include "runtime/runtime.h"
#include "trace/debug.h"

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

void debug_describe(void)
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

uint64_t debug_next_run(void)
{
	struct debug_area *a = area();
	while (__atomic_load_n(&a->wanted, __ATOMIC_ACQUIRE) == a->started)
		futex_wait((uint32_t *)&a->wanted, (uint32_t)a->started, 10); /* who asks does so through the file */
	control->shown = 0;
	control->stop = control->stop_lock = 0;
	control->where_lock = control->where_count = 0;
	return a->started + 1;
}

void debug_run_started(long pid)
{
	struct debug_area *a = area();
	a->pid = (uint64_t)pid;
	__atomic_store_n(&a->started, a->started + 1, __ATOMIC_RELEASE); /* then the id is there */
}

void debug_wait(uint64_t run)
{
	uint32_t *go = (uint32_t *)&area()->go;
	debugged = true;
	while (__atomic_load_n(go, __ATOMIC_ACQUIRE) != run)
		futex_wait(go, (uint32_t)(run - 1), 10);
}

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
	if (at_access ? !a->stop_access || t->self->events / 2 < a->stop_access - 1 :
			!a->stop_event || t->log.events != a->stop_event)
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

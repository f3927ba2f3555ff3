/* What only replay does: showing output in its recorded order, and ending where the recording ends. */
#include "runtime/runtime.h"

/*
 * `shown` counts the writes that were shown. Each is shown by the process that
 * made it, when its turn comes; acquire and release order the writes themselves.
 */
static bool is_missing(uint64_t place)
{
	for (uint32_t i = 0; i < control->missing_count; i++)
		if (control->missing[i] == place)
			return true;
	return false;
}

/* Returns the place that is shown next: `place`, unless the trace is damaged. */
static uint64_t wait_for_place(struct thread *t, uint64_t place)
{
	uint32_t *low = (uint32_t *)&control->shown;
	uint64_t now;
	/* another process may be about to show it: then this thread does not count as idle for a while */
	unsigned patience = control->several ? 150 : 0;
	while ((now = __atomic_load_n(&control->shown, __ATOMIC_ACQUIRE)) < place) {
		wait_end_if_stopped();
		if (is_missing(now) && __atomic_compare_exchange_n(&control->shown, &now, now + 1, false,
								   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		if (patience)
			patience--;
		else
			__atomic_store_n(&t->waits_place, 1 + place, __ATOMIC_RELEASE);
		futex_wait(low, (uint32_t)now, 20);
		if (!one_thread)
			ticket_pass_lost();
	}
	if (t->waits_place) {
		wait_progress();
		__atomic_store_n(&t->waits_place, 0, __ATOMIC_RELEASE);
	}
	return now;
}

static void write_again(unsigned which, const void *p, size_t n)
{
	while (!control->quiet && n) {
		long r = SYS3(__NR_write, which, p, n);
		if (r == -EINTR || r == -EAGAIN)
			continue;
		if (r < 0)
			break; /* nobody listens: the replay itself goes on */
		p = (const char *)p + r;
		n -= (size_t)r;
	}
}

void replay_show(struct thread *t, uint64_t place, unsigned which, const void *p, size_t n)
{
	uint32_t *low = (uint32_t *)&control->shown;
	if (control->only_pid) { /* those that would show what comes before are not there */
		if (process_id == control->only_pid)
			write_again(which, p, n);
		return;
	}
	uint64_t now = wait_for_place(t, place);
	if (now > place)
		damaged("the same output is shown twice");
	write_again(which, p, n);
	if (now == place)
		__atomic_store_n(&control->shown, place + 1, __ATOMIC_RELEASE);
	futex_wake(low);
}

_Noreturn void replay_ended(struct thread *t)
{
	/* A vfork child that was killed: its parent goes on. */
	if (t->vfork_depth)
		for (;;)
			SYS1(__NR_exit_group, 0);
	thread_stay(t);
}

void replay_check_end(struct thread *t)
{
	if (unlikely(control->follow))
		return; /* this is not the end */
	const struct entry *e = log_peek(t);
	if (e && e->kind == ENTRY_SYSCALL)
		diverged(t, e, "a lock or an access to shared memory more than was recorded before that");
}

static void add_thread(struct text *out, const struct thread *t)
{
	text_add(out, "heddle:   thread %u: after event %u and op %u", (unsigned long)t->slot, t->log.events,
		 t->front ? t->front->clock : 0);
	if (t->waits_for)
		text_add(out, ", waits for op %u of thread %u", STAMP_CLOCK(t->waits_for),
			 (unsigned long)STAMP_SLOT(t->waits_for));
	if (t->waits_ticket)
		text_add(out, ", waits for tickets below %u", t->waits_ticket);
	if (order_is_waiting(t))
		text_add(out, ", at access %u, waits for %s", t->order.event, t->waits_why);
	if (t->waits_place)
		text_add(out, ", waits until write %u has been shown", t->waits_place - 2);
	if (t->waits_futex)
		text_add(out, ", in a futex call of the program's own");
	text_add(out, t->state == THREAD_PARKED ? ", at its end" : t->state == THREAD_ENDED ? ", ended" : "");
	text_add(out, "\n");
}

/* Somebody waits for an access of another thread that nobody will make, and it is not for a lock. An access that others
   had seen is made at replay, even if the process was killed in its middle (order_begun()): so we are wrong. */
static bool stuck_in_accesses(void)
{
	bool some = false;
	for (uint32_t slot = 0; slot < thread_highest(); slot++) {
		if (thread_of(slot)->waits_for)
			return false;
		some |= order_is_waiting(thread_of(slot));
	}
	return some;
}

/* Did the first process end by itself in the recording? Then it was not cut off. */
static bool ended_well(void)
{
	return control->root_status != STATUS_UNKNOWN && !root_signal();
}

/* Nobody can go on: the recording was cut off in the middle of an op that others had seen; else we are wrong. */
_Noreturn void replay_stuck(struct thread *t)
{
	bool wrong = stuck_in_accesses();
	if (!wrong && thread_ends_process()) {
		wait_watch_no_more(); /* who still waits, for tickets, does it now */
		thread_stay(t);
	}
	TEXT(now, 2048);
	text_add(&now, "all threads wait for one another\n");
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		add_thread(&now, thread_of(slot));
	if (ended_well() || wrong)
		diverged(t, log_peek(t), TEXT_OF(now));
	replay_all_ended(t);
}

/* The recording has no end, and this process, whose end is the replay's, has come to its own: others may still have to
   show what they wrote before it. One that does nothing more in ten seconds was cut off while it computed, or waits for
   somebody who was. Returns how many writes were not shown. */
static uint64_t let_others_show(void)
{
	uint32_t *low = (uint32_t *)&control->shown;
	uint64_t before = 0, now;
	for (unsigned still = 0; control->several && still < 500; before = now) {
		now = __atomic_load_n(&control->shown, __ATOMIC_ACQUIRE);
		if (now >= control->shown_end)
			break;
		still = now == before ? still + 1 : 0;
		futex_wait(low, (uint32_t)now, 20);
	}
	now = __atomic_load_n(&control->shown, __ATOMIC_ACQUIRE);
	return control->several && now < control->shown_end ? control->shown_end - now : 0;
}

_Noreturn void replay_all_ended(struct thread *t)
{
	deadlock_leave();
	/* each has done all that is recorded of it, and more synchronisation than that: who ends by itself does not */
	if (image_number == control->root_image && ended_well())
		diverged(t, log_peek(t), "all threads have come to their ends, but the process has not");
	if (image_number != control->root_image)
		for (;;)
			SYS1(__NR_exit_group, 0);
	if (root_signal())
		die_by_signal(root_signal());
	TEXT(message, 4096);
	uint64_t not_shown = control->only_pid ? 0 : let_others_show();
	text_add(&message, "the recording ends here\n");
	if (not_shown)
		text_add(&message, "  %lu writes of other processes were not shown: they did not come so far\n",
			 not_shown);
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		if (thread_of(slot)->state == THREAD_PARKED || thread_of(slot)->state == THREAD_RUNS)
			add_thread(&message, thread_of(slot));
	stop_tree(STOP_ENDED, TEXT_OF(message));
}

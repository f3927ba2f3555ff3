/* Signals that wait for an event, and the program's handlers that begin there. signals.c has the whole story. */
#include "runtime/signals.h"
#include "runtime/races/watch.h"
#include <linux/time.h>

#define HOLD_MS 50

/* By the thread's own time: one that others keep from running is not taken for one that makes no events. */
static void arm_timer(struct thread *t, uint64_t us)
{
	struct {
		uint64_t interval[2], value[2];
	} when = { { 0, 0 }, { us / 1000000, us % 1000000 * 1000 } };
	t->timer_us = us;
	if (t->timer < 0) {
		struct {
			uint64_t value;
			int32_t signo, notify, tid;
			int32_t pad[11];
		} event = { .value = (uint64_t)t,
			    .signo = SIGSYS,
			    .notify = 4 /* SIGEV_THREAD_ID */,
			    .tid = (int32_t)SYS0(__NR_gettid) };
		if (SYS3(__NR_timer_create, 3 /* CLOCK_THREAD_CPUTIME_ID */, &event, &t->timer) < 0) {
			t->timer = -1;
			return;
		}
	}
	SYS4(__NR_timer_settime, t->timer, 0, &when, 0);
}

/* A little later than it would have come: where its signal begins is not exact anyway. */
void signals_made_again(struct thread *t)
{
	t->timer = -1;
	if (t->timer_us)
		arm_timer(t, t->timer_us);
}

bool signals_thread_ends(struct thread *t)
{
	if (!replaying)
		set_kernel_mask(~0ull);
	if (!replaying && t->held) {
		set_kernel_mask(t->mask);
		return false;
	}
	if (t->timer >= 0)
		SYS1(__NR_timer_delete, t->timer);
	t->timer = -1;
	return true;
}

static uint64_t mask_now(const struct thread *t)
{
	return t->waiting ? t->wait_mask : t->mask;
}

/* The first held signal that is not blocked, or -1. */
static int deliverable(const struct thread *t)
{
	for (uint32_t i = 0; i < t->held_count; i++)
		if (!(mask_now(t) & SIGNAL_BIT(t->held_signals[i].sig)))
			return (int)i;
	return -1;
}

void signals_update_held(struct thread *t)
{
	uint32_t count;
	do { /* again if one has come meanwhile: then all are blocked, and no more come */
		count = __atomic_load_n(&t->held_count, __ATOMIC_RELAXED);
		__atomic_store_n(&t->held, count && deliverable(t) >= 0, __ATOMIC_RELAXED);
		/* the quick paths of libheddle.so do not look for held signals */
		t->front->quick = !replaying && !control->chaos && !t->held && (t->front->cut || !order_sees_ops(t));
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	} while (count != __atomic_load_n(&t->held_count, __ATOMIC_RELAXED));
	order_set_until(t);
}

void hold(struct thread *t, int sig, const siginfo_t *info, void *uc)
{
	bool again = false; /* one that is pending already: as the kernel, we keep the first */
	for (uint32_t i = 0; i < t->held_count; i++)
		again |= sig < 32 && t->held_signals[i].sig == sig;
	if (!again && t->held_count == COUNT(t->held_signals))
		BUG("too many held signals");
	if (!again) {
		struct held_signal *h = &t->held_signals[t->held_count++];
		h->sig = sig;
		memcpy(h->info, info, sizeof h->info);
	}
	/* our handler ran, so the signal was not blocked where it came */
	__atomic_store_n(&t->held, 1, __ATOMIC_RELAXED);
	t->front->quick = 0;
	order_set_until(t);
	*context_mask(uc) = signals_kernel_mask(~0ull);
	uint64_t pc = context_pc(uc);
	if (pc >= (uint64_t)gate_window && pc <= (uint64_t)gate_svc)
		context_set_pc(uc, (uint64_t)gate_held);
	else
		arm_timer(t, HOLD_MS * 1000);
}

static void take_held(struct thread *t, int i, struct held_signal *out)
{
	*out = t->held_signals[i];
	t->held_count--;
	for (uint32_t k = (uint32_t)i; k < t->held_count; k++)
		t->held_signals[k] = t->held_signals[k + 1];
	if (!t->held_count && t->timer >= 0)
		arm_timer(t, 0);
}

/* ---- delivering ------------------------------------------------------------------------- */

/* Where the handler's frame begins: the alternate stack if it wants it and is not on it yet. */
static uint64_t frame_stack(const struct thread *t, const struct kernel_action *a, uint64_t sp)
{
	bool on_alt = sp > t->alt.sp && sp <= t->alt.sp + t->alt.size && !(t->alt.flags & SS_DISABLE);
	if ((a->flags & SA_ONSTACK) && !(t->alt.flags & SS_DISABLE) && !on_alt)
		return t->alt.sp + t->alt.size;
#ifdef __x86_64__
	return sp - 128; /* the red zone */
#else
	return sp;
#endif
}

static bool is_inexact(const struct entry *e)
{
	return e && e->kind == ENTRY_SIGNAL && e->flags & SIGNAL_INEXACT;
}

/* In the middle of nowhere: go on, and begin it when as much time has passed. */
static void arm_for(struct thread *t, const struct entry *e)
{
	arm_timer(t, (uint64_t)MAX(e->result, 1000));
}

/* There is none where a recording is followed, but one that ends it. */
void signals_await_inexact(struct thread *t)
{
	if (replaying && likely(!control->follow) && unlikely(is_inexact(log_peek(t))))
		arm_for(t, log_peek(t));
}

/* The masks of handler and program change as the kernel would change them. */
static uint64_t enter_masks(struct thread *t, int sig, struct kernel_action *a)
{
	uint64_t base = mask_now(t);
	uint64_t saved = t->mask;
	t->mask = base | a->mask;
	if (!(a->flags & SA_NODEFER))
		t->mask |= SIGNAL_BIT(sig);
	t->mask &= ~NEVER;
	t->waiting = false;
	t->order_released = t->order_paused = false;
	if (a->flags & SA_RESETHAND) {
		struct kernel_action next = *a;
		next.handler = 0;
		next.flags &= ~(uint64_t)SA_SIGINFO;
		signals_action(t, sig, &next);
	}
	signals_await_inexact(t); /* the handler may make no event */
	return saved;
}

static uint64_t restorer_of(const struct kernel_action *a)
{
	return a->flags & SA_RESTORER ? a->restorer : MAP_SIGNAL_RETURN;
}

void begin_handler_from(void *uc, struct thread *t, int sig, const void *info, struct kernel_action *a)
{
	struct regs r;
	struct handler_frame f;
	context_regs(uc, &r);
	uint64_t saved = enter_masks(t, sig, a);
	if (!frame_build(&f, frame_stack(t, a, r.sp), &r, info, saved, &t->alt, uc, restorer_of(a)))
		die_by_signal(SIGSEGV);
	context_enter_handler(uc, &f, sig, a->handler);
}

_Noreturn void begin_handler(struct thread *t, int sig, const void *info, struct kernel_action a)
{
	if (order_syncs())
		order_acquired(t); /* it follows what sent the signal */
	uint64_t saved = enter_masks(t, sig, &a);
	struct handler_frame f;
	if (!frame_build(&f, frame_stack(t, &a, t->regs.sp), &t->regs, info, saved, &t->alt, 0, restorer_of(&a)))
		die_by_signal(SIGSEGV);
	signals_update_held(t);
	/* A signal that comes from here on is held, and all others are blocked again until it is delivered. */
	if (!replaying)
		set_kernel_mask(t->mask);
	enter_handler(a.handler, f.sp, (uint64_t)sig, f.info, f.context, f.lr, f.fp);
}

static void log_signal(struct thread *t, const struct logged_signal *s, unsigned flags, int64_t us)
{
	if (s->fatal)
		flags |= SIGNAL_FATAL;
	struct {
		struct entry e;
		struct signal_args args;
		struct block b;
		uint8_t info[128];
		struct block b2;
		struct kernel_action action;
	} *all = log_reserve(t, sizeof *all);
	all->e = (struct entry){ .size = sizeof *all,
				 .nr = (uint16_t)s->sig,
				 .kind = ENTRY_SIGNAL,
				 .flags = (uint8_t)(flags | sizeof all->args / 8),
				 .result = us };
	all->args = (struct signal_args){
		.ops = t->front->clock,
		.ticket = flags & SIGNAL_BEFORE ? t->dropped_ticket : 0,
		/* what sent the signal, and what made its handler, had begun */
		.now = __atomic_load_n(&tickets, __ATOMIC_ACQUIRE),
		.place = flags & SIGNAL_AT_HOOK ? t->hook_place : t->self->events,
		.polls = t->self->polls,
	};
	all->b = (struct block){ .kind = BLOCK_OUT, .len = sizeof all->info };
	memcpy(all->info, s->info, sizeof all->info);
	all->b2 = (struct block){ .kind = BLOCK_ACTION, .len = sizeof all->action };
	all->action = s->action;
	t->dropped_ticket = 0;
	log_commit(t, sizeof *all);
	log_settled(t, true);
}

/* Before a handler that begins at a hook replay waits for tickets, and nobody waits inside a region. Both directions: a
   region ends after the same access. When it is recorded, the entry comes first: who follows (ring.c) and finds that
   the count has moved on finds why. */
static void cut_region(struct thread *t, unsigned flags)
{
	if (flags & SIGNAL_AT_HOOK)
		order_cut(t);
}

/* The first held signal that does something. The others are dropped: what is done with them may have changed meanwhile.
   on_signal() is kept out. */
static bool take_wanted(struct thread *t, struct logged_signal *s)
{
	struct held_signal h;
	for (int i; (i = deliverable(t)) >= 0;) {
		take_held(t, i, &h);
		s->sig = h.sig;
		s->action = signals_action(t, h.sig, 0);
		s->fatal = s->action.handler == 0 && is_fatal_default(h.sig);
		memcpy(s->info, h.info, sizeof s->info);
		if (s->fatal)
			shown_end();
		if (s->fatal || s->action.handler > 1)
			return true;
	}
	return false;
}

static void record_deliver(struct thread *t, unsigned flags)
{
	struct logged_signal s;
	set_kernel_mask(~0ull);
	if (take_wanted(t, &s)) {
		log_signal(t, &s, flags, 0);
		cut_region(t, flags);
		if (s.fatal)
			die_by_signal(s.sig);
		begin_handler(t, s.sig, s.info, s.action);
	}
	t->waiting = false;
	signals_update_held(t);
	set_kernel_mask(t->mask);
}

/* Replay: what the program wanted when it was recorded. */
struct kernel_action logged_action(struct thread *t, const struct entry *e)
{
	struct kernel_action a;
	const struct block *b = entry_find(e, BLOCK_ACTION, -1);
	if (!b || b->len != sizeof a)
		damaged("wrong signal entry at event %u", t->log.events);
	memcpy(&a, block_data(b), sizeof a);
	return a;
}

static void read_signal(struct thread *t, const struct entry *e, struct logged_signal *s)
{
	const struct block *b = entry_find(e, BLOCK_OUT, -1);
	if (!b || b->len != sizeof s->info || e->nr < 1 || e->nr > SIGNALS)
		damaged("wrong signal entry at event %u", t->log.events);
	s->sig = e->nr;
	s->fatal = e->flags & SIGNAL_FATAL;
	s->inexact = e->flags & SIGNAL_INEXACT;
	memcpy(&s->args, e + 1, sizeof s->args);
	s->action = logged_action(t, e);
	memcpy(s->info, block_data(b), sizeof s->info);
}

/* Has the thread come to the event at which it began? */
static bool is_due(const struct thread *t, const struct entry *e, unsigned flags)
{
	const struct signal_args *args = (const struct signal_args *)(e + 1);
	if (e->kind != ENTRY_SIGNAL)
		return false;
	if (args->ops != t->front->clock && !(e->flags & SIGNAL_INEXACT))
		return false; /* it comes after an op that is not yet done */
	if ((e->flags ^ flags) & SIGNAL_AT_HOOK ||
	    (flags & SIGNAL_AT_HOOK && (args->place != t->hook_place || args->polls != t->self->polls)))
		return false; /* at a hook further on, or after the hooks */
	/* further on in the op or call that it interrupted: it is asked again there */
	return flags & SIGNAL_AT_HOOK || e->flags & SIGNAL_INEXACT || args->place == t->self->events;
}

/* Where it is due: waits as it was recorded. */
static void take_again(struct thread *t, const struct entry *e, struct logged_signal *s)
{
	read_signal(t, e, s);
	if (!one_thread) {
		if (s->args.ticket) { /* the call that it interrupted had begun */
			ticket_enter(s->args.ticket - 1);
			t->ticket_interrupted = s->args.ticket;
		}
		ticket_leave(t, s->args.now);
	}
	log_take(t);
	if (s->fatal) {
		thread_wait_for_others(t);
		deadlock_leave();
		die_by_signal(s->sig);
	}
	if (unlikely(races_watch))
		races_handler_begins(t);
}

static void replay_deliver(struct thread *t, unsigned flags)
{
	const struct entry *e = log_peek(t);
	struct logged_signal s;
	if (!e || !is_due(t, e, flags))
		return;
	while (unlikely(control->follow) && is_inexact(e))
		thread_park(t); /* a timer is not in memory: none may be under way at a checkpoint */
	if (!(flags & SIGNAL_BEFORE)) {
		if (is_inexact(e))
			arm_for(t, e);
		if (e->flags & (SIGNAL_INEXACT | SIGNAL_BEFORE))
			return;
	}
	/* One that came after a call, found before another: the call was of a futex, and is not made again. */
	if (t->timer >= 0)
		arm_timer(t, 0);
	if (is_inexact(e))
		__atomic_fetch_add(&control->inexact, 1, __ATOMIC_RELAXED);
	cut_region(t, flags);
	take_again(t, e, &s);
	begin_handler(t, s.sig, s.info, s.action);
}

void signals_deliver_now(struct thread *t, bool before)
{
	unsigned flags = before ? SIGNAL_BEFORE : 0;
	if (replaying) {
		replay_deliver(t, flags);
		if (!before)
			t->waiting = false;
	} else {
		record_deliver(t, flags);
	}
}

void signals_deliver_at_hook(struct thread *t)
{
	if (replaying)
		replay_deliver(t, SIGNAL_BEFORE | SIGNAL_AT_HOOK);
	else
		record_deliver(t, SIGNAL_BEFORE | SIGNAL_AT_HOOK);
}

/* ---- who asks for blocked ones --------------------------------------------------------------- */

static bool answer_wait(struct call *c)
{
	struct thread *t = c->t;
	uint64_t set;
	struct held_signal h;
	uint32_t i = 0;
	if (c->args[3] != sizeof set || user_copy(&set, (void *)c->real[0], sizeof set))
		return false;
	while (i < t->held_count && !(set & SIGNAL_BIT(t->held_signals[i].sig)))
		i++;
	if (i == t->held_count)
		return false;
	set_kernel_mask(~0ull);
	take_held(t, (int)i, &h);
	signals_update_held(t);
	signals_set_mask(t);
	c->result = c->real[1] && user_copy((void *)c->real[1], h.info, sizeof h.info) ? -EFAULT : h.sig;
	return true;
}

static bool answer_pending(struct call *c)
{
	uint64_t pending = 0, size = c->real[1];
	if (size > sizeof pending)
		return false;
	SYS2(__NR_rt_sigpending, &pending, sizeof pending);
	for (uint32_t i = 0; i < c->t->held_count; i++)
		pending |= SIGNAL_BIT(c->t->held_signals[i].sig) & c->t->mask;
	c->result = user_copy((void *)c->real[0], &pending, size) ? -EFAULT : 0;
	return true;
}

bool signals_answer(struct call *c)
{
	c->restart = false;
	return c->nr == __NR_rt_sigtimedwait ? answer_wait(c) : c->nr == __NR_rt_sigpending && answer_pending(c);
}

/* ---- when a handler returns ----------------------------------------------------------------- */

bool take_let_in(struct thread *t, struct logged_signal *s)
{
	signals_update_held(t);
	if (!t->held)
		set_kernel_mask(t->mask); /* on_signal() holds the first that comes */
	set_kernel_mask(~0ull);
	return take_wanted(t, s);
}

void begin_let_in(struct thread *t, struct logged_signal *s, void *uc)
{
	if (replaying) {
		const struct entry *e = log_peek(t);
		if (!e)
			replay_ended(t);
		if (!is_due(t, e, 0))
			diverged(t, e, "a handler returns, and lets in a signal");
		take_again(t, e, s);
	} else {
		log_signal(t, s, 0, 0);
		if (s->fatal)
			die_by_signal(s->sig);
	}
	if (order_syncs())
		order_acquired(t);
	begin_handler_from(uc, t, s->sig, s->info, &s->action);
}

/* ---- at no event ------------------------------------------------------------------------------ */

/* A signal has waited long enough for an event: it begins where the thread is. */
static bool take_inexact(struct thread *t, struct logged_signal *s)
{
	if (!take_wanted(t, s))
		return false;
	if (!s->fatal && unlikely(control->ring))
		cannot("signal %d came while the program computed, and made no system call for %u ms: where its "
		       "handler begins cannot be recorded, and --ring needs an exact recording; build the program with "
		       "heddle-cc, or record it without --ring",
		       (long)s->sig, (unsigned long)HOLD_MS);
	log_signal(t, s, SIGNAL_INEXACT, HOLD_MS * 1000);
	return true;
}

static bool take_inexact_again(struct thread *t, struct logged_signal *s)
{
	const struct entry *e = log_peek(t);
	if (!is_inexact(e))
		return false;
	read_signal(t, e, s);
	if (!one_thread)
		ticket_leave(t, s->args.now);
	log_take(t);
	return true;
}

bool is_our_timer(const struct thread *t, const siginfo_t *info)
{
	return info->si_code == SI_TIMER && info->si_ptr == t;
}

void on_timer(struct thread *t, void *uc)
{
	struct logged_signal s;
	t->timer_us = 0;
	/* An event is under way after all, or a bracket is open: it ends soon, and `until` brings the thread here
	   then. */
	if (in_runtime(context_pc(uc)) || (!replaying && t->self && t->self->events & 1)) {
		arm_timer(t, HOLD_MS * 1000);
		return;
	}
	if ((replaying ? take_inexact_again : take_inexact)(t, &s)) {
		__atomic_fetch_add(&control->inexact, 1, __ATOMIC_RELAXED);
		if (s.fatal && replaying)
			thread_wait_for_others(t);
		if (s.fatal)
			die_by_signal(s.sig);
		begin_handler_from(uc, t, s.sig, s.info, &s.action);
	}
	signals_update_held(t);
	*context_mask(uc) = signals_kernel_mask(t->mask);
}

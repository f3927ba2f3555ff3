/*
 * Recording as `heddle explain` directs it: one thread at a time, which goes on until it waits, ends, or comes to a
 * point at which it is told to let another one run. See trace/turns.h for the words.
 *
 * 1. Only `owner` runs code of the program. Every other thread is READY (it waits in take_turn()), or in the kernel.
 * 2. Who is about to wait in the kernel hands the turn over before, and takes one when it is back. Of a system call
 *    nobody knows whether it waits: its thread keeps the turn (IN_CALL) until somebody who wants it finds the thread
 *    asleep.
 * 3. Who hands over looks first whether those in the kernel really sleep. One that has been woken already is waited
 *    for: so who can run does not depend on how fast a woken thread is, and the same switches make the same run, as far
 *    as the program does not depend on time.
 *
 * A thread that asks for sched_yield() twice, and has changed nothing in between, waits for somebody: it hands over.
 * The first time alone it does not: most programs that yield would go on as well. Who reads on and on hands over after
 * SLICE points.
 */
#include "runtime/runtime.h"
#include "trace/turns.h"
#include <linux/fcntl.h>
#include <linux/futex.h>
#include <linux/mman.h>

#define SLICE 50000

bool turns_wanted;

enum turn_state { GONE, READY, RUNS, IN_CALL, ASLEEP };
static struct turn {
	uint32_t state, tid;
	uint32_t points; /* so far */
	uint32_t since;	 /* points since it got the turn */
	bool idle;	 /* it has yielded, and changed nothing since */
	bool forever;	 /* asleep until another thread wakes it: without a time limit */
	bool told;	 /* it runs since a switch wanted it to: it does not yield */
} turns[MAP_SLOTS];
static struct turns_file *file;
static uint32_t owner; /* 1 + slot, 0: nobody; futex */
static uint32_t lock;  /* who chooses the next owner */

/* ---- whose turn -------------------------------------------------------------------------------------------------- */

static uint32_t state_of(uint32_t slot)
{
	return __atomic_load_n(&turns[slot].state, __ATOMIC_SEQ_CST);
}

static void set_state(uint32_t slot, enum turn_state state)
{
	/* seq_cst: who sets READY and then finds an owner is seen by who looks for READY after it was the owner, or
	   sees it go */
	__atomic_store_n(&turns[slot].state, state, __ATOMIC_SEQ_CST);
}

/* Does the thread sleep in the kernel? Without /proc we must believe it. */
static bool sleeps(uint32_t slot)
{
	char text[256] = "";
	TEXT(path, 64);
	text_add(&path, "/proc/self/task/%u/stat", (unsigned long)turns[slot].tid);
	long fd = file_open(TEXT_OF(path), O_RDONLY, 0);
	if (is_error(fd))
		return true;
	long n = file_read(fd, text, sizeof text - 1, 0);
	file_close(fd);
	const char *state = 0;
	for (long i = 0; i + 2 < n; i++) /* the name before it may have anything in it, but is short */
		if (text[i] == ')')
			state = text + i + 2;
	return !state || *state == 'S' || *state == 'D';
}

/* Invariant 3. A thread that neither sleeps nor comes back for a second has something else to do. */
static void settle(uint32_t but)
{
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		for (unsigned look = 0; slot != but && look < 20000 && state_of(slot) == ASLEEP && !sleeps(slot);
		     look++)
			nap(look < 20 ? 0 : 50000);
}

/* 1 + the next thread that can run, 0: none. */
static uint32_t next_ready(uint32_t after)
{
	uint32_t n = thread_highest();
	for (uint32_t i = 1; i < n; i++) {
		uint32_t slot = (after + (file->backwards ? n - i : i)) % n;
		if (state_of(slot) == READY)
			return slot + 1;
	}
	return 0;
}

static void give(uint32_t to)
{
	__atomic_store_n(&owner, to, __ATOMIC_SEQ_CST);
	futex_wake(&owner);
}

/* The thread asks again and again, since nobody tells it that the owner sleeps in a system call. */
static void look_at_owner(struct thread *t, uint32_t who, unsigned *looks)
{
	bool asleep = who && state_of(who - 1) == IN_CALL && sleeps(who - 1);
	*looks = asleep ? *looks + 1 : 0;
	if (who && *looks < 2)
		return;
	order_lock(&lock);
	uint32_t in_call = IN_CALL;
	if (__atomic_load_n(&owner, __ATOMIC_SEQ_CST) == who &&
	    (!who || __atomic_compare_exchange_n(&turns[who - 1].state, &in_call, ASLEEP, false, __ATOMIC_SEQ_CST,
						 __ATOMIC_SEQ_CST))) {
		settle(t->slot);
		uint32_t next = next_ready(who ? who - 1 : t->slot);
		give(next ? next : t->slot + 1);
	}
	order_unlock(&lock);
	*looks = 0;
}

static void take_turn(struct thread *t)
{
	uint32_t who;
	unsigned looks = 0;
	set_state(t->slot, READY);
	while ((who = __atomic_load_n(&owner, __ATOMIC_SEQ_CST)) != t->slot + 1) {
		if (who)
			futex_wait(&owner, who, 1);
		look_at_owner(t, who, &looks);
	}
	set_state(t->slot, RUNS);
	file->stuck = 0;
	turns[t->slot].since = 0;
}

/* Nobody can run, and nobody will: only a signal could change that. */
static bool all_stuck(void)
{
	uint32_t slot = 0, n = thread_highest();
	while (slot < n && (state_of(slot) == GONE || (state_of(slot) == ASLEEP && turns[slot].forever)))
		slot++;
	return slot == n;
}

/* The thread is in this state from now on; next: 1 + who runs now if it can, 0: whoever is next. False: nobody else
   can. */
static bool hand_over(struct thread *t, enum turn_state state, uint32_t next)
{
	order_lock(&lock);
	turns[t->slot].tid = (uint32_t)SYS0(__NR_gettid);
	settle(t->slot);
	if (!next || state_of(next - 1) != READY)
		next = next_ready(t->slot);
	if (next || state != READY) {
		set_state(t->slot, state);
		file->stuck = !next && all_stuck();
		give(next);
	}
	order_unlock(&lock);
	return next;
}

static void let_others(struct thread *t, uint32_t next)
{
	if (hand_over(t, READY, next))
		take_turn(t);
	turns[t->slot].since = 0;
}

void turns_leave(struct thread *t, bool forever)
{
	turns[t->slot].forever = forever;
	turns[t->slot].told = false;
	if (state_of(t->slot) == RUNS)
		hand_over(t, ASLEEP, 0);
}

void turns_enter(struct thread *t)
{
	if (state_of(t->slot) != RUNS)
		take_turn(t);
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

/* Is the next switch this thread's, and here? */
static struct turns_switch *due(const struct thread *t, uint32_t point)
{
	struct turns_switch *s = &file->list[file->made];
	return file->made < file->switches && s->slot == t->slot && point >= s->point ? s : 0;
}

static void make_switches(struct thread *t, uint32_t point)
{
	struct turns_switch *s;
	/* Whoever is in a group keeps others away from memory: they would wait for it with the turn. */
	while (!order_in_group(t) && (s = due(t, point))) {
		file->made++;
		settle(t->slot);
		bool can = s->next < thread_highest() && state_of(s->next) == READY;
		s->made = can ? file->entries + 1 : ~0u;
		turns[t->slot].told = false;
		if (can) {
			turns[s->next].told = true;
			let_others(t, s->next + 1);
		}
	}
	if (++turns[t->slot].since > SLICE && !order_in_group(t))
		let_others(t, 0);
}

static uint32_t come_to_point(struct thread *t, bool changes)
{
	struct turn *me = &turns[t->slot];
	turns_enter(t); /* a handler that interrupted a wait has begun without a turn */
	uint32_t point = me->points++;
	make_switches(t, point);
	if (changes)
		me->idle = false;
	return point;
}

static void leave_entry(const struct thread *t, struct turns_entry e)
{
	if (file->entries == TURNS_LOG)
		return;
	if (e.kind != TURNS_ACCESS)
		regs_frames(t, e.frames, TURNS_FRAMES);
	file->log[file->entries++] = e;
}

void turns_access(struct thread *t, unsigned number)
{
	uint64_t site = SYNC_CALL_ARG(&t->regs, 1), addr = SYNC_CALL_ARG(&t->regs, 2), a = SYNC_CALL_ARG(&t->regs, 3),
		 b = SYNC_CALL_ARG(&t->regs, 4);
	struct turns_entry e = { .slot = t->slot, .kind = TURNS_ACCESS, .object = addr, .site = site };
	switch ((enum hook_number)number) {
	case HOOK_NUMBER_load:
	case HOOK_NUMBER_load_wide: e.size = (uint32_t)a, e.flags = TURNS_READS; break;
	case HOOK_NUMBER_store:
	case HOOK_NUMBER_store_wide: e.size = (uint32_t)a, e.flags = TURNS_WRITES; break;
	case HOOK_NUMBER_rmw: e.size = a & 0xff, e.flags = TURNS_READS | TURNS_WRITES; break;
	case HOOK_NUMBER_cas: e.size = (uint32_t)a, e.flags = TURNS_READS | TURNS_WRITES; break;
	case HOOK_NUMBER_rmw_wide:
	case HOOK_NUMBER_cas_wide: e.size = 16, e.flags = TURNS_READS | TURNS_WRITES; break;
	case HOOK_NUMBER_set:
	case HOOK_NUMBER_copy: e.size = (uint32_t)b, e.flags = TURNS_WRITES; break;
	case HOOK_NUMBER_enter: e.size = (uint32_t)a, e.flags = (uint8_t)(b & (HOOK_READ | HOOK_WRITE)); break;
	default: return;
	}
	e.point = come_to_point(t, e.flags & TURNS_WRITES);
	leave_entry(t, e);
	if (number != HOOK_NUMBER_copy)
		return;
	e.object = a;
	e.flags = TURNS_READS;
	leave_entry(t, e);
}

static const struct {
	sync_function *function;
	enum turns_op what;
} told[] = {
	{ sync_mutex_lock, TURNS_LOCK }, { sync_rwlock_lock, TURNS_READ_LOCK }, { sync_spin_lock, TURNS_LOCK },
	{ sync_cond_enter, TURNS_WAIT }, { sync_cond_wake, TURNS_WAKE },	{ sync_sem_take, TURNS_TAKE },
	{ sync_sem_give, TURNS_GIVE },	 { sync_once_begin, TURNS_LOCK },	{ sync_guard_acquire, TURNS_LOCK }
};

void turns_op(struct thread *t)
{
	struct turns_entry e = { .slot = t->slot, .kind = TURNS_OP, .object = SYNC_CALL_ARG(&t->regs, 1) };
	for (unsigned i = 0; i < COUNT(told); i++)
		if (t->op_function == told[i].function) {
			e.what = (uint16_t)told[i].what;
			e.flags = TURNS_READS | TURNS_WRITES;
			e.size = 1;
		}
	e.point = come_to_point(t, e.flags);
	leave_entry(t, e);
}

/* ---- system calls ------------------------------------------------------------------------------------------------ */

/* Those that surely sleep; others may. */
static bool is_sleep(const struct thread *t, unsigned nr)
{
	unsigned op = (unsigned)REGS_ARG(&t->regs, 1) & 127;
	return nr == __NR_nanosleep || nr == __NR_clock_nanosleep ||
	       (nr == __NR_futex && (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI));
}

void turns_call_begins(struct thread *t, unsigned nr)
{
	const struct sys_row *row = sys_find(nr);
	struct turns_entry e = {
		.slot = t->slot, .kind = TURNS_CALL, .what = (uint16_t)nr, .object = REGS_ARG(&t->regs, 0)
	};
	if (row && row->args && row->args[0] == 'f') {
		e.flags = TURNS_READS | TURNS_WRITES;
		e.size = 1;
	}
	bool yields = nr == __NR_sched_yield, idle = turns[t->slot].idle;
	e.point = come_to_point(t, !yields);
	leave_entry(t, e);
	if (yields && idle && !turns[t->slot].told && !order_in_group(t))
		let_others(t, 0);
	turns[t->slot].idle = yields;
	if (is_sleep(t, nr)) {
		turns_leave(t, false);
	} else if (row && row->flags & SYS_WAITS) {
		turns[t->slot].tid = (uint32_t)SYS0(__NR_gettid);
		set_state(t->slot, IN_CALL);
	}
}

void turns_call_ended(struct thread *t)
{
	uint32_t in_call = IN_CALL;
	if (!__atomic_compare_exchange_n(&turns[t->slot].state, &in_call, RUNS, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		turns_enter(t);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

void turns_created(struct thread *child)
{
	turns[child->slot] = (struct turn){ .points = turns[child->slot].points };
	set_state(child->slot, READY);
}

void turns_ended(struct thread *t)
{
	if (state_of(t->slot) == RUNS)
		hand_over(t, GONE, 0); /* who has the turn then may use the slot again */
	else
		set_state(t->slot, GONE);
}

void turns_start(void)
{
	turns_wanted = control->turns && !replaying && !image_number;
	if (!turns_wanted)
		return;
	TEXT(path, PATH_ROOM + 16);
	text_add(&path, "%s/turns", control->trace);
	long fd = file_open(TEXT_OF(path), O_RDWR, 0);
	long r = is_error(fd) ? fd :
				SYS6(__NR_mmap, MAP_STORY_BASE, TURNS_SIZE, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_FIXED, fd, 0);
	if (is_error(r))
		cannot("%s cannot be used: error %d", TEXT_OF(path), -r);
	file_close(fd);
	file = (struct turns_file *)r;
	owner = 1;
	set_state(0, RUNS);
}

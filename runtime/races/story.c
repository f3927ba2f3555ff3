/*
 * The story of a replayed run: what each thread did, one struct story_event after the other, for `heddle report`.
 *
 * A thread writes its part through a shared mapping of a file of its own, a window at a time: nothing is lost when the
 * process ends, however it ends, and what was not written is zero.
 *
 * Only what threads have to do with one another is told: ops on locks, system calls, and accesses that follow a
 * conflicting one of another thread. The source of such an access is in its event, as it was not known to be one
 * when it happened.
 */
#include "runtime/races/races.h"
#include <linux/fcntl.h>
#include <linux/mman.h>

#define WINDOW STORY_WINDOW
static const uint64_t per_window = WINDOW / sizeof(struct story_event);

static struct part {
	uint32_t image; /* 1 + that for which it was begun: a forked child begins another file */
	uint32_t windows;
	uint64_t used; /* events in the newest window */
} parts[MAP_SLOTS];

static void next_window(struct part *p, uint32_t slot)
{
	if (p->image != image_number + 1)
		*p = (struct part){ .image = image_number + 1 };
	TEXT(path, PATH_ROOM + 64);
	text_add(&path, "%s/story.p%u.t%u", control->work_dir, (unsigned long)image_number, (unsigned long)slot);
	long fd = file_open(TEXT_OF(path), O_RDWR | O_CREAT, 0600), r = fd;
	if (!is_error(fd)) {
		r = SYS2(__NR_ftruncate, fd, (p->windows + 1) * WINDOW);
		if (!is_error(r))
			r = SYS6(__NR_mmap, MAP_STORY_BASE + slot * WINDOW, WINDOW, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_FIXED, fd, p->windows * WINDOW);
		file_close(fd);
	}
	if (is_error(r))
		cannot("%s cannot be written: error %d; set TMPDIR to a directory with more room", TEXT_OF(path), -r);
	p->windows++;
	p->used = 0;
}

static struct story_event *next_event(struct thread *t, enum story_kind kind)
{
	struct part *p = &parts[t->slot];
	if (p->image != image_number + 1 || p->used == per_window)
		next_window(p, t->slot);
	struct story_event *e = (struct story_event *)(MAP_STORY_BASE + t->slot * WINDOW) + p->used++;
	e->kind = (uint8_t)kind;
	e->event = t->log.events;
	e->op = t->front->clock;
	e->access = t->self ? t->self->events / 2 : 0;
	return e;
}

/* ---- ops --------------------------------------------------------------------------------------------------------- */

#define GIVERS (1u << 16)
static struct giver {
	uint64_t object, stamp;
} givers[GIVERS];
static uint32_t givers_lock;

/* Who gave what is at this address, before; and, if it is given now, by whom. */
static uint64_t given(uint64_t object, uint64_t stamp)
{
	uint64_t h = object * 0x9e3779b97f4a7c15ull >> 48, before = 0;
	order_lock(&givers_lock);
	for (unsigned n = 0; n < 64; n++, h = (h + 1) % GIVERS) {
		struct giver *g = &givers[h];
		if (g->object && g->object != object)
			continue;
		g->object = object;
		before = g->stamp;
		if (stamp)
			g->stamp = stamp;
		break;
	}
	order_unlock(&givers_lock);
	return before;
}

enum { GIVES = 1, GETS = 2, GIVES_SECOND = 4, JOINS = 8 };
static const struct told {
	sync_function *function;
	uint8_t what, does;
} told[] = {
	{ sync_mutex_lock, STORY_mutex_lock, GETS },
	{ sync_mutex_unlock, STORY_mutex_unlock, GIVES },
	{ sync_rwlock_lock, STORY_rwlock_lock, GETS },
	{ sync_rwlock_unlock, STORY_rwlock_unlock, GIVES },
	{ sync_spin_lock, STORY_spin_lock, GETS },
	{ sync_spin_unlock, STORY_spin_unlock, GIVES },
	{ sync_cond_enter, STORY_cond_enter, GIVES_SECOND }, /* the mutex is its second argument */
	{ sync_cond_wake, STORY_cond_wake, GIVES },
	{ sync_cond_leave, STORY_cond_leave, GETS },
	{ sync_barrier_arrive, STORY_barrier_arrive, GIVES },
	{ sync_barrier_leave, STORY_barrier_leave, GETS },
	{ sync_sem_take, STORY_sem_take, GETS },
	{ sync_sem_give, STORY_sem_give, GIVES },
	{ sync_once_begin, STORY_once_begin, GETS },
	{ sync_once_end, STORY_once_end, GIVES },
	{ sync_guard_acquire, STORY_guard_acquire, GETS },
	{ sync_guard_release, STORY_guard_release, GIVES },
	{ sync_thread_joined, STORY_thread_joined, JOINS },
};

static const struct told *told_of(const struct thread *t)
{
	for (unsigned i = 0; i < COUNT(told); i++)
		if (told[i].function == t->op_function)
			return &told[i];
	return 0;
}

void story_op(struct thread *t, long result)
{
	const struct told *what = told_of(t);
	if (!what)
		return;
	struct story_event *e = next_event(t, STORY_OP);
	uint64_t object = SYNC_CALL_ARG(&t->regs, 1), stamp = STAMP(t->slot, t->front->clock), source = 0;
	e->what = what->what;
	e->value = result;
	regs_frames(t, e->frames, STORY_FRAMES);
	if (what->does == JOINS && !result) {
		const struct thread *ended = thread_of_pthread(object);
		object = ended->slot;
		source = STAMP(object, ended->front ? ended->front->clock : 0);
	} else if (what->does == GIVES_SECOND) {
		given(SYNC_CALL_ARG(&t->regs, 2), stamp);
	} else if (what->does != JOINS) {
		source = given(object, what->does & GIVES ? stamp : 0);
	}
	e->object = object;
	if (!source || STAMP_SLOT(source) == t->slot || what->does & GIVES)
		return;
	e->from = STAMP_SLOT(source) + 1;
	e->from_at = STAMP_CLOCK(source);
}

/* ---- calls and accesses ------------------------------------------------------------------------------------------ */

void story_call(struct thread *t, unsigned nr)
{
	if (nr == __NR_futex)
		return; /* of libc's own; what it is for has been told */
	struct story_event *e = next_event(t, STORY_CALL);
	e->object = nr;
	regs_frames(t, e->frames, STORY_FRAMES);
}

void story_conflict(const struct record *before, const struct record *now, uint64_t addr, bool unordered)
{
	struct story_event *e = next_event(thread_of(now->slot), STORY_ACCESS);
	e->what = now->flags | (unordered ? STORY_UNORDERED : 0);
	e->from_what = before->flags;
	e->from = before->slot + 1u;
	e->from_at = before->event;
	e->object = addr + (uint64_t)__builtin_ctz(before->bytes & now->bytes);
	e->size = now->size;
	e->value = (int64_t)now->value;
	e->from_value = before->value;
	e->site = (uint64_t)now->site;
	e->from_site = (uint64_t)before->site;
}

/*
 * Mutexes.
 *
 * The lock word is 0 (free), 1 (held) or 2 (held, somebody may sleep). Taking it
 * is an acquire, freeing it a release: whoever takes it sees everything its last
 * holder did, the stamp included. All other fields are written by the holder only.
 * Others look at `owner` (is it me?) and `stamp` (a failed trylock) without holding
 * it: relaxed is enough, since the answer to the first cannot be changed by anyone
 * else, and any stamp of the past will do for the second.
 *
 * libheddle.so does the uncontended cases of normal mutexes itself, with the same
 * stores: see pthread_mutex_lock() there.
 *
 * Robust mutexes hold their owner's id in the lock word, as glibc's do. Those that a
 * thread holds are a list through the mutexes, at the place of the stamp; the stamps
 * are in the side table, and so are those of mutexes shared between processes. The
 * list is one that the kernel can read: when a process ends, however it does, the
 * kernel marks what it held, and other processes get it with EOWNERDEAD.
 */
#include "runtime/runtime.h"
#include "runtime/sync/objects.h"

/* ---- waiting --------------------------------------------------------------------- */

long wait_until(struct thread *t, uint32_t *word, uint32_t value, uint64_t clockid, uint64_t deadline)
{
	const int64_t *time = (const int64_t *)deadline;
	if (time && (time[1] < 0 || time[1] >= 1000000000))
		return EINVAL;
	if (time && time[0] < 0)
		return ETIMEDOUT; /* before 1970: the kernel would call it invalid */
	switch (sync_wait(t, word, value, (int)clockid, time)) {
	case -ETIMEDOUT: return ETIMEDOUT;
	case -EINTR: return SYNC_INTERRUPTED;
	default: return 0;
	}
}

long word_lock(struct thread *t, uint32_t *word, bool try, uint64_t clockid, uint64_t deadline)
{
	uint32_t free = 0;
	if (__atomic_compare_exchange_n(word, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return 0;
	if (try)
		return EBUSY;
	/* Who gives up leaves the 2 behind: costs the holder a wake, never a sleeper its own. A sleeper that was
	   woken always comes back here and leaves 2, so the others behind it are not forgotten. */
	while (__atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE)) {
		long r = wait_until(t, word, 2, clockid, deadline);
		if (r)
			return r;
	}
	return 0;
}

/* ---- stamps ------------------------------------------------------------------------ */

static bool has_stamp(const struct mutex *m)
{
	return !(m->kind & (MUTEX_ROBUST | MUTEX_SHARED));
}

/* The op follows the last one; `held`: it has the mutex, and leaves its own stamp. */
static void follow(struct thread *t, struct mutex *m, uint64_t op, bool held)
{
	uint64_t mine = STAMP(front_of(t)->slot, op);
	if (has_stamp(m)) {
		op_edge(t, __atomic_load_n(&m->stamp, __ATOMIC_RELAXED));
		if (!held)
			return;
		op_shown(t);
		__atomic_store_n(&m->stamp, mine, __ATOMIC_RELAXED);
	} else {
		side_follow(t, m, op, held);
	}
}

static void set_owner(struct mutex *m, uint32_t id)
{
	__atomic_store_n(&m->owner, id, __ATOMIC_RELAXED);
}

/* ---- robust mutexes ------------------------------------------------------------------ */

/* By slot: the robust mutexes that the thread holds. The first three are the kernel's struct robust_list_head; pointers
   are to `next` of a mutex, or 0, where the kernel stops as well. */
static struct robust {
	uint64_t first; /* that it has taken last */
	int64_t lock_at;
	uint64_t pending; /* that it is about to take or to give */
	uint32_t told;	  /* the thread of which the kernel knows this */
} robust_of[MAP_SLOTS];

static struct mutex *robust_mutex(uint64_t next)
{
	return next ? (struct mutex *)(next - offsetof(struct mutex, next)) : 0;
}

/* m: or 0, when that is over */
static void robust_pending(struct thread *t, const struct mutex *m)
{
	robust_of[front_of(t)->slot].pending = m ? (uint64_t)&m->next : 0;
}

/* libc tells the kernel of a list of its own when a thread begins, which stays empty. */
static void robust_tell_kernel(struct thread *t)
{
	struct robust *r = &robust_of[front_of(t)->slot];
	if (replaying || r->told == front_of(t)->tid)
		return;
	r->lock_at = (int64_t)offsetof(struct mutex, lock) - (int64_t)offsetof(struct mutex, next);
	r->told = front_of(t)->tid;
	SYS2(__NR_set_robust_list, r, 24);
}

static void robust_enlist(struct thread *t, struct mutex *m)
{
	struct robust *r = &robust_of[front_of(t)->slot];
	m->stamp = 0;
	m->next = r->first;
	if (r->first)
		robust_mutex(r->first)->stamp = (uint64_t)m;
	r->first = (uint64_t)&m->next;
}

static void robust_delist(struct thread *t, struct mutex *m)
{
	struct robust *r = &robust_of[front_of(t)->slot];
	struct mutex *before = (struct mutex *)m->stamp, *next = robust_mutex(m->next);
	if (before)
		before->next = m->next;
	else if (r->first == (uint64_t)&m->next)
		r->first = m->next;
	if (next)
		next->stamp = (uint64_t)before;
	m->stamp = m->next = 0;
}

/* Record: as word_lock(), and EOWNERDEAD. */
static long robust_take(struct thread *t, struct mutex *m, bool try, uint64_t clockid, uint64_t deadline)
{
	uint32_t id = front_of(t)->tid, waited = 0;
	for (;;) {
		uint32_t old = __atomic_load_n(&m->lock, __ATOMIC_RELAXED);
		if (!(old & MUTEX_ID)) {
			/* acquire: pairs with the release in robust_give(), also that of a thread that died */
			if (__atomic_compare_exchange_n(&m->lock, &old, id | waited, false, __ATOMIC_ACQUIRE,
							__ATOMIC_RELAXED))
				return old & MUTEX_DIED ? EOWNERDEAD : 0;
			continue;
		}
		if (try)
			return EBUSY;
		if (!(old & MUTEX_WAITED) && !__atomic_compare_exchange_n(&m->lock, &old, old | MUTEX_WAITED, false,
									  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		waited = MUTEX_WAITED;
		long r = wait_until(t, &m->lock, old | MUTEX_WAITED, clockid, deadline);
		if (r)
			return r;
	}
}

static void robust_give(struct mutex *m, uint32_t left)
{
	if (__atomic_exchange_n(&m->lock, left, __ATOMIC_RELEASE) & MUTEX_WAITED)
		sync_wake(&m->lock, 1);
}

static long robust_lock(struct thread *t, struct mutex *m, uint64_t how, uint64_t clockid, uint64_t deadline)
{
	struct front *self = front_of(t);
	uint64_t op = op_begin(t);
	long r = 0;
	robust_tell_kernel(t);
	robust_pending(t, m);
	if (!replaying) {
		r = robust_take(t, m, how == MUTEX_TRY, clockid, deadline);
		if (r == SYNC_INTERRUPTED) {
			robust_pending(t, 0);
			return r;
		}
		bool held = r == 0 || r == EOWNERDEAD;
		if (held && m->owner == MUTEX_NOT_RECOVERABLE) {
			robust_give(m, 0);
			held = false;
			r = ENOTRECOVERABLE;
		}
		follow(t, m, op, held);
	}
	r = op_outcome(t, r);
	if (r == 0 || r == EOWNERDEAD) {
		if (replaying)
			__atomic_store_n(&m->lock, self->tid, __ATOMIC_RELAXED);
		m->count = 1;
		set_owner(m, r ? MUTEX_INCONSISTENT : self->tid);
		if (!r && how != MUTEX_AGAIN)
			m->users++; /* one that died was counted, and is not taken off */
		robust_enlist(t, m);
	}
	robust_pending(t, 0);
	op_end(t);
	return r;
}

static long robust_let_go(struct thread *t, struct mutex *m, uint64_t op, bool counted, bool *frees)
{
	if ((__atomic_load_n(&m->lock, __ATOMIC_RELAXED) & MUTEX_ID) != front_of(t)->tid)
		return EPERM;
	bool lost = m->owner == MUTEX_INCONSISTENT;
	if ((m->kind & MUTEX_KIND) == MUTEX_RECURSIVE && --m->count)
		return lost ? ENOTRECOVERABLE : 0;
	m->count = 0;
	set_owner(m, lost ? MUTEX_NOT_RECOVERABLE : 0);
	if (counted)
		m->users--;
	robust_pending(t, m);
	robust_delist(t, m);
	follow(t, m, op, true);
	*frees = true;
	return 0;
}

void mutexes_forked(void)
{
	memset(robust_of, 0, sizeof robust_of);
}

void mutex_owner_died(struct thread *t)
{
	struct robust *r = &robust_of[front_of(t)->slot];
	r->told = 0;
	while (r->first) {
		struct mutex *m = robust_mutex(r->first);
		uint8_t there;
		if (user_copy(&there, m, 1)) {
			r->first = 0; /* its memory is gone; the rest of the list with it */
			return;
		}
		uint64_t op = op_begin(t);
		robust_delist(t, m);
		follow(t, m, op, true);
		op_given(t);
		robust_give(m, MUTEX_DIED);
		op_given_end(t);
	}
}

/* ---- lock, unlock ------------------------------------------------------------------------ */

/* The holder takes it again. `owner` can only be this thread's id if it holds the mutex: no outcome to log. */
static long lock_again(struct thread *t, struct mutex *m, uint64_t how)
{
	long r = 0;
	op_begin(t);
	if ((m->kind & MUTEX_KIND) == MUTEX_ERRORCHECK)
		r = how == MUTEX_TRY && !(m->kind & (MUTEX_ROBUST | MUTEX_INHERIT)) ? EBUSY : EDEADLK; /* as libc's */
	else if (m->count == UINT32_MAX)
		r = EAGAIN;
	else
		m->count++;
	op_end(t);
	return r;
}

/* a: the mutex; how: enum mutex_how; until: the deadline or 0 */
long sync_mutex_lock(struct thread *t, uint64_t a, uint64_t how, uint64_t clockid, uint64_t until)
{
	struct mutex *m = (struct mutex *)a;
	struct front *self = front_of(t);
	uint32_t kind = m->kind & MUTEX_KIND;
	bool robust = m->kind & MUTEX_ROBUST;
	if (m->kind == MUTEX_DESTROYED)
		return EINVAL;
	uint32_t holder = robust ? __atomic_load_n(&m->lock, __ATOMIC_RELAXED) & MUTEX_ID :
				   __atomic_load_n(&m->owner, __ATOMIC_RELAXED);
	if (holder == self->tid && (kind == MUTEX_RECURSIVE || kind == MUTEX_ERRORCHECK))
		return lock_again(t, m, how);
	if (robust)
		return robust_lock(t, m, how, clockid, until);

	uint64_t op = how == MUTEX_TAKEN ? op_begin_taken(t) : op_begin(t);
	long r = 0;
	if (!replaying) {
		if (how != MUTEX_TAKEN)
			r = word_lock(t, &m->lock, how == MUTEX_TRY, clockid, until);
		if (r == SYNC_INTERRUPTED)
			return r;
		follow(t, m, op, !r);
	}
	r = op_outcome(t, r);
	if (!r) {
		if (replaying) {
			__atomic_store_n(&m->lock, 1, __ATOMIC_RELAXED);
			follow(t, m, op, true);
		}
		set_owner(m, self->tid);
		if (kind == MUTEX_RECURSIVE)
			m->count = 1;
		if (how != MUTEX_AGAIN)
			m->users++;
	}
	op_end(t);
	return r;
}

long mutex_let_go(struct thread *t, struct mutex *m, uint64_t op, bool counted, bool *frees)
{
	uint32_t kind = m->kind & MUTEX_KIND;
	*frees = false;
	if (m->kind & MUTEX_ROBUST)
		return robust_let_go(t, m, op, counted, frees);
	if ((kind == MUTEX_RECURSIVE || kind == MUTEX_ERRORCHECK || m->kind & MUTEX_INHERIT) &&
	    __atomic_load_n(&m->owner, __ATOMIC_RELAXED) != front_of(t)->tid)
		return EPERM;
	if (kind == MUTEX_RECURSIVE && --m->count)
		return 0;
	set_owner(m, 0);
	if (counted)
		m->users--;
	follow(t, m, op, true);
	*frees = true;
	return 0;
}

void mutex_free(struct thread *t, struct mutex *m)
{
	if (m->kind & MUTEX_ROBUST) {
		robust_give(m, 0);
		robust_pending(t, 0);
	}
	/* release: pairs with the acquire of the next holder. After it the mutex may be gone: only its address is
	   used. */
	else if (__atomic_exchange_n(&m->lock, 0, __ATOMIC_RELEASE) == 2)
		sync_wake(&m->lock, 1);
}

/* a: the mutex; how: 0, or MUTEX_WAKE */
long sync_mutex_unlock(struct thread *t, uint64_t a, uint64_t how, uint64_t c, uint64_t d)
{
	(void)c, (void)d;
	struct mutex *m = (struct mutex *)a;
	if (how == MUTEX_WAKE) {
		sync_wake(&m->lock, 1);
		return 0;
	}
	if (m->kind == MUTEX_DESTROYED)
		return EINVAL;
	bool frees;
	uint64_t op = op_begin_giving(t);
	long r = mutex_let_go(t, m, op, true, &frees);
	op_given(t);
	if (frees)
		mutex_free(t, m);
	op_given_end(t);
	return r;
}

/*
 * What an op, a system call or an atomic access means for the order of threads.
 *
 * `released` is what the next who acquires the object gets to know. A lock's holder replaces it; whatever several
 * threads give (a semaphore, the readers of a lock, arrivals at a barrier) is added up.
 *
 * A barrier adds up its arrivals by round; the last one closes the round, and who leaves takes the round it arrived in:
 * the next may be over by then, if the barrier has more threads than it counts.
 *
 * A condition is no synchronisation of its own: its mutex is. Nor are the locks inside libc (stdio, malloc): a program
 * that prints is not ordered by it, or races would hide behind every printf.
 *
 * What system calls carry from thread to thread is not known: whoever writes anything (or sends a signal) gives to one
 * object, whoever reads anything gets from it. That misses races, and invents none between the ends of a pipe.
 */
#include "runtime/races/races.h"
#include "runtime/races/watch.h"
#include "runtime/sync/objects.h"

#define OBJECTS (1u << 20) /* a power of two */

struct round {
	struct clocks clocks;
	uint32_t inside; /* threads that have arrived and not left */
	struct round *next;
};

struct object {
	uint64_t key;
	uint32_t lock;
	struct clocks released, read; /* read: given by readers of a lock, taken by writers */
	struct racer *holder;	      /* of a lock; of one for reading and writing: who writes */
	struct round *round, *unused; /* of a barrier: the one that is open */
};
static struct object **table;
static uint32_t table_lock;

static struct object *object_of(uint64_t key)
{
	uint64_t h = key * 0x9e3779b97f4a7c15ull >> 44;
	struct object *o;
	order_lock(&table_lock);
	if (!table)
		table = order_memory(OBJECTS * sizeof *table);
	for (uint32_t n = 0; (o = table[h]) && o->key != key; h = (h + 1) % OBJECTS)
		if (++n == OBJECTS / 2)
			cannot("--races: the program synchronises on too many objects");
	if (!o) {
		o = table[h] = races_memory(sizeof *o);
		o->key = key;
	}
	order_unlock(&table_lock);
	return o;
}

static void acquire(struct racer *r, struct object *o, struct clocks *from)
{
	order_lock(&o->lock);
	clocks_join(&r->clocks, from);
	order_unlock(&o->lock);
}

static void release(struct racer *r, struct object *o, struct clocks *to, bool replaces)
{
	order_lock(&o->lock);
	if (replaces)
		clocks_copy(to, &r->clocks);
	else
		clocks_join(to, &r->clocks);
	order_unlock(&o->lock);
	racer_next(r);
}

/* ---- locks that a thread has, for the report --------------------------------------------------------------------- */

static void lock_held(struct racer *r, uint64_t lock)
{
	races_count(&control->looked_at.locks);
	if (r->lock_count < RACER_LOCKS)
		r->locks[r->lock_count] = lock;
	r->lock_count++;
	r->lockset = lockset_of(r->locks, MIN(r->lock_count, RACER_LOCKS));
}

static void lock_given(struct racer *r, uint64_t lock)
{
	uint32_t n = MIN(r->lock_count, RACER_LOCKS), i = n;
	while (i && r->locks[i - 1] != lock)
		i--;
	if (i)
		memmove(&r->locks[i - 1], &r->locks[i], (n - i) * sizeof *r->locks);
	r->lock_count -= r->lock_count > 0;
	r->lockset = lockset_of(r->locks, MIN(r->lock_count, RACER_LOCKS));
}

/* ---- ops --------------------------------------------------------------------------------------------------------- */

typedef void means(struct racer *r, const uint64_t *args, long result);

static void locks(struct racer *r, const uint64_t *args, long result)
{
	struct object *o = object_of(args[0]);
	if (result && result != EOWNERDEAD)
		return;
	acquire(r, o, &o->released);
	if (result && o->holder)
		clocks_join(&r->clocks, &o->holder->clocks); /* it has ended, and gave nothing back */
	o->holder = r;
	lock_held(r, args[0]);
}

static void unlocks(struct racer *r, const uint64_t *args, long result)
{
	struct object *o = object_of(args[0]);
	(void)result;
	release(r, o, &o->released, true);
	lock_given(r, args[0]);
}

static void mutex_unlocks(struct racer *r, const uint64_t *args, long result)
{
	if (args[1] != MUTEX_WAKE)
		unlocks(r, args, result);
}

static void rwlock_locks(struct racer *r, const uint64_t *args, long result)
{
	struct object *o = object_of(args[0]);
	if (result)
		return;
	acquire(r, o, &o->released);
	if (args[1] & RW_WRITE) {
		acquire(r, o, &o->read);
		__atomic_store_n(&o->holder, r, __ATOMIC_RELAXED); /* nobody else has the lock */
	}
	lock_held(r, args[0]);
}

/* What readers give is added up for the next writer; other readers do not get to know it. */
static void rwlock_unlocks(struct racer *r, const uint64_t *args, long result)
{
	struct object *o = object_of(args[0]);
	/* relaxed: only a thread that holds it for writing can find itself there */
	bool wrote = __atomic_load_n(&o->holder, __ATOMIC_RELAXED) == r;
	(void)result;
	if (wrote)
		__atomic_store_n(&o->holder, 0, __ATOMIC_RELAXED);
	release(r, o, wrote ? &o->released : &o->read, wrote);
	lock_given(r, args[0]);
}

static void gives(struct racer *r, const uint64_t *args, long result)
{
	struct object *o = object_of(args[0]);
	if (!result)
		release(r, o, &o->released, false);
}

static void gets(struct racer *r, const uint64_t *args, long result)
{
	struct object *o = object_of(args[0]);
	if (!result)
		acquire(r, o, &o->released);
}

static void always_gets(struct racer *r, const uint64_t *args, long result)
{
	(void)result;
	gets(r, args, 0);
}

static void arrives(struct racer *r, const uint64_t *args, long result)
{
	struct object *o = object_of(args[0]);
	order_lock(&o->lock);
	if (!o->round) {
		o->round = o->unused ? o->unused : races_memory(sizeof *o->round);
		o->unused = o->round->next;
		*o->round = (struct round){ .clocks = { .at = o->round->clocks.at, .room = o->round->clocks.room } };
	}
	struct round *round = r->round = o->round;
	clocks_join(&round->clocks, &r->clocks);
	round->inside++;
	if (result == BARRIER_SERIAL)
		o->round = 0;
	order_unlock(&o->lock);
	racer_next(r);
}

static void leaves(struct racer *r, const uint64_t *args, long result)
{
	struct object *o = object_of(args[0]);
	struct round *round = r->round;
	(void)result;
	if (!round)
		return;
	order_lock(&o->lock);
	clocks_join(&r->clocks, &round->clocks);
	r->round = 0;
	if (!--round->inside) {
		round->next = o->unused;
		o->unused = round;
	}
	order_unlock(&o->lock);
}

static void arrives_perhaps_last(struct racer *r, const uint64_t *args, long result)
{
	arrives(r, args, result);
	if (result == BARRIER_SERIAL)
		leaves(r, args, 0);
}

/* args: the condition, the mutex */
static void cond_enters(struct racer *r, const uint64_t *args, long result)
{
	unlocks(r, args + 1, result);
}

/* args: a pthread_t, and 2 if it is only asked whether it runs */
static void joins(struct racer *r, const uint64_t *args, long result)
{
	if (!result && args[1] != 2)
		clocks_join(&r->clocks, &racer_of(thread_of_pthread(args[0]))->clocks);
}

static const struct {
	sync_function *function;
	means *means;
} meanings[] = {
	{ sync_mutex_lock, locks },	    { sync_mutex_unlock, mutex_unlocks },
	{ sync_rwlock_lock, rwlock_locks }, { sync_rwlock_unlock, rwlock_unlocks },
	{ sync_spin_lock, locks },	    { sync_spin_unlock, unlocks },
	{ sync_cond_enter, cond_enters },   { sync_barrier_arrive, arrives_perhaps_last },
	{ sync_barrier_leave, leaves },	    { sync_sem_take, gets },
	{ sync_sem_give, gives },	    { sync_once_begin, always_gets },
	{ sync_once_end, gives },	    { sync_guard_acquire, always_gets },
	{ sync_guard_release, gives },	    { sync_thread_joined, joins },
};

void races_op(struct thread *t, long result)
{
	if (control->races & WATCH_STORY)
		story_op(t, result);
	for (unsigned i = 0; i < COUNT(meanings); i++)
		if (meanings[i].function == t->op_function) {
			uint64_t args[4];
			for (int k = 0; k < 4; k++)
				args[k] = SYNC_CALL_ARG(&t->regs, k + 1);
			meanings[i].means(racer_of(t), args, result);
		}
}

void races_created(struct thread *parent, struct thread *child)
{
	uint64_t stack = MAP_STACKS_BASE + child->slot * MAP_THREAD_STACK_ROOM;
	races_forget(stack, MAP_THREAD_STACK_ROOM);
	racer_created(parent, child);
}

/* ---- system calls ------------------------------------------------------------------------------------------------ */

#define KERNEL 1 /* its key: no address */

static bool is_one_of(unsigned nr, const uint16_t *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == nr)
			return true;
	return false;
}

void races_call_begins(struct thread *t, unsigned nr)
{
	static const uint16_t giving[] = {
		__NR_write,	__NR_writev,	    __NR_pwrite64,	  __NR_pwritev,
		__NR_sendto,	__NR_sendmsg,	    __NR_splice,	  __NR_sendfile,
		__NR_connect,	__NR_shutdown,	    __NR_close,		  __NR_kill,
		__NR_tkill,	__NR_tgkill,	    __NR_rt_sigqueueinfo, __NR_rt_tgsigqueueinfo,
		__NR_setitimer, __NR_timer_settime,
	};
	if (control->races & WATCH_STORY)
		story_call(t, nr);
	if (is_one_of(nr, giving, COUNT(giving)))
		release(racer_of(t), object_of(KERNEL), &object_of(KERNEL)->released, false);
}

static void get_from_kernel(struct thread *t)
{
	acquire(racer_of(t), object_of(KERNEL), &object_of(KERNEL)->released);
}

void races_call_ended(struct thread *t, unsigned nr)
{
	static const uint16_t getting[] = {
		__NR_read,     __NR_readv,	     __NR_pread64,    __NR_preadv,	__NR_recvfrom,
		__NR_recvmsg,  __NR_accept,	     __NR_accept4,    __NR_epoll_pwait, __NR_ppoll,
		__NR_pselect6, __NR_rt_sigtimedwait, __NR_wait4,      __NR_waitid,
#ifdef __NR_poll
		__NR_poll,     __NR_select,	     __NR_epoll_wait,
#endif
	};
	if (is_one_of(nr, getting, COUNT(getting)))
		get_from_kernel(t);
}

void races_handler_begins(struct thread *t)
{
	get_from_kernel(t);
}

/* ---- atomics ----------------------------------------------------------------------------------------------------- */

/*
 * A store begins a new chain, in which only what it releases is given (nothing, if it is relaxed); a read-modify-write
 * goes on with the chain, and adds what it releases.
 */
void races_atomic(struct racer *r, uint64_t addr, unsigned parts, bool after)
{
	if (!(parts & (after ? ATOMIC_RELEASES | ATOMIC_STORES : ATOMIC_ACQUIRES)))
		return;
	struct object *o = object_of(addr);
	if (!after)
		acquire(r, o, &o->released);
	else if (parts & ATOMIC_RELEASES)
		release(r, o, &o->released, parts & ATOMIC_STORES);
	else
		o->released.n = 0;
}

/* Of a library: its loads and stores, whatever they mean to it, are taken for synchronisation. What several write is
   added up. */
void races_word(struct thread *t, uint64_t addr, bool wrote)
{
	struct object *o = object_of(addr);
	acquire(racer_of(t), o, &o->released);
	if (wrote)
		release(racer_of(t), o, &o->released, false);
}

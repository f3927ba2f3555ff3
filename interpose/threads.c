/*
 * Creation, end and cancellation of threads; keys.
 *
 * The thread itself is libc's: we choose its stack, whose address tells its slot, and
 * call libc's functions with everybody else kept out where they change what all share.
 */
#define _GNU_SOURCE
#undef __EXCEPTIONS /* as in pthread.c */
#include <pthread.h>
#include "interpose/interpose.h"
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <grp.h>
#include <time.h>
#include <unistd.h>

static uint32_t threads; /* what libc knows about threads: lists of stacks, keys */

static int created; /* some thread */

/* What we know of a thread, by slot. */
static struct known {
	uint8_t detached; /* written by its creator, and by who detaches it */
	size_t guard;	  /* bytes, of a stack of ours; libc does not know of it. Written by its creator */
	struct {
		char *low;
		size_t guard, size;
		int protection;
	} large; /* a stack that the slot has no room for, with its guard; kept for the next thread in it */
} known[MAP_SLOTS];

static struct known *known_of(pthread_t thread)
{
	return &known[CALL(thread_slot, thread)];
}

/* ---- creation --------------------------------------------------------------------------- */

struct start {
	void *(*routine)(void *);
	void *arg;
};

/*
 * The last thing that libc does at a thread's end is to count down how many there are, and who comes to 0 calls exit().
 * Threads must come there one after the other, and in the same order at replay: a section, which is left when the
 * thread makes the system call exit. It is entered as late as we can, in a key's destructor that has itself called
 * until libc gives up: the program's destructors come before (or in the same, last round, if they do the same).
 */
static pthread_key_t ends;
static int ends_made;

static void end_comes(void *round)
{
	if ((uintptr_t)round < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(ends, (void *)((uintptr_t)round + 1));
	else
		SECTION_ENTER(SYNC_SECTION_ENDS);
}

static void expect_end(void)
{
	if (ends_made)
		pthread_setspecific(ends, (void *)1);
}

/* However the routine was left. */
static void ended(struct start *s)
{
	(void)s;
	libc_thread_ends();
}

static void *start(void *p)
{
	struct start s __attribute__((cleanup(ended))) = *(struct start *)p;
	free(p);
	self_find();
	expect_end();
	return s.routine(s.arg);
}

static size_t stack_size(const pthread_attr_t *attr)
{
	size_t size, usual = 0, room = MAP_THREAD_STACK_ROOM, most = room - 4 * (size_t)sysconf(_SC_PAGESIZE);
	pthread_attr_t standard;
	pthread_getattr_default_np(&standard);
	pthread_attr_getstacksize(&standard, &usual);
	pthread_attr_destroy(&standard);
	size = usual;
	if (attr)
		pthread_attr_getstacksize(attr, &size);
	/* where a slot has just as much room as is usual, a thread gets a little less; so do those of libomp, which
	   asks for a little more */
	return usual <= room && size > most && size <= usual + usual / 32 ? most : size;
}

/* Whoever had the slot before is gone, and its stack is free. */
static void *large_stack(struct known *k, size_t size, size_t guard)
{
	int protection = (int)ENTRIES->stack_protection;
	if (k->large.low && (k->large.size != size || k->large.guard != guard || k->large.protection != protection)) {
		munmap(k->large.low, k->large.guard + k->large.size);
		k->large.low = 0;
	}
	if (!k->large.low) {
		char *low = mmap(0, guard + size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
				 -1, 0);
		if (low == MAP_FAILED)
			return low;
		mprotect(low, guard, PROT_NONE);
		k->large.low = low;
		k->large.size = size;
		k->large.guard = guard;
		k->large.protection = protection;
	}
	return k->large.low + guard;
}

/* Gives the thread to come a stack, unless the program has chosen one. As libc's, it has its guard below. */
static int choose_stack(pthread_attr_t *attr, const pthread_attr_t *given, uint32_t *slot)
{
	void *chosen = 0;
	size_t chosen_size = 0, guard = 0, page = (size_t)sysconf(_SC_PAGESIZE);
	/* libc answers with the end of the stack, less its size; nobody's stack ends at 0 */
	if (given && !pthread_attr_getstack(given, &chosen, &chosen_size) && (uintptr_t)chosen + chosen_size) {
		CALL(thread_reserve, SIZE_MAX, 0, slot);
		known[*slot].guard = 0;
		return 0;
	}
	size_t size = stack_size(given);
	pthread_attr_getguardsize(attr, &guard);
	guard = (guard + page - 1) / page * page;
	void *stack = (void *)CALL(thread_reserve, size, guard, slot);
	if (!stack)
		stack = large_stack(&known[*slot], size, guard);
	if (stack == MAP_FAILED)
		return EAGAIN;
	known[*slot].guard = guard; /* before the thread is there and asks */
	return pthread_attr_setstack(attr, stack, size);
}

static int is_detached(const pthread_attr_t *attr)
{
	int state = PTHREAD_CREATE_JOINABLE;
	if (attr)
		pthread_attr_getdetachstate(attr, &state);
	return state == PTHREAD_CREATE_DETACHED;
}

/*
 * Who detaches a thread that is just ending, or the thread itself: one of them gives back what libc has allocated for
 * it, by flags that nobody can order. So libc hears of it when the thread has ended, from who creates the next one.
 */
static pthread_t leaving[MAP_SLOTS];
static unsigned leaving_count;
static uint32_t leaving_forks; /* a child has none of them */

static void detach_if_ended(unsigned i)
{
	pthread_t thread = leaving[i];
	if (!CALL(thread_gone, thread))
		return;
	uint32_t slot = (uint32_t)CALL(thread_slot, thread);
	REAL(pthread_detach)(thread);
	CALL(thread_released, slot);
	leaving[i] = leaving[--leaving_count];
}

/* The last ones, which may have had little to do, and one of the others in turn: each look is in the recording. */
static void detach_ended(void)
{
	static unsigned next;
	if (leaving_forks != ENTRIES->forks)
		leaving_count = 0;
	leaving_forks = ENTRIES->forks;
	for (unsigned back = 1; back <= 3 && back <= leaving_count; back++)
		detach_if_ended(leaving_count - back);
	if (leaving_count > 3)
		detach_if_ended(next++ % leaving_count);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *given, void *(*routine)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t id;
	struct start *s = malloc(sizeof *s);
	if (!s)
		return EAGAIN;
	touch(thread);
	*s = (struct start){ routine, arg };
	self_get();
	libc_before_create();
	SECTION_ENTER(&threads);
	if (!created) {
		libc_before_first_thread();
		ends_made = !REAL(pthread_key_create)(&ends, end_comes);
		expect_end();
	}
	created = 1;
	/* a copy of the bytes: it shares what the original points to, and is not destroyed */
	if (given)
		attr = *given;
	else
		pthread_attr_init(&attr);
	uint32_t slot = 0;
	detach_ended();
	int r = choose_stack(&attr, given, &slot);
	known[slot].detached = (uint8_t)is_detached(given); /* not after it: the thread may be gone */
	CALL(thread_tell, &id, thread);
	if (!r)
		r = REAL(pthread_create)(&id, &attr, start, s);
	if (r)
		CALL(thread_cancel_reserve);
	else if (is_detached(given))
		CALL(thread_released, slot);
	SECTION_LEAVE(&threads);
	libc_after_create();
	if (r)
		free(s);
	return r;
}

/* ---- what libc looks up in another thread ------------------------------------------------------------ */

/*
 * libc looks whether the thread has ended, in words that it, and the kernel, change at the end. So nobody ends
 * meanwhile, and who has ended before is gone for the kernel, too. Nothing of it is needed for the thread itself, which
 * may also be killed by its own signal here.
 */
/* No other section is entered in it: pthread_kill() is for handlers, too, and one may have interrupted who holds
   that. */
static bool look_at(pthread_t thread)
{
	self_get();
	if (pthread_equal(thread, pthread_self()))
		return false;
	SECTION_ENTER(SYNC_SECTION_ENDS);
	CALL(thread_settled, thread);
	return true;
}

static void look_over(bool others)
{
	if (others)
		SECTION_LEAVE(SYNC_SECTION_ENDS);
}

#define LOOKS(name, declared, ...)                       \
	EXPORT int name declared                         \
	{                                                \
		bool others = look_at(thread);           \
		int r = REAL(name)(thread, __VA_ARGS__); \
		look_over(others);                       \
		return r;                                \
	}
LOOKS(pthread_kill, (pthread_t thread, int sig), sig)
LOOKS(pthread_sigqueue, (pthread_t thread, int sig, const union sigval value), sig, value)
LOOKS(pthread_setname_np, (pthread_t thread, const char *name), name)
LOOKS(pthread_getname_np, (pthread_t thread, char *to, size_t room), to, room)
LOOKS(pthread_setaffinity_np, (pthread_t thread, size_t size, const cpu_set_t *set), size, set)
LOOKS(pthread_getaffinity_np, (pthread_t thread, size_t size, cpu_set_t *set), size, set)
LOOKS(pthread_setschedparam, (pthread_t thread, int policy, const struct sched_param *to), policy, to)
LOOKS(pthread_getschedparam, (pthread_t thread, int *policy, struct sched_param *to), policy, to)
LOOKS(pthread_setschedprio, (pthread_t thread, int priority), priority)
LOOKS(pthread_getcpuclockid, (pthread_t thread, clockid_t *clock), clock)

/* Every thread of the process makes the call; libc looks for all that have not ended. */
#define FOR_ALL(name, declared, ...)              \
	EXPORT int name declared                  \
	{                                         \
		self_get();                       \
		SECTION_ENTER(SYNC_SECTION_ENDS); \
		SECTION_ENTER(&threads);          \
		int r = REAL(name)(__VA_ARGS__);  \
		SECTION_LEAVE(&threads);          \
		SECTION_LEAVE(SYNC_SECTION_ENDS); \
		return r;                         \
	}
FOR_ALL(setuid, (uid_t id), id)
FOR_ALL(setgid, (gid_t id), id)
FOR_ALL(seteuid, (uid_t id), id)
FOR_ALL(setegid, (gid_t id), id)
FOR_ALL(setreuid, (uid_t real, uid_t effective), real, effective)
FOR_ALL(setregid, (gid_t real, gid_t effective), real, effective)
FOR_ALL(setresuid, (uid_t real, uid_t effective, uid_t saved), real, effective, saved)
FOR_ALL(setresgid, (gid_t real, gid_t effective, gid_t saved), real, effective, saved)
FOR_ALL(setgroups, (size_t n, const gid_t *groups), n, groups)

/* libc takes a stack that it was given for one without a guard; Rust's library insists on one. */
EXPORT int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
	bool others = look_at(thread);
	int r = REAL(pthread_getattr_np)(thread, attr);
	look_over(others);
	size_t guard = r ? 0 : known_of(thread)->guard;
	if (guard)
		pthread_attr_setguardsize(attr, guard);
	return r;
}

/* ---- end ---------------------------------------------------------------------------------- */

/* libc loads the library that unwinds stacks when it first needs it: not while others do, too. */
static void before_unwinding(void)
{
	self_get();
	libc_before_unwinding();
}

EXPORT void pthread_exit(void *result)
{
	before_unwinding();
	REAL(pthread_exit)(result);
	__builtin_unreachable();
}

/*
 * The runtime waits for the thread's end, with the outcome that counts; then libc's join finds it gone, and
 * neither waits nor enters the kernel.
 */
static int join(pthread_t thread, void **result, int how, clockid_t clock, const struct timespec *until)
{
	int type, r;
	if (pthread_equal(thread, pthread_self()))
		return EDEADLK;
	if (known_of(thread)->detached)
		return EINVAL;
	before_wait();
	if (how == JOIN_WAIT) {
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
		r = (int)CALL(thread_joined, thread, how, clock, until);
		pthread_setcanceltype(type, 0);
	} else {
		r = (int)CALL(thread_joined, thread, how);
	}
	if (r)
		return r;
	SECTION_ENTER(&threads);
	uint32_t slot = (uint32_t)CALL(thread_slot, thread);
	void *value;
	r = REAL(pthread_join)(thread, &value);
	CALL(thread_released, slot);
	SECTION_LEAVE(&threads);
	if (!r && result)
		give(result, &value, sizeof value);
	return r;
}

EXPORT int pthread_join(pthread_t thread, void **result)
{
	return join(thread, result, JOIN_WAIT, 0, 0);
}

EXPORT int pthread_tryjoin_np(pthread_t thread, void **result)
{
	return join(thread, result, JOIN_TRY, 0, 0);
}

EXPORT int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until)
{
	return join(thread, result, JOIN_WAIT, CLOCK_REALTIME, until);
}

EXPORT int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock, const struct timespec *until)
{
	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
		return EINVAL;
	return join(thread, result, JOIN_WAIT, clock, until);
}

EXPORT int pthread_detach(pthread_t thread)
{
	self_get();
	SECTION_ENTER(&threads);
	struct known *k = known_of(thread);
	int r = k->detached ? EINVAL : 0;
	k->detached = 1;
	if (!r && pthread_equal(thread, pthread_self())) {
		r = REAL(pthread_detach)(thread);
		CALL(thread_released, k - known);
	} else if (!r) {
		detach_ended();
		leaving[leaving_count++] = thread;
	}
	SECTION_LEAVE(&threads);
	return r;
}

/* ---- cancellation ------------------------------------------------------------------------------ */

/*
 * libc marks the other thread as cancelled, which that thread may notice at any cancellation point. Here the other
 * thread marks itself, in the handler of a signal, which comes at one of its events, the same at replay.
 */
#define SIGNAL_CANCEL 32

/*
 * The first in the process to come here also sets up libc's handler, by a flag that libc reads without a lock: so one
 * at a time, in the recorded order. Nobody is unwound with that held: the type is deferred meanwhile, and to set it
 * back is what ends a thread that had it asynchronous.
 */
static int cancel_myself(void)
{
	static char first;
	int type;
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	SECTION_ENTER(&first);
	int r = REAL(pthread_cancel)(pthread_self());
	SECTION_LEAVE(&first);
	pthread_setcanceltype(type, 0);
	return r;
}

static void cancel_handler(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	int e = errno;
	cancel_myself();
	errno = e;
}

struct kernel_sigaction {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

#ifdef __x86_64__
/* Unwinders know the frame of a signal by these bytes, so not mov to %eax. */
void heddle_restorer(void);
__asm__(".text; .type heddle_restorer, @function\nheddle_restorer: movq $15, %rax; syscall; ud2");
#define RESTORER      heddle_restorer
#define WITH_RESTORER 0x04000000
#else
#define RESTORER      0
#define WITH_RESTORER 0
#endif

EXPORT int pthread_cancel(pthread_t thread)
{
	before_unwinding();
	if (pthread_equal(thread, pthread_self()))
		return cancel_myself();
	/* each time, since libc puts its own handler there when it first cancels */
	struct kernel_sigaction action = { cancel_handler, SA_SIGINFO | SA_RESTART | WITH_RESTORER, RESTORER, 0 };
	SECTION_ENTER(&threads);
	uint32_t id = (uint32_t)CALL(thread_joined, thread, JOIN_ID);
	if (id) {
		syscall(SYS_rt_sigaction, SIGNAL_CANCEL, &action, 0, 8);
		syscall(SYS_tgkill, getpid(), id, SIGNAL_CANCEL);
	}
	SECTION_LEAVE(&threads);
	return 0; /* as libc's: also if it has ended */
}

/* Where a cancelled thread ends, and so an event: the signal comes here at the latest, also to a loop that does nothing
   else. */
EXPORT void pthread_testcancel(void)
{
	self_get();
	CALL(op_point);
	REAL(pthread_testcancel)();
}

/* ---- keys: libc's table of them is one for all threads ----------------------------------------------- */

EXPORT int pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
	self_get();
	SECTION_ENTER(&threads);
	pthread_key_t made;
	int r = REAL(pthread_key_create)(&made, destructor);
	SECTION_LEAVE(&threads);
	if (!r)
		give(key, &made, sizeof made);
	return r;
}
ALSO(__pthread_key_create, pthread_key_create);

EXPORT int pthread_key_delete(pthread_key_t key)
{
	self_get();
	SECTION_ENTER(&threads);
	int r = REAL(pthread_key_delete)(key);
	SECTION_LEAVE(&threads);
	return r;
}

/* ---- all of libc's functions are found before there are threads, not while others hold the loader's lock ---- */

__attribute__((constructor)) static void find_early(void)
{
	self_find();
	struct sync_entries *entries = (struct sync_entries *)ENTRIES;
	entries->tls_offset = (uint64_t)__builtin_thread_pointer() - (uint64_t)pthread_self();
	entries->environment = (uint64_t **)(void *)&environ;
	entries->announced = 1;
	(void)REAL(pthread_create), (void)REAL(pthread_exit), (void)REAL(pthread_join), (void)REAL(pthread_detach);
	(void)REAL(pthread_cancel), (void)REAL(pthread_key_create), (void)REAL(pthread_key_delete);
}

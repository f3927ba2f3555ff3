/*
 * libheddle.so: what stands between the program and libc.
 *
 * A normal shared library that the loader puts before libc. Each function here has the name of
 * one of libc's and does the same, as an op of the runtime (runtime/sync/sync.h). It runs as a
 * part of the program: on its stack, with its libc, and the same way at record and replay;
 * only the quick paths are taken at record alone, and they leave nothing behind on the stack.
 */
#ifndef INTERPOSE_H
#define INTERPOSE_H
#include "interpose/libc/libc.h"
#include "runtime/memory/map.h"
#include "runtime/sync/objects.h"
#include <string.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define EXPORT	    __attribute__((visibility("default")))
/* Another name of a function, as libc has them: ALSO(__pthread_once, pthread_once); */
#define ALSO(also, name) EXPORT __typeof__(name) also __attribute__((alias(#name)))
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmissing-attributes" /* the headers say more about the one than about the other */
#endif
#define COLD __attribute__((noinline, cold))

#define ENTRIES ((const struct sync_entries *)MAP_ENTRIES)
/* Enters the runtime: CALL(mutex_lock, m, how, clock, deadline); missing arguments are 0. */
#define CALL(name, ...) CALL_(name, ##__VA_ARGS__, 0, 0, 0, 0)
#define CALL_(name, a, b, c, d, ...) \
	ENTRIES->call(ENTRIES->functions[SYNC_##name], (uint64_t)(a), (uint64_t)(b), (uint64_t)(c), (uint64_t)(d))

/* The same for an object of the program's. A bad pointer must fault here, where it is the program's fault as it is in
   libc, and at record and replay in the same instruction (volatile): inside the runtime it would be ours. */
static inline void touch(const volatile void *object)
{
	(void)*(const volatile char *)object;
}
#define CALL_ON(name, object, ...) (touch(object), CALL(name, object, ##__VA_ARGS__))

/* Bytes for the program: an access of the thread's, if these are ordered. */
static inline void give(void *to, const void *from, size_t n)
{
	if (CALL(bytes_copy, to, from, n))
		memcpy(to, from, n);
}

/* This thread's front; 0 until its first use here. Nobody outside calls self_find(). */
extern __thread struct front *self __attribute__((visibility("hidden"), tls_model("initial-exec")));
struct front *self_find(void) __attribute__((visibility("hidden")));
static inline struct front *self_get(void)
{
	struct front *f = self;
	return likely(f != 0) ? f : self_find();
}

/* libc's own function of that name, behind ours. */
void *real_find(const char *name) __attribute__((visibility("hidden")));
#define REAL(name)                                                                    \
	({                                                                            \
		static __typeof__(name) *real_;                                       \
		__typeof__(name) *found_ = __atomic_load_n(&real_, __ATOMIC_RELAXED); \
		if (unlikely(!found_)) { /* twice does no harm: both find the same */ \
			found_ = (__typeof__(name) *)real_find(#name);                \
			__atomic_store_n(&real_, found_, __ATOMIC_RELAXED);           \
		}                                                                     \
		found_;                                                               \
	})

/* State of libc's that all threads share (threads, keys): its users take turns. */
#define SECTION_ENTER(object) CALL(section_enter, object)
#define SECTION_LEAVE(object) CALL(section_leave, object)

/* Before anything that may wait for another thread, in the function that the program has called: a section that a
   longjmp has left behind would keep that thread waiting. */
static inline __attribute__((always_inline)) void before_wait(void)
{
	self_get();
	libc_settle();
}

/* Has this stamp no edge to offer to the thread? */
static inline int quick_known(const struct front *f, uint64_t stamp)
{
	return STAMP_SLOT(stamp) == f->slot || !stamp;
}
#endif
